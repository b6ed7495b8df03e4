"""What a worker has of the shared queue: requests, and its account with the server."""
