"""3. Crawl-delay is kept, though AutoThrottle would like to go faster."""

import time

import scrapy

from robots_sample import site


class CrawlDelaySpider(scrapy.Spider):
    name = "s3_crawl_delay"
    custom_settings = {"AUTOTHROTTLE_ENABLED": True, "AUTOTHROTTLE_START_DELAY": 0.1}

    async def start(self):
        self.last = None
        yield scrapy.Request(site.url(self, "slow.example"))

    def parse(self, response):
        now = time.monotonic()
        if self.last is not None:
            self.logger.info("%s came %.1f s after the page before", response.url, now - self.last)
        self.last = now
        yield from response.follow_all(css="a")
