"""A Crawl-delay holds on every way that was found around it."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import pytest
import pytest_twisted
import scrapy
from scrapy.utils.reactor import is_asyncio_reactor_installed

from tests.crawling import crawl
from tests.sending import TimedSpider, gaps
from tests.sites import Sites, answer, in_turn, redirect

DELAY_1 = "User-agent: *\nDisallow: /never\nCrawl-delay: 1\n"
LEAST = 0.98
OWN_QUEUE = {"SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.DownloaderAwarePriorityQueue"}


pytestmark = pytest.mark.skipif(
    not is_asyncio_reactor_installed(), reason="the spiders of these tests sleep with asyncio"
)


def pages(host, count=4):
    return [host.url(f"/{n}") for n in range(count)]


class RotatingProxies:
    """As scrapy-rotating-proxies at 610: a downloader slot for each proxy."""

    def __init__(self) -> None:
        self.slots = itertools.cycle(["proxy 1", "proxy 2", "proxy 3"])

    def process_request(self, request: scrapy.Request) -> None:
        if "robots.txt" not in request.url:
            request.meta["download_slot"] = next(self.slots)


@pytest_twisted.ensureDeferred
async def test_a_middleware_that_chooses_the_slot(sites: Sites) -> None:
    """crawl-delay.md: "go to the slot of the first, whatever slot their download_slot names"."""
    host = sites.host(DELAY_1)
    crawler = await crawl(
        *pages(host), spider=TimedSpider, DOWNLOADER_MIDDLEWARES={RotatingProxies: 610}
    )
    assert min(gaps(crawler.spider.sent, host)) >= LEAST


FOR_FOOBOT = "User-agent: foobot\nDisallow: /never\nCrawl-delay: 1\n\nUser-agent: *\nDisallow: /x\n"


class Foobot:
    def process_request(self, request: scrapy.Request) -> None:
        if "robots.txt" not in request.url:
            request.headers["User-Agent"] = "Foobot/1.0"


class SlowFoobot:
    """Asks somebody else for a User-Agent."""

    async def process_request(self, request: scrapy.Request) -> None:
        if "robots.txt" not in request.url:
            await asyncio.sleep(0.05)
            request.headers["User-Agent"] = "Foobot/1.0"


@pytest_twisted.ensureDeferred
async def test_user_agent_put_in_by_an_async_middleware(sites: Sites) -> None:
    host = sites.host(FOR_FOOBOT)
    crawler = await crawl(
        *pages(host),
        spider=TimedSpider,
        USER_AGENT="Barbot",
        DOWNLOADER_MIDDLEWARES={SlowFoobot: 900},
    )
    assert min(gaps(crawler.spider.sent, host)) >= LEAST


@pytest.mark.stress
@pytest_twisted.ensureDeferred
async def test_user_agent_put_in_and_a_refresh(sites: Sites) -> None:
    host = sites.host(FOR_FOOBOT)
    crawler = await crawl(
        *pages(host, 6),
        spider=TimedSpider,
        USER_AGENT="Barbot",
        DOWNLOADER_MIDDLEWARES={Foobot: 900},
        ROBOTS_TTL=1,
        ROBOTS_TTL_MIN=1,
        ROBOTS_TTL_MAX=1,
    )
    assert min(gaps(crawler.spider.sent, host)) >= LEAST


class OneByOne(TimedSpider):
    """A page at a time, as a spider that follows "next" does."""

    async def start(self):
        yield self.request(self.urls[0])

    def parse(self, response):
        super().parse(response)
        if len(self.got) < len(self.urls):
            yield self.request(self.urls[len(self.got)])


@pytest.mark.stress
@pytest.mark.parametrize("ttl", [86400, 1], ids=["no refresh", "refreshes"])
@pytest_twisted.ensureDeferred
async def test_user_agent_put_in_one_by_one(sites: Sites, ttl: int) -> None:
    host = sites.host(FOR_FOOBOT)
    crawler = await crawl(
        *pages(host, 6),
        spider=OneByOne,
        USER_AGENT="Barbot",
        DOWNLOADER_MIDDLEWARES={Foobot: 900},
        ROBOTS_TTL=ttl,
        ROBOTS_TTL_MIN=1,
        ROBOTS_TTL_MAX=ttl,
    )
    assert min(gaps(crawler.spider.sent, host)) >= LEAST


@pytest.mark.stress
@pytest_twisted.ensureDeferred
async def test_own_headers_of_two_agents_and_a_refresh(sites: Sites) -> None:
    """Foobot's requests alone have to keep 1 s among themselves."""
    host = sites.host(FOR_FOOBOT)
    requests = []
    for n in range(5):
        requests.append(scrapy.Request(host.url(f"/foo{n}"), headers={"User-Agent": "Foobot"}))
        requests.append(scrapy.Request(host.url(f"/bar{n}")))
    crawler = await crawl(
        *requests,
        spider=TimedSpider,
        USER_AGENT="Barbot",
        ROBOTS_TTL=1,
        ROBOTS_TTL_MIN=1,
        ROBOTS_TTL_MAX=1,
        **OWN_QUEUE,
    )
    foo = [at for at, url in crawler.spider.sent if "/foo" in url]
    assert len(foo) == 5
    assert min(b - a for a, b in itertools.pairwise(foo)) >= LEAST


@pytest.mark.parametrize("queue", [{}, OWN_QUEUE], ids=["robots", "own"])
@pytest_twisted.ensureDeferred
async def test_eviction(sites: Sites, queue: dict[str, Any]) -> None:
    one, two = sites.host(DELAY_1), sites.host(DELAY_1)
    urls = [u for pair in zip(pages(one), pages(two), strict=False) for u in pair]
    crawler = await crawl(*urls, spider=TimedSpider, ROBOTS_CACHE_SIZE=1, **queue)
    assert min(gaps(crawler.spider.sent, one)) >= LEAST
    assert min(gaps(crawler.spider.sent, two)) >= LEAST


@pytest.mark.stress
@pytest.mark.parametrize("queue", [{}, OWN_QUEUE], ids=["robots", "own"])
@pytest_twisted.ensureDeferred
async def test_outage_without_delay_in_between(sites: Sites, queue: dict[str, Any]) -> None:
    """A redirect within one origin, from http pages that were in other slots."""
    host = sites.host(DELAY_1)
    for n in range(4):
        host.pages[f"/{n}"] = redirect(host.url(f"/to{n}"), 302)
    crawler = await crawl(*pages(host, 3), spider=TimedSpider, **queue)
    assert len(host.fetched) >= 6
    assert min(gaps(crawler.spider.sent, host)) >= LEAST


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "settings",
    [
        {"CONCURRENT_REQUESTS_PER_IP": 4},
        {"AUTOTHROTTLE_ENABLED": True, "AUTOTHROTTLE_START_DELAY": 0.1, **OWN_QUEUE},
        {"RETRY_ENABLED": True, "RETRY_TIMES": 4},
    ],
    ids=["ip", "throttle own", "retry"],
)
@pytest_twisted.ensureDeferred
async def test_settings(sites: Sites, settings: dict[str, Any]) -> None:
    host = sites.host(DELAY_1)
    host.pages["/0"] = in_turn(answer(status=500), answer(status=503), answer("x"))
    crawler = await crawl(*pages(host, 3), spider=TimedSpider, **settings)
    assert min(gaps(crawler.spider.sent, host)) >= LEAST
