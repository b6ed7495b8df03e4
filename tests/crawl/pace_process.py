"""One of several crawls that share a pace, in a fork."""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from scrapy.crawler import AsyncCrawlerProcess, CrawlerProcess

from scrapy_robots_plus import compat
from tests.crawl_process import MODES
from tests.crawling import BASE_SETTINGS, OwnSettings
from tests.forks import Forks
from tests.sending import TimedSpider, is_page_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from scrapy import Request
    from scrapy.http import Response
    from scrapy.settings import BaseSettings

    from tests.forks import Fork
    from tests.sites import Host

LONGEST = 60
"""Seconds for one crawl."""


class Printing:
    """Prints at once what it is given: it outlives a kill."""

    def append(self, entry: Any) -> None:
        os.write(1, json.dumps(entry).encode() + b"\n")


class PrintingSpider(TimedSpider):
    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.sent = Printing()  # type: ignore[assignment]


def slow_to_connect(spider: Any, seconds: float) -> Any:
    """*spider*, a :class:`.TimedSpider`, whose requests all take *seconds* to reach the site."""

    class SlowSpider(spider):
        @classmethod
        def update_settings(cls, settings: BaseSettings) -> None:
            super().update_settings(settings)

            class SlowHandler(settings["DOWNLOAD_HANDLERS"]["http"]):  # type: ignore[misc]
                async def download_request(self, request: Request) -> Response:
                    await compat.sleep(seconds)
                    response: Response = await super().download_request(request)
                    return response

            handlers = {"http": SlowHandler, "https": SlowHandler}
            settings.set("DOWNLOAD_HANDLERS", handlers, priority="spider")

    return SlowSpider


def start(
    folder: Path,
    *urls: str,
    mode: str = "asyncio",
    ahead: float = 0.0,
    slow: float = 0.0,
    longest: int = LONGEST,
    **settings: Any,
) -> Fork:
    """Starts a crawl in a process whose wall clock is *ahead* of others, and which takes *slow* to
    connect, in seconds.
    """
    job = {"mode": mode, "urls": urls, "settings": settings, "ahead": ahead, "slow": slow}
    main = f"{__name__}:main"
    return Forks.running().start(main, [json.dumps(job)], longest, folder / "log")


def ended(
    forks: Iterable[Fork], longest: float = LONGEST
) -> tuple[list[tuple[float, str]], list[dict[str, Any]]]:
    """What they sent, in order, and the stats of those that came to an end."""
    lines = [json.loads(line) for fork in forks for line in fork.output(longest).splitlines()]
    sent = [(at, url) for at, url in (line for line in lines if isinstance(line, list))]
    return sorted(sent), [line for line in lines if isinstance(line, dict)]


def gaps(sent: list[tuple[float, str]], host: Host) -> list[float]:
    """Seconds between one page request to *host* and the next."""
    return [later - at for at, later in pairwise(at for at, url in sent if is_page_of(host, url))]


def main() -> None:
    warnings.simplefilter("error")
    job = json.loads(sys.argv[1])
    true_time, ahead = time.time, job["ahead"]
    if ahead:
        time.time = lambda: true_time() + ahead
    settings = {**BASE_SETTINGS, **MODES[job["mode"]], **job["settings"]}
    runner = CrawlerProcess if job["mode"] == "select" else AsyncCrawlerProcess
    process = runner(OwnSettings(settings))
    slow = job["slow"]
    spider = slow_to_connect(PrintingSpider, slow) if slow else PrintingSpider
    crawler = process.create_crawler(spider)
    process.crawl(crawler, urls=job["urls"])
    process.start()
    print(json.dumps(crawler.stats.get_stats(), default=str), flush=True)
