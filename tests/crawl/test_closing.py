"""A crawl that closes waits for no fetch, blames no site for it, and keeps nothing half done.

What is compared are times within one run; the bounds are generous, because machines are busy.
"""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
from scrapy import signals
from scrapy.exceptions import CloseSpider
from scrapy.utils.defer import deferred_from_coro
from twisted.internet.defer import Deferred

from scrapy_robots_plus import RobotsMiddleware
from scrapy_robots_plus.compat import ClosingWatch
from scrapy_robots_plus.compat.loops import repeat
from scrapy_robots_plus.crawl.crawl import OwnErrors
from scrapy_robots_plus.origins.fetch_budget import FetchBudget
from tests.crawl_process import MODES, run_crawl
from tests.crawling import ProbeSpider, crawl, make_crawler, run, stat
from tests.forks import CLOSING_CRAWL
from tests.sites import Hit, after, answer, hang, in_turn, redirect, when
from tests.waiting import close_when, pause, until

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncIterator, Callable

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from tests.sites import Sites

RULES = "User-agent: *\nDisallow: /closed\n"
TIMEOUT = 60.0
"""Seconds for a robots.txt, where nobody ought to wait for it."""
SOON = 25.0
"""Seconds within which a crawl has to be closed that could wait for ``TIMEOUT``."""
EXPIRES_AT_ONCE: dict[str, Any] = {"ROBOTS_TTL": (1, 1)}


def noise(records: list[logging.LogRecord]) -> list[str]:
    return [
        record.getMessage()
        for record in records
        # That one tells what Scrapy has disabled in this reactor mode.
        if record.levelno >= logging.WARNING and record.name != "scrapy.middleware"
    ]


class Timed(ProbeSpider):
    """Knows when it got its last page."""

    last = 0.0

    def parse(self, response: Response) -> None:
        super().parse(response)
        self.last = time.monotonic()


class Closes(Timed):
    """Closes itself with its first page."""

    def parse(self, response: Response) -> None:
        super().parse(response)
        raise CloseSpider("enough")


class Stops(Timed):
    """``crawler.stop()`` with its first page."""

    def parse(self, response: Response) -> None:
        super().parse(response)
        stopped = getattr(self.crawler, "stop_async", self.crawler.stop)()
        if not isinstance(stopped, Deferred):
            deferred_from_coro(stopped)


@pytest.mark.parametrize("spider", [Closes, Stops])
@pytest_twisted.ensureDeferred
async def test_a_closing_crawl_does_not_wait_for_silent_hosts(
    sites: Sites, caplog: pytest.LogCaptureFixture, spider: type[Timed]
) -> None:
    silent = [sites.host(hang) for _ in range(3)]
    live = sites.host(when(lambda: all(host.robots_hits for host in silent), answer(RULES)))
    crawler = make_crawler(spider, ROBOTS_FETCH_TIMEOUT=TIMEOUT)
    await run(crawler, urls=[host.url("/") for host in (*silent, live)])
    assert time.monotonic() - crawler.spider.last < SOON
    assert [host.robots_hits for host in silent] == [1, 1, 1]
    assert crawler.spider.got == [live.url("/")]
    assert noise(caplog.records) == []
    assert len(crawler.get_downloader_middleware(RobotsMiddleware).crawl.get(FetchBudget)) == 0


@pytest_twisted.ensureDeferred
async def test_a_limit_of_time_ends_a_crawl_of_silent_hosts(sites: Sites) -> None:
    hosts = [sites.host(hang) for _ in range(3)]
    began = time.monotonic()
    crawler = await crawl(
        *(host.url("/") for host in hosts), ROBOTS_FETCH_TIMEOUT=TIMEOUT, CLOSESPIDER_TIMEOUT=1
    )
    assert time.monotonic() - began < 1 + SOON
    assert stat(crawler, "finish_reason") == "closespider_timeout"


class Refreshes(Timed):
    """Asks for a page after the robots.txt has expired."""

    async def start(self) -> AsyncIterator[Request]:
        yield self.request(self.urls[0])
        await until(lambda: self.got)
        await pause(1.3)
        yield self.request(self.urls[1])


@pytest_twisted.ensureDeferred
async def test_a_refresh_behind_the_last_page_keeps_no_crawl_open(
    sites: Sites, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    host = sites.host(in_turn(answer(RULES, etag='"1"'), hang))
    settings: dict[str, Any] = {
        "ROBOTS_STORE": f"sqlite:{tmp_path / 'robots.sqlite'}",
        **EXPIRES_AT_ONCE,
    }
    crawler = make_crawler(Refreshes, ROBOTS_FETCH_TIMEOUT=TIMEOUT, **settings)
    await run(crawler, urls=[host.url("/a"), host.url("/b")])
    assert time.monotonic() - crawler.spider.last < SOON
    assert stat(crawler, "finish_reason") == "finished"
    assert host.fetched == ["/a", "/b"]
    assert host.robots_hits == 2
    assert noise(caplog.records) == []
    # That it was called off is not held against the site.
    host.robots(RULES)
    again = await crawl(host.url("/c"), **settings)
    assert again.spider.got == [host.url("/c")]


class AsksFromOutside:
    """An extension that asks the policies when the spider opens, for nobody but itself."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self.answers: list[bool] = []
        crawler.signals.connect(self.opened, signals.spider_opened)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> AsksFromOutside:
        return cls(crawler)

    def opened(self) -> None:
        deferred_from_coro(self.ask())

    async def ask(self) -> None:
        policies = self.crawler.get_downloader_middleware(RobotsMiddleware).policies
        self.answers.append(await policies.allowed(self.crawler.settings["ASKED"]))


@pytest_twisted.ensureDeferred
async def test_what_somebody_waits_for_keeps_a_crawl_open(sites: Sites) -> None:
    slow = sites.host(after(1.0, answer(RULES)))
    live = sites.host(RULES)
    crawler = await crawl(live.url("/"), EXTENSIONS={AsksFromOutside: 0}, ASKED=slow.url("/closed"))
    assert crawler.get_extension(AsksFromOutside).answers == [False]


class Disconnects:
    """Does not answer, but sees when the other side closes the connection."""

    def __init__(self) -> None:
        self.was_left = False

    async def __call__(self, hit: Hit, writer: asyncio.StreamWriter) -> None:
        import asyncio

        while not self.was_left:
            await asyncio.sleep(0.05)
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            try:
                await writer.drain()
            except ConnectionError:
                self.was_left = True


@pytest_twisted.ensureDeferred
async def test_the_connection_of_a_fetch_that_is_called_off_is_closed(sites: Sites) -> None:
    waiting = Disconnects()
    silent = sites.host(waiting)
    live = sites.host(when(lambda: silent.robots_hits, answer(RULES)))
    began = time.monotonic()
    await crawl(silent.url("/"), live.url("/"), spider=Closes, ROBOTS_FETCH_TIMEOUT=TIMEOUT)
    await deferred_from_coro(until(lambda: waiting.was_left))
    assert time.monotonic() - began < TIMEOUT


@pytest.mark.parametrize("store", ["memory", "sqlite"])
@pytest_twisted.ensureDeferred
async def test_refreshes_that_wait_for_a_place_are_dropped_without_a_word(
    sites: Sites, caplog: pytest.LogCaptureFixture, tmp_path: Path, store: str
) -> None:
    hosts = [sites.host(in_turn(answer(RULES), hang)) for _ in range(4)]
    crawler = make_crawler(
        RefreshesAll,
        ROBOTS_STORE="memory" if store == "memory" else f"sqlite:{tmp_path / 'r.db'}",
        ROBOTS_FETCH_CONCURRENCY=1,
        ROBOTS_FETCH_TIMEOUT=TIMEOUT,
        **EXPIRES_AT_ONCE,
    )
    await run(crawler, urls=[host.url("/a") for host in hosts])
    assert len(crawler.spider.got) == 2 * len(hosts)
    assert noise(caplog.records) == []


class RefreshesAll(ProbeSpider):
    """Asks for its pages once more when all their robots.txt have expired."""

    async def start(self) -> AsyncIterator[Request]:
        for url in self.urls:
            yield self.request(url)
        await until(lambda: len(self.got) == len(self.urls))
        await pause(1.1)
        for url in self.urls:
            yield self.request(f"{url}?again")


@pytest_twisted.ensureDeferred
async def test_a_first_fetch_that_is_called_off_is_no_answer(sites: Sites, tmp_path: Path) -> None:
    """It is called off between a redirect and its target."""
    host = sites.host(redirect("/other.txt"))
    host.pages["/other.txt"] = in_turn(hang, answer(RULES))
    settings: dict[str, Any] = {
        "ROBOTS_STORE": f"sqlite:{tmp_path / 'r.db'}",
        "ROBOTS_STATUS_POLICY": "fail-open",
    }
    crawler = make_crawler(**settings)
    close_when(lambda: "/other.txt" in host.fetched, crawler)
    await run(crawler, urls=[host.url("/closed")])
    await crawl(host.url("/closed"), host.url("/open"), **settings)
    assert [path for path in host.fetched if path != "/other.txt"] == ["/open"]


@pytest_twisted.ensureDeferred
async def test_a_renewal_that_is_called_off_is_no_failure_of_the_site(
    sites: Sites, tmp_path: Path
) -> None:
    """Else the next crawl would deny for ROBOTS_RETRY_INTERVAL, without asking."""
    host = sites.host(in_turn(answer(RULES), redirect("/moved.txt")))
    host.pages["/moved.txt"] = in_turn(hang, answer(RULES))
    settings: dict[str, Any] = {
        "ROBOTS_STORE": f"sqlite:{tmp_path / 'r.db'}",
        "ROBOTS_STALE_MAX": 1,
        **EXPIRES_AT_ONCE,
    }
    await crawl(host.url("/one"), **settings)
    time.sleep(1.1)
    crawler = make_crawler(**settings)
    host.pages["/two"] = when(lambda: "/moved.txt" in host.fetched, answer("A page"))
    close_when(lambda: "/moved.txt" in host.fetched, crawler)
    await run(crawler, urls=[host.url("/two")])
    await crawl(host.url("/three"), **settings)
    assert "/three" in host.fetched


# What the tests above see in the mode of their process is left to `make stress` here.
slow = pytest.mark.stress
RUNS = [
    pytest.param(mode, how, marks=() if how == "SIGINT" or mode == "no reactor" else slow)
    for mode in MODES
    for how in ("close", "refresh", "SIGINT")
]


@pytest.mark.parametrize(("mode", "how"), RUNS)
def test_a_crawl_closes_at_once_in_every_reactor_mode(sites: Sites, mode: str, how: str) -> None:
    silent = sites.host(hang)
    robots = answer(RULES)
    when_asked = when(lambda: silent.robots_hits, robots)
    live = sites.host(in_turn(robots, hang) if how == "refresh" else when_asked)
    job = {"how": how, "silent": silent.url("/"), "live": live.url("/"), "timeout": TIMEOUT}
    result, log = run_crawl(CLOSING_CRAWL, mode, job)
    assert result["closed_after"] < SOON
    assert result["got"] >= 1
    assert result["stats"].get("log_count/ERROR", 0) == 0
    assert result["stats"].get("log_count/CRITICAL", 0) == 0
    assert "Traceback" not in log


@pytest_twisted.ensureDeferred
async def test_between_fetches_nothing_looks_whether_the_crawl_is_closing(
    sites: Sites, monkeypatch: pytest.MonkeyPatch
) -> None:
    under_way: list[bool] = []

    def counted(_: OwnErrors, seconds: float, call: Callable[[], object]) -> Callable[[], None]:
        end, number = repeat(seconds, call), len(under_way)
        under_way.append(seconds == ClosingWatch.SECONDS)

        def stop() -> None:
            under_way[number] = False
            end()

        return stop

    class Notes(ProbeSpider):
        def parse(self, response: Response) -> None:
            super().parse(response)
            looks.append(any(under_way))

    looks: list[bool] = []
    monkeypatch.setattr(OwnErrors, "repeat", counted)
    await crawl(sites.host(RULES).url("/a"), spider=Notes)
    assert len(under_way) > 1  # it did look while the file was fetched
    assert looks == [False]
