"""Slows down hosts that refuse requests, and gives up those that refuse all of them."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Protocol

from scrapy_robots_plus.crawl import compat, stats
from scrapy_robots_plus.crawl.settings import retry_times
from scrapy_robots_plus.policy.access import TOO_MANY_REQUESTS

from .refusals import forgive
from .throttle import Throttle

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_robots_plus.crawl.clock import Clock
    from scrapy_robots_plus.crawl.settings import RobotsSettings
    from scrapy_robots_plus.policy.origin import Origin

    from .given_up import GivenUp

logger = logging.getLogger(__name__)


class Slowed(Protocol):
    """The pace of a host that refuses requests."""

    refusals: int
    """How many times in a row it has refused requests."""

    @property
    def is_throttled(self) -> bool:
        """Whether it has refused requests lately."""

    def refused(self, request: Request, make: Callable[[], Throttle], now: float, /) -> bool:
        """It has refused *request*; *make* returns a throttle, if there is none.

        Returns whether that is news, see :meth:`.Throttle.refused`.
        """


class Slowing:
    """``ROBOTS_BACKOFF``: acts on refusals; :class:`.Throttle` finds the pace."""

    def __init__(
        self,
        crawler: Crawler,
        settings: RobotsSettings,
        clock: Clock,
        given_up: GivenUp,
        on_pause: Callable[[], None],
        drop: Callable[[Origin], None],
    ) -> None:
        """*on_pause* is called when a host is left alone, *drop* with an origin given up."""
        self._crawler = crawler
        self._settings = settings
        self._clock = clock
        self._given_up = given_up
        self._on_pause = on_pause
        self._drop = drop
        self._stats = compat.stats_of(crawler)
        self.is_on = settings.backoff

    def refused(
        self, request: Request, response: Response, origin: Origin, pace: Callable[[], Slowed]
    ) -> None:
        """*origin* has refused *request*; *pace* returns the one of its host."""
        self._stats.inc_value(stats.REFUSED)
        if origin in self._given_up:
            return  # it was under way when the host was given up
        forgive(request, self._crawler.spider, retry_times(self._crawler.settings))
        host = pace()
        if not host.is_throttled:
            logger.info(
                "%(origin)s refuses requests (%(status)s): it is asked less often",
                {"origin": origin, "status": response.status},
                extra={"spider": self._crawler.spider},
            )
        if host.refused(request, self._make_throttle, self._clock.monotonic()):
            self._stats.inc_value(stats.BACKOFFS)
            self._on_pause()
            most = self._settings.give_up_after
            if response.status == TOO_MANY_REQUESTS and 0 < most <= host.refusals:
                self._give_up(origin, host.refusals)

    def _make_throttle(self) -> Throttle:
        return Throttle(self._settings.backoff_max, self._clock.jitter)

    def _give_up(self, origin: Origin, times: int) -> None:
        """Nothing more is sent to *origin*, unless nothing may be dropped."""
        if not self._settings.for_origin(origin).obey:
            return
        logger.warning(
            "%(origin)s is given up: it has answered nothing but 429, %(times)d times in a row",
            {"origin": origin, "times": times},
            extra={"spider": self._crawler.spider},
        )
        self._stats.inc_value(stats.GIVEN_UP)
        self._given_up.add(origin)
        self._drop(origin)
