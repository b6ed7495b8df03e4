"""5. Asking robots.txt from code, before there is a request, and looking at what is known."""

import scrapy

from robots_sample import site
from scrapy_robots_plus import RobotsMiddleware


class FromCodeSpider(scrapy.Spider):
    name = "s5_from_code"

    async def start(self):
        # With ROBOTSTXT_OBEY = False there is no middleware: this returns None.
        self.policies = self.crawler.get_downloader_middleware(RobotsMiddleware).policies
        for path in ("/", "/private/press", "/private/diary"):
            url = site.url(self, "partly.example", path)
            if await self.policies.allowed(url):
                self.logger.info("%s may be fetched", url)
                yield scrapy.Request(url)
            else:
                verdict = await self.policies.verdict(url)
                self.logger.info("%s may not: %s", url, verdict.describe())
        await self.policies.allowed(site.url(self, "slow.example"))

    def parse(self, response):
        pass

    def closed(self, reason):
        for policy in self.policies:
            self.logger.info(
                "%s: robots.txt %s, Crawl-delay %s, sitemaps %s",
                policy.origin,
                policy.status,
                policy.delay,
                list(policy.sitemaps),
            )
