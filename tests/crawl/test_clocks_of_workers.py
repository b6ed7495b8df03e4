"""Workers whose clocks differ, as those of real machines do, keep one pace."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
from twisted.internet.defer import gatherResults

from scrapy_robots_plus.crawl.clock import Clock
from scrapy_robots_plus.crawl.crawl import Crawl
from tests.crawling import make_crawler, parts_of_seconds
from tests.redis_server import RedisServer, scrapy_redis_may_warn
from tests.sending import TimedSpider, gaps

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from tests.sites import Sites

TEN_MINUTES = 600.0
DELAY = 0.25
QUEUE: dict[str, Any] = {
    "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
    "SCHEDULER_QUEUE_CLASS": "scrapy_robots_plus.redis.RobotsQueue",
    "DUPEFILTER_CLASS": "scrapy_robots_plus.redis.RobotsDupeFilter",
}

pytestmark = scrapy_redis_may_warn


def worker(ahead: float, held: list[Crawl], **settings: Any) -> Crawler:
    """A crawler whose clocks go *ahead* of this machine's."""
    crawler = make_crawler(TimedSpider, **settings)
    # Never below 0, as no real one is: this machine may have been started a minute ago.
    monotonic_ahead = 7 * (ahead + TEN_MINUTES)
    clock = Clock(lambda: time.time() + ahead, lambda: time.monotonic() + monotonic_ahead)
    held.append(Crawl.of(crawler, clock))
    return crawler


async def crawl_together(crawlers: list[Crawler], urls: list[list[str]]) -> None:
    await gatherResults(
        [crawler.crawl(urls=mine) for crawler, mine in zip(crawlers, urls, strict=True)]
    )


@parts_of_seconds
@pytest.mark.parametrize("aheads", [(0.0, TEN_MINUTES), (-TEN_MINUTES, 0.0)])
@pytest_twisted.ensureDeferred
async def test_two_workers_with_clocks_ten_minutes_apart_keep_a_shared_pace(
    sites: Sites, aheads: tuple[float, float]
) -> None:
    host = sites.host(f"User-agent: *\nDisallow: /never\nCrawl-delay: {DELAY}\n")
    held: list[Crawl] = []
    with RedisServer() as server:
        crawlers = [worker(ahead, held, ROBOTS_SHARED_PACE=server.url) for ahead in aheads]
        paths = [f"/{number}" for number in range(6)]
        await crawl_together(crawlers, [list(map(host.url, paths[half::2])) for half in (0, 1)])
    sent = sorted(note for crawler in crawlers for note in crawler.spider.sent)
    assert min(gaps(sent, host)) >= 0.98 * DELAY
    assert sorted(host.fetched) == paths


@parts_of_seconds
@pytest_twisted.ensureDeferred
async def test_two_workers_with_clocks_ten_minutes_apart_share_a_queue_and_a_store(
    sites: Sites,
) -> None:
    pytest.importorskip("scrapy_redis")
    hosts = [
        sites.host(f"User-agent: *\nDisallow: /never\nCrawl-delay: {DELAY}\n") for _ in range(4)
    ]
    paths = [f"/{number}" for number in range(4)]
    pages = [host.url(path) for host in hosts for path in paths]
    held: list[Crawl] = []
    with RedisServer() as server:
        settings = {**QUEUE, "REDIS_URL": server.url, "ROBOTS_STORE": server.url}
        settings["CONCURRENT_REQUESTS"] = 1  # neither takes all
        crawlers = [worker(ahead, held, **settings) for ahead in (-TEN_MINUTES, TEN_MINUTES)]
        await crawl_together(crawlers, [pages[::2], pages[1::2]])
    sent = sorted(note for crawler in crawlers for note in crawler.spider.sent)
    for host in hosts:
        assert min(gaps(sent, host)) >= 0.98 * DELAY
        assert sorted(host.fetched) == paths
        # If the fast one came first, the other takes its copy for one of a wrong clock.
        assert host.robots_hits in (1, 2)
