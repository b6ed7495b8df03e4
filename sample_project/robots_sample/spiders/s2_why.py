"""2. Why was this URL not fetched? The errback is told: the exception carries the verdict."""

import scrapy

from robots_sample import site
from scrapy_robots_plus import RobotsIgnored


class WhySpider(scrapy.Spider):
    name = "s2_why"

    async def start(self):
        self.denied = {}
        yield scrapy.Request(site.url(self, "open.example"), errback=self.not_fetched)

    def parse(self, response):
        yield {"url": response.url}
        yield from response.follow_all(css="a", errback=self.not_fetched)

    def not_fetched(self, failure):
        if failure.check(RobotsIgnored):
            self.denied[failure.value.url] = failure.value.verdict

    def closed(self, reason):
        lines = [f"{url}\n    {why.describe()}" for url, why in sorted(self.denied.items())]
        self.logger.info("Denied, and why:\n%s", "\n".join(lines))
