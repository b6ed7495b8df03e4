"""Slows down hosts that refuse requests, and gives up those that refuse all of them."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy_robots_plus.crawl import compat, stats
from scrapy_robots_plus.crawl.requests import origin_of
from scrapy_robots_plus.crawl.settings import retry_times
from scrapy_robots_plus.policy.access import TOO_MANY_REQUESTS

from .backoff import HeldAtGivingUp
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

    from .floors import Floors
    from .given_up import GivenUp
    from .slot_floor import SlotFloor

logger = logging.getLogger(__name__)


class Slowing:
    """``ROBOTS_BACKOFF``: acts on refusals; :class:`.Throttle` finds the pace."""

    def __init__(
        self,
        crawler: Crawler,
        settings: RobotsSettings,
        clock: Clock,
        floors: Floors,
        given_up: GivenUp,
        on_pause: Callable[[], None],
    ) -> None:
        """*on_pause* is called when a host is left alone."""
        self._crawler = crawler
        self._settings = settings
        self._clock = clock
        self._floors = floors
        self._given_up = given_up
        self._on_pause = on_pause
        self._stats = compat.stats_of(crawler)
        self.is_on = settings.backoff

    def refused(self, request: Request, response: Response, key: str) -> str:
        """The host of *request* has refused it; returns the slot that it is tied to now."""
        origin = origin_of(request)
        if origin is None:
            return key
        self._stats.inc_value(stats.REFUSED)
        if origin in self._given_up:
            return key  # it was under way when the host was given up
        forgive(request, self._crawler.spider, retry_times(self._crawler.settings))
        key, floor = self._floor_alone(origin, key)
        if not floor.is_throttled:
            logger.info(
                "%(origin)s refuses requests (%(status)s): it is asked less often",
                {"origin": origin, "status": response.status},
                extra={"spider": self._crawler.spider},
            )
        if floor.refused(request, self._make_throttle):
            self._stats.inc_value(stats.BACKOFFS)
            self._on_pause()
            most = self._settings.give_up_after
            if response.status == TOO_MANY_REQUESTS and 0 < most <= floor.refusals:
                self._give_up(origin, key, floor)
        return key

    def _floor_alone(self, origin: Origin, key: str) -> tuple[str, SlotFloor]:
        """A slot that only the host of *origin* uses, with its floor, which *origin* is tied to.

        In a slot that many hosts share, such as that of a proxy, it would slow down all of them.
        """
        tied = self._floors.of(origin)
        key = self._floors.slot_of(origin) or key
        if key not in (origin.host, str(origin)):
            key = str(origin)
        return key, self._floors.tie(origin, key, 0.0 if tied is None else tied.delay_of(origin))

    def _make_throttle(self) -> Throttle:
        return Throttle(self._settings.backoff_max, self._clock.jitter)

    def _give_up(self, origin: Origin, key: str, floor: SlotFloor) -> None:
        """Nothing more is sent to *origin*, unless nothing may be dropped."""
        if not self._settings.for_origin(origin).obey:
            return
        logger.warning(
            "%(origin)s is given up: it has answered nothing but 429, %(times)d times in a row",
            {"origin": origin, "times": floor.refusals},
            extra={"spider": self._crawler.spider},
        )
        self._stats.inc_value(stats.GIVEN_UP)
        self._given_up.add(origin)
        floor.end_backoff()
        self._floors.release(origin)
        self._floors.fail_queued(key, HeldAtGivingUp, origin)
