"""No request goes out but through a verdict."""

from __future__ import annotations

import pytest_twisted

from scrapy_robots_plus import RobotsDisallowed

from ..crawling import crawl, stat
from ..sites import Sites, after, answer

CLOSED = "User-agent: *\nDisallow: /\n"


@pytest_twisted.ensureDeferred
async def test_of_100_disallowed_urls_that_arrive_together_none_is_fetched(sites: Sites) -> None:
    host = sites.host(after(0.3, answer(CLOSED)))
    urls = [host.url(f"/{number}") for number in range(100)]
    crawler = await crawl(*urls)
    assert host.fetched == []
    assert host.robots_hits == 1
    assert stat(crawler, "robotstxt/forbidden") == 100
    assert {type(error) for error in crawler.spider.failures.values()} == {RobotsDisallowed}
