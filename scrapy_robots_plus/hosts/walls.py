"""Follows how sites treat the crawl, says when that changes, and knows which are given up."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl import stats
from scrapy_robots_plus.crawl.log import Once, crawl_log
from scrapy_robots_plus.crawl.recent import Recent
from scrapy_robots_plus.crawl.requests import (
    DONT_OBEY_META_KEY,
    HANDLED_META_KEY,
    HANDLES_ALL_META_KEY,
    valid_origin_of,
)
from scrapy_robots_plus.origins.fetch_results import NETWORK_FAILURES
from scrapy_robots_plus.origins.tally import Tally
from scrapy_robots_plus.protocol.access import Failure
from scrapy_robots_plus.protocol.printable import printable
from scrapy_robots_plus.protocol.standing import Site, Standing, standing_in
from scrapy_robots_plus.protocol.verdict import Reason
from scrapy_robots_plus.settings.scrapys_own import handled_statuses

from .door import Door

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy import Request
    from scrapy.crawler import Crawler
    from typing_extensions import Self

    from scrapy_robots_plus.crawl.clock import Now
    from scrapy_robots_plus.crawl.crawl import Crawl
    from scrapy_robots_plus.protocol.origin import Origin

logger = crawl_log(__name__)

_WORDS = {
    Standing.OPEN: "it answers again",
    Standing.WALLED: "it refuses pages that its robots.txt allows",
    Standing.PRICED: "it wants to be paid for pages",
    Standing.LIMITED: "it asks for fewer requests",
    Standing.BROKEN: "its pages fail",
}


class Walls:
    """What each site did lately; :class:`~scrapy_robots_plus.protocol.standing.Site` decides."""

    def __init__(self, crawl: Crawl) -> None:
        self._crawl = crawl
        self.sites: Recent[Origin, Site] = Recent(crawl.settings.cache_size)
        """Those that have refused something."""
        self._once = Once()

    def answered(
        self,
        request: Request,
        status: int,
        headers: Mapping[str, str],
        origin: Origin,
        *,
        is_used_up: bool,
    ) -> None:
        """*origin* has answered *request*, which robots.txt allows. *is_used_up*: and has said that
        nothing is left of its limit.
        """
        says, why, is_clear = standing_in(status, headers)
        if is_used_up and says is Standing.OPEN:
            says, why, is_clear = Standing.LIMITED, "RateLimit", True
        if says is Standing.OPEN or not is_handled(self._crawl.crawler, request, status):
            self._hear(request, origin, says, why, is_clear=is_clear)

    def failed(self, request: Request, exception: Exception) -> None:
        """No answer to *request* has come, after all retries."""
        failure = Failure(compat.kind_of_failure(exception, headers_received=False))
        origin = valid_origin_of(request)
        if failure not in NETWORK_FAILURES or compat.shortage_in(exception) or origin is None:
            return
        self._hear(request, origin, Standing.BROKEN, str(failure), is_clear=False)

    def _hear(
        self, request: Request, origin: Origin, says: Standing, why: str, *, is_clear: bool
    ) -> None:
        site = self.sites.get(origin)
        if request.meta.get(DONT_OBEY_META_KEY) or (site is None and says is Standing.OPEN):
            return
        site = site or Site()
        self.sites.put(origin, site)
        if not site.heard(request.url, says, why, is_clear=is_clear):
            return
        standing, crawl = site.standing, self._crawl
        crawl.get(Tally).note(origin, standing)
        crawl.stats.inc_value(stats.filled(stats.STANDINGS, standing))
        # Of a limit, the log tells when the host is asked less often.
        is_told = standing is not Standing.LIMITED and self._once.is_first((origin, standing))
        about = {"origin": origin, "is": standing, "why": printable(why, 100)}
        text = f"%(origin)s is %(is)s (%(why)s): {_WORDS[standing]}"
        logger(crawl.crawler).log(logging.INFO if is_told else logging.DEBUG, text, about)
        if crawl.settings.walls == "stop":
            self._stop(origin, standing)
        for listener in crawl.standing_listeners:
            listener(origin, site, request.url)

    def _stop(self, origin: Origin, standing: Standing) -> None:
        """Requests to a walled site fail, but for a few that try whether it is open again."""
        given_up = self._crawl.get(GivenUp)
        if standing is not Standing.WALLED:
            given_up.open(origin)
        elif self._crawl.settings.for_origin(origin).obey:
            given_up.wall_off(origin)
            self._crawl.get(Door).drop(origin)


def is_handled(crawler: Crawler, request: Request, status: int) -> bool:
    """Whether a callback gets an answer with *status* (Scrapy's HttpErrorMiddleware)."""
    if request.meta.get(HANDLES_ALL_META_KEY):
        return True
    handled = request.meta.get(HANDLED_META_KEY)
    if handled is None:
        handled = handled_statuses(crawler.settings, crawler.spider)
    return handled is None or status in handled


class GivenUp:
    """Origins that are not asked: they answer nothing but 429, or wall off the crawl. Each by the
    time when it is tried again; the oldest are forgotten if too many.
    """

    SECONDS = 3_600.0
    """Until an origin is tried again; the longest pause between two tries of a walled one."""
    FIRST = 60.0
    """Until a walled origin is tried again; each pause is twice as long as the one before."""

    def __init__(self, size: int, clock: Now) -> None:
        """*clock*: monotonic seconds."""
        self._clock = clock
        self._held: Recent[Origin, tuple[float, float]] = Recent(size)
        """Until when, and the seconds of the last pause of a walled one, or 0."""

    @classmethod
    def of_crawl(cls, crawl: Crawl) -> Self:
        return cls(crawl.settings.cache_size, crawl.clock.monotonic)

    def __contains__(self, origin: Origin) -> bool:
        held = self._held.get(origin)
        return held is not None and self._clock() < held[0]

    def _pause(self, origin: Origin) -> float:
        return self._held.get(origin, (0.0, 0.0))[1]

    def refuses(self, origin: Origin, *, again: bool) -> bool:
        """Whether a request that is about to be sent is not. Of a walled origin, one may try it.
        *again*: it was asked about before, and not refused.
        """
        if not self._held:  # as in almost every crawl
            return False
        if origin in self:
            return not (again and self._pause(origin))
        if self._pause(origin) and not again:
            self.wall_off(origin)
        return False

    def reason(self, origin: Origin) -> Reason:
        """Why its requests fail."""
        return Reason.WALLED if self._pause(origin) else Reason.GIVEN_UP

    def wall_off(self, origin: Origin) -> None:
        """One request may try *origin* after a pause."""
        pause = min(2 * self._pause(origin) or self.FIRST, self.SECONDS)
        self._held.put(origin, (self._clock() + pause, pause))

    def open(self, origin: Origin) -> None:
        """*origin* is walled no more."""
        if self._pause(origin):
            del self._held[origin]

    def add(self, origin: Origin) -> None:
        self._held.put(origin, (self._clock() + self.SECONDS, 0.0))
