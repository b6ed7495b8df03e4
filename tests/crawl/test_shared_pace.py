"""Several crawls in one process keep one pace together."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest
import pytest_twisted
from twisted.internet.defer import DeferredList

from scrapy_robots_plus.crawl import stats
from tests.crawling import crawl, make_crawler
from tests.sending import HICCUP, TimedSpider, gaps

if TYPE_CHECKING:
    from tests.sites import Sites

DELAY = 0.3


@pytest.mark.parametrize("crawls", [2, pytest.param(5, marks=pytest.mark.stress)])
@pytest_twisted.ensureDeferred
async def test_crawls_in_one_process_keep_one_pace(sites: Sites, crawls: int) -> None:
    host = sites.host(f"User-agent: *\nCrawl-delay: {DELAY}\n")
    crawlers = [make_crawler(TimedSpider) for _ in range(crawls)]
    pages = 3
    await DeferredList(
        [
            each.crawl(urls=[host.url(f"/{number}/{page}") for page in range(pages)])
            for number, each in enumerate(crawlers)
        ]
    )
    sent = sorted(itertools.chain.from_iterable(each.spider.sent for each in crawlers))
    found = gaps(sent, host)
    assert len(found) == crawls * pages - 1
    assert min(found) >= DELAY - 0.01
    assert sum(found) < len(found) * (DELAY + HICCUP)


@pytest_twisted.ensureDeferred
async def test_a_crawl_does_not_wait_for_one_that_has_ended(sites: Sites) -> None:
    host = sites.host("User-agent: *\nCrawl-delay: 50\n")
    for _ in range(2):
        crawler = await crawl(host.url())
        assert stats.SHARED_PACE_WAITS not in crawler.stats.get_stats()


@pytest_twisted.ensureDeferred
async def test_crawls_of_different_crawlers_have_paces_of_their_own(sites: Sites) -> None:
    host = sites.host("User-agent: *\nCrawl-delay: 50\n")
    crawlers = [make_crawler(TimedSpider, USER_AGENT=name) for name in ("foobot", "barbot")]
    await DeferredList([each.crawl(urls=[host.url()]) for each in crawlers])
    assert len(host.fetched) == 2


@pytest_twisted.ensureDeferred
async def test_crawls_may_each_keep_a_pace_alone(sites: Sites) -> None:
    host = sites.host("User-agent: *\nCrawl-delay: 50\n")
    crawlers = [make_crawler(TimedSpider, ROBOTS_SHARED_PACE="off") for _ in range(2)]
    await DeferredList([each.crawl(urls=[host.url()]) for each in crawlers])
    assert len(host.fetched) == 2
