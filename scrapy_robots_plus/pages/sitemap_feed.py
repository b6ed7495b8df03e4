"""Tells signal handlers which sitemaps a robots.txt names, and requests them."""

from __future__ import annotations

import logging
from collections import deque
from typing import TYPE_CHECKING, Any

from scrapy import Request, signals
from scrapy.exceptions import DontCloseSpider

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl import stats
from scrapy_robots_plus.crawl.recent import Recent
from scrapy_robots_plus.crawl.signals import sitemaps_found
from scrapy_robots_plus.origins.decide import Source
from scrapy_robots_plus.origins.retrieval import Retrieval, Retrieved
from scrapy_robots_plus.protocol.printable import printable

from .sitemaps import AT_ONCE, Sitemaps

if TYPE_CHECKING:
    from collections.abc import Callable

    from twisted.internet.defer import Deferred
    from twisted.python.failure import Failure

    from scrapy_robots_plus.crawl.crawl import Crawl
    from scrapy_robots_plus.origins.policy import Policy
    from scrapy_robots_plus.protocol.origin import Origin


logger = logging.getLogger(__name__)

PRIORITY = -10
"""Of sitemap requests: after the pages that are known, so that those of one sitemap are fetched
before the next one brings its up to 50,000."""


class SitemapFeed:
    """Does its work beside everything else, in small parts, and keeps the spider open meanwhile.

    A list goes out once for each origin, and again if it has changed.
    """

    def __init__(self, crawl: Crawl) -> None:
        self._crawler = crawler = crawl.crawler
        self._settings = crawl.settings
        self._sitemaps = crawl.get(Sitemaps)
        self._callback: Callable[..., Any] | None = None
        self._news: Recent[Origin, int] = Recent(crawl.settings.cache_size)
        """By their hash, the lines that went out last."""
        self._waiting: deque[Policy] = deque()
        self._working: Deferred[None] | None = None
        crawl.get(Retrieval).subscribe(self._retrieved)
        crawler.signals.connect(self._spider_opened, signals.spider_opened)
        crawler.signals.connect(self._spider_idle, signals.spider_idle)
        crawler.signals.connect(self._spider_closed, signals.spider_closed)

    def _spider_opened(self) -> None:
        if not self._settings.sitemaps:
            return
        spider = self._crawler.spider
        callback = getattr(spider, "parse_sitemap", None)
        if callable(callback):
            self._callback = callback
            return
        logger.warning(
            "ROBOTS_SITEMAPS has no effect: the spider has no parse_sitemap(response) method. "
            "RobotsSitemapSpider has one.",
            extra={"spider": spider},
        )

    def _retrieved(self, retrieved: Retrieved) -> None:
        """Not now: a signal handler or the scheduler would be called in the middle of a fetch."""
        policy = retrieved.policy
        is_wanted = self._callback or compat.is_listened_to(sitemaps_found, self._crawler)
        if policy.file is None or not is_wanted:
            return
        is_of_origin = policy.settings is self._settings.for_origin(policy.origin)
        if retrieved.policy.source is Source.OVERRIDE and not is_of_origin:
            return  # the text for one request
        self._waiting.append(policy)
        if self._working is None:
            self._working = compat.run_in_background(self._work())
            self._working.addErrback(_ignore_cancellation)

    async def _work(self) -> None:
        try:
            await compat.sleep(0)
            while self._waiting and not compat.is_closing(self._crawler):
                policy = self._waiting.popleft()
                try:
                    await self._publish(policy)
                except compat.CANCELLED:
                    raise
                except Exception:  # a scheduler elsewhere may fail for one origin alone
                    logger.exception(
                        "The sitemaps that %s names could not all be requested",
                        printable(policy.record.url),
                        extra={"spider": self._crawler.spider},
                    )
                await compat.sleep(0)
        finally:
            self._working = None
            self._waiting.clear()
            compat.wake_engine(self._crawler)  # it may have been idle

    async def _publish(self, policy: Policy) -> None:
        lines = self._sitemaps.lines(policy)
        if not lines or not self._news.is_news(policy.origin, hash(lines)):
            return
        urls = await self._sitemaps.urls(policy, lines)
        if not urls.all or compat.is_closing(self._crawler):
            return
        self._crawler.signals.send_catch_log(
            sitemaps_found, origin=policy.origin, urls=urls.all, spider=self._crawler.spider
        )
        if self._callback is not None:
            await self._schedule(urls.in_scope)

    async def _schedule(self, urls: tuple[str, ...]) -> None:
        engine, collector = compat.engine_of(self._crawler), compat.stats_of(self._crawler)
        for number, url in enumerate(urls, 1):
            if compat.is_closing(self._crawler):
                return
            collector.inc_value(stats.SITEMAPS_SCHEDULED)
            engine.crawl(Request(url, self._callback, priority=PRIORITY))
            if number % AT_ONCE == 0:
                await compat.sleep(0)

    def _spider_idle(self) -> None:
        if self._working is not None:
            raise DontCloseSpider

    def _spider_closed(self) -> None:
        if self._working is not None:
            self._working.cancel()


def _ignore_cancellation(failure: Failure) -> Failure | None:
    return None if isinstance(failure.value, compat.CANCELLED) else failure
