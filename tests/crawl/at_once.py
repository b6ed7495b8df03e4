"""Several crawls in this process that run at the same time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from twisted.internet.defer import DeferredList

from scrapy_robots_plus import RobotsMiddleware
from scrapy_robots_plus.protocol.origin import Origin
from tests.crawling import ProbeSpider
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    import scrapy
    from scrapy.crawler import Crawler

    from tests.sites import Host

RULES = "User-agent: *\nDisallow: /closed\n"

ONE_AT_A_TIME: dict[str, Any] = {
    "ROBOTS_FETCH_CONCURRENCY": 1,
    "SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.ScrapyPriorityQueue",
    "CONCURRENT_REQUESTS": 64,
}
"""All files are looked for at once, and most of them have to wait for a place to be fetched."""


class LateSpider(ProbeSpider):
    """Asks for nothing before ``is_time``."""

    is_time: Callable[[], object]

    async def start(self) -> AsyncIterator[scrapy.Request]:
        await until(type(self).is_time)
        async for request in super().start():
            yield request


def late(condition: Callable[[], object]) -> type[LateSpider]:
    return type("LateSpider", (LateSpider,), {"is_time": staticmethod(condition)})


async def together(*crawls: tuple[Crawler, list[str]]) -> None:
    started = [crawler.crawl(urls=urls) for crawler, urls in crawls]
    for success, result in await DeferredList(started, consumeErrors=True):
        assert success, result


def urls_of(*hosts: Host) -> list[str]:
    """A page of each that its rules allow, and one that they do not."""
    return [host.url(path) for host in hosts for path in ("/open", "/closed")]


def is_fetching(crawler: Crawler, host: Host) -> bool:
    if not crawler.crawling or crawler.spider is None:
        return False
    middleware = crawler.get_downloader_middleware(RobotsMiddleware)
    origin = Origin.of(host.origin)
    assert middleware is not None
    assert origin is not None
    return bool(middleware.policies.is_fetching(origin))
