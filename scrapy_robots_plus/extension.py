"""What the user sees of a crawl: warnings, progress, the final table, a telling close reason."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy import Spider, signals
from scrapy.core.scheduler import Scheduler
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.exceptions import CloseSpider, NotConfigured
from scrapy.utils.asyncio import AsyncioLoopingCall, create_looping_call
from scrapy.utils.python import global_object_name

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl.crawl import Crawl
from scrapy_robots_plus.crawl.log import crawl_log
from scrapy_robots_plus.hosts.downloader import RobotsDownloader
from scrapy_robots_plus.origins.parsers import takes_several_names
from scrapy_robots_plus.origins.policies import Policies
from scrapy_robots_plus.origins.tally import Tally
from scrapy_robots_plus.protocol.printable import printable
from scrapy_robots_plus.report.outages import Outages
from scrapy_robots_plus.report.progress import log_progress
from scrapy_robots_plus.report.table import headline, table, uses_line
from scrapy_robots_plus.requests.middleware import RobotsMiddleware
from scrapy_robots_plus.settings.scrapys_own import (
    class_in,
    has_workers,
    job_folder,
    names_our_queue,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings
    from twisted.internet.task import LoopingCall
    from typing_extensions import Self

    from scrapy_robots_plus.report.summary import SummaryFile
    from scrapy_robots_plus.settings.robots_settings import RobotsSettings

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
            from scrapy_robots_plus.audit.records import Audit

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
        _report_wiring(self._crawl)
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
        if self._crawl.has_middleware and len(tally):
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


def _report_wiring(crawl: Crawl) -> None:
    """Says which parts of the package are unused or duplicated."""
    crawler, settings = crawl.crawler, crawl.settings
    for text in _mistakes(crawler, settings):
        logger(crawler).warning(text)
    for text in _inactive(crawl):
        level = logging.WARNING if settings.defers and _DEFER in text else logging.INFO
        logger(crawler).log(level, text)


_DEFER = "ROBOTS_DEFER has no effect"


def _because(
    what: str, setting: str, used: type, ours: str, follows: str = "", remedy: str = ""
) -> str:
    """What is so because the crawl has a class of its own, and which setting changes that.

    *remedy*: that setting, if it is another one.
    """
    why = f"because {setting} is {global_object_name(used)}{follows}"
    return f'{what}, {why}. To change that, set {remedy or setting} = "{ours}".'


def _mistakes(crawler: Crawler, settings: RobotsSettings) -> Iterator[str]:
    middlewares = compat.engine_of(crawler).downloader.middleware.middlewares
    ours = [item for item in middlewares if isinstance(item, RobotsMiddleware)]
    others = [item for item in middlewares if isinstance(item, RobotsTxtMiddleware)]
    if not ours and settings.obey:
        does = "Scrapy's own obeys" if others else "nothing obeys"
        yield (
            f"RobotsMiddleware is not in DOWNLOADER_MIDDLEWARES, so {does} robots.txt. "
            'Add it: "scrapy_robots_plus.RobotsMiddleware": 100.'
        )
    elif len(ours) + len(others) > 1:
        names = [global_object_name(type(item)) for item in (*others, *ours[1:])]
        yield (
            "Every robots.txt is fetched and counted more than once, because RobotsMiddleware runs "
            f"alongside {' and '.join(names)}. Remove it from DOWNLOADER_MIDDLEWARES: "
            f"{', '.join(f'{name!r}: None' for name in names)}."
        )
    if names_our_queue(crawler.settings) and not has_workers(crawler.settings):
        scheduler = global_object_name(class_in(crawler.settings, "SCHEDULER"))
        yield (
            f"SCHEDULER_QUEUE_CLASS has no effect, because SCHEDULER is {scheduler}. To share "
            'requests with other workers, set SCHEDULER = "scrapy_redis.scheduler.Scheduler".'
        )
    if ours and not takes_several_names(crawler.settings):
        yield from _for_our_parser_alone(crawler, settings)


def _for_our_parser_alone(crawler: Crawler, settings: RobotsSettings) -> Iterator[str]:
    """What another ``ROBOTSTXT_PARSER`` leaves without effect."""
    overrides = settings.overrides.values()
    set_here: dict[str, object] = {
        "dialect in ROBOTS_OVERRIDES has no effect": any(
            "dialect" in each.read for each in overrides
        ),
        "ROBOTS_CLEAN_PARAM has no effect": settings.clean_param,
        "ROBOTS_AI_TOKENS has no effect": settings.ai_tokens,
        "ROBOTS_AI_USES is compared with tdmrep.json and pages only": settings.ai_uses,
    }
    parser = class_in(crawler.settings, "ROBOTSTXT_PARSER")
    for what in filter(set_here.get, set_here):
        yield _because(what, "ROBOTSTXT_PARSER", parser, "scrapy_robots_plus.RobotsParser")


def _inactive(crawl: Crawl) -> Iterator[str]:
    settings = crawl.crawler.settings
    if crawl.readiness is None and not (has_workers(settings) and names_our_queue(settings)):
        yield _queue_is_not_in_use(crawl)
    downloader = type(compat.engine_of(crawl.crawler).downloader)
    if not issubclass(downloader, RobotsDownloader):
        what = "robots.txt requests and the requests waiting for one count towards"
        ours = "scrapy_robots_plus.RobotsDownloader"
        yield _because(f"{what} CONCURRENT_REQUESTS", "DOWNLOADER", downloader, ours)
    if job_folder(settings) is not None and Scheduler in class_in(settings, "SCHEDULER").__mro__:
        yield from _job_is_kept(settings)


def _job_is_kept(settings: BaseSettings) -> Iterator[str]:
    """How a job is kept, if a kill may lose something of it that it need not lose."""
    from scrapy_robots_plus.job.queues import JobDupeFilter
    from scrapy_robots_plus.job.wiring import keeps_one_file

    dupefilter = class_in(settings, "DUPEFILTER_CLASS")
    if not keeps_one_file(settings):
        yield (
            "This job is kept in files, from which a kill may lose requests, because "
            "SCHEDULER_DISK_QUEUE or SCHEDULER_PRIORITY_QUEUE says so, or because it was begun "
            'with files. For the latter, "scrapy robots job convert JOBDIR" puts it into one file.'
        )
    elif not issubclass(dupefilter, JobDupeFilter):
        what = "After a kill, requests that were not yet written count as seen"
        ours = "scrapy_robots_plus.job.queues.JobDupeFilter"
        yield _because(what, "DUPEFILTER_CLASS", dupefilter, ours)


def _queue_is_not_in_use(crawl: Crawl) -> str:
    settings = crawl.crawler.settings
    scheduler = class_in(settings, "SCHEDULER")
    parts, alone, remedy = "RobotsPriorityQueue is", "", ""
    if Scheduler in scheduler.__mro__:  # issubclass() only checks for methods
        setting, ours = "SCHEDULER_PRIORITY_QUEUE", "scrapy_robots_plus.RobotsPriorityQueue"
    else:
        setting, ours = "SCHEDULER", "scrapy.core.scheduler.Scheduler"
        if job_folder(settings) is not None:
            parts = "RobotsPriorityQueue and the file of the job are"
        if has_workers(settings):
            alone = ", and each worker keeps delays for itself"
            remedy, ours = "SCHEDULER_QUEUE_CLASS", "scrapy_robots_plus.redis.RobotsQueue"
    acts = f", and {_DEFER}" if crawl.settings.defers else ""
    follows = f": requests wait for robots.txt and delays outside the queue{alone}{acts}"
    used = class_in(settings, setting)
    return _because(f"{parts} not in use", setting, used, ours, follows, remedy)
