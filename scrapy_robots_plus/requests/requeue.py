"""Returns requests to the scheduler that would otherwise be lost."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4
from weakref import WeakSet

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl import stats
from scrapy_robots_plus.crawl.requests import PUT_BACK_META_KEY

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_robots_plus.crawl.clock import Clock
    from scrapy_robots_plus.crawl.crawl import Crawl
    from scrapy_robots_plus.protocol.origin import Origin


class Requeue:
    """A request that a middleware returns goes to the scheduler.

    The duplicate filter has seen it, so it gets ``dont_filter``; its original value is restored
    when the request comes again.
    """

    def __init__(self, crawl: Crawl) -> None:
        self._crawl = crawl
        self._crawler = crawl.crawler
        self._stats = crawl.stats
        self._closing = uuid4().hex
        self._not_the_schedulers: WeakSet[Request] = WeakSet()

    def welcome(self, request: Request) -> None:
        """Undoes what was done to a request that was requeued."""
        mark = request.meta.pop(PUT_BACK_META_KEY, None)
        if mark is None:
            return
        request.dont_filter, closing = mark
        if closing == self._closing:
            # It comes although the spider is closing: not from the scheduler, but from
            # engine.download_async(), which sends whatever it gets.
            self._not_the_schedulers.add(request)

    def copy_for_scheduler(self, request: Request, origin: Origin) -> Request | None:
        """The request to return, to keep one in the queue while its robots.txt cannot be read.

        None if the request is to fail.
        """
        if compat.is_closing(self._crawler):
            # Whatever the fetch ended in: the closing crawl may have cut it off itself.
            return self.at_closing(request)
        readiness = self._crawl.readiness
        if readiness is None or not readiness.takes_back(request, origin):
            return None  # any other queue would hand it out again at once
        return self._copy(request)

    def at_closing(self, request: Request) -> Request | None:
        """The request to return for one that was still waiting when the spider closed.

        None if the scheduler forgets its requests or would not get this one, or if it cannot be
        written to disk.
        """
        crawler = self._crawler
        if request in self._not_the_schedulers:
            return None
        if not (compat.scheduler_persists(crawler) and compat.fits_on_disk(request, crawler)):
            return None
        return self._copy(request, self._closing)

    def _copy(self, request: Request, closing: str = "") -> Request:
        self._stats.inc_value(stats.REQUEUED)
        meta = {**request.meta, PUT_BACK_META_KEY: (request.dont_filter, closing)}
        return request.replace(dont_filter=True, meta=meta)


class LateErrbacks:
    """Scrapy calls no errback for a request that is dropped when it is scheduled.

    So only requests without one are dropped there. But a caller may set the errback after
    ``engine.crawl(request)``, as ``scrapy shell`` does (Scrapy 2.15 to 2.19), and the shell would
    wait for ever. If a dropped request has an errback one round of the loop later, it is scheduled
    again. The middleware then refuses it and its errback is called.
    """

    def __init__(self, crawler: Crawler, clock: Clock) -> None:
        self._crawler = crawler
        self._call_later = clock.call_later
        self._dropped: list[Request] = []
        self._again: WeakSet[Request] = WeakSet()

    def dropped(self, request: Request) -> None:
        """*request* is dropped now; it has no errback yet."""
        if not self._dropped:
            self._call_later(0, self._look_again)
        self._dropped.append(request)

    def was_counted(self, request: Request) -> bool:
        """Whether its refusal was counted when it was dropped, before it was scheduled again."""
        if request not in self._again:
            return False
        self._again.discard(request)
        return True

    def _look_again(self) -> None:
        dropped, self._dropped = self._dropped, []
        for request in dropped:
            if request.errback is not None and not compat.is_closing(self._crawler):
                self._again.add(request)
                compat.engine_of(self._crawler).crawl(request)
