"""4. What if there is no robots.txt to go by? ROBOTS_STATUS_POLICY decides; try its presets.

scrapy crawl s4_failures -s ROBOTS_STATUS_POLICY=fail-open
"""

import scrapy

from robots_sample import site
from scrapy_robots_plus import RobotsIgnored

HOSTS = ["missing.example", "locked.example", "broken.example", "silent.example"]


class FailuresSpider(scrapy.Spider):
    name = "s4_failures"
    custom_settings = {"ROBOTS_FETCH_RETRIES": 0}

    async def start(self):
        self.results = {}
        for host in HOSTS:
            yield scrapy.Request(site.url(self, host), errback=self.not_fetched)

    def parse(self, response):
        self.results[response.url] = "fetched"

    def not_fetched(self, failure):
        failure.trap(RobotsIgnored)
        self.results[failure.value.url] = f"denied: {failure.value.verdict.describe()}"

    def closed(self, reason):
        for url, result in sorted(self.results.items()):
            self.logger.info("%s %s", url, result)
