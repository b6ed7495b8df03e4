"""``scrapy robots``: answers questions about robots.txt in a terminal."""
