"""Several crawls in one process keep one pace together."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest
import pytest_twisted
from twisted.internet.defer import DeferredList

from tests.crawling import make_crawler
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
