"""The parts of the package find one Crawl per crawler, whichever of them are in use."""

from __future__ import annotations

import gc
from typing import Any
from weakref import ref

import pytest
import pytest_twisted
from scrapy import signals
from scrapy.core.downloader import Downloader
from scrapy.crawler import Crawler
from scrapy.pqueues import ScrapyPriorityQueue
from scrapy.utils.reactor import is_asyncio_reactor_installed
from twisted.internet.defer import gatherResults

from scrapy_robots_plus import RobotsExtension, RobotsMiddleware
from scrapy_robots_plus.crawl.crawl import Crawl
from scrapy_robots_plus.origins.policies import Policies
from scrapy_robots_plus.origins.tally import Tally
from tests.crawling import crawl, make_crawler, run, stat
from tests.sites import Sites, drip

RULES = "User-agent: *\nDisallow: /private\n"
OURS = "scrapy_robots_plus."
QUEUE = {"SCHEDULER_PRIORITY_QUEUE": OURS + "RobotsPriorityQueue"}
DOWNLOADER = {"DOWNLOADER": OURS + "RobotsDownloader"}
WITHOUT_SCRAPYS = {"scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware": None}
MIDDLEWARE = {
    "DOWNLOADER_MIDDLEWARES": {**WITHOUT_SCRAPYS, OURS + "RobotsMiddleware": 100},
    "ROBOTSTXT_OBEY": True,
}
EXTENSION = {"EXTENSIONS": {OURS + "RobotsExtension": 0}, "ROBOTSTXT_OBEY": True}
BY_HAND: dict[str, Any] = {
    "ADDONS": {},
    "DOWNLOADER_MIDDLEWARES": WITHOUT_SCRAPYS,
    "ROBOTSTXT_OBEY": False,
}


class Seen:
    """The Crawl of a crawler, and what was to be seen of it while the spider was open."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        crawler.signals.connect(self._look, signals.spider_idle)

    def _look(self) -> None:
        self.crawl = Crawl.of(self._crawler)
        self.has_middleware = self.crawl.has_middleware
        self.has_queue = self.crawl.queue is not None


@pytest_twisted.ensureDeferred
async def test_all_parts_share_one() -> None:
    crawler = make_crawler()
    seen = Seen(crawler)
    await run(crawler)
    middleware = crawler.get_downloader_middleware(RobotsMiddleware)
    extension = crawler.get_extension(RobotsExtension)
    assert middleware is not None
    assert extension is not None
    assert middleware.crawl is extension._crawl is crawler.engine.downloader._crawl is seen.crawl  # type: ignore[attr-defined]
    assert (middleware.policies, middleware.tally) == (
        seen.crawl.get(Policies),
        seen.crawl.get(Tally),
    )
    assert (seen.has_middleware, seen.has_queue) == (True, True)


@pytest.mark.parametrize(
    ("parts", "denied", "has_middleware", "has_queue"),
    [
        ({}, 0, False, False),
        (MIDDLEWARE, 1, True, False),
        (QUEUE, 0, False, True),
        (DOWNLOADER, 0, False, False),
        (QUEUE | DOWNLOADER, 0, False, True),
        (EXTENSION | QUEUE, 0, False, True),
        (EXTENSION | MIDDLEWARE, 1, True, False),
        (MIDDLEWARE | QUEUE, 1, True, True),
        (MIDDLEWARE | DOWNLOADER, 1, True, False),
        (MIDDLEWARE | QUEUE | {"ROBOTSTXT_OBEY": False}, 0, False, True),
    ],
    ids=[
        "none", "middleware", "queue", "downloader", "queue, downloader", "extension, queue",
        "extension, middleware", "middleware, queue", "middleware, downloader", "switched off",
    ],
)  # fmt: skip
@pytest_twisted.ensureDeferred
async def test_each_part_works_without_the_others(
    sites: Sites, parts: dict[str, Any], denied: int, has_middleware: bool, has_queue: bool
) -> None:
    host = sites.host(RULES)
    crawler = make_crawler(**BY_HAND | parts)
    seen = Seen(crawler)
    await run(crawler, urls=[host.url("/open"), host.url("/private")])
    assert sorted(host.fetched) == ["/open", "/private"][: 2 - denied]
    assert stat(crawler, "robotstxt/forbidden") == denied
    assert (seen.has_middleware, seen.has_queue) == (has_middleware, has_queue)


@pytest.mark.parametrize(
    "instead",
    [{"SCHEDULER_PRIORITY_QUEUE": ScrapyPriorityQueue}, {"DOWNLOADER": Downloader}],
    ids=["queue", "downloader"],
)
@pytest_twisted.ensureDeferred
async def test_the_add_on_works_beside_a_part_of_scrapys(
    sites: Sites, instead: dict[str, Any]
) -> None:
    host = sites.host(RULES)
    await crawl(host.url("/open"), host.url("/private"), **instead)
    assert host.fetched == ["/open"]


@pytest_twisted.ensureDeferred
async def test_crawls_side_by_side_in_one_process_share_nothing(sites: Sites) -> None:
    slow = sites.host(drip(RULES, 0.2))
    crawlers = [make_crawler(), make_crawler(USER_AGENT="other")]
    seen = [Seen(crawler) for crawler in crawlers]
    urls = [slow.url("/open"), slow.url("/private")]
    await gatherResults([crawler.crawl(urls=urls) for crawler in crawlers])
    assert seen[0].crawl is not seen[1].crawl
    assert seen[0].crawl.get(Policies) is not seen[1].crawl.get(Policies)
    assert slow.robots_hits == 2
    for crawler in crawlers:
        tally = crawler.get_downloader_middleware(RobotsMiddleware).tally
        assert (tally.allowed, tally.denied) == (1, 1)


@pytest_twisted.ensureDeferred
async def test_nothing_of_a_crawl_that_is_over_is_kept(sites: Sites) -> None:
    if not is_asyncio_reactor_installed():
        pytest.skip("with another reactor, Scrapy itself keeps a crawl that is over")
    crawler = await crawl(sites.host(RULES).url("/open"))
    middleware = crawler.get_downloader_middleware(RobotsMiddleware)
    gone = [ref(middleware.crawl), ref(crawler)]
    del crawler, middleware
    gc.collect()
    assert [reference() for reference in gone] == [None, None]  # type: ignore[operator]


def test_nothing_of_a_crawl_that_never_began_is_kept() -> None:
    crawler = make_crawler()
    shared = Crawl.of(crawler)
    assert Crawl.of(crawler) is shared
    gone = [ref(shared), ref(crawler)]
    del crawler, shared
    gc.collect()
    assert [reference() for reference in gone] == [None, None]  # type: ignore[operator]
