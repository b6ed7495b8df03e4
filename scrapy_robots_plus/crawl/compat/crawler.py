"""A crawler and its engine."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from scrapy.utils.log import get_scrapy_root_handler
from twisted.logger import globalLogBeginner

if TYPE_CHECKING:
    from scrapy.core.engine import ExecutionEngine
    from scrapy.crawler import Crawler
    from scrapy.statscollectors import StatsCollector


def engine_of(crawler: Crawler) -> ExecutionEngine:
    # Optional in the annotations of 2.14 to 2.17, late but never None from 2.18.
    return crawler.engine


def stats_of(crawler: Crawler) -> StatsCollector:
    return crawler.stats


def wake_engine(crawler: Crawler) -> None:
    """Makes the engine ask the scheduler for requests, once in the next turn of the loop (2.14+).

    No public name does so.
    """
    slot = engine_of(crawler)._slot  # noqa: SLF001
    if slot is not None and slot.closing is None:
        slot.nextcall.schedule()


LOGGERS_OF_FAILED_CRAWLS = ("asyncio", "twisted")
"""The loggers that say why a crawl could not start: those of its task, or of its Deferred."""


def mark_as_failed(crawler: Crawler) -> None:
    """Lets ``scrapy crawl`` exit with status 1 after a crawl that could not start.

    Up to 2.14 at least a crawl counts as failed only where its spider could not be made.
    """
    crawler.spider = None


@cache
def log_failed_crawls_once() -> None:
    """Keeps Twisted from printing a failure that Scrapy logs.

    It prints critical ones with a traceback until somebody says where its log goes, and Scrapy's
    observer (2.14 to 2.19) does not say so.
    """
    if get_scrapy_root_handler() is not None:
        globalLogBeginner.beginLoggingTo([], discardBuffer=True, redirectStandardIO=False)
