"""What the user sees of a crawl: warnings, progress, one table, a close reason that says why."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.exceptions import CloseSpider, NotConfigured
from scrapy.utils.asyncio import create_looping_call

from scrapy_robots_plus.crawl.gate.middleware import RobotsMiddleware
from scrapy_robots_plus.crawl.scheduling.running_crawl import readiness_in_use
from scrapy_robots_plus.crawl.settings import RobotsSettings, log_interval
from scrapy_robots_plus.protocol.printable import printable

from .outages import Outages
from .progress import Estimate
from .table import headline, table
from .wiring import report_wiring

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.utils.asyncio import AsyncioLoopingCall
    from twisted.internet.task import LoopingCall
    from typing_extensions import Self

logger = logging.getLogger(__name__)


class RobotsExtension:
    """Says what is not in use and which robots.txt cannot be read, logs the table of origins, and
    closes a crawl that was denied from the start with the reason ``robotstxt_denied``.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._settings = RobotsSettings.of(crawler)
        if not (self._settings.obey or self._settings.keeps_delays):
            raise NotConfigured
        self._crawler = crawler
        self.estimate = Estimate(crawler, readiness_in_use)
        self._outages = Outages(crawler, self._settings)
        self._loop: AsyncioLoopingCall | LoopingCall | None = None
        crawler.signals.connect(self._spider_opened, signals.spider_opened)
        crawler.signals.connect(self._spider_idle, signals.spider_idle)
        crawler.signals.connect(self._spider_closed, signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def _spider_opened(self) -> None:
        report_wiring(self._crawler, self._settings)
        middleware = self._middleware()
        if middleware is None:
            return
        middleware.policies.listeners.append(self._outages.landed)
        interval = log_interval(self._crawler.settings)
        if interval > 0:
            self._loop = create_looping_call(self._outages.sum_up)
            self._loop.start(interval, now=False)

    def _spider_idle(self) -> None:
        middleware = self._middleware()
        if middleware is not None and middleware.denied_from_the_start:
            raise CloseSpider("robotstxt_denied")

    def _spider_closed(self, spider: Spider) -> None:
        if self._loop is not None and self._loop.running:
            self._loop.stop()
        self._outages.sum_up()
        middleware = self._middleware()
        if middleware is None or not len(middleware.tally):
            return
        logger.info(
            "robots.txt (%(name)s): %(headline)s\n%(table)s",
            {
                "name": printable(spider.name),
                "headline": headline(middleware.tally),
                "table": table(middleware.tally),
            },
            extra={"spider": spider},
        )

    def _middleware(self) -> RobotsMiddleware | None:
        return self._crawler.get_downloader_middleware(RobotsMiddleware)
