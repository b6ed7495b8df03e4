"""Settings of Scrapy and scrapy-redis that this package reads. They are checked there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from scrapy.settings import SETTINGS_PRIORITIES
from scrapy.utils.misc import load_object

if TYPE_CHECKING:
    from scrapy.robotstxt import RobotParser
    from scrapy.settings import BaseSettings


def parser_class(settings: BaseSettings) -> type[RobotParser]:
    """``ROBOTSTXT_PARSER``, loaded."""
    return cast("type[RobotParser]", load_object(settings["ROBOTSTXT_PARSER"]))


def scheduler_class(settings: BaseSettings) -> type:
    """``SCHEDULER``, loaded."""
    return cast("type", load_object(settings["SCHEDULER"]))


def queue_class(settings: BaseSettings) -> type:
    """``SCHEDULER_PRIORITY_QUEUE``, loaded."""
    return cast("type", load_object(settings["SCHEDULER_PRIORITY_QUEUE"]))


def disk_queue_class(settings: BaseSettings) -> type:
    """``SCHEDULER_DISK_QUEUE``, loaded."""
    return cast("type", load_object(settings["SCHEDULER_DISK_QUEUE"]))


def start_disk_queue_class(settings: BaseSettings) -> type | None:
    """``SCHEDULER_START_DISK_QUEUE``, loaded; None if start requests are kept with the others."""
    chosen = settings["SCHEDULER_START_DISK_QUEUE"]
    return cast("type", load_object(chosen)) if chosen else None


def dupefilter_class(settings: BaseSettings) -> type:
    """``DUPEFILTER_CLASS``, loaded."""
    return cast("type", load_object(settings["DUPEFILTER_CLASS"]))


def logs_all_duplicates(settings: BaseSettings) -> bool:
    """``DUPEFILTER_DEBUG``."""
    return settings.getbool("DUPEFILTER_DEBUG")


def is_chosen(settings: BaseSettings, name: str) -> bool:
    """Whether the project, an add-on or a command has set *name*."""
    return (settings.getpriority(name) or 0) >= SETTINGS_PRIORITIES["addon"]


def has_workers(settings: BaseSettings) -> bool:
    """Whether ``SCHEDULER`` is that of scrapy-redis, or derived from it."""
    return _comes_from("scrapy_redis", scheduler_class(settings))


def names_our_queue(settings: BaseSettings) -> bool:
    """Whether ``SCHEDULER_QUEUE_CLASS``, which scrapy-redis reads, is a queue of this package.

    If there is no such class, scrapy-redis says so.
    """
    try:
        queue = load_object(settings.get("SCHEDULER_QUEUE_CLASS") or "")
    except (ImportError, NameError, TypeError, ValueError):
        return False
    return isinstance(queue, type) and _comes_from("scrapy_robots_plus", queue)


def _comes_from(package: str, found: type) -> bool:
    """Neither needs to be imported for that."""
    return any(base.__module__.partition(".")[0] == package for base in found.__mro__)


def job_folder(settings: BaseSettings) -> str | None:
    """``JOBDIR``; None if no job is to be resumed."""
    return settings.get("JOBDIR") or None


def log_interval(settings: BaseSettings) -> float:
    """``LOGSTATS_INTERVAL``, in seconds; 0 for never."""
    return settings.getfloat("LOGSTATS_INTERVAL")


def retry_times(settings: BaseSettings) -> int:
    """``RETRY_TIMES``: how often Scrapy sends a request again that failed."""
    return settings.getint("RETRY_TIMES")


def caches_http(settings: BaseSettings) -> bool:
    """``HTTPCACHE_ENABLED``."""
    return settings.getbool("HTTPCACHE_ENABLED")


def redis_url(settings: BaseSettings) -> Any:
    """``REDIS_URL`` of scrapy-redis, as it is; None if it is not set."""
    return settings.get("REDIS_URL")


_WAY_OF_ASKING = (
    "USER_AGENT",
    "DEFAULT_REQUEST_HEADERS",
    "DOWNLOADER_MIDDLEWARES",
    "DOWNLOAD_HANDLERS",
    "HTTPPROXY_ENABLED",
)


def how_files_are_asked_for(settings: BaseSettings) -> list[Any]:
    """Settings that decide what is sent for a robots.txt, and by which way; for comparison."""
    return [_plain(settings.get(name)) for name in _WAY_OF_ASKING]


def _plain(value: Any) -> Any:
    """*value*, with a dict that compares by what is in it in place of Scrapy's."""
    return dict(value) if hasattr(value, "items") else value
