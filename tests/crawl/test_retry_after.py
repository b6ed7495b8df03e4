"""Retry-After in an answer to a page: the host is left alone for so long, whatever is set."""

from __future__ import annotations

import time
from math import inf
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
from scrapy import Request, signals
from scrapy.exceptions import IgnoreRequest
from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.internet.defer import gatherResults

from scrapy_robots_plus import RobotsMiddleware
from scrapy_robots_plus.hosts.door import HeldAtClosing
from tests.crawling import ProbeSpider, crawl, make_crawler, run, stat
from tests.sites import after, answer, in_turn

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from tests.sites import Host, Sites

SCRAPYS_QUEUE = {"SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.ScrapyPriorityQueue"}
WAIT = 2
AT_ONCE = 0.5
"""Seconds after the answer within which a request may be noted that was on its way to be sent."""

SETTINGS: dict[str, dict[str, Any]] = {
    **{f"jitter {n}": {"DOWNLOAD_DELAY": 1} for n in range(6)},
    "no delay": {"CONCURRENT_REQUESTS": 2},
    "AutoThrottle": {
        "AUTOTHROTTLE_ENABLED": True,
        "AUTOTHROTTLE_START_DELAY": 1,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 2,
    },
    "own queue": {
        "DOWNLOAD_DELAY": 0.3,
        "SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.DownloaderAwarePriorityQueue",
    },
    "without robots.txt delays": {"ROBOTS_CRAWL_DELAY_OBEY": False, "DOWNLOAD_DELAY": 1.2},
    "several at once": {"CONCURRENT_REQUESTS_PER_DOMAIN": 8, "DOWNLOAD_DELAY": 0.01},
}


def pages(host: Host, count: int = 3) -> list[str]:
    return [host.url(f"/{number}") for number in range(count)]


ASKS_FOR_PATIENCE = after(0.2, answer(status=429, retry_after=str(WAIT)))


def wait_of(host: Host) -> float:
    """Seconds from the answer with the Retry-After to the next request, as the host sees it."""
    answered_at = next(hit.at for hit in host.hits if hit.path == "/0") + 0.2
    return min(hit.at - answered_at for hit in host.hits if hit.at - answered_at > AT_ONCE)


@pytest_twisted.ensureDeferred
async def test_no_setting_cuts_the_wait_short(sites: Sites) -> None:
    hosts = {name: sites.host() for name in SETTINGS}
    crawls = []
    for (name, host), settings in zip(hosts.items(), SETTINGS.values(), strict=True):
        host.pages["/0"] = ASKS_FOR_PATIENCE
        if name == "jitter 0":
            host.robots("User-agent: *\nDisallow: /never\nCrawl-delay: 0.5\n")
        host.pages |= {f"/{number}": after(0.3, answer()) for number in range(1, 12)}
        # Some may be sent before the 429 comes, however slow the machine is, but not all of them.
        count = 12 if name in ("several at once", "own queue", "no delay") else 4
        crawls.append(make_crawler(**settings).crawl(urls=pages(host, count)))
    await gatherResults(crawls)
    waits = {name: wait_of(host) for name, host in hosts.items()}
    assert {name: wait for name, wait in waits.items() if wait < WAIT} == {}


@pytest.mark.parametrize("queue", [{}, SCRAPYS_QUEUE], ids=["ours", "Scrapy's"])
@pytest_twisted.ensureDeferred
async def test_it_holds_for_the_host_in_whatever_slots_its_requests_wait(
    sites: Sites, queue: dict[str, Any]
) -> None:
    host = sites.host()
    host.pages["/0"] = ASKS_FOR_PATIENCE
    requests = [
        Request(url, meta={"download_slot": f"slot {number % 2}"}, priority=-number)
        for number, url in enumerate(pages(host, 7))
    ]
    slots = {"slot 0": {"delay": 0, "concurrency": 1}, "slot 1": {"delay": 1, "concurrency": 1}}
    crawler = await crawl(*requests, DOWNLOAD_SLOTS=slots, **queue)
    assert stat(crawler, "robotstxt/retry_after") == 1
    assert len(host.fetched) == 7
    assert wait_of(host) >= WAIT


class ClosesInTheWait(ProbeSpider):
    """Is closed when a host has asked to be left alone, while requests wait in its slot."""

    closed_at = inf

    @classmethod
    def from_crawler(cls, crawler: Crawler, *arguments: Any, **named: Any) -> ClosesInTheWait:
        spider = super().from_crawler(crawler, *arguments, **named)
        crawler.signals.connect(spider.looked_at, signals.response_downloaded)
        return spider

    async def start(self) -> AsyncIterator[Request]:
        for url in self.urls:
            yield Request(url, errback=self.failed)

    def looked_at(self, response: Response) -> None:
        if response.status == 429:
            call_later(0.3, self.close_now)

    def close_now(self) -> None:
        self.closed_at = time.monotonic()
        deferred_from_coro(self.crawler.engine.close_spider_async(reason="enough"))


PAGES = 40
"""So many that some of them have not been sent when the answer with the Retry-After comes."""


def busy_once(sites: Sites) -> Host:
    host = sites.host()
    host.pages["/4"] = in_turn(answer(status=429, retry_after="200"), answer("A page"))
    return host


IN_THE_SLOT = {
    "DOWNLOAD_DELAY": 0.1,
    "RETRY_ENABLED": True,
    "SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.DownloaderAwarePriorityQueue",
}
SOON = 30
"""Seconds, on a busy machine; far less than the wait asked for."""


# Scrapy's own queue leaves files open that it has emptied.
@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest_twisted.ensureDeferred
async def test_a_closing_crawl_does_not_sit_out_the_wait(sites: Sites, tmp_path: Path) -> None:
    host = busy_once(sites)
    settings = {**IN_THE_SLOT, "JOBDIR": str(tmp_path)}
    crawler = make_crawler(ClosesInTheWait, **settings)
    await run(crawler, urls=pages(host, PAGES))
    assert time.monotonic() - crawler.spider.closed_at < SOON
    assert crawler.spider.failures == {}
    assert 0 < stat(crawler, "robotstxt/put_back") <= PAGES
    again = {**settings, "DOWNLOAD_DELAY": 0}
    await run(make_crawler(ClosesInTheWait, **again), urls=pages(host, PAGES))
    assert sorted(host.fetched) == sorted([*(f"/{number}" for number in range(PAGES)), "/4"])


@pytest_twisted.ensureDeferred
async def test_what_cannot_be_kept_fails_when_the_crawl_closes_in_the_wait(sites: Sites) -> None:
    host = busy_once(sites)
    crawler = make_crawler(ClosesInTheWait, **IN_THE_SLOT)
    await run(crawler, urls=pages(host, PAGES))
    assert time.monotonic() - crawler.spider.closed_at < SOON
    failures = crawler.spider.failures
    assert {type(failure) for failure in failures.values()} == {HeldAtClosing}
    unsent = {url.removeprefix(host.origin) for url in failures} - {"/4"}  # that one was retried
    assert unsent
    assert not unsent & set(host.fetched)
    tally = crawler.get_downloader_middleware(RobotsMiddleware).tally
    assert (tally.allowed, tally.denied) == (len(host.fetched), 0)


class Sends(ClosesInTheWait):
    """Sends without the scheduler, which could not keep what waits."""

    async def parse(self, response: Response) -> None:
        super().parse(response)
        origin = response.url.removesuffix("/first")
        sent = [self.send(Request(f"{origin}/{number}")) for number in range(9)]
        await maybe_deferred_to_future(gatherResults([deferred_from_coro(each) for each in sent]))

    async def send(self, request: Request) -> None:
        try:
            await self.crawler.engine.download_async(request)
        except IgnoreRequest as error:
            self.failures[request.url] = error


@pytest_twisted.ensureDeferred
async def test_what_was_not_the_schedulers_fails_once(sites: Sites, tmp_path: Path) -> None:
    host = busy_once(sites)
    crawler = make_crawler(Sends, JOBDIR=str(tmp_path), **IN_THE_SLOT)
    await run(crawler, urls=[host.url("/first")])
    assert time.monotonic() - crawler.spider.closed_at < SOON
    assert {type(failure) for failure in crawler.spider.failures.values()} == {HeldAtClosing}
