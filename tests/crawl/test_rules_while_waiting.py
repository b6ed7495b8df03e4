"""A robots.txt that is refreshed while requests wait for their moment: the new rules hold for them.

They passed under a file that had just expired, and may wait long: for other crawls, or for a pause.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest_twisted
from twisted.internet.defer import gatherResults

from scrapy_robots_plus import RobotsDisallowed
from scrapy_robots_plus.crawl import stats
from tests.crawling import make_crawler, parts_of_seconds, stat
from tests.sending import HICCUP, TimedSpider
from tests.sites import answer, in_turn

if TYPE_CHECKING:
    from tests.sites import Host, Sites

CRAWLS, DELAY = 3, 0.5
OLD = f"User-agent: *\nDisallow: /never\nCrawl-delay: {DELAY}\n"
SETTINGS: dict[str, Any] = {"ROBOTS_TTL": (1, 1)}


def changing(sites: Sites, new: str) -> Host:
    """A host whose robots.txt each crawl reads once as it was."""
    return sites.host(in_turn(*[answer(OLD)] * CRAWLS, answer(new)))


async def crawl_together(host: Host, pages: int) -> list[Any]:
    crawlers = [make_crawler(TimedSpider, **SETTINGS) for _ in range(CRAWLS)]
    await gatherResults(
        crawler.crawl(urls=[host.url(f"/{number}/{page}") for page in range(pages)])
        for number, crawler in enumerate(crawlers)
    )
    return crawlers


@parts_of_seconds
@pytest_twisted.ensureDeferred
async def test_what_waits_for_other_crawls_is_denied_by_new_rules(sites: Sites) -> None:
    host = changing(sites, f"User-agent: *\nDisallow: /\nCrawl-delay: {DELAY}\n")
    crawlers = await crawl_together(host, 6)
    changed_at = [hit.at for hit in host.hits if hit.path == "/robots.txt"][2 * CRAWLS - 1]
    late = [hit.path for hit in host.hits if hit.at > changed_at + HICCUP]
    assert set(late) <= {"/robots.txt"}
    for crawler in crawlers:
        denied = crawler.spider.failures.values()
        assert {type(each) for each in denied} == {RobotsDisallowed}
        assert len(denied) + len(crawler.spider.got) == 6
        assert stat(crawler, stats.FORBIDDEN) == len(denied)
