"""The requests of a crawl with many workers, for scrapy-redis."""
