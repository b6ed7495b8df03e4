"""Requests that were dropped when they were scheduled, and somebody waits for them after all."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakSet

from scrapy_robots_plus.crawl import compat

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_robots_plus.crawl.clock import Clock


class LateErrbacks:
    """Scrapy calls no errback for a request that is dropped when it is scheduled.

    So only those without one are dropped there. But ``engine.crawl(request)`` may be called first
    and the errback be set after it, as ``scrapy shell`` does (Scrapy 2.15 to 2.19): the shell would
    wait for ever. One round of the loop later the errback is there, and such a request is scheduled
    again. It is then refused in the middleware, where its errback is called.
    """

    def __init__(self, crawler: Crawler, clock: Clock) -> None:
        self._crawler = crawler
        self._call_later = clock.call_later
        self._dropped: list[Request] = []
        self._again: WeakSet[Request] = WeakSet()

    def dropped(self, request: Request) -> None:
        """The request is dropped now, while it has no errback."""
        if not self._dropped:
            self._call_later(0, self._look_again)
        self._dropped.append(request)

    def was_counted(self, request: Request) -> bool:
        """Whether its refusal was counted when it was dropped, and it was scheduled again since."""
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
