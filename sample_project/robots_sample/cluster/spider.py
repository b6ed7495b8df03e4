"""A spider that knows nothing of the other workers."""

import scrapy

from .web import HOSTS


class ClusterSpider(scrapy.Spider):
    name = "cluster"

    async def start(self):
        for host in HOSTS:
            # Not start_urls, which the duplicate filter leaves alone: each worker would fetch them.
            yield scrapy.Request(f"http://{host}/")

    def parse(self, response):
        yield from response.follow_all(css="a")
