"""However long a delay is, it holds back neither a host's first page nor the end of a crawl."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted

from scrapy_robots_plus.hosts.door import HeldAtClosing
from tests.crawling import crawl
from tests.sending import TimedSpider

if TYPE_CHECKING:
    from pathlib import Path

    from tests.sites import Sites

QUEUES: list[dict[str, Any]] = [
    {},
    {"SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.ScrapyPriorityQueue"},
]
LONGER_THAN_ANY_UPTIME = 1_000_000_000
OBEY = {"ROBOTS_CRAWL_DELAY_MAX": 0}
SOON = 20
"""Seconds, on a busy machine."""


@pytest.mark.parametrize("queue", QUEUES, ids=["ours", "Scrapy's"])
@pytest_twisted.ensureDeferred
async def test_a_host_with_a_delay_longer_than_the_machine_is_up(
    sites: Sites, queue: dict[str, Any]
) -> None:
    host = sites.host(f"User-agent: *\nDisallow: /x\nCrawl-delay: {LONGER_THAN_ANY_UPTIME}\n")
    urls = [host.url(f"/{number}") for number in range(12)]
    began = time.monotonic()
    crawler = await crawl(*urls, spider=TimedSpider, CLOSESPIDER_TIMEOUT=2, **OBEY, **queue)
    assert time.monotonic() - began < SOON
    assert len(host.fetched) == 1
    assert crawler.stats.get_value("finish_reason") == "closespider_timeout"
    assert {type(each) for each in crawler.spider.failures.values()} <= {HeldAtClosing}


# Scrapy's own queue leaves files open that it has emptied.
@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest_twisted.ensureDeferred
async def test_what_waited_for_it_is_there_in_the_next_run(sites: Sites, tmp_path: Path) -> None:
    host = sites.host(f"User-agent: *\nDisallow: /x\nCrawl-delay: {LONGER_THAN_ANY_UPTIME}\n")
    urls = [host.url(f"/{number}") for number in range(4)]
    settings = {**QUEUES[1], "JOBDIR": str(tmp_path), **OBEY}
    queues = {
        "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
        "SCHEDULER_START_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
    }
    await crawl(*urls, spider=TimedSpider, CLOSESPIDER_TIMEOUT=2, **settings, **queues)
    assert len(host.fetched) == 1
    await crawl(spider=TimedSpider, **settings, **queues, ROBOTS_CRAWL_DELAY_OBEY=False)
    assert sorted(host.fetched) == ["/0", "/1", "/2", "/3"]
