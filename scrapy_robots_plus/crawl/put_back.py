"""Requests that go back to the scheduler, where they would be lost otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

from . import compat
from .settings import job_folder

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_robots_plus.policy.origin import Origin

    from .scheduling.readiness import Readiness

_META_KEY = "robots_put_back"
"""The ``dont_filter`` that a request had before it was put back, and which closing did it."""


class PutBack:
    """A middleware that returns a request gives it to the scheduler.

    The duplicate filter has seen it, so it has to pass by that; what it had there is given back to
    it when it comes again.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._stats = compat.stats_of(crawler)
        self._has_job = job_folder(crawler.settings) is not None
        self._closing = uuid4().hex
        self.readiness: Readiness | None = None
        """Set where ``RobotsPriorityQueue`` is in use."""

    def welcome(self, request: Request) -> bool:
        """Undoes what was done to a request that was put back.

        True for one that comes again although the spider closes: it is not the scheduler's, but
        that of ``engine.download_async()``, which sends what it gets.
        """
        mark = request.meta.pop(_META_KEY, None)
        if mark is None:
            return False
        request.dont_filter, closing = mark
        return bool(closing == self._closing)

    def at_closing(self, request: Request) -> Request | None:
        """What to return for a request whose robots.txt was not read before the spider closed.

        None where there is no job to be resumed, or where the request cannot be put on disk.
        """
        if not self._has_job or not compat.fits_on_disk(request, self._crawler):
            return None
        return self._copy(request, self._closing)

    def deferred(self, request: Request, origin: Origin) -> Request | None:
        """What to return for a request whose robots.txt cannot be read, to keep it in the queue.

        None where it is to fail, or where the queue in use would hand it out again at once.
        """
        readiness = self.readiness
        if readiness is None or request not in readiness.gates or not readiness.defers(origin):
            return None
        return self._copy(request)

    def _copy(self, request: Request, closing: str = "") -> Request:
        self._stats.inc_value("robotstxt/put_back")
        meta = {**request.meta, _META_KEY: (request.dont_filter, closing)}
        return request.replace(dont_filter=True, meta=meta)
