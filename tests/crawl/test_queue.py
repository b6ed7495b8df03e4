"""Hosts that have to wait keep no other host waiting, whatever they wait for."""

from __future__ import annotations

import asyncio
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import pytest
import pytest_twisted
from scrapy import Request, signals
from scrapy.core.engine import ExecutionEngine
from scrapy.utils.asyncio import call_later

from scrapy_robots_plus import RobotsDisallowed, RobotsDownloader, RobotsUnreachable
from tests.crawl_process import MODES, crawl_in_process
from tests.crawling import (
    ProbeSpider,
    crawl,
    far_from_now,
    make_crawler,
    parts_of_seconds,
    reads_paces,
    run,
    stat,
)
from tests.sending import HICCUP, TimedSpider, gaps
from tests.sites import A_PAGE, Host, Reply, Sites, after, answer, when
from tests.waiting import close_when

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy.crawler import Crawler
    from scrapy.http import Response

OTHERS: dict[str, dict[str, Any]] = {
    "Scrapy's queue": {"SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.DownloaderAwarePriorityQueue"},
    "a simple queue": {"SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.ScrapyPriorityQueue"},
    "Scrapy's downloader": {"DOWNLOADER": "scrapy.core.downloader.Downloader"},
    "neither": {
        "SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.DownloaderAwarePriorityQueue",
        "DOWNLOADER": "scrapy.core.downloader.Downloader",
    },
    "no add-on": {
        "ADDONS": {},
        "ROBOTSTXT_OBEY": True,
        "DOWNLOADER_MIDDLEWARES": {
            "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware": None,
            "scrapy_robots_plus.RobotsMiddleware": 100,
        },
    },
    "our queue without our middleware": {
        "ADDONS": {},
        "ROBOTSTXT_OBEY": False,
        "SCHEDULER_PRIORITY_QUEUE": "scrapy_robots_plus.RobotsPriorityQueue",
    },
}


def pages(host: Host, count: int) -> list[str]:
    return [host.url(f"/{number}") for number in range(count)]


def silent_until_served(sites: Sites, served: list[Host], count: int) -> Reply:
    """A robots.txt that is not answered before *count* pages of the hosts *served* are."""
    return when(lambda: sum(len(host.fetched) for host in served) >= count, answer(status=404))


@pytest_twisted.ensureDeferred
async def test_hosts_whose_robots_txt_hangs_take_no_place(sites: Sites) -> None:
    """More of them than there are places, and all of them first."""
    live = [sites.host() for _ in range(3)]
    silent = silent_until_served(sites, live, 15)
    dead = [sites.host(silent) for _ in range(8)]
    urls = [url for host in [*dead, *live] for url in pages(host, 5)]
    crawler = await crawl(*urls, CONCURRENT_REQUESTS=2, ROBOTS_FETCH_TIMEOUT=20)
    # Had they taken a place, nothing would have been served, and they would have timed out.
    assert crawler.spider.failures == {}
    assert len(crawler.spider.got) == len(urls)


@parts_of_seconds
@pytest.mark.parametrize("mode", MODES)
def test_in_every_reactor_mode(sites: Sites, mode: str) -> None:
    live = [sites.host("User-agent: *\nDisallow: /never\nCrawl-delay: 0.2\n"), sites.host()]
    dead = [sites.host(silent_until_served(sites, live, 8)) for _ in range(4)]
    urls = [url for host in [*dead, *live] for url in pages(host, 4)]
    result = crawl_in_process(mode, *urls, CONCURRENT_REQUESTS=2, ROBOTS_FETCH_TIMEOUT=20)
    assert result["failures"] == {}
    assert len(result["got"]) == len(urls)
    assert min(gaps(result["sent"], live[0])) >= 0.2 - HICCUP


@pytest_twisted.ensureDeferred
async def test_silent_hosts_give_their_places_among_the_fetches_on(sites: Sites) -> None:
    live = sites.host()
    dead = [sites.host(silent_until_served(sites, [live], 3)) for _ in range(6)]
    urls = [url for host in [*dead, live] for url in pages(host, 3)]
    settings: dict[str, Any] = {"ROBOTS_FETCH_CONCURRENCY": 2, "ROBOTS_FETCH_TIMEOUT": 20}
    crawler = await crawl(*urls, **settings)
    assert crawler.spider.failures == {}
    assert len(crawler.spider.got) == len(urls)


@pytest_twisted.ensureDeferred
async def test_no_more_robots_txt_are_fetched_together_than_there_are_places(sites: Sites) -> None:
    under_way, most = 0, 0

    async def counting(hit: Any, writer: asyncio.StreamWriter) -> None:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0.3)  # long enough for none to be taken for silent
        under_way -= 1
        await answer(status=404)(hit, writer)

    hosts = [sites.host(counting) for _ in range(12)]
    crawler = await crawl(*(host.url() for host in hosts), ROBOTS_FETCH_CONCURRENCY=3)
    assert len(crawler.spider.got) == 12
    assert most == 3


@parts_of_seconds
@pytest_twisted.ensureDeferred
async def test_a_host_that_waits_for_its_delay_takes_no_place(sites: Sites) -> None:
    slow = [sites.host("User-agent: *\nDisallow: /never\nCrawl-delay: 0.5\n") for _ in range(8)]
    urls = [url for host in slow for url in pages(host, 4)]
    crawler = await crawl(*urls, spider=TimedSpider, CONCURRENT_REQUESTS=2)
    assert len(crawler.spider.got) == 32
    assert min(min(gaps(crawler.spider.sent, host)) for host in slow) >= 0.5 - HICCUP
    # Two at a time, the last hosts would be begun when the first have ended.
    assert max(host.hits[0].at for host in slow) < min(host.hits[-1].at for host in slow)


class WarmingUpSpider(ProbeSpider):
    """Lets the crawl have more requests under way once its first page has come."""

    def parse(self, response: Any) -> Any:
        super().parse(response)
        self.crawler.engine.downloader.total_concurrency = 6


@pytest_twisted.ensureDeferred
async def test_the_number_of_requests_under_way_may_be_changed_by_code(sites: Sites) -> None:
    host = sites.host()
    urls = pages(host, 7)
    for path in urls[1:]:  # none is answered before all are there
        host.pages[path.removeprefix(host.origin)] = when(lambda: len(host.fetched) == 7, A_PAGE)
    crawler = await crawl(*urls, spider=WarmingUpSpider, CONCURRENT_REQUESTS=1, DOWNLOAD_TIMEOUT=10)
    assert crawler.spider.failures == {}


@pytest.mark.parametrize("number", [0, -1])
@pytest_twisted.ensureDeferred
async def test_zero_or_less_is_no_limit(number: int, sites: Sites) -> None:
    host = sites.host()
    urls = pages(host, 7)
    for path in urls[1:]:  # none is answered before all are there
        host.pages[path.removeprefix(host.origin)] = when(lambda: len(host.fetched) == 7, A_PAGE)
    crawler = await crawl(
        *urls,
        CONCURRENT_REQUESTS=number,
        CONCURRENT_REQUESTS_PER_DOMAIN=8,
        DOWNLOAD_TIMEOUT=10,
        CLOSESPIDER_TIMEOUT=20,
    )
    assert crawler.spider.failures == {}
    assert len(crawler.spider.got) == 7


class OrderedSpider(ProbeSpider):
    """Asks for pages of different priorities at once, some of them as start requests."""

    has_started = has_linked = False

    async def start(self) -> AsyncIterator[Request]:
        yield self.request(self.urls[0], callback=self.first, priority=9)
        for number, url in enumerate(self.urls[1:6]):
            yield self.request(url, priority=number % 2)
        self.has_started = True

    def first(self, response: Any) -> Any:
        for number, url in enumerate(self.urls[6:]):
            yield self.request(url, priority=number % 3)
        self.has_linked = True


def start_requests_are_queued(crawler: Crawler) -> bool:
    return cast("OrderedSpider", crawler.spider).has_started


def all_requests_are_queued(crawler: Crawler) -> bool:
    return cast("OrderedSpider", crawler.spider).has_linked


@pytest_twisted.ensureDeferred
async def test_the_order_within_a_host_is_that_of_scrapys_queue(sites: Sites) -> None:
    orders = []
    for settings in ({}, OTHERS["neither"], OTHERS["neither"] | OTHERS["a simple queue"]):
        host = sites.host()
        crawler = make_crawler(OrderedSpider, CONCURRENT_REQUESTS=1, **settings)
        later = when(partial(all_requests_are_queued, crawler), answer("A page"))
        host.pages.update((f"/{number}", later) for number in range(1, 16))
        host.pages["/0"] = when(partial(start_requests_are_queued, crawler), answer("A page"))
        await run(crawler, urls=pages(host, 16))
        orders.append(host.fetched)
    assert orders[0] == orders[1] == orders[2]
    assert len(orders[0]) == 16


@parts_of_seconds
@pytest.mark.parametrize("other", OTHERS)
@pytest_twisted.ensureDeferred
async def test_with_other_components_everything_works(sites: Sites, other: str) -> None:
    obeys = other != "our queue without our middleware"
    closed = sites.host("User-agent: *\nDisallow: /\n")
    slow = sites.host("User-agent: *\nDisallow: /never\nCrawl-delay: 0.2\n")
    dead = sites.host(answer("", 503))
    late = sites.host(after(0.3, answer("User-agent: *\nDisallow: /1\n")))
    urls = [url for host in (closed, slow, dead, late) for url in pages(host, 3)]
    crawler = await crawl(*urls, spider=TimedSpider, **OTHERS[other])
    if not obeys:
        assert len(crawler.spider.got) == 12
        return
    failures = {url: type(error) for url, error in crawler.spider.failures.items()}
    assert failures == {
        **dict.fromkeys(pages(closed, 3), RobotsDisallowed),
        **dict.fromkeys(pages(dead, 3), RobotsUnreachable),
        late.url("/1"): RobotsDisallowed,
    }
    assert min(gaps(crawler.spider.sent, slow)) >= 0.2 - HICCUP
    assert len(crawler.spider.got) == 5


@pytest_twisted.ensureDeferred
async def test_what_waits_in_the_middleware_takes_no_place_up_to_a_bound(
    sites: Sites, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RobotsDownloader, "MAX_WAITING", 6)
    live = sites.host()
    # Enough pages that no fetch of the first four is answered in its last moment.
    dead = [sites.host(silent_until_served(sites, [live], 50)) for _ in range(6)]
    urls = [host.url() for host in dead] + pages(live, 50)
    settings: dict[str, Any] = {
        **OTHERS["a simple queue"],
        "CONCURRENT_REQUESTS": 2,
        "ROBOTS_FETCH_TIMEOUT": 20,
        "ROBOTS_FETCH_RETRIES": 0,
        # Its order is that of the URLs.
        "SCHEDULER_START_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
    }
    crawler = await crawl(*urls, **settings)
    assert crawler.spider.failures == {}
    live.sites.hits.clear()
    monkeypatch.setattr(RobotsDownloader, "MAX_WAITING", 2)
    crawler = await crawl(*urls, **{**settings, "ROBOTS_FETCH_TIMEOUT": 1})
    assert len(crawler.spider.failures) >= 4


@pytest_twisted.ensureDeferred
async def test_a_request_that_is_refused_does_not_make_the_next_one_wait(sites: Sites) -> None:
    host = sites.host("User-agent: *\nDisallow: /never\nCrawl-delay: 30\nDisallow: /closed\n")
    urls = [host.url(f"/closed/{number}") for number in range(20)]
    crawler = await crawl(*urls, host.url("/open"))
    assert host.fetched == ["/open"]
    assert len(crawler.spider.failures) == 20


@pytest_twisted.ensureDeferred
async def test_robots_parsed_is_still_sent_with_a_request_of_the_host(sites: Sites) -> None:
    if not hasattr(signals, "robots_parsed"):
        pytest.skip("Scrapy 2.18 and later")
    host = sites.host("User-agent: *\nDisallow: /closed\n")
    seen: list[str] = []

    def parsed(robotparser: Any, request: Request) -> None:
        seen.append(request.url)

    crawler = make_crawler()
    crawler.signals.connect(parsed, signals.robots_parsed)
    await run(crawler, urls=[host.url("/a")])
    assert seen == [host.url("/robots.txt")]


@parts_of_seconds
@pytest_twisted.ensureDeferred
async def test_the_engine_is_not_asked_in_vain(sites: Sites) -> None:
    """A queue that sleeps for 1.5 s in all is asked a few times, not in a loop."""
    host = sites.host("User-agent: *\nDisallow: /never\nCrawl-delay: 0.5\n")
    asked: Counter[str] = Counter()
    crawler = make_crawler(TimedSpider)
    crawler.signals.connect(lambda: asked.update(["empty"]), signals.scheduler_empty, weak=False)
    await run(crawler, urls=pages(host, 4))
    assert min(gaps(crawler.spider.sent, host)) >= 0.5 - HICCUP
    assert asked["empty"] < 60


@pytest_twisted.ensureDeferred
async def test_a_host_that_asks_for_patience_gets_it(sites: Sites) -> None:
    host, other = sites.host(), sites.host()
    host.pages["/0"] = answer("", 429, retry_after="1")
    crawler = await crawl(
        host.url("/0"), *pages(host, 4)[1:], *pages(other, 4),
        spider=TimedSpider, CONCURRENT_REQUESTS=1,
    )  # fmt: skip
    waits = gaps(crawler.spider.sent, host)
    assert waits[0] >= 1 - HICCUP
    assert len(other.fetched) == 4
    assert stat(crawler, "robotstxt/retry_after") == 1


@pytest.mark.parametrize("longest", [0, 0.2])
@pytest_twisted.ensureDeferred
async def test_patience_has_bounds(sites: Sites, longest: float) -> None:
    host = sites.host()
    host.pages["/0"] = answer("", 503, retry_after="30")
    await crawl(*pages(host, 3), CONCURRENT_REQUESTS_PER_DOMAIN=1, ROBOTS_BACKOFF_MAX=longest)
    assert len(host.fetched) == 3
    assert host.gaps[0] < 15


@reads_paces
@pytest_twisted.ensureDeferred
async def test_a_request_rate_is_a_floor(sites: Sites) -> None:
    rated = sites.host("User-agent: *\nDisallow: /never\nRequest-rate: 2/1s\n")
    crawler = await crawl(*pages(rated, 3), spider=TimedSpider)
    assert min(gaps(crawler.spider.sent, rated)) >= 0.5 - HICCUP


@reads_paces
@pytest_twisted.ensureDeferred
async def test_visiting_hours_are_kept_where_they_are_to_be(sites: Sites) -> None:
    closed = sites.host(f"User-agent: *\nDisallow: /never\nVisit-time: {far_from_now()}\n")
    other = sites.host()
    await crawl(closed.url("/a"), other.url("/b"))
    assert closed.fetched == ["/a"]
    crawler = make_crawler(ROBOTS_VISIT_TIME="obey")
    other.pages["/d"] = after(0.5, answer("A page"))
    close_when(lambda: crawler.spider.got == [other.url("/d")], crawler)
    await run(crawler, urls=[closed.url("/c"), other.url("/d")])
    assert closed.fetched == ["/a"]
    assert other.fetched == ["/b", "/d"]
    assert stat(crawler, "finish_reason") == "stopped"


class Pauses(ProbeSpider):
    async def start(self) -> AsyncIterator[Request]:
        self.crawler.engine.pause()
        for url in self.urls:
            yield self.request(url)
        call_later(0.3, self.crawler.engine.unpause)


class PausesBetweenPages(ProbeSpider):
    def parse(self, response: Response) -> None:
        super().parse(response)
        self.crawler.engine.pause()
        call_later(0.5, self.crawler.engine.unpause)


@pytest.mark.parametrize("spider", [Pauses, PausesBetweenPages])
@pytest_twisted.ensureDeferred
async def test_a_crawl_that_was_paused_goes_on_at_once(
    sites: Sites, monkeypatch: pytest.MonkeyPatch, spider: type[ProbeSpider]
) -> None:
    """Not when the engine looks next, five seconds later."""
    monkeypatch.setattr(ExecutionEngine, "_SLOT_HEARTBEAT_INTERVAL", 3_600)
    hosts = [sites.host("User-agent: *\nCrawl-delay: 0.2\n") for _ in range(3)]
    urls = [host.url(f"/{page}") for host in hosts for page in range(2)]
    crawler = await crawl(*urls, spider=spider, CLOSESPIDER_TIMEOUT=30)
    assert stat(crawler, "finish_reason") == "finished"
    assert sorted(crawler.spider.got) == sorted(urls)
