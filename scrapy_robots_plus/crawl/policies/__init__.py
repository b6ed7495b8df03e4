"""What a crawl knows of each origin's robots.txt."""
