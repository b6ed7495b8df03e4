"""Requests that go back to the scheduler, where they would be lost otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol
from uuid import uuid4
from weakref import WeakSet

from scrapy_robots_plus.crawl import compat, stats
from scrapy_robots_plus.crawl.requests import PUT_BACK_META_KEY

if TYPE_CHECKING:
    from collections.abc import Container

    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_robots_plus.policy.origin import Origin


class QueueThatDefers(Protocol):
    """What is asked of :class:`~scrapy_robots_plus.crawl.scheduling.readiness.Readiness`."""

    @property
    def slots(self) -> Container[Request]:
        """Holds the requests that were handed out and have not come back."""

    def defers(self, origin: Origin, /) -> bool:
        """Whether requests to *origin* are kept although its robots.txt cannot be read."""


class PutBack:
    """A middleware that returns a request gives it to the scheduler.

    The duplicate filter has seen it, so it has to pass by that; what it had there is given back to
    it when it comes again.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._stats = compat.stats_of(crawler)
        self._closing = uuid4().hex
        self._not_the_schedulers: WeakSet[Request] = WeakSet()
        self.readiness: QueueThatDefers | None = None
        """Set where ``RobotsPriorityQueue`` is in use."""

    def welcome(self, request: Request) -> bool:
        """Undoes what was done to a request that was put back.

        True for one that comes again although the spider closes: it is not the scheduler's, but
        that of ``engine.download_async()``, which sends what it gets.
        """
        mark = request.meta.pop(PUT_BACK_META_KEY, None)
        if mark is None:
            return False
        request.dont_filter, closing = mark
        if closing != self._closing:
            return False
        self._not_the_schedulers.add(request)
        return True

    def at_closing(self, request: Request) -> Request | None:
        """What to return for a request that was still waiting when the spider closed.

        None where the scheduler forgets its requests or would not get this one, or where it cannot
        be written down.
        """
        crawler = self._crawler
        if request in self._not_the_schedulers:
            return None
        if not (compat.scheduler_persists(crawler) and compat.fits_on_disk(request, crawler)):
            return None
        return self._copy(request, self._closing)

    def deferred(self, request: Request, origin: Origin) -> Request | None:
        """What to return for a request whose robots.txt cannot be read, to keep it in the queue.

        None where it is to fail, or where the queue in use would hand it out again at once.
        """
        readiness = self.readiness
        if readiness is None or request not in readiness.slots or not readiness.defers(origin):
            return None
        return self._copy(request)

    def _copy(self, request: Request, closing: str = "") -> Request:
        self._stats.inc_value(stats.PUT_BACK)
        meta = {**request.meta, PUT_BACK_META_KEY: (request.dont_filter, closing)}
        return request.replace(dont_filter=True, meta=meta)
