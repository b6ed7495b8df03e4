"""A downloader that counts what is sent, not what waits, towards ``CONCURRENT_REQUESTS``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from math import inf
from typing import TYPE_CHECKING, Any

from scrapy import Request, Spider
from scrapy.core.downloader import Downloader
from scrapy.crawler import Crawler
from scrapy.http import Response

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl.crawl import Crawl, guarded
from scrapy_robots_plus.crawl.events import RobotsUnreachable
from scrapy_robots_plus.crawl.requests import OWN_FETCH_META, TAP_META_KEY
from scrapy_robots_plus.origins.body_tap import Tap
from scrapy_robots_plus.origins.fetch_budget import FetchBudget
from scrapy_robots_plus.origins.policies import Policies

from .door import Door, HeldAtClosing
from .own_shortage import OwnShortage

if TYPE_CHECKING:
    from twisted.internet.defer import Deferred


class ActiveRequests(set[Request]):
    """A replacement for ``Downloader.active`` that counts requests for robots.txt.

    It also calls ``Crawl.end_listeners`` with each other request that leaves. A callback on each
    download would do the same, but cost more than all the rest of the queue.

    It is false if it holds only robots.txt requests that nothing waits for, so that the engine
    finds the spider idle: a crawl ends with the last page, not with a background refresh.
    """

    def __init__(self, crawler: Crawler, is_awaited: Callable[[], bool]) -> None:
        """Takes *is_awaited*, which returns whether any request waits for a robots.txt."""
        super().__init__()
        self.crawler = crawler
        self._is_awaited = is_awaited
        self._listeners = Crawl.of(crawler).end_listeners
        self.robots: set[Request] = set()
        """The requests for a robots.txt. Middlewares may take the mark off them."""
        self.cut_off: set[Request] = set()
        """Requests that the end of the crawl has cancelled, or whose callbacks may wait for one:
        they do not count as dealt with."""

    def __bool__(self) -> bool:
        return len(self) > len(self.robots) or (bool(self.robots) and self._is_awaited())

    def add(self, request: Request) -> None:
        super().add(request)
        if TAP_META_KEY in request.meta:
            self.robots.add(request)

    def remove(self, request: Request) -> None:
        super().remove(request)
        if request in self.robots:
            self.robots.remove(request)
            return
        error = sys.exc_info()[1]  # of the download: the engine removes a request as it ends
        if error is not None and compat.is_closing(self.crawler):
            self._failed_at_closing(request, error)
        try:
            for listener in self._listeners:
                listener(request)
        except Exception as error:  # noqa: BLE001 - the engine would lose count of its downloads
            Crawl.of(self.crawler).errors.tell("a listener of the downloader", error)

    def _failed_at_closing(self, request: Request, error: BaseException) -> None:
        """Marks *request*, and what may wait for it, as cut off if the end of the crawl stopped it.

        So a request whose callback, pipeline or middleware waits for the page comes again. A media
        pipeline goes on without it, and tells nobody; a middleware fails, and its request with it.
        """
        if compat.is_cancelled(error) or isinstance(error, HeldAtClosing | RobotsUnreachable):
            self.cut_off.add(request)
            compat.mark_scraped_as_unfinished(self.crawler)


class RobotsDownloader(Downloader):
    """A ``DOWNLOADER`` like Scrapy's, but some requests do not count as concurrent ones.

    These are the requests for robots.txt, which have a limit of their own
    (``ROBOTS_FETCH_CONCURRENCY``), and up to 1,000 (``MAX_WAITING``) requests that wait for one in
    the middleware, or for the pace of their host at the door: those of ``engine.download_async()``,
    and all requests if ``RobotsPriorityQueue`` is not in use.
    """

    active: ActiveRequests
    MAX_WAITING = 1_000
    """How many waiting requests, at most, do not count as concurrent ones."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawl = crawl = Crawl.of(crawler)
        crawl.tells_answers = True
        super().__init__(crawler)
        self._errors = crawl.errors
        most, has_throttler = self.total_concurrency, compat.has_throttler(crawler)
        self._most_with_throttler = max(most, 0) if has_throttler else 0
        if has_throttler:
            # The limit would hold for robots.txt and for what waits at the door, too.
            self.total_concurrency = 0
        self.active = ActiveRequests(
            crawler, lambda: not crawl.has_middleware or crawl.get(Policies).awaited
        )
        self._count_taken = self._count_with_waiting if has_throttler else self.active.__len__
        compat.retry_handovers(self, OwnShortage(crawl, self).download)
        if crawl.has_middleware:
            compat.enlarge_connection_pools(self, crawl.get(FetchBudget).ceiling)

    def fetch(
        self,
        request: Request,
        spider: Spider | None = None,  # noqa: ARG002 - of older versions
    ) -> Deferred[Response | Request]:
        """Fetches as Scrapy does. What replaces a request for a robots.txt counts as one, too.

        Otherwise a middleware's new request would wait for that very robots.txt, without end.
        """
        is_robots = isinstance(request.meta.get(TAP_META_KEY), Tap)
        if not is_robots:
            request.meta.pop(TAP_META_KEY, None)  # code of the project has set it
        fetched: Deferred[Response | Request] = super().fetch(request)
        return fetched.addCallback(_as_fetched, dict(request.meta)) if is_robots else fetched

    @property
    def _most(self) -> float:
        """``CONCURRENT_REQUESTS``, or what code of the project has set in its place. Without limit
        if that is 0 or less, as in Scrapy 2.19."""
        total: int = self.total_concurrency
        return total if total > 0 else self._most_with_throttler or inf

    def needs_backout(self) -> bool:
        """Returns whether the downloader can take no more requests now."""
        if self._errors.happened:
            return True
        return self._count_taken() >= self._most and self._is_full()

    @guarded("RobotsDownloader", otherwise=True)
    def _is_full(self) -> bool:
        return self.capacity <= 0

    @property
    def capacity(self) -> float:
        """How many more requests the downloader can take now."""
        waiting = 0
        crawl = self._crawl
        if crawl.has_middleware:
            at_door = crawl.get(Door).waiting if crawl.holds_requests else 0
            waiting = min(crawl.get(Policies).waiting + at_door, self.MAX_WAITING)
        return self._most - (self._count_taken() - len(self.active.robots) - waiting)

    def _count_with_waiting(self) -> int:
        return len(self.active) + compat.count_before_downloader(self.crawler)


def _as_fetched(result: Response | Request, meta: Mapping[str, Any]) -> Response | Request:
    """Returns *result*; if it is a request, adds what in *meta* makes it one for a robots.txt."""
    if isinstance(result, Request):
        its_meta = result.meta
        its_meta.update({key: value for key, value in meta.items() if key in OWN_FETCH_META})
    return result
