"""What a crawl knows about an origin: pure functions of records and time."""
