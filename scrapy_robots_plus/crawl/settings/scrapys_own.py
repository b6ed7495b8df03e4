"""Scrapy's own settings that this package reads. Scrapy checks them."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

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
