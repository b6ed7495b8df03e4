"""The part that knows Scrapy."""
