"""Real crawls in this process, with the reactor that pytest-twisted runs."""

from __future__ import annotations

import os
import time
import warnings
from itertools import chain, takewhile
from typing import TYPE_CHECKING, Any

import pytest
import scrapy
from scrapy.core.downloader import Slot
from scrapy.crawler import Crawler
from scrapy.settings import Settings, default_settings
from scrapy.utils.reactor import is_asyncio_reactor_installed

from tests.waiting import pause, until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from typing_extensions import Self

ADDON = {"scrapy_robots_plus.Addon": 300}
BASE_SETTINGS: dict[str, Any] = {
    "ADDONS": ADDON,
    "USER_AGENT": "Foobot/1.0 (+https://foobot.example/)",
    "TELNETCONSOLE_ENABLED": False,
    "REMOTE_CONTROL_ENABLED": False,
    "RETRY_ENABLED": False,
    "DOWNLOAD_DELAY": 0,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
    "CONCURRENT_ITEMS": 4,  # Scrapy starts so many tasks for each response
    "LOG_LEVEL": "DEBUG",
}
OTHER_PARSER = os.environ.get("ROBOTS_TEST_PARSER")
"""One of Scrapy's own, to run the crawls with in place of ours."""
if OTHER_PARSER:
    BASE_SETTINGS["ROBOTSTXT_PARSER"] = f"scrapy.robotstxt.{OTHER_PARSER}"

IN_FILES: dict[str, Any] = {
    "SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.DownloaderAwarePriorityQueue"
}
"""Keeps a job as Scrapy does: each queue in a file of its own."""

resumes_jobs = [
    pytest.mark.filterwarnings(
        "ignore:Exception ignored.*:pytest.PytestUnraisableExceptionWarning"
    ),
    pytest.mark.usefixtures("garbage_collected"),
]
"""Scrapy 2.14 does not close empty queues that it finds when it resumes a job."""

names_rules = pytest.mark.skipif(OTHER_PARSER is not None, reason="only our parser names rules")
takes_names = pytest.mark.skipif(
    OTHER_PARSER is not None, reason="other parsers are asked for the first name only"
)
parts_of_seconds = pytest.mark.skipif(
    OTHER_PARSER == "PythonRobotParser", reason="this parser takes no part of a second for a delay"
)
reads_paces = pytest.mark.skipif(
    OTHER_PARSER is not None, reason="other parsers are asked for no pace but Crawl-delay"
)
reads_headers = pytest.mark.skipif(
    OTHER_PARSER in ("PythonRobotParser", "RerpRobotParser"),
    reason="this parser finds no token in a browser-like header",
)


HAS_THROTTLER = hasattr(default_settings, "THROTTLER")
"""Whether this Scrapy has scopes of a throttler in place of downloader slots."""


def ignore_replaced_settings() -> None:
    """A Scrapy with a throttler warns of settings that these tests have for all versions."""
    for setting in ("CONCURRENT_REQUESTS_PER_DOMAIN", "DOWNLOAD_SLOTS"):
        warnings.filterwarnings("ignore", f"The {setting} setting is deprecated")


def far_from_now() -> str:
    """Visiting hours that begin in about twelve hours."""
    hour = (time.gmtime().tm_hour + 12) % 24
    return f"{hour:02}00-{hour:02}30"


def new_slot(places: int = 8, delay: float = 0.0, jitter: float = 0.0) -> Slot:
    """A slot of Scrapy; skips the test if it has none."""
    if HAS_THROTTLER:
        pytest.skip("this Scrapy has scopes of a throttler in place of slots")
    return Slot(places, delay, jitter)


class ProbeSpider(scrapy.Spider):
    """Asks for each of *urls*, and keeps what became of it."""

    name = "probe"

    def __init__(self, urls: Iterable[str | scrapy.Request] = (), *, errback: bool = True) -> None:
        super().__init__()
        self.urls: list[Any] = list(urls)
        self.errback = self.failed if errback else None
        self.got: list[str] = []
        self.failures: dict[str, BaseException] = {}

    async def start(self) -> AsyncIterator[scrapy.Request]:
        for url in self.urls:
            yield url if isinstance(url, scrapy.Request) else self.request(url)

    def request(self, url: str, **arguments: Any) -> scrapy.Request:
        return scrapy.Request(url, errback=self.errback, dont_filter=True, **arguments)

    def parse(self, response: scrapy.http.Response) -> Any:
        self.got.append(response.url)

    def failed(self, failure: Any) -> Any:
        self.failures[failure.request.url] = failure.value


class StepSpider(ProbeSpider):
    """Asks for one URL when the one before it is done, *pause* seconds later.

    It asks for no more of its URLs when there was *enough*; then for each of *last*.
    """

    pause = 0.0
    last: tuple[str, ...] = ()

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.done: set[str] = set()

    def enough(self) -> bool:
        return False

    async def start(self) -> AsyncIterator[scrapy.Request]:
        for url in chain(takewhile(lambda _: not self.enough(), self.urls), self.last):
            request = self.request(url)
            yield request
            await self._is_done(request.url)
            await pause(self.pause)

    async def _is_done(self, url: str) -> None:
        await until(lambda: url in self.failures or url in self.done)

    def parse(self, response: scrapy.http.Response) -> None:
        super().parse(response)
        self.done.update((response.url, *response.meta.get("redirect_urls", ())))


class SendsAsBarbot:
    """A downloader middleware that sends pages as another agent than they were judged as."""

    def process_request(self, request: scrapy.Request) -> None:
        if "robots.txt" not in request.url:
            request.headers["User-Agent"] = "Barbot"


class OwnSettings(Settings):
    """Those of one crawler, which need no copy: it would take a tenth of a short crawl."""

    def copy(self) -> Self:
        return self

    frozencopy = copy


async def crawl(
    *urls: str | scrapy.Request, spider: type[scrapy.Spider] = ProbeSpider, **settings: Any
) -> Crawler:
    """Runs a crawl to its end; settings in capitals, spider arguments in small letters."""
    for name, value in settings.pop("spider_attributes", {}).items():
        spider = type(spider.__name__, (spider,), {name: value})
    arguments = {name: settings.pop(name) for name in list(settings) if name.islower()}
    crawler = make_crawler(spider, **settings)
    await run(crawler, urls=urls, **arguments)
    return crawler


def make_crawler(spider: type[scrapy.Spider] = ProbeSpider, **settings: Any) -> Crawler:
    # As a runner makes it, which would also copy all settings to look for spiders.
    reactor = {} if is_asyncio_reactor_installed() else {"TWISTED_REACTOR": None}
    return Crawler(spider, OwnSettings({**BASE_SETTINGS, **reactor, **settings}))


async def run(crawler: Crawler, **arguments: Any) -> None:
    # Awaited as a Deferred in all modes: that is what pytest-twisted runs tests on.
    await crawler.crawl(**arguments)


def stat(crawler: Crawler, name: str) -> Any:
    return crawler.stats.get_value(name, 0)
