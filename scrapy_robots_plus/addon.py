"""The add-on: one line in settings.py that wires everything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.settings import BaseSettings, default_settings
from scrapy.utils.python import global_object_name

from .extension import RobotsExtension
from .hosts.downloader import RobotsDownloader
from .hosts.queue import RobotsPriorityQueue, unknown_queue
from .origins.parsers import RobotsParser
from .pages.items import RobotsItemMiddleware
from .pages.middleware import RobotsPagesMiddleware
from .requests.middleware import RobotsMiddleware
from .settings.scrapys_own import (
    has_our_priority_queue,
    has_workers,
    job_folder,
    names_our_queue,
    redis_url,
)

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from typing_extensions import Self

_MIDDLEWARES = "DOWNLOADER_MIDDLEWARES"


class Addon:
    """Scrapy add-on that puts all parts of this package in place.

    It replaces Scrapy's own middleware with :class:`RobotsMiddleware`, and adds the extension,
    :class:`RobotsPagesMiddleware` and :class:`RobotsItemMiddleware`. A subclass of one of these
    that the project has placed is used instead.
    Unless the project's settings say otherwise, it also turns ``ROBOTSTXT_OBEY`` on and replaces
    Scrapy's classes with :class:`RobotsParser`, :class:`RobotsDownloader` and
    :class:`RobotsPriorityQueue`, which keeps the requests and fingerprints of a job in one file.
    Scrapy's priority queue stays if a job was begun with files, or if the project uses request
    queues that are not Scrapy's own. With :class:`~scrapy_robots_plus.redis.RobotsQueue` in
    scrapy-redis, robots.txt files are kept on the same server.

    ``ADDONS = {"scrapy_robots_plus.Addon": 300}``
    """

    def update_settings(self, settings: BaseSettings) -> None:
        """Adds the components, and sets all else at add-on priority: a project's settings win.

        Called by Scrapy.
        """
        position = _take_out_built_in(settings)
        _add(settings, _MIDDLEWARES, RobotsMiddleware, position)
        # Where items are seen last, as the others leave them.
        _add(settings, "SPIDER_MIDDLEWARES", RobotsItemMiddleware, 10)
        # Where the pages that Scrapy's HttpErrorMiddleware hands on are seen before the others see
        # them, and what callbacks make of them after the others.
        _add(settings, "SPIDER_MIDDLEWARES", RobotsPagesMiddleware, 60)
        _add(settings, "EXTENSIONS", RobotsExtension, 0)
        settings.set("ROBOTSTXT_OBEY", True, "addon")
        settings.set("ROBOTSTXT_PARSER", RobotsParser, "addon")
        settings.set("SCHEDULER_PRIORITY_QUEUE", RobotsPriorityQueue, "addon")
        settings.set("DOWNLOADER", RobotsDownloader, "addon")
        # Before the others, wherever a project places them.
        _add(settings, "EXTENSIONS", SchedulerWiring, -1000)


class SchedulerWiring:
    """Extension that sets, at add-on priority, what depends on the scheduler and its queues.

    The add-on runs too early for that: classes of the project must not be imported before Scrapy
    has installed its reactor, as they may import one.
    """

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Changes the settings. Called by Scrapy before it freezes them."""
        settings, folder = crawler.settings, None
        if job_folder(settings) is not None:
            from .job import jobdir

            folder = jobdir.folder_for(crawler)
        if has_our_priority_queue(settings):
            if unknown_queue(settings) or (folder and jobdir.is_in_files(folder)):
                scrapys_own = default_settings.SCHEDULER_PRIORITY_QUEUE
                settings.set("SCHEDULER_PRIORITY_QUEUE", scrapys_own, "addon")
            elif folder:
                from .job.dupefilter import JobDupeFilter

                settings.set("DUPEFILTER_CLASS", JobDupeFilter, "addon")
        if names_our_queue(settings) and has_workers(settings) and (url := redis_url(settings)):
            # Workers that share requests share robots.txt files, too, on the same server.
            settings.set("ROBOTS_STORE", url, "addon")
        return cls()


def _add(settings: BaseSettings, name: str, component: type, position: int) -> None:
    """Adds *component* at *position*, unless the project has placed it.

    Later it gives way to a subclass by itself: classes of the project must not be imported before
    Scrapy has installed its reactor, as they may import one.
    """
    components: dict[Any, int | None] = settings.getdict(name)
    public = f"{__package__}.{component.__name__}"
    if components.keys().isdisjoint({component, global_object_name(component), public}):
        components[component] = position
        settings.set(name, components, settings.getpriority(name) or 0)


def _take_out_built_in(settings: BaseSettings) -> int:
    """Disables Scrapy's own middleware; returns its position, which the project may have chosen.

    ``set_in_component_priority_dict`` does not work here: up to Scrapy 2.14, the built-in, which
    the defaults name by its path, is only disabled by that path.
    """
    position, path = 100, global_object_name(RobotsTxtMiddleware)  # 100: where Scrapy has it
    components: dict[Any, int | None] = settings.getdict(_MIDDLEWARES)
    for name in (RobotsTxtMiddleware, path):
        chosen = components.pop(name, None)
        position = position if chosen is None else chosen
    components[path] = None
    settings.set(_MIDDLEWARES, components, settings.getpriority(_MIDDLEWARES) or 0)
    return position
