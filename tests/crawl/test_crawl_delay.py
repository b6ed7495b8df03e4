"""Crawl-delay is a floor under the time between two pages of a host, whatever else is set."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
from scrapy import signals
from scrapy.core.downloader import Downloader
from scrapy.utils.asyncio import create_looping_call
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.task import deferLater

from scrapy_robots_plus import Reason, RobotsDisallowed
from scrapy_robots_plus.hosts.departures import Departures
from tests.crawling import HAS_THROTTLER, ProbeSpider, make_crawler, parts_of_seconds, run, stat
from tests.crawling import crawl as crawl_with
from tests.sending import HICCUP, TimedSpider, gaps
from tests.sites import Host, Sites, answer, in_turn, redirect

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

DELAY_1 = "User-agent: *\nDisallow: /never\nCrawl-delay: 1\n"
LEAST = 1 - HICCUP
SCRAPYS_QUEUE = {"SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.DownloaderAwarePriorityQueue"}

SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "AutoThrottle": {
        "AUTOTHROTTLE_ENABLED": True,
        "AUTOTHROTTLE_START_DELAY": 0.1,
        "AUTOTHROTTLE_TARGET_CONCURRENCY": 8.0,
    },
    "jitter": {"DOWNLOAD_DELAY": 0.9},
    "jitter that would take a longer delay below": {"DOWNLOAD_DELAY": 1.2},
    "lower DOWNLOAD_DELAY": {"DOWNLOAD_DELAY": 0.2},
    "ROBOTSTXT_OBEY off": {"ROBOTSTXT_OBEY": False, "ROBOTS_CRAWL_DELAY_OBEY": True},
    "clamped": {"ROBOTS_CRAWL_DELAY_MAX": 1},
}
"""A jitter of 0.5 is Scrapy's default."""


async def crawl(*urls: str | Request, **settings: Any) -> Crawler:
    return await crawl_with(*urls, spider=TimedSpider, **settings)


def start_after(seconds: float, crawler: Crawler, urls: list[str]) -> Deferred[None]:
    """Crawls that have the same second would make each other late, not all by as much each time."""
    from twisted.internet import reactor

    return deferLater(reactor, seconds, crawler.crawl, urls=urls)  # type: ignore[arg-type]


def pages(host: Host, count: int = 4) -> list[str]:
    return [host.url(f"/{number}") for number in range(count)]


@pytest.mark.parametrize(
    "queue",
    [{}, SCRAPYS_QUEUE, {"SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.ScrapyPriorityQueue"}],
    ids=["ours", "downloader-aware", "Scrapy's"],
)
@pytest_twisted.ensureDeferred
async def test_no_setting_makes_the_gap_shorter(sites: Sites, queue: dict[str, Any]) -> None:
    hosts = {name: sites.host(DELAY_1) for name in SETTINGS}
    hosts["clamped"].robots("User-agent: *\nDisallow: /never\nCrawl-delay: 86400\n")
    crawlers = []
    for name, settings in SETTINGS.items():
        slots = {"DOWNLOAD_SLOTS": {hosts[name].address: {"delay": 0.1, "concurrency": 5}}}
        settings = {**settings, **queue, **(slots if name == "plain" else {})}
        crawlers.append(make_crawler(TimedSpider, **settings))
    await gatherResults(
        [
            start_after(number * 0.14, crawler, pages(host))
            for number, (crawler, host) in enumerate(zip(crawlers, hosts.values(), strict=True))
        ]
    )
    assert {name: len(host.fetched) for name, host in hosts.items()} == dict.fromkeys(SETTINGS, 4)
    smallest = {
        name: min(gaps(crawler.spider.sent, host))
        for crawler, (name, host) in zip(crawlers, hosts.items(), strict=True)
    }
    assert {name: gap for name, gap in smallest.items() if gap < LEAST} == {}


@pytest_twisted.ensureDeferred
async def test_without_a_delay_nothing_waits(sites: Sites) -> None:
    """Else the test above could pass with a crawl that is slow anyway."""
    host = sites.host(DELAY_1)
    crawler = await crawl(*pages(host), ROBOTS_CRAWL_DELAY_OBEY=False)
    assert min(gaps(crawler.spider.sent, host)) < LEAST / 2


class PausingSpider(TimedSpider):
    """Leaves the slot idle after the first page until it is dropped, then asks for the rest."""

    async def start(self) -> AsyncIterator[Any]:
        yield self.request(self.urls[0], callback=self.first)

    async def first(self, response: Response) -> AsyncIterator[Any]:
        from twisted.internet import reactor

        await maybe_deferred_to_future(deferLater(reactor, 1.3))
        self.slots_before_rest = dict(self.crawler.engine.downloader.slots)
        for url in self.urls[1:]:
            yield self.request(url)


@pytest_twisted.ensureDeferred
async def test_the_delay_survives_slot_clean_up(sites: Sites) -> None:
    host = sites.host(DELAY_1)
    crawler = make_crawler(PausingSpider)

    def clean_up_often() -> None:
        sweep = create_looping_call(crawler.engine.downloader._slot_gc, 0.0)
        sweep.start(0.05)
        crawler.signals.connect(sweep.stop, signals.spider_closed, weak=False)

    crawler.signals.connect(clean_up_often, signals.spider_opened)
    await run(crawler, urls=pages(host, 5))
    assert host.address not in crawler.spider.slots_before_rest
    assert len(host.fetched) == 5
    assert min(gaps(crawler.spider.sent, host)) >= LEAST


@pytest_twisted.ensureDeferred
async def test_a_redirect_from_another_host_does_not_escape_the_delay(sites: Sites) -> None:
    slow = sites.host(DELAY_1)
    other = sites.host()
    for number in range(3):
        other.pages[f"/{number}"] = redirect(slow.url(f"/from-other-{number}"), 302)
    crawler = await crawl(*pages(slow, 3), *pages(other, 3))
    assert len(slow.fetched) == 6
    assert min(gaps(crawler.spider.sent, slow)) >= LEAST
    assert min(gaps(crawler.spider.sent, other)) < LEAST / 2  # nor slows the other host down


@pytest_twisted.ensureDeferred
async def test_hosts_that_name_no_delay_keep_the_default(sites: Sites) -> None:
    hosts = {"rules": sites.host("User-agent: *\nDisallow: /never\n"), "no file": sites.host()}
    urls = [url for host in hosts.values() for url in pages(host, 3)]
    throttled = {"AUTOTHROTTLE_ENABLED": True, "AUTOTHROTTLE_START_DELAY": 0.1}
    crawler = await crawl(*urls, ROBOTS_POLITENESS="gentle", **throttled)
    for host in hosts.values():
        assert len(host.fetched) == 3
        assert min(gaps(crawler.spider.sent, host)) >= LEAST


@pytest_twisted.ensureDeferred
async def test_the_default_needs_no_file_where_none_is_obeyed(sites: Sites) -> None:
    host = sites.host(DELAY_1)
    crawler = await crawl(*pages(host, 2), ROBOTSTXT_OBEY=False, ROBOTS_DEFAULT_DELAY=1)
    assert (host.robots_hits, len(host.fetched)) == (0, 2)
    assert min(gaps(crawler.spider.sent, host)) >= LEAST


@parts_of_seconds
@pytest_twisted.ensureDeferred
async def test_each_host_in_a_slot_keeps_its_own_delay(sites: Sites) -> None:
    slow, fast = (
        sites.host(DELAY_1),
        sites.host("User-agent: *\nDisallow: /never\nCrawl-delay: 0.2\n"),
    )
    spider = ProbeSpider()
    requests = [
        spider.request(url, meta={"download_slot": "shared"})
        for pair in zip(pages(slow, 3), pages(fast, 3), strict=True)
        for url in pair
    ]
    crawler = await crawl(*requests)
    assert len(slow.fetched) == len(fast.fetched) == 3
    assert min(gaps(crawler.spider.sent, slow)) >= LEAST
    assert min(gaps(crawler.spider.sent, fast)) >= 0.2 - HICCUP
    assert max(gaps(crawler.spider.sent, fast)) < LEAST  # nor waits for the other


@pytest_twisted.ensureDeferred
async def test_one_origin_in_two_slots_is_not_asked_twice_as_often(sites: Sites) -> None:
    host = sites.host(DELAY_1)
    spider = ProbeSpider()
    requests = [
        spider.request(url, meta={"download_slot": f"slot {number % 2}"})
        for number, url in enumerate(pages(host))
    ]
    crawler = await crawl(*requests)
    assert len(host.fetched) == 4
    assert min(gaps(crawler.spider.sent, host)) >= LEAST
    assert max(gaps(crawler.spider.sent, host)) < Departures.LONGEST / 2  # nor much less often


@parts_of_seconds
@pytest_twisted.ensureDeferred
async def test_a_longer_delay_of_the_project_stays(sites: Sites) -> None:
    host = sites.host("User-agent: *\nDisallow: /never\nCrawl-delay: 0.2\n")
    no_jitter = {"jitter": 0, "randomize_delay": False}  # from 2.19, up to 2.18
    crawler = await crawl(*pages(host, 3), DOWNLOAD_SLOTS={host.address: {"delay": 1, **no_jitter}})
    assert min(gaps(crawler.spider.sent, host)) >= LEAST


@parts_of_seconds
@pytest.mark.skipif(HAS_THROTTLER, reason="no scope shows a delay")
@pytest.mark.parametrize("downloader", [{}, {"DOWNLOADER": Downloader}], ids=["ours", "Scrapy's"])
@pytest_twisted.ensureDeferred
async def test_the_own_slot_of_a_host_shows_its_delay_whatever_auto_throttle_has_found(
    sites: Sites, downloader: dict[str, Any]
) -> None:
    """crawl-delay.md: "``slot.delay`` shows the Crawl-delay from the first request on"."""
    seen = []

    class SlotSpider(ProbeSpider):
        def parse(self, response: Any) -> Any:
            seen.append(self.crawler.engine.downloader.slots[host.address].delay)
            return super().parse(response)

    host = sites.host("User-agent: *\nDisallow: /never\nCrawl-delay: 0.2\n")
    await crawl_with(*pages(host, 3), spider=SlotSpider, **SETTINGS["AutoThrottle"], **downloader)
    assert seen == [0.2] * 3


@pytest_twisted.ensureDeferred
async def test_a_middleware_that_chooses_the_slot_does_not_escape_the_delay(sites: Sites) -> None:
    """crawl-delay.md: "Whatever slot their download_slot names"."""
    host = sites.host(DELAY_1)
    crawler = await crawl(*pages(host), DOWNLOADER_MIDDLEWARES={RotatingProxies: 610})
    assert min(gaps(crawler.spider.sent, host)) >= LEAST


class RotatingProxies:
    """As scrapy-rotating-proxies at 610: a downloader slot for each proxy."""

    def __init__(self) -> None:
        self._slots = cycle(["proxy 1", "proxy 2", "proxy 3"])

    def process_request(self, request: Request) -> None:
        if "robots.txt" not in request.url:
            request.meta["download_slot"] = next(self._slots)


@pytest.mark.parametrize("queue", [{}, SCRAPYS_QUEUE], ids=["ours", "Scrapy's"])
@pytest_twisted.ensureDeferred
async def test_the_delay_survives_that_a_policy_is_forgotten(
    sites: Sites, queue: dict[str, Any]
) -> None:
    one, two = sites.host(DELAY_1), sites.host(DELAY_1)
    urls = [url for pair in zip(pages(one), pages(two), strict=True) for url in pair]
    crawler = await crawl(*urls, ROBOTS_CACHE_SIZE=1, **queue)
    assert min(gaps(crawler.spider.sent, one)) >= LEAST
    assert min(gaps(crawler.spider.sent, two)) >= LEAST


@pytest.mark.stress
@pytest.mark.parametrize("queue", [{}, SCRAPYS_QUEUE], ids=["ours", "Scrapy's"])
@pytest_twisted.ensureDeferred
async def test_a_redirect_within_a_host_keeps_the_delay(
    sites: Sites, queue: dict[str, Any]
) -> None:
    host = sites.host(DELAY_1)
    for number in range(4):
        host.pages[f"/{number}"] = redirect(host.url(f"/to{number}"), 302)
    crawler = await crawl(*pages(host, 3), **queue)
    assert len(host.fetched) >= 6
    assert min(gaps(crawler.spider.sent, host)) >= LEAST


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "settings",
    [
        {"CONCURRENT_REQUESTS_PER_IP": 4},
        {"AUTOTHROTTLE_ENABLED": True, "AUTOTHROTTLE_START_DELAY": 0.1, **SCRAPYS_QUEUE},
        {"RETRY_ENABLED": True, "RETRY_TIMES": 4},
    ],
    ids=["a slot for an address", "AutoThrottle with Scrapy's queue", "retries"],
)
@pytest_twisted.ensureDeferred
async def test_requests_that_are_repeated_keep_the_delay_too(
    sites: Sites, settings: dict[str, Any]
) -> None:
    host = sites.host(DELAY_1)
    host.pages["/0"] = in_turn(answer(status=500), answer(status=503), answer("x"))
    crawler = await crawl(*pages(host, 3), **settings)
    assert min(gaps(crawler.spider.sent, host)) >= LEAST


@pytest_twisted.ensureDeferred
async def test_too_long_and_skipped(sites: Sites) -> None:
    host = sites.host("User-agent: *\nDisallow: /never\nCrawl-delay: 86400\n")
    crawler = await crawl(*pages(host), ROBOTS_CRAWL_DELAY_TOO_LONG="skip")
    assert host.fetched == []
    assert stat(crawler, "robotstxt/forbidden/crawl_delay") == 4
    failures = list(crawler.spider.failures.values())
    assert {type(error) for error in failures} == {RobotsDisallowed}
    assert {error.verdict.reason for error in failures} == {Reason.CRAWL_DELAY}
    assert "86400" in str(failures[0])


@pytest_twisted.ensureDeferred
async def test_too_long_is_no_reason_to_drop_where_delays_alone_are_kept(sites: Sites) -> None:
    """README: "keeps delays and drops nothing"."""
    host = sites.host("User-agent: *\nDisallow: /never\nCrawl-delay: 100\n")
    await crawl(
        host.url("/a"),
        ROBOTSTXT_OBEY=False,
        ROBOTS_CRAWL_DELAY_OBEY=True,
        ROBOTS_CRAWL_DELAY_TOO_LONG="skip",
    )
    assert host.fetched == ["/a"]


@pytest_twisted.ensureDeferred
async def test_too_long_and_obeyed(sites: Sites) -> None:
    host = sites.host(DELAY_1)
    settings = {"ROBOTS_CRAWL_DELAY_MAX": 0}
    crawler = await crawl(*pages(host, 3), **settings)
    assert min(gaps(crawler.spider.sent, host)) >= LEAST
    assert stat(crawler, "robotstxt/crawl_delay/clamped") == 0


@parts_of_seconds
@pytest_twisted.ensureDeferred
async def test_delays_kept_and_clamped_are_counted(sites: Sites) -> None:
    hosts = [
        sites.host("User-agent: *\nDisallow: /never\nCrawl-delay: 0.01\n"),
        sites.host("User-agent: *\nDisallow: /never\nCrawl-delay: 86400\n"),
        sites.host("User-agent: *\nDisallow: /never\nCrawl-delay: -3\n"),
    ]
    crawler = await crawl(*(host.url() for host in hosts), ROBOTS_CRAWL_DELAY_MAX=0.1)
    assert stat(crawler, "robotstxt/crawl_delay/applied") == 2
    assert stat(crawler, "robotstxt/crawl_delay/clamped") == 1


@pytest_twisted.ensureDeferred
async def test_delays_without_disallow(sites: Sites) -> None:
    """Asked for as Scrapy's issue 892: the delay holds, nothing is dropped."""
    host = sites.host(f"{DELAY_1}Disallow: /\n")
    crawler: Crawler = await crawl(
        *pages(host, 3), ROBOTSTXT_OBEY=False, ROBOTS_CRAWL_DELAY_OBEY=True
    )
    assert len(host.fetched) == 3
    assert min(gaps(crawler.spider.sent, host)) >= LEAST
    assert stat(crawler, "robotstxt/forbidden") == 0
