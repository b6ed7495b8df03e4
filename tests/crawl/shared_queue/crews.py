"""Several workers in this process, each with a crawler of its own."""

from __future__ import annotations

import time
import warnings
from typing import TYPE_CHECKING, Any

import scrapy
from scrapy.exceptions import ScrapyDeprecationWarning
from scrapy.utils.defer import deferred_from_coro
from twisted.internet.defer import gatherResults

from tests.crawling import make_crawler
from tests.sending import TimedSpider
from tests.waiting import until
from tests.worker_process import WorkerSpider

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler
    from twisted.internet.defer import Deferred
    from typing_extensions import Self


class CrewSpider(TimedSpider):
    """All requests can be written."""

    name = "crew"

    def request(self, url: str, **arguments: Any) -> scrapy.Request:
        return scrapy.Request(url, errback=self.errback, **arguments)


class ModeSpider(CrewSpider):
    """In a process of its own, in which scrapy-redis may warn."""

    @classmethod
    def from_crawler(cls, crawler: Crawler, *arguments: Any, **named: Any) -> Self:
        for text in ("Passing a 'spider' argument", "Spider.log"):
            warnings.filterwarnings("ignore", text, ScrapyDeprecationWarning)
        return super().from_crawler(crawler, *arguments, **named)


def workers(number: int, *urls: Any, **settings: Any) -> tuple[list[Crawler], Deferred[Any]]:
    """So many that run; what fires when all have ended. All have the same start URLs."""
    crawlers = [make_crawler(CrewSpider, **settings) for _ in range(number)]
    return crawlers, gatherResults([each.crawl(urls=urls) for each in crawlers])


async def run_workers(number: int, *urls: Any, **settings: Any) -> list[Crawler]:
    crawlers, running = workers(number, *urls, **settings)
    await running
    return crawlers


def sent(crawlers: list[Crawler]) -> list[tuple[float, str]]:
    """By all of them, in order."""
    return sorted(entry for each in crawlers for entry in each.spider.sent)


def failures(crawlers: list[Crawler]) -> dict[str, BaseException]:
    return {url: why for each in crawlers for url, why in each.spider.failures.items()}


def come(condition: Callable[[], object]) -> Deferred[None]:
    """What a test waits for while crawls run."""
    return deferred_from_coro(until(condition))


class LeavesSlowly(WorkerSpider):
    """It has something to do when its crawl has ended, before others are told that it has."""

    def closed(self, reason: str) -> None:
        time.sleep(0.5)
