"""Reports at the start which parts of the package are unused or duplicated."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy.core.scheduler import Scheduler
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.utils.python import global_object_name

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl.log import crawl_log
from scrapy_robots_plus.hosts.downloader import RobotsDownloader
from scrapy_robots_plus.origins.parsers import takes_several_names
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

    from scrapy_robots_plus.crawl.crawl import Crawl
    from scrapy_robots_plus.settings.robots_settings import RobotsSettings

logger = crawl_log(__name__)


def report_wiring(crawl: Crawl) -> None:
    """Call this when the spider has been opened."""
    crawler, settings = crawl.crawler, crawl.settings
    for text in _mistakes(crawler, settings):
        logger(crawler).warning(text)
    for text in _inactive(crawl):
        level = logging.WARNING if settings.defers and _DEFER in text else logging.INFO
        logger(crawler).log(level, text)


_DEFER = "ROBOTS_DEFER has no effect"


def _mistakes(crawler: Crawler, settings: RobotsSettings) -> list[str]:
    middlewares = compat.engine_of(crawler).downloader.middleware.middlewares
    ours = [item for item in middlewares if isinstance(item, RobotsMiddleware)]
    others = [item for item in middlewares if isinstance(item, RobotsTxtMiddleware)]
    found = []
    if not ours and settings.obey:
        does = "Scrapy's own obeys" if others else "nothing obeys"
        found.append(
            f"RobotsMiddleware is not in DOWNLOADER_MIDDLEWARES, so {does} robots.txt. "
            'Add it: "scrapy_robots_plus.RobotsMiddleware": 100.'
        )
    elif len(ours) + len(others) > 1:
        names = [global_object_name(type(item)) for item in (*others, *ours[1:])]
        found.append(
            "Every robots.txt is fetched and counted more than once, because RobotsMiddleware runs "
            f"alongside {' and '.join(names)}. Remove it from DOWNLOADER_MIDDLEWARES: "
            f"{', '.join(f'{name!r}: None' for name in names)}."
        )
    if names_our_queue(crawler.settings) and not has_workers(crawler.settings):
        scheduler = global_object_name(class_in(crawler.settings, "SCHEDULER"))
        found.append(
            f"SCHEDULER_QUEUE_CLASS has no effect, because SCHEDULER is {scheduler}. To share "
            'requests with other workers, set SCHEDULER = "scrapy_redis.scheduler.Scheduler".'
        )
    if ours and not takes_several_names(crawler.settings):
        found.extend(_for_our_parser_alone(crawler, settings))
    return found


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
    parser = global_object_name(class_in(crawler.settings, "ROBOTSTXT_PARSER"))
    for what in filter(set_here.get, set_here):
        yield (
            f"{what}, because ROBOTSTXT_PARSER is {parser}. To change that, set "
            'ROBOTSTXT_PARSER = "scrapy_robots_plus.RobotsParser".'
        )


def _inactive(crawl: Crawl) -> list[str]:
    found = []
    if crawl.readiness is None and not _workers_share_ours(crawl.crawler.settings):
        found.append(_queue_is_not_in_use(crawl))
    downloader = compat.engine_of(crawl.crawler).downloader
    if not isinstance(downloader, RobotsDownloader):
        found.append(
            "robots.txt requests and the requests waiting for one count towards "
            "CONCURRENT_REQUESTS, because DOWNLOADER is "
            f"{global_object_name(type(downloader))}. To change that, set "
            'DOWNLOADER = "scrapy_robots_plus.RobotsDownloader".'
        )
    return found + _job_is_kept(crawl.crawler)


def _job_is_kept(crawler: Crawler) -> list[str]:
    """How a job is kept, if a kill may lose something of it that it need not lose."""
    settings = crawler.settings
    if job_folder(settings) is None or Scheduler not in class_in(settings, "SCHEDULER").__mro__:
        return []
    from scrapy_robots_plus.job.dupefilter import JobDupeFilter
    from scrapy_robots_plus.job.wiring import keeps_one_file

    dupefilter = class_in(settings, "DUPEFILTER_CLASS")
    if not keeps_one_file(settings):
        text = (
            "This job is kept in files, from which a kill may lose requests, because "
            "SCHEDULER_DISK_QUEUE says so, or because it was begun with files. For the latter, "
            '"scrapy robots job convert JOBDIR" puts it into one file.'
        )
        return [text]
    if not issubclass(dupefilter, JobDupeFilter):
        text = (
            "After a kill, requests that were not yet written count as seen, because "
            f"DUPEFILTER_CLASS is {global_object_name(dupefilter)}. To change that, set "
            'DUPEFILTER_CLASS = "scrapy_robots_plus.dupefilters.JobDupeFilter".'
        )
        return [text]
    return []


def _queue_is_not_in_use(crawl: Crawl) -> str:
    settings = crawl.crawler.settings
    scheduler = class_in(settings, "SCHEDULER")
    queue = class_in(settings, "SCHEDULER_PRIORITY_QUEUE")
    parts, alone = "RobotsPriorityQueue is", ""
    if Scheduler in scheduler.__mro__:  # issubclass() only checks for methods
        why = f"SCHEDULER_PRIORITY_QUEUE is {global_object_name(queue)}"
        remedy = 'SCHEDULER_PRIORITY_QUEUE = "scrapy_robots_plus.RobotsPriorityQueue"'
    else:
        if job_folder(settings) is not None:
            parts = "RobotsPriorityQueue and the file of the job are"
        why = f"SCHEDULER is {global_object_name(scheduler)}"
        remedy = 'SCHEDULER = "scrapy.core.scheduler.Scheduler"'
        if has_workers(settings):
            alone = ", and each worker keeps delays for itself"
            remedy = 'SCHEDULER_QUEUE_CLASS = "scrapy_robots_plus.redis.RobotsQueue"'
    acts = f", and {_DEFER}" if crawl.settings.defers else ""
    return (
        f"{parts} not in use, because {why}: requests wait for robots.txt and delays outside the "
        f"queue{alone}{acts}. To change that, set {remedy}."
    )


def _workers_share_ours(settings: BaseSettings) -> bool:
    return has_workers(settings) and names_our_queue(settings)
