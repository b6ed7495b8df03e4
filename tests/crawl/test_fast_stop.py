"""A fast stop: the second Ctrl-C of Scrapy's next release cancels what is under way.

Where there is none, ``FastStop`` does what https://github.com/scrapy/scrapy/pull/7455 does: what
waits in a slot and what a download handler has ends in DownloadCancelledError. So it does in the
asyncio loop, where the head of that pull request never ends what it has cancelled.
"""

from __future__ import annotations

import time
from contextlib import suppress
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
import scrapy
import scrapy.exceptions
from scrapy.core.downloader import Downloader
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from scrapy.utils.reactor import is_asyncio_reactor_installed
from twisted.internet.defer import CancelledError, Deferred

from scrapy_robots_plus import RobotsDownloader, RobotsMiddleware
from scrapy_robots_plus.compat import CANCELLED
from tests.crawling import HAS_THROTTLER, IN_FILES, make_crawler, resumes_jobs, run, stat
from tests.redis_server import redis_server, scrapy_redis_may_warn
from tests.sites import answer, hang, in_turn, when
from tests.waiting import until
from tests.workers import SHARED

from .jobs import PAGES, JobSpider

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from typing_extensions import Self

    from tests.sites import Sites

pytestmark = resumes_jobs
RULES = "User-agent: *\nDisallow: /never\n"
IS_THERE = hasattr(Downloader, "stop_async")
CancelledDownload = getattr(scrapy.exceptions, "DownloadCancelledError", CancelledError)
SOON = 20.0
"""Seconds: far less than what hangs would take."""


class FastStop(RobotsDownloader):
    """Can cancel what it downloads."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self.running: set[Deferred[Response]] = set()
        self.is_stopped = False

    async def _download(self, *arguments: Any) -> Response:
        if self.is_stopped:
            raise CancelledDownload
        download: Any = super()._download(*arguments)
        running: Deferred[Response] = deferred_from_coro(download)
        self.running.add(running)
        try:
            return await maybe_deferred_to_future(running)
        except CANCELLED:
            raise CancelledDownload from None
        finally:
            self.running.discard(running)

    async def stop_async(self) -> int:
        self.is_stopped = True
        for slot in () if HAS_THROTTLER else self.slots.values():
            slot.close()
            while slot.queue:
                slot.queue.popleft()[1].errback(CancelledDownload())
        for running in list(self.running):
            running.cancel()
        return 0


def stand_in() -> dict[str, Any]:
    works = IS_THERE and not is_asyncio_reactor_installed()
    return {} if works else {"DOWNLOADER": FastStop}


async def stop(crawler: Crawler, *, at_once: bool) -> None:
    """The first and the second Ctrl-C; only the second one, if *at_once*."""
    engine: Any = crawler.engine
    if not at_once:
        deferred_from_coro(engine.close_spider_async(reason="shutdown"))
    if IS_THERE:
        await engine.close_spider_async(reason="shutdown", mode="fast")
    else:
        if at_once:
            deferred_from_coro(engine.close_spider_async(reason="shutdown"))
        await engine.downloader.stop_async()


def stop_when(condition: Any, crawler: Crawler, *, at_once: bool) -> None:
    async def watch() -> None:
        await until(condition)
        await stop(crawler, at_once=at_once)

    def begin() -> None:
        deferred_from_coro(watch())

    crawler.signals.connect(begin, scrapy.signals.engine_started, weak=False)


class Hosts:
    """One whose pages hang, one that waits at the door, and one whose robots.txt hangs; the second
    time, all of them answer.
    """

    def __init__(self, sites: Sites, delay: int = 60) -> None:
        page = answer("A page")
        self.may_answer = False
        self.silent = sites.host(RULES)
        silent = when(lambda: self.may_answer, page)
        self.silent.pages |= {f"/{number}": silent for number in range(1, PAGES)}
        self.slow = sites.host(in_turn(answer(f"{RULES}Crawl-delay: {delay}\n"), answer(RULES)))
        self.unknown = sites.host(in_turn(hang, answer(RULES)))
        self.all = (self.silent, self.slow, self.unknown)
        self.urls = [self.silent.url("/0"), self.slow.url("/a"), self.slow.url("/b")]
        self.urls += [self.unknown.url("/a")]

    @property
    def are_busy(self) -> bool:
        waiting = self.slow.fetched and self.unknown.robots_hits
        return bool(waiting) and len(self.silent.fetched) > 2

    def pages(self) -> set[tuple[str, str]]:
        wanted = {(self.silent.address, f"/{number}") for number in range(PAGES)}
        wanted |= {(self.slow.address, path) for path in ("/a", "/b")}
        return wanted | {(self.unknown.address, "/a")}


class Remembers(JobSpider):
    """A job's spider that knows which pages it has got."""

    def __init__(self, urls: list[str]) -> None:
        super().__init__(urls)
        self.got: set[tuple[str, str]] = set()

    def parse(self, response: Response) -> Any:
        host, _, path = response.url.partition("://")[2].partition("/")
        self.got.add((host.partition(":")[0], f"/{path}"))
        return super().parse(response)


@pytest.mark.parametrize("at_once", [True, False], ids=["at once", "second Ctrl-C"])
@pytest_twisted.ensureDeferred
async def test_what_is_cancelled_stays_in_the_job(
    sites: Sites, tmp_path: Path, caplog: pytest.LogCaptureFixture, at_once: bool
) -> None:
    hosts = Hosts(sites)
    settings: dict[str, Any] = {
        **stand_in(),
        "JOBDIR": str(tmp_path / "job"),
        "ROBOTS_STORE": f"sqlite:{tmp_path / 'robots.db'}",
        "ROBOTS_BACKOFF_MAX": 0,
        "DOWNLOAD_TIMEOUT": 30,
    }
    first = make_crawler(Remembers, **settings)
    stop_when(lambda: hosts.are_busy, first, at_once=at_once)
    began = time.monotonic()
    await run(first, urls=hosts.urls)
    assert time.monotonic() - began < SOON
    assert first.spider.got != hosts.pages()
    assert stat(first, "finish_reason") == "shutdown"
    assert "Traceback" not in caplog.text
    hosts.may_answer = True
    second = make_crawler(Remembers, **settings, ROBOTS_CRAWL_DELAY_OBEY=False)
    await run(second, urls=[])
    assert first.spider.got | second.spider.got == hosts.pages()
    assert second.spider.failed == []
    assert stat(second, "robotstxt/unreachable") == 0


@scrapy_redis_may_warn
@pytest_twisted.ensureDeferred
async def test_what_is_cancelled_stays_in_redis(sites: Sites) -> None:
    hosts = Hosts(sites, delay=3)  # the server remembers it
    with redis_server() as redis:
        settings = {**stand_in(), **redis, **SHARED, "ROBOTS_WORKER_LIFETIME": 10}
        first = make_crawler(Remembers, **settings, DOWNLOAD_TIMEOUT=30)
        stop_when(lambda: hosts.are_busy, first, at_once=False)
        await run(first, urls=hosts.urls)
        assert first.spider.got != hosts.pages()
        hosts.may_answer = True
        second = make_crawler(Remembers, **settings, ROBOTS_CRAWL_DELAY_OBEY=False)
        await run(second, urls=[])
    assert first.spider.got | second.spider.got == hosts.pages()
    assert second.spider.failed == []


class OwnPages:
    """A pipeline, which waits for the page that an item names."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    async def process_item(self, item: Any) -> Any:
        with suppress(*item.get("may_fail", [])):
            await self.crawler.engine.download_async(scrapy.Request(item["own"]))
        return item


class InPipeline(scrapy.Spider):
    """Its items name a page each, for :class:`OwnPages`."""

    name = "job"

    def __init__(self, pages: dict[str, str]) -> None:
        """*pages*: those of the callbacks by those of the crawl."""
        super().__init__()
        self.pages = pages

    async def start(self) -> AsyncIterator[scrapy.Request]:
        for url, own in self.pages.items():
            yield scrapy.Request(url, cb_kwargs={"own": own})

    async def parse(self, response: Response, own: str) -> Any:
        yield {"own": own}


class InCallback(InPipeline):
    """Each callback waits for a page of its own, and has an item then."""

    async def parse(self, response: Response, own: str) -> Any:
        await self.crawler.engine.download_async(scrapy.Request(own))
        yield {"own": "data:,"}


class WithFiles(InPipeline):
    """As with Scrapy's media pipelines, items go on without what could not be fetched."""

    async def parse(self, response: Response, own: str) -> Any:
        yield {"own": own, "may_fail": [Exception]}


class Asks(InCallback):
    """It asks before it waits."""

    async def parse(self, response: Response, own: str) -> Any:
        policies = self.crawler.get_downloader_middleware(RobotsMiddleware).policies
        if await policies.allowed(own):
            async for item in super().parse(response, own):
                yield item


class OwnPagesFirst(OwnPages):
    """A downloader middleware, which waits for a page, such as that of a login, before another."""

    async def process_request(self, request: scrapy.Request) -> None:
        if "own" in request.cb_kwargs:
            await self.process_item(request.cb_kwargs)


class InMiddleware(InPipeline):
    custom_settings = {"DOWNLOADER_MIDDLEWARES": {OwnPagesFirst: 560}}  # noqa: RUF012

    async def parse(self, response: Response, own: str) -> Any:
        yield {"own": "data:,"}


@pytest.mark.parametrize(
    ("spider", "queues"),
    [
        *product([InCallback, InPipeline, WithFiles, Asks, InMiddleware], [{}]),
        (InCallback, IN_FILES),
        *(
            pytest.param(spider, IN_FILES, marks=pytest.mark.stress)
            for spider in (InPipeline, WithFiles, Asks)
        ),
    ],
)
@pytest_twisted.ensureDeferred
async def test_who_waits_for_a_page_of_its_own_comes_again(
    sites: Sites, tmp_path: Path, spider: type[InPipeline], queues: dict[str, Any]
) -> None:
    hosts, live = Hosts(sites), sites.host(RULES)
    own = [hosts.silent.url("/0"), hosts.slow.url("/a"), hosts.slow.url("/b")]
    own += [hosts.unknown.url("/a"), *(hosts.silent.url(f"/{number}") for number in range(1, 4))]
    pages = {live.url(f"/{number}"): url for number, url in enumerate(own)}
    settings: dict[str, Any] = {
        **stand_in(),
        **queues,
        "JOBDIR": str(tmp_path / "job"),
        "ITEM_PIPELINES": {OwnPages: 1},
        "DOWNLOAD_TIMEOUT": 30,
    }
    first = make_crawler(spider, **settings)
    stop_when(
        lambda: hosts.are_busy and stat(first, "item_scraped_count") == 2, first, at_once=False
    )
    await run(first, pages=pages)
    hosts.may_answer = True
    second = make_crawler(spider, **settings, ROBOTS_CRAWL_DELAY_OBEY=False)
    await run(second, pages={})
    assert stat(second, "item_scraped_count") == len(pages) - 2
