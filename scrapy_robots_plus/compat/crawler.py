"""A crawler, its engine, its middlewares, its signals and its process."""

from __future__ import annotations

import logging
from asyncio import CancelledError, Task
from collections.abc import Callable, Iterable
from functools import cache
from traceback import walk_tb
from typing import Any, cast

import scrapy.signals
from pydispatch import dispatcher  # type: ignore[import-untyped]
from scrapy import Request, Spider
from scrapy.crawler import AsyncCrawlerProcess, Crawler, CrawlerProcess
from scrapy.downloadermiddlewares.useragent import UserAgentMiddleware
from scrapy.http import Response
from scrapy.settings import Settings
from scrapy.spiders import SitemapSpider
from scrapy.utils.log import get_scrapy_root_handler
from twisted.internet.defer import Deferred
from twisted.logger import globalLogBeginner
from twisted.python.failure import Failure


def spider_of(crawler: Crawler) -> Spider:
    """Returns the spider, which the annotations say may be None. Needed for the type checker."""
    return cast("Spider", crawler.spider)


def user_agent_of(request: Request) -> bytes | None:
    """Returns the User-Agent header of *request*; None if there is none.

    ``request.headers.get()`` takes ten times as long in Scrapy 2.14 to 2.19, which first bring the
    name into the form of a key.
    """
    lines = dict.get(request.headers, b"User-Agent")
    return lines[-1] if lines else None


def wake_engine(crawler: Crawler) -> None:
    """Makes the engine ask the scheduler for requests, once in the next turn of the loop.

    Needed for Scrapy 2.14 to 2.19: on its own, the engine asks after each response and every 5
    seconds (https://github.com/scrapy/scrapy/pull/1618). Remove when a scheduler may wake it.
    """
    slot = crawler.engine._slot  # noqa: SLF001
    if slot is not None and slot.closing is None:
        slot.nextcall.schedule()


def wake_after_pauses(crawler: Crawler) -> None:
    """Makes the engine ask the scheduler for requests when it is unpaused.

    Needed for Scrapy 2.14 to 2.19: on its own, it does so up to 5 seconds later. Remove when it
    asks at once.
    """
    engine = crawler.engine
    unpause = engine.unpause

    def instead() -> None:
        unpause()
        wake_engine(crawler)

    engine.unpause = instead  # type: ignore[method-assign]


def count_before_downloader(crawler: Crawler) -> int:
    """Returns how many requests wait in the throttler, between the scheduler and the downloader.

    Needed for https://github.com/scrapy/scrapy/pull/6931. None wait in Scrapy 2.14 to 2.19.
    """
    return len(getattr(crawler.engine, "_throttler_waiting", ()))


def is_listened_to(signal: object, crawler: Crawler) -> bool:
    """Returns whether any handler is connected to *signal*.

    Needed for Scrapy 2.14 to 2.19: a ``SignalManager`` does not say so. Remove when one does.
    """
    handlers = dispatcher.getAllReceivers(sender=crawler, signal=signal)
    return any(True for _ in dispatcher.liveReceivers(handlers))


def watch_signals(crawler: Crawler, failed: Callable[[object, Exception], None]) -> None:
    """Calls *failed* with each signal handler that raises an exception, and that exception.

    Needed for Scrapy 2.14 to 2.19, which only log such exceptions. Remove when a signal manager
    reports them.
    """
    manager: Any = crawler.signals
    send, send_async = manager.send_catch_log, manager.send_catch_log_async

    def told(results: list[tuple[object, Any]]) -> list[tuple[object, Any]]:
        for handler, result in results:
            error = result.value if isinstance(result, Failure) else result
            if isinstance(error, Exception):
                failed(handler, error)
        return results

    def instead(*arguments: Any, **named: Any) -> list[tuple[object, Any]]:
        results: list[tuple[object, Any]] = send(*arguments, **named)
        for _, result in results:
            if result is not None:  # rare, while each page sends seven signals
                return told(results)
        return results

    async def instead_async(*arguments: Any, **named: Any) -> list[tuple[object, Any]]:
        return told(await send_async(*arguments, **named))

    manager.send_catch_log, manager.send_catch_log_async = instead, instead_async


_clear: set[type[Exception]] = set()
"""The types of errors whose message says enough without a traceback."""


def end_crawl(crawler: Crawler, error: Exception) -> None:
    """Has *error* logged without a traceback, because its message says enough.

    To be called when *error* is about to stop *crawler* before it starts.
    """
    _clear.add(type(error))
    # Scrapy 2.14 counts a crawl as failed, so that "scrapy crawl" exits with status 1, only if its
    # spider could not be made. Remove with 2.14.
    crawler.spider = None
    _log_failed_crawls_once()
    for name in ("asyncio", "twisted"):  # they log a failed crawl: its task or its Deferred
        logging.getLogger(name).addFilter(_without_traceback)  # added once only


def _without_traceback(record: logging.LogRecord) -> bool:
    error = record.exc_info[1] if record.exc_info else None
    if type(error) in _clear:
        record.msg, record.args, record.exc_info = str(error), (), None
    return True


@cache
def _log_failed_crawls_once() -> None:
    """Keeps Twisted from printing a failure that Scrapy logs.

    Twisted prints critical failures with a traceback until a log destination is set. Needed for
    Scrapy 2.14 to 2.19, whose observer does not set one. Remove when it does.
    """
    if get_scrapy_root_handler() is not None:
        globalLogBeginner.beginLoggingTo([], discardBuffer=True, redirectStandardIO=False)


_ASYNCIO = "twisted.internet.asyncioreactor.AsyncioSelectorReactor"


def crawler_process(settings: Settings) -> AsyncCrawlerProcess | CrawlerProcess:
    """Returns the process that Scrapy's commands would choose for *settings*.

    Needed for Scrapy 2.14 to 2.19, where ``scrapy.cmdline`` makes the choice before a command knows
    whether it needs a process. Remove when Scrapy has a function for it.
    """
    asyncio = settings["TWISTED_REACTOR"] == _ASYNCIO
    forced = settings.getbool("FORCE_CRAWLER_PROCESS")
    reactorless = not settings.getbool("TWISTED_REACTOR_ENABLED", True)
    if (asyncio and not forced) or reactorless:
        return AsyncCrawlerProcess(settings)
    return CrawlerProcess(settings)


def on_failure(crawling: Deferred[Any] | Task[None], tell: Callable[[BaseException], None]) -> None:
    """Calls *tell* with the error that ends a crawl of a :func:`crawler_process`.

    It is not logged then. Needed as long as that function, whose processes return two kinds of
    objects.
    """

    def failed(failure: Any) -> None:
        if not failure.check(CancelledError):
            tell(failure.value)

    ended = crawling if isinstance(crawling, Deferred) else Deferred.fromFuture(crawling)
    ended.addErrback(failed)


robots_parsed: object | None = getattr(scrapy.signals, "robots_parsed", None)
"""Scrapy's signal for a parsed robots.txt; None before Scrapy 2.18. Import it once 2.17 goes."""


def last_process_request(crawler: Crawler, own: object, method: object) -> None:
    """Makes *method* the last ``process_request``, unless all middlewares after *own* are Scrapy's,
    which are known to put into the User-Agent header what the settings say.

    Needed for Scrapy 2.14 to 2.19: otherwise it would take a middleware, which each project would
    have to name. Remove when requests can be changed in ``request_reached_downloader``.
    """
    manager = crawler.engine.downloader.middleware
    kinds = list(map(type, manager.middlewares))
    # A middleware of the project may call *own* itself.
    later = kinds[kinds.index(type(own)) + 1 :] if own in manager.middlewares else []
    are_scrapys = all(each.__module__.startswith("scrapy.") for each in later)
    if not are_scrapys or UserAgentMiddleware not in later:
        manager.methods["process_request"].append(cast("Any", method))


def wrong_setting_in(error: Exception) -> str:
    """Returns which of Scrapy's own settings *error* is about, and why; "" if it is about none.

    Needed for Scrapy 2.14 to 2.19, whose errors name no setting. Remove when they do.
    """
    for frame, _ in walk_tb(error.__traceback__ if isinstance(error, ValueError) else None):
        if frame.f_globals.get("__name__") in ("scrapy.settings", "scrapy.utils.log"):
            return ": ".join(filter(None, (frame.f_locals.get("name"), str(error))))
    return ""


def sitemap_callback(spider: SitemapSpider) -> Callable[[Response], Iterable[Request]]:
    """Returns the method of *spider* that reads a sitemap, a sitemap index or a robots.txt.

    Needed for Scrapy 2.14 to 2.19, where it has no public name. Remove when it has one.
    """
    return spider._parse_sitemap  # noqa: SLF001
