"""What counts among ``CONCURRENT_REQUESTS``: what is sent, not what waits for a robots.txt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.core.downloader import Downloader

from . import compat
from .body_tap import TAP_META_KEY
from .middleware import RobotsMiddleware

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.internet.defer import Deferred


class RobotsDownloader(Downloader):
    """``DOWNLOADER``: Scrapy's own, in which some requests take no place.

    These are the requests for robots.txt, which have places of their own
    (``ROBOTS_FETCH_CONCURRENCY``), and up to ``ROBOTS_MAX_WAITING`` requests that wait for one in
    the middleware: those of ``engine.download_async()``, and all where ``RobotsPriorityQueue`` is
    not in use.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self.came_back: Callable[[Request], None] | None = None
        """Is told of every request that the downloader is done with."""
        self._robots_requests = 0
        middlewares = self.middleware.middlewares
        self._gate = next(
            (item for item in middlewares if isinstance(item, RobotsMiddleware)), None
        )
        if self._gate is not None:
            compat.make_room(self, self._gate.budget.ceiling)

    def fetch(self, request: Request) -> Deferred[Response | Request]:  # type: ignore[override]
        is_robots = TAP_META_KEY in request.meta
        self._robots_requests += is_robots
        done: Deferred[Any] = super().fetch(request)
        return done.addBoth(self._done, request, is_robots)

    def needs_backout(self) -> bool:
        """Whether no more requests can be taken now."""
        total = self.total_concurrency
        active = len(self.active)
        if active < total or not total:
            return False
        waiting = 0
        if self._gate is not None:
            waiting = min(self._gate.waiting, self._gate.settings.max_waiting)
        return active - self._robots_requests - waiting >= total

    def _done(self, result: Any, request: Request, is_robots: bool) -> Any:
        self._robots_requests -= is_robots
        if self.came_back is not None:
            self.came_back(request)
        return result
