"""What the user sees: progress, the table at the end, the reason a crawl closes with."""
