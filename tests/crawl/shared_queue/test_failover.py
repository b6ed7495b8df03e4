"""A server without any data takes over in the middle of a crawl."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest_twisted
import scrapy

from tests.crawling import make_crawler, parts_of_seconds
from tests.redis_proxy import RedisProxy
from tests.redis_server import RedisServer, scrapy_redis_may_warn
from tests.sending import HICCUP, gaps
from tests.sites import answer, when

from .crews import CrewSpider, come, sent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.sites import Sites

pytestmark = scrapy_redis_may_warn
DELAY = 3.0


class Linking(CrewSpider):
    """Follows the URL in the query."""

    def parse(self, response: scrapy.http.Response) -> Iterator[scrapy.Request]:
        url = response.url.partition("?")[2]
        if url:
            yield self.request(url)


@parts_of_seconds
@pytest_twisted.ensureDeferred
async def test_a_host_keeps_its_delay_though_the_server_does_not_know_of_it(
    sites: Sites, shared: dict[str, Any], server: RedisServer
) -> None:
    """One worker has just asked it, another is the first to find a page there."""
    host = sites.host(f"User-agent: *\nDisallow: /never\nCrawl-delay: {DELAY}\n")
    begin = sites.host("User-agent: *\nDisallow: /never\n")
    swapped = [False]
    page = answer("<p>A page</p>", content_type="text/html")
    host.pages["/0"] = when(lambda: "/1" in host.fetched, page)  # until then it takes no other
    begin.pages["/"] = when(lambda: swapped[0], page)
    with RedisServer() as empty, RedisProxy(server) as road:
        own = {**shared, "REDIS_URL": road.url, "CONCURRENT_REQUESTS": 1}
        one, other = (make_crawler(Linking, **own) for _ in range(2))
        running = one.crawl(urls=[host.url("/0")])
        await come(lambda: host.fetched)
        also_running = other.crawl(urls=[begin.url(f"/?{host.url('/1')}")])
        await come(lambda: begin.fetched)
        road.server = empty
        road.cut()
        swapped[0] = True
        await running
        await also_running
    assert host.fetched == ["/0", "/1"]
    assert host.url("/1") in [url for _, url in other.spider.sent]
    assert min(gaps(sent([one, other]), host)) >= DELAY - HICCUP
