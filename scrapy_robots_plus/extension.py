"""What the user sees of a crawl: warnings, progress, the final table, a telling close reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy import Spider, signals
from scrapy.exceptions import CloseSpider, NotConfigured
from scrapy.utils.asyncio import AsyncioLoopingCall, create_looping_call

from scrapy_robots_plus.crawl.crawl import Crawl
from scrapy_robots_plus.crawl.log import crawl_log
from scrapy_robots_plus.origins.policies import Policies
from scrapy_robots_plus.origins.tally import Tally
from scrapy_robots_plus.protocol.printable import printable
from scrapy_robots_plus.report.outages import Outages
from scrapy_robots_plus.report.progress import log_progress
from scrapy_robots_plus.report.table import headline, table, uses_line
from scrapy_robots_plus.settings.scrapys_own import job_folder
from scrapy_robots_plus.wiring import report_wiring

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from twisted.internet.task import LoopingCall
    from typing_extensions import Self

    from scrapy_robots_plus.report.summary import SummaryFile

logger = crawl_log(__name__)


class RobotsExtension:
    """``EXTENSIONS``: says what is not in use and which robots.txt cannot be read, logs the table
    of origins, writes ``ROBOTS_SUMMARY_FILE``, and closes a crawl that was denied from the start
    with the reason ``robotstxt_denied``.

    Raises :exc:`~scrapy.exceptions.NotConfigured`, as Scrapy's own extensions do, where neither
    ``ROBOTSTXT_OBEY`` nor ``ROBOTS_CRAWL_DELAY_OBEY`` is on.
    """

    def __init__(self, crawler: Crawler) -> None:
        if job_folder(crawler.settings) is not None:
            from scrapy_robots_plus.job.wiring import open_job

            open_job(crawler)
        self._crawl = crawl = Crawl.of(crawler)
        if not crawl.settings.is_on:
            raise NotConfigured
        self._outages = Outages(crawl)
        if crawl.settings.audit_log or crawl.settings.audit_warc:
            from scrapy_robots_plus.audit.recorder import Audit

            self._audit = Audit(crawl)  # only kept: signals hold their handlers weakly
        self._loop: AsyncioLoopingCall | LoopingCall | None = None
        self._summary_file: SummaryFile | None = None
        crawler.signals.connect(self._spider_opened, signals.spider_opened)
        crawler.signals.connect(self._spider_idle, signals.spider_idle)
        crawler.signals.connect(self._spider_closed, signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def _spider_opened(self) -> None:
        interval = self._crawl.crawler.settings.getfloat("LOGSTATS_INTERVAL")
        if interval > 0:
            self._loop = create_looping_call(self._sum_up)
            self._loop.start(interval, now=False)
        report_wiring(self._crawl)
        if not self._crawl.has_middleware:
            return
        self._crawl.get(Policies).subscribe(self._outages.landed)
        if self._crawl.settings.summary_file is not None:
            from scrapy_robots_plus.report.summary import SummaryFile

            self._summary_file = SummaryFile(self._crawl, self._crawl.settings.summary_file)
            self._summary_file.prepare()

    def _sum_up(self) -> None:
        self._outages.sum_up()
        log_progress(self._crawl.crawler)

    def _spider_idle(self) -> None:
        if self._crawl.holds_requests and self._crawl.get(Tally).denied_from_the_start:
            raise CloseSpider("robotstxt_denied")

    def _spider_closed(self, spider: Spider, reason: str) -> None:
        if self._loop is not None and self._loop.running:
            self._loop.stop()
        self._outages.sum_up()
        tally = self._crawl.get(Tally)
        if self._crawl.has_middleware and (len(tally) or tally.undecided):
            self._log_table(spider)
        if self._summary_file is not None:
            self._summary_file.write(reason)

    def _log_table(self, spider: Spider) -> None:
        crawl, tally = self._crawl, self._crawl.get(Tally)
        lines = [table(tally, delays=crawl.settings.keeps_any_delays), uses_line(crawl)]
        logger(crawl.crawler).info(
            "robots.txt (%s): %s\n%s",
            printable(spider.name),
            headline(tally, crawl.settings.mode),
            "\n".join(filter(None, lines)),
        )
