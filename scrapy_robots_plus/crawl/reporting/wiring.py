"""Says at the start which parts of the package are not in use, or are there twice."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy.core.scheduler import Scheduler
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.utils.python import global_object_name

from scrapy_robots_plus.crawl import compat
from scrapy_robots_plus.crawl.gate.downloader import RobotsDownloader
from scrapy_robots_plus.crawl.gate.middleware import RobotsMiddleware
from scrapy_robots_plus.crawl.settings import queue_class, scheduler_class

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from scrapy_robots_plus.crawl.gate.crawl import Crawl
    from scrapy_robots_plus.crawl.settings import RobotsSettings

logger = logging.getLogger(__name__)


def report_wiring(crawl: Crawl) -> None:
    """To be called when the spider has been opened."""
    crawler, settings = crawl.crawler, crawl.settings
    for text in _mistakes(crawler, settings):
        logger.warning(text, extra={"spider": crawler.spider})
    for text in _inactive(crawl):
        level = logging.WARNING if settings.defers and _DEFER in text else logging.INFO
        logger.log(level, text, extra={"spider": crawler.spider})


_DEFER = 'ROBOTS_UNREACHABLE = "defer" acts as "drop"'


def _mistakes(crawler: Crawler, settings: RobotsSettings) -> list[str]:
    middlewares = compat.engine_of(crawler).downloader.middleware.middlewares
    ours = [item for item in middlewares if isinstance(item, RobotsMiddleware)]
    others = [item for item in middlewares if isinstance(item, RobotsTxtMiddleware)]
    found = []
    if not ours and settings.obey:
        does = "Scrapy's own obeys" if others else "nothing obeys"
        found.append(
            f"RobotsMiddleware is not among the DOWNLOADER_MIDDLEWARES, so {does} robots.txt. "
            'Give it its place: "scrapy_robots_plus.RobotsMiddleware": 100.'
        )
    elif len(ours) + len(others) > 1:
        names = [global_object_name(type(item)) for item in (*others, *ours[1:])]
        found.append(
            "Every robots.txt is fetched and counted more than once: beside RobotsMiddleware there "
            f"is {' and '.join(names)}. Take it out of the DOWNLOADER_MIDDLEWARES: "
            f"{', '.join(f'{name!r}: None' for name in names)}."
        )
    return found


def _inactive(crawl: Crawl) -> list[str]:
    found = []
    if crawl.queue is None:
        acts = f", and {_DEFER}" if crawl.settings.defers else ""
        found.append(
            f"Requests wait for robots.txt and delays outside of the queue{acts}, because "
            f"{_queue_in_use(crawl.crawler)}."
        )
    downloader = compat.engine_of(crawl.crawler).downloader
    if not isinstance(downloader, RobotsDownloader):
        found.append(
            "robots.txt requests, and requests that wait for one, count among CONCURRENT_REQUESTS, "
            f"because DOWNLOADER is {global_object_name(type(downloader))}. What changes that is "
            'DOWNLOADER = "scrapy_robots_plus.RobotsDownloader".'
        )
    return found


def _queue_in_use(crawler: Crawler) -> str:
    scheduler, queue = scheduler_class(crawler.settings), queue_class(crawler.settings)
    if Scheduler not in scheduler.__mro__:  # issubclass() asks for its methods alone
        return (
            f"SCHEDULER is {global_object_name(scheduler)}. What changes that is "
            'SCHEDULER = "scrapy.core.scheduler.Scheduler"'
        )
    return (
        f"SCHEDULER_PRIORITY_QUEUE is {global_object_name(queue)}. What changes that is "
        'SCHEDULER_PRIORITY_QUEUE = "scrapy_robots_plus.RobotsPriorityQueue"'
    )
