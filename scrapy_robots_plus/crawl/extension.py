"""What the user sees at the end of a crawl: one table, and a close reason that says why."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.exceptions import CloseSpider, NotConfigured

from .middleware import RobotsMiddleware
from .scheduling.estimate import Estimate
from .scheduling.surroundings import readiness_in_use
from .settings import RobotsSettings
from .tally import headline, table

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.crawler import Crawler
    from typing_extensions import Self

logger = logging.getLogger(__name__)


class RobotsExtension:
    """Logs the table of origins, and closes a crawl that was denied from the start with the
    reason ``robotstxt_denied``.
    """

    def __init__(self, crawler: Crawler) -> None:
        settings = RobotsSettings.from_settings(crawler.settings)
        if not (settings.obey or settings.keeps_delays):
            raise NotConfigured
        self._crawler = crawler
        self.estimate = Estimate(crawler, readiness_in_use)
        crawler.signals.connect(self._spider_idle, signals.spider_idle)
        crawler.signals.connect(self._spider_closed, signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def _spider_idle(self) -> None:
        middleware = self._middleware()
        if middleware is not None and middleware.denied_from_the_start:
            raise CloseSpider("robotstxt_denied")

    def _spider_closed(self, spider: Spider) -> None:
        middleware = self._middleware()
        if middleware is None or not len(middleware.tally):
            return
        logger.info(
            "robots.txt: %(headline)s\n%(table)s",
            {"headline": headline(middleware.tally), "table": table(middleware.tally)},
            extra={"spider": spider},
        )

    def _middleware(self) -> RobotsMiddleware | None:
        return self._crawler.get_downloader_middleware(RobotsMiddleware)
