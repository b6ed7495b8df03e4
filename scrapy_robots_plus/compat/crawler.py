"""A crawler, its engine, its middlewares, its signals and its process."""

from __future__ import annotations

import logging
from functools import cache
from typing import TYPE_CHECKING, Any, cast

import scrapy.signals
from pydispatch import dispatcher  # type: ignore[import-untyped]
from scrapy import Request, Spider
from scrapy.crawler import AsyncCrawlerProcess, Crawler, CrawlerProcess
from scrapy.utils.log import get_scrapy_root_handler
from twisted.internet.defer import Deferred
from twisted.logger import globalLogBeginner
from twisted.python.failure import Failure

if TYPE_CHECKING:
    from asyncio import Task
    from collections.abc import Callable, Iterable

    from scrapy.core.engine import ExecutionEngine
    from scrapy.http import Response
    from scrapy.settings import Settings
    from scrapy.spiders import SitemapSpider
    from scrapy.statscollectors import StatsCollector


def engine_of(crawler: Crawler) -> ExecutionEngine:
    """The engine, for the type checker: the annotations of 2.14 to 2.17 say it may be None.

    Can go with 2.17.
    """
    return crawler.engine


def stats_of(crawler: Crawler) -> StatsCollector:
    """Like :func:`engine_of`, for the stats."""
    return crawler.stats


def spider_of(crawler: Crawler) -> Spider:
    """Like :func:`engine_of`, for the spider. Needed by 2.14 to 2.19."""
    spider: Any = crawler.spider
    return cast("Spider", spider)


def user_agent_of(request: Request) -> bytes | None:
    """The User-Agent header of *request*; None if there is none.

    ``request.headers.get()`` takes ten times as long in 2.14 to 2.19, which first bring each name
    into the form that keys have.
    """
    lines = dict.get(request.headers, b"User-Agent")
    return lines[-1] if lines else None


def wake_engine(crawler: Crawler) -> None:
    """Makes the engine ask the scheduler for requests, once in the next turn of the loop.

    Needed by 2.14 to 2.19: on its own the engine asks after each response and every 5 seconds
    (https://github.com/scrapy/scrapy/pull/1618). Can go when a scheduler may wake the engine.
    """
    slot = engine_of(crawler)._slot  # noqa: SLF001
    if slot is not None and slot.closing is None:
        slot.nextcall.schedule()


def count_before_downloader(crawler: Crawler) -> int:
    """How many requests wait in the throttler, on their way from the scheduler to the downloader.

    Needed by https://github.com/scrapy/scrapy/pull/6931. None do in 2.14 to 2.19.
    """
    return len(getattr(engine_of(crawler), "_throttler_waiting", ()))


def fingerprint(request: Request, crawler: Crawler) -> bytes:
    """What ``REQUEST_FINGERPRINTER_CLASS`` makes of *request*.

    Like :func:`engine_of`.
    """
    return crawler.request_fingerprinter.fingerprint(request)


def is_listened_to(signal: object, crawler: Crawler) -> bool:
    """Whether any handler is connected to *signal*.

    Needed by 2.14 to 2.19: a ``SignalManager`` does not say so. Can go when one does.
    """
    handlers = dispatcher.getAllReceivers(sender=crawler, signal=signal)
    return any(True for _ in dispatcher.liveReceivers(handlers))


def watch_signals(crawler: Crawler, failed: Callable[[object, Exception], None]) -> None:
    """Calls *failed* with each handler of a signal that has raised an exception, and with that.

    Needed by 2.14 to 2.19, which log such exceptions and tell nobody. Can go when a signal manager
    does.
    """
    manager: Any = crawler.signals
    send, send_async = manager.send_catch_log, manager.send_catch_log_async

    def told(results: list[tuple[object, Any]]) -> list[tuple[object, Any]]:
        for handler, result in results:
            if result is not None:  # hardly ever, and there are seven signals for each page
                error = result.value if isinstance(result, Failure) else result
                if isinstance(error, Exception):
                    failed(handler, error)
        return results

    def instead(*arguments: Any, **named: Any) -> list[tuple[object, Any]]:
        results: list[tuple[object, Any]] = send(*arguments, **named)
        return told(results) if results else results

    async def instead_async(*arguments: Any, **named: Any) -> list[tuple[object, Any]]:
        return told(await send_async(*arguments, **named))

    manager.send_catch_log, manager.send_catch_log_async = instead, instead_async


_clear: set[type[Exception]] = set()
"""Errors whose message says enough."""


def end_crawl(crawler: Crawler, error: Exception) -> None:
    """Call this when *error*, whose message says enough, is about to stop *crawler* before it
    starts: it is logged without a traceback.
    """
    _clear.add(type(error))
    # 2.14 counts a crawl as failed, so that "scrapy crawl" exits with status 1, only if its spider
    # could not be made. Can go with it.
    crawler.spider = None
    _log_failed_crawls_once()
    for name in ("asyncio", "twisted"):  # they tell of a failed crawl: of its task or its Deferred
        logging.getLogger(name).addFilter(_without_traceback)  # the same one once only


def _without_traceback(record: logging.LogRecord) -> bool:
    error = record.exc_info[1] if record.exc_info else None
    if type(error) in _clear:
        record.msg, record.args, record.exc_info = str(error), (), None
    return True


@cache
def _log_failed_crawls_once() -> None:
    """Keeps Twisted from printing a failure that Scrapy logs.

    Twisted prints critical failures with a traceback until a log destination is set. Needed by 2.14
    to 2.19, whose observer does not set one; can go when it does.
    """
    if get_scrapy_root_handler() is not None:
        globalLogBeginner.beginLoggingTo([], discardBuffer=True, redirectStandardIO=False)


_ASYNCIO = "twisted.internet.asyncioreactor.AsyncioSelectorReactor"


def crawler_process(settings: Settings) -> AsyncCrawlerProcess | CrawlerProcess:
    """The process that Scrapy's commands would choose for *settings*.

    Needed by 2.14 to 2.19, in which the choice is part of ``scrapy.cmdline``, and is made before a
    command knows whether it needs one. Can go when Scrapy has a function for it.
    """
    asyncio = settings["TWISTED_REACTOR"] == _ASYNCIO
    forced = settings.getbool("FORCE_CRAWLER_PROCESS")
    reactorless = not settings.getbool("TWISTED_REACTOR_ENABLED", True)
    if (asyncio and not forced) or reactorless:
        return AsyncCrawlerProcess(settings)
    return CrawlerProcess(settings)


def on_failure(crawling: Deferred[Any] | Task[None], tell: Callable[[BaseException], None]) -> None:
    """Calls *tell* with what ends a crawl of a :func:`crawler_process`. It is not logged then.

    Needed and can go as that: its processes return two kinds of objects.
    """

    def failed(failure: Any) -> None:
        tell(failure.value)

    def ended(task: Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            tell(error)

    if isinstance(crawling, Deferred):
        crawling.addErrback(failed)
    else:
        crawling.add_done_callback(ended)


robots_parsed: object | None = getattr(scrapy.signals, "robots_parsed", None)
"""Scrapy's signal for a parsed robots.txt; None before 2.18. Can be imported when 2.17 goes."""


def last_process_request(crawler: Crawler, method: object) -> None:
    """Makes *method* the last ``process_request``, after all middlewares.

    Needed by 2.14 to 2.19: only a middleware of its own could stand there, which a project would
    have to name. Can go when requests can be changed in ``request_reached_downloader``.
    """
    manager = engine_of(crawler).downloader.middleware
    manager.methods["process_request"].append(cast("Any", method))


def parse_sitemap(spider: SitemapSpider, response: Response) -> Iterable[Request]:
    """The requests that *spider* makes of a sitemap, an index of sitemaps, or a robots.txt.

    Needed by 2.14 to 2.19, in which the callback has no public name. Can go when it has one.
    """
    return spider._parse_sitemap(response)  # noqa: SLF001
