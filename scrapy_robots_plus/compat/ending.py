"""The end of a crawl: whether it is closing, and which of its requests must come again."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any
from weakref import WeakSet

from scrapy import Request, signals
from scrapy.core.scheduler import Scheduler
from scrapy.crawler import Crawler
from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import deferred_from_coro

_ending: WeakSet[Crawler] = WeakSet()
"""The crawlers that :func:`close_crawl` has ended, or is about to end."""


def close_crawl(crawler: Crawler, reason: str) -> None:
    """Closes the crawl in the next turn of the loop, unless it is closing already.

    :func:`is_closing` is true from now on.
    """
    _ending.add(crawler)
    call_later(0, lambda: deferred_from_coro(_close(crawler, reason)))


async def _close(crawler: Crawler, reason: str) -> None:
    with suppress(RuntimeError):  # there is no spider to close
        await crawler.engine.close_spider_async(reason=reason)


def is_closing(crawler: Crawler) -> bool:
    """Returns whether the engine waits for its last requests, or has no open spider.

    Needed for Scrapy 2.14 to 2.19: no public name says so. Remove when one does.
    """
    slot = crawler.engine._slot  # noqa: SLF001
    return slot is None or slot.closing is not None or crawler in _ending


def start_failed(crawler: Crawler) -> bool:
    """Returns whether ``start()`` has raised, so that the reason for the end is ``start_error``.

    Needed for Scrapy 2.14 to 2.19, as :func:`is_closing` is. The oldest have no such reason.
    """
    return bool(getattr(crawler.engine, "_start_error", False))


class ClosingWatch:
    """A poll that calls *on_closing* while the closing engine waits for its last requests.

    Needed for Scrapy 2.14 to 2.19: there is no signal before ``spider_closed``, which comes at the
    very end. So this polls from ``start()`` to ``stop()`` or to the end of the crawl. Remove when
    there is a signal. *repeat* does what :func:`.loops.repeat` does.
    """

    SECONDS = 0.1
    """Seconds between two polls."""

    def __init__(
        self,
        crawler: Crawler,
        on_closing: Callable[[], None],
        repeat: Callable[..., Callable[[], None]],
    ) -> None:
        self._crawler = crawler
        self._on_closing = on_closing
        self._repeat = repeat
        self._end: Callable[[], None] | None = None
        crawler.signals.connect(self.stop, signals.spider_closed)

    def start(self) -> None:
        """Starts polling, unless it runs already."""
        if self._end is None:
            self._end = self._repeat(self.SECONDS, self._look)

    def stop(self) -> None:
        """Stops polling, if it runs."""
        if self._end is not None:
            end, self._end = self._end, None
            end()

    def _look(self) -> None:
        if is_closing(self._crawler):
            self._on_closing()


def finished(requests: Iterable[Request], crawler: Crawler) -> list[Request]:
    """Returns those of *requests*, all handed out by the scheduler, that the engine is done with.

    A request is in progress until its callback or errback has ended and its items have left the
    pipelines; what it led to was given to the scheduler before. The scraper is asked as well: a
    callback that passes its own request to ``engine.download_async()`` takes it out of the engine's
    list. A request that the end of the crawl has cut off, as RobotsDownloader knows, is not done.
    Needed for Scrapy 2.14 to 2.19: no signal tells. Remove when one does.
    """
    engine = crawler.engine
    slot, scraper = engine._slot, engine.scraper.slot  # noqa: SLF001
    if slot is None:
        return []
    listed, scraped = slot.inprogress, scraper.active if scraper is not None else ()
    cut_off: Any = getattr(engine.downloader.active, "cut_off", ())
    return [
        each
        for each in requests
        if each not in listed and each not in scraped and each not in cut_off
    ]


def mark_scraped_as_unfinished(crawler: Crawler) -> None:
    """Marks what the scraper works on as cut off, and gives it back to Scrapy's own queue files.

    The end of the crawl leaves one of these callbacks without an answer; which one is not known.
    Needed as long as :func:`finished`.
    """
    engine = crawler.engine
    cut_off: Any = getattr(engine.downloader.active, "cut_off", set())
    scraped = engine.scraper.slot.active - cut_off if engine.scraper.slot else set()
    cut_off |= scraped
    scheduler: Any = engine._slot and engine._slot.scheduler  # noqa: SLF001
    files = getattr(scheduler, "dqs", None)  # scrapy-redis, say, has none
    if files is None or hasattr(files, "lanes_asleep"):  # a queue of this package
        return
    for request in scraped:
        if fits_on_disk(request, crawler):
            scheduler.enqueue_request(request.replace(dont_filter=True))


def scheduler_persists(crawler: Crawler) -> bool:
    """Returns whether requests given to the scheduler now persist until the next crawl.

    Scrapy's scheduler needs a disk queue for that, and scrapy-redis ``persist``. Others are assumed
    to persist: if one does not, only requests that would be dropped anyway are lost.
    """
    slot = crawler.engine._slot  # noqa: SLF001
    if slot is None:
        return False
    scheduler: Any = slot.scheduler
    if getattr(type(scheduler), "enqueue_request", None) is Scheduler.enqueue_request:
        return getattr(scheduler, "dqs", None) is not None
    return bool(getattr(scheduler, "persist", True))


def fits_on_disk(request: Request, crawler: Crawler) -> bool:
    """Returns whether Scrapy's disk queues take *request*: its callback cannot be a lambda, say."""
    try:
        pickle.dumps(request.to_dict(spider=crawler.spider), protocol=4)
    except Exception:  # noqa: BLE001 - objects in its meta may raise anything
        return False
    return True
