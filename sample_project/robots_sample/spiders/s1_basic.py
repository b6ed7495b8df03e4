"""1. Nothing but a spider: the add-on does the rest, and says at the end what it did."""

import scrapy

from robots_sample import site


class BasicSpider(scrapy.Spider):
    name = "s1_basic"

    async def start(self):
        yield scrapy.Request(site.url(self, "open.example"))

    def parse(self, response):
        yield {"url": response.url}
        yield from response.follow_all(css="a")
