"""A crawl of a job in a process of its own, which may end badly.

usage, in a fork: SPIDER < JSON with "urls", "settings" and "limits"
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import time
import warnings
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import scrapy
from scrapy.crawler import AsyncCrawlerProcess, CrawlerProcess

from tests.crawling import BASE_SETTINGS, OwnSettings
from tests.forks import Forks

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy.http import Response

LONGEST = 1_800
"""Seconds; for a crawl of very many hosts."""
MAIN = f"{__name__}:main"
PAGES = 12
MANY = 50


class Links(scrapy.Spider):
    """From ``/0`` of each host to its other pages."""

    name = "links"

    def __init__(self, urls: list[str]) -> None:
        super().__init__()
        self.urls = urls

    async def start(self) -> AsyncIterator[scrapy.Request]:
        for url in self.urls:
            yield scrapy.Request(url)

    def parse(self, response: Response) -> Iterator[scrapy.Request]:
        if response.url.endswith("/0"):
            for number in range(1, PAGES):
                yield scrapy.Request(response.urljoin(f"/{number}"))


class Poisoned(Links):
    """The fifth page of each host ends the process."""

    def parse(self, response: Response) -> Iterator[scrapy.Request]:
        if response.url.endswith("/5"):
            os.kill(os.getpid(), signal.SIGKILL)
        yield from super().parse(response)


class PoisonedAtStart(Poisoned):
    """The page is one that each run requests anew, as Scrapy does with ``start_urls``."""

    async def start(self) -> AsyncIterator[scrapy.Request]:
        for url in self.urls:
            yield scrapy.Request(url, dont_filter=True, meta={"at": time.time()})


class Renaming(Links):
    """Its links have a callback that :class:`Links` has not."""

    def parse(self, response: Response) -> Iterator[scrapy.Request]:
        if response.url.endswith("/0"):
            for number in range(1, MANY + 1):
                yield scrapy.Request(response.urljoin(f"/{number}"), callback=self.parse_page)

    def parse_page(self, response: Response) -> None:
        pass


class Long(Links):
    """Its links need some room in the file of a job."""

    def parse(self, response: Response) -> Iterator[scrapy.Request]:
        for request in super().parse(response):
            yield request.replace(meta={"text": "x" * 2_000})


class Other(Links):
    name = "other"


class FillsDisk(Links):
    """When it is closed, no octet is left on the disk of its job, which is a small one."""

    def closed(self, reason: str) -> None:
        others = Path(self.settings["JOBDIR"]).with_name("of others")
        with suppress(OSError), others.open("wb", buffering=0) as file:
            for _ in range(10_000):
                file.write(bytes(4_096))


class TwoPages(Links):
    """``/0`` and ``/1`` of each host; the servers of *urls* are on all of loopback."""

    def __init__(self, urls: list[str]) -> None:
        super().__init__(urls)
        first, last, port = urls
        self.hosts = range(int(first), int(last))
        self.port = port

    async def start(self) -> AsyncIterator[scrapy.Request]:
        for number in self.hosts:
            address = f"127.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
            yield scrapy.Request(f"http://{address}:{self.port}/0")

    def parse(self, response: Response) -> Iterator[scrapy.Request]:
        if response.url.endswith("/0"):
            yield scrapy.Request(response.urljoin("/1"))


SPIDERS = {
    spider.__name__: spider
    for spider in (Links, Poisoned, PoisonedAtStart, Renaming, Long, Other, FillsDisk, TwoPages)
}


class Ended(NamedTuple):
    """A process that has ended."""

    status: int
    stats: dict[str, Any]
    log: str
    files: int
    """The most files that were open, connections left out, looked at with each response."""


def run_job(
    spider: type[Links], urls: list[str], *, limits: dict[str, int] | None = None, **settings: Any
) -> Ended:
    """*limits*: names of ``resource``, such as RLIMIT_NOFILE."""
    task = {"urls": urls, "settings": settings, "limits": limits or {}}
    status, output, errors = Forks.running().run(
        MAIN, [spider.__name__], json.dumps(task).encode(), LONGEST
    )
    told: dict[str, Any] = (
        json.loads(output.splitlines()[-1]) if output else {"stats": {}, "files": 0}
    )
    return Ended(status, told["stats"], errors.decode(), told["files"])


def is_file(descriptor: str) -> bool:
    try:
        return not os.readlink(f"/proc/self/fd/{descriptor}").startswith("socket:")
    except FileNotFoundError:  # the list itself
        return False


def main() -> None:
    task = json.load(sys.stdin)
    for name, most in task.get("limits", {}).items():
        resource.setrlimit(getattr(resource, name), (most, most))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    warnings.filterwarnings("ignore", "Passing method to twisted")  # by Scrapy 2.14
    settings = {**BASE_SETTINGS, "LOG_LEVEL": "INFO", **task["settings"]}
    select = "Select" in settings.get("TWISTED_REACTOR", "")
    process = (CrawlerProcess if select else AsyncCrawlerProcess)(OwnSettings(settings))
    crawler = process.create_crawler(SPIDERS[sys.argv[1]])
    most = 0

    def look() -> None:
        nonlocal most
        most = max(most, sum(map(is_file, os.listdir("/proc/self/fd"))))

    crawler.signals.connect(look, scrapy.signals.response_received)
    process.crawl(crawler, urls=task["urls"])
    process.start()
    stats = crawler.stats.get_stats() if crawler.stats else {}
    print(json.dumps({"stats": stats, "files": most}, default=str))
    sys.exit(int(process.bootstrap_failed))
