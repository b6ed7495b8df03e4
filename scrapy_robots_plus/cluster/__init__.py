"""What several crawls agree on, through the server that they share. No Scrapy, no Twisted."""
