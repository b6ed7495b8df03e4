"""What a crawl knows about each origin's robots.txt."""
