"""What waits in the queue: lanes of requests, where they are kept, and which of them are lost."""
