"""The queue of a crawl with many workers, for scrapy-redis."""
