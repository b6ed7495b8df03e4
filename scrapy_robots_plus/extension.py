"""What the user sees of a crawl: warnings, progress, the final table and the close reason."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy import Spider, signals
from scrapy.core.scheduler import Scheduler
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.exceptions import CloseSpider, NotConfigured
from scrapy.settings import BaseSettings, default_settings
from scrapy.utils.python import global_object_name

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl.crawl import Crawl
from scrapy_robots_plus.crawl.log import crawl_log
from scrapy_robots_plus.hosts.downloader import RobotsDownloader
from scrapy_robots_plus.hosts.queue import unknown_queue
from scrapy_robots_plus.origins.parsers import takes_several_names
from scrapy_robots_plus.origins.policies import Policies
from scrapy_robots_plus.origins.tally import Tally
from scrapy_robots_plus.protocol.printable import printable
from scrapy_robots_plus.report.outages import Outages
from scrapy_robots_plus.report.progress import log_progress
from scrapy_robots_plus.report.table import headline, table, uses_line
from scrapy_robots_plus.settings.all_settings import DECLARED
from scrapy_robots_plus.settings.scrapys_own import (
    class_in,
    has_our_priority_queue,
    has_workers,
    is_replaced,
    job_folder,
    names_our_queue,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.crawler import Crawler
    from typing_extensions import Self

    from scrapy_robots_plus.report.summary import SummaryFile

logger = crawl_log(__name__)


class RobotsExtension:
    """Extension that tells the user how the crawl obeys robots.txt.

    It logs which parts are not in use, which robots.txt files cannot be read, and the table of
    origins; it writes ``ROBOTS_SUMMARY_FILE``, and closes a crawl that was denied from the start
    with the reason ``robotstxt_denied``.

    Raises :exc:`~scrapy.exceptions.NotConfigured`, as Scrapy's own extensions do, if neither
    ``ROBOTSTXT_OBEY`` nor ``ROBOTS_CRAWL_DELAY_OBEY`` is on.
    """

    def __init__(self, crawler: Crawler) -> None:
        if is_replaced(type(self), crawler.settings, "EXTENSIONS"):
            raise NotConfigured
        if job_folder(crawler.settings) is not None:
            from scrapy_robots_plus.job.jobdir import open_job

            open_job(crawler)
        self._crawl = crawl = Crawl.of(crawler)
        if not crawl.settings.is_on:
            raise NotConfigured
        if crawl.settings.audit_log or crawl.settings.audit_warc:
            from scrapy_robots_plus.audit.recorder import Audit

            self._audit = Audit(crawl)  # kept, as signals hold their handlers weakly
        self._summary_file: SummaryFile | None = None
        crawler.signals.connect(self._spider_opened, signals.spider_opened)
        crawler.signals.connect(self._spider_idle, signals.spider_idle)
        crawler.signals.connect(self._spider_closed, signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def _spider_opened(self) -> None:
        crawler = self._crawl.crawler
        interval = crawler.settings.getfloat("LOGSTATS_INTERVAL")
        if interval > 0:
            self._end_progress = self._crawl.errors.repeat(interval, lambda: log_progress(crawler))
            crawler.signals.connect(self._end_progress, signals.spider_closed)
        _report_wiring(self._crawl)
        if not self._crawl.has_middleware:
            return
        self._crawl.get(Policies).listeners.append(Outages(self._crawl).fetch_ended)
        if self._crawl.settings.summary_file is not None:
            from scrapy_robots_plus.report.summary import SummaryFile

            self._summary_file = SummaryFile(self._crawl, self._crawl.settings.summary_file)

    def _spider_idle(self) -> None:
        crawl = self._crawl
        is_denied = crawl.holds_requests and crawl.get(Tally).denied_from_the_start
        if is_denied and not compat.start_failed(crawl.crawler):
            raise CloseSpider("robotstxt_denied")

    def _spider_closed(self, spider: Spider, reason: str) -> None:
        crawl, tally = self._crawl, self._crawl.get(Tally)
        if crawl.has_middleware and len(tally):
            lines = [table(tally, delays=crawl.settings.keeps_any_delays), uses_line(crawl)]
            logger(crawl.crawler).info(
                "robots.txt (%s): %s\n%s",
                printable(spider.name),
                headline(tally, crawl.settings.mode),
                "\n".join(filter(None, lines)),
            )
        if self._summary_file is not None:
            self._summary_file.write(reason)


def _report_wiring(crawl: Crawl) -> None:
    """Logs which parts of the package are unused or duplicated."""
    for text in _mistakes(crawl):
        logger(crawl.crawler).warning(text)
    for level, text in _not_in_use(crawl):
        logger(crawl.crawler).log(level, text)


_CONVERT = ' First convert a job that was begun with files: "scrapy robots job convert JOBDIR".'
_OURS = {
    "DOWNLOADER": "scrapy_robots_plus.RobotsDownloader",
    "DUPEFILTER_CLASS": "scrapy_robots_plus.job.dupefilter.JobDupeFilter",
    "ROBOTSTXT_PARSER": "scrapy_robots_plus.RobotsParser",
    "SCHEDULER_PRIORITY_QUEUE": "scrapy_robots_plus.RobotsPriorityQueue",
}
"""The classes that make the package work as a whole, by setting, where they are not Scrapy's."""


def _because(what: str, setting: str, settings: BaseSettings) -> str:
    """Returns a message that *what* is so because of the class that *setting* names."""
    used, needed = class_in(settings, setting), _OURS.get(setting)
    return (
        f"{what}, because {setting} is {global_object_name(used)}. To change that, set "
        f'{setting} = "{needed or getattr(default_settings, setting)}".'
    )


def _mistakes(crawl: Crawl) -> Iterator[str]:
    settings, robots = crawl.crawler.settings, crawl.settings
    middlewares = crawl.crawler.engine.downloader.middleware.middlewares
    others = [each for each in middlewares if isinstance(each, RobotsTxtMiddleware)]
    if not crawl.has_middleware and robots.obey:
        yield (
            "RobotsMiddleware is not in DOWNLOADER_MIDDLEWARES, so this package checks no request. "
            'Add it: "scrapy_robots_plus.RobotsMiddleware": 100.'
        )
    elif others:
        name = global_object_name(type(others[0]))
        yield (
            "Every robots.txt is fetched and counted more than once, because RobotsMiddleware runs "
            f"alongside {name}. Remove it from DOWNLOADER_MIDDLEWARES: {name!r}: None."
        )
    of_spider = crawl.crawler.engine.scraper.spidermw.middlewares
    made = [kind.__name__ for each in of_spider for kind in type(each).__mro__]
    for what, is_set, name, place in (
        (
            "ROBOTS_NOFOLLOW and ROBOTS_NOINDEX have",
            robots.reads_any_pages,
            "RobotsPagesMiddleware",
            60,
        ),
        ("ROBOTS_ITEM_FIELD has", robots.item_field is not None, "RobotsItemMiddleware", 10),
    ):
        if is_set and name not in made:
            yield (
                f"{name} is not in SPIDER_MIDDLEWARES, so {what} no effect. "
                f'Add it: "scrapy_robots_plus.{name}": {place}.'
            )
    if names_our_queue(settings) and not has_workers(settings):
        yield (
            "SCHEDULER_QUEUE_CLASS has no effect. To share requests with other workers, set "
            'SCHEDULER = "scrapy_redis.scheduler.Scheduler".'
        )
    if crawl.has_middleware and not takes_several_names(settings):
        for field in ("ai_tokens", "ai_uses", "clean_param", "visit_time"):
            if getattr(robots, field) not in (False, (), "ignore"):
                what = f"{DECLARED[field].name} finds nothing in robots.txt files"
                yield _because(what, "ROBOTSTXT_PARSER", settings)


def _not_in_use(crawl: Crawl) -> Iterator[tuple[int, str]]:
    settings = crawl.crawler.settings
    # issubclass() of a scheduler only checks its methods
    is_scrapys = Scheduler in class_in(settings, "SCHEDULER").__mro__
    is_job = job_folder(settings) is not None and is_scrapys
    if crawl.queue is None and not (has_workers(settings) and names_our_queue(settings)):
        what = "RobotsPriorityQueue is not in use: requests wait for robots.txt and delays outside "
        what += f"the queue{', and ROBOTS_DEFER has no effect' if crawl.settings.defer else ''}"
        level = logging.WARNING if crawl.settings.defer else logging.INFO
        if has_workers(settings):
            ours = 'SCHEDULER_QUEUE_CLASS = "scrapy_robots_plus.redis.RobotsQueue"'
            text = f"{what}, and each worker keeps delays for itself. To change that, set {ours}."
        elif not is_scrapys:
            text = _because(what, "SCHEDULER", settings)
        else:
            what += ", and a kill may lose requests of the job" if is_job else ""
            setting = unknown_queue(settings) or "SCHEDULER_PRIORITY_QUEUE"
            text = _because(what, setting, settings) + (_CONVERT if is_job else "")
        yield level, text
    if not isinstance(crawl.crawler.engine.downloader, RobotsDownloader):
        what = "robots.txt requests and the requests waiting for one count towards"
        yield logging.INFO, _because(f"{what} CONCURRENT_REQUESTS", "DOWNLOADER", settings)
    if is_job and has_our_priority_queue(settings):
        from scrapy_robots_plus.job.dupefilter import JobDupeFilter

        if not issubclass(class_in(settings, "DUPEFILTER_CLASS"), JobDupeFilter):
            what = "After a kill, requests that were not yet written count as seen"
            yield logging.INFO, _because(what, "DUPEFILTER_CLASS", settings)
