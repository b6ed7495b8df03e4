"""What a crawl holds about an origin: pure functions of records and time."""
