"""Requests that were dropped when scheduled, but get an errback afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakSet

from scrapy_robots_plus import compat

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_robots_plus.crawl.clock import Clock


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
