"""Slows down hosts that refuse requests, and gives up those that refuse all of them."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl import stats
from scrapy_robots_plus.crawl.recent import Recent
from scrapy_robots_plus.crawl.requests import (
    MAX_RETRIES_META_KEY,
    REFUSED_META_KEY,
)
from scrapy_robots_plus.protocol.access import TOO_MANY_REQUESTS
from scrapy_robots_plus.settings.scrapys_own import retry_times

from .backoff import BUSY, is_handled
from .throttle import Refusal, Throttle

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_robots_plus.crawl.clock import Clock
    from scrapy_robots_plus.protocol.origin import Origin
    from scrapy_robots_plus.settings.robots_settings import RobotsSettings

    from .given_up import GivenUp

logger = logging.getLogger(__name__)


@dataclass
class Suspect:
    """A host that has answered 429 or 503."""

    throttle: Throttle
    is_known: bool = False
    """Whether the log has said that it refuses requests."""
    is_costly: bool = False
    """Whether the log has said that this takes long."""


class Slowing:
    """Acts on refusals; :class:`.Throttle` says what is one, and the pace."""

    COSTLY = 60.0
    """Seconds of waiting after which there is a WARNING."""

    def __init__(
        self,
        crawler: Crawler,
        settings: RobotsSettings,
        clock: Clock,
        given_up: GivenUp,
        on_pause: Callable[[], None],
        slow_down: Callable[[str, Throttle], None],
        drop: Callable[[Origin], None],
    ) -> None:
        """*on_pause* is called when a host is left alone, *slow_down* with the name of a host and
        the pace that it gets, *drop* with an origin given up.
        """
        self._crawler = crawler
        self._settings = settings
        self._clock = clock
        self._given_up = given_up
        self._on_pause = on_pause
        self._slow_down = slow_down
        self._drop = drop
        self._stats = compat.stats_of(crawler)
        self._suspects: Recent[str, Suspect] = Recent(settings.cache_size)
        self._answered: Recent[str, int] = Recent(settings.cache_size)
        """How many requests other hosts have answered, up to :attr:`.Throttle.FEW`."""
        self.is_on = settings.backoff_max > 0

    def hear(
        self,
        request: Request,
        response: Response,
        origin: Origin,
        sent_in: int | None,
        wait: float,
    ) -> bool:
        """*origin* has answered *request*; returns whether that is a refusal of the host.

        *sent_in*: the phase of the throttle in which it was sent, None if there was none. *wait*:
        the seconds for which the host asks with Retry-After.
        """
        if response.status in BUSY:
            if origin not in self._given_up:
                return self._refused(request, response, origin, sent_in, wait)
            self._stats.inc_value(stats.REFUSED)  # it was under way when the host was given up
            return True
        if (suspect := self._suspects.get(origin.host)) is None:
            if (answered := self._answered.get(origin.host, 0)) < Throttle.FEW:
                self._answered.put(origin.host, answered + 1)
        else:
            was_on = suspect.throttle.is_on
            is_first = REFUSED_META_KEY not in request.meta
            suspect.throttle.answered(sent_in, self._clock.monotonic(), is_first=is_first)
            self._tell(origin, suspect, response.status, was_on=was_on)
        return False

    def _refused(
        self,
        request: Request,
        response: Response,
        origin: Origin,
        sent_in: int | None,
        wait: float,
    ) -> bool:
        suspect = self._suspect(origin.host)
        throttle, was_on = suspect.throttle, suspect.throttle.is_on
        before = request.meta.get(REFUSED_META_KEY, 0)
        is_429 = response.status == TOO_MANY_REQUESTS
        refusal = throttle.refused(
            sent_in,
            self._clock.monotonic(),
            is_first=not before,
            is_429=is_429,
            asked=wait,
        )
        request.meta[REFUSED_META_KEY] = before + 1
        if before:  # behind those that were not refused: they tell more of the host
            request.priority = min(request.priority, 0)
        is_left = is_handled(self._crawler, request, response.status)
        if throttle.forgives(refusal, before) and not is_left:
            most = request.meta.get(MAX_RETRIES_META_KEY, retry_times(self._crawler.settings))
            request.meta[MAX_RETRIES_META_KEY] = most + 1
        if refusal is Refusal.OF_PAGE:
            return False
        self._stats.inc_value(stats.REFUSED)
        if refusal is Refusal.NEW:
            self._stats.inc_value(stats.BACKOFFS)
            self._slow_down(origin.host, throttle)
            self._on_pause()
        self._tell(origin, suspect, response.status, was_on=was_on)
        if is_429 and 0 < self._settings.give_up_after <= throttle.in_a_row:
            self._give_up(origin, throttle.in_a_row)
        return True

    def _suspect(self, host: str) -> Suspect:
        suspect = self._suspects.get(host)
        if suspect is None:
            answered = self._answered.pop(host, 0)
            suspect = Suspect(Throttle(self._settings.backoff_max, self._clock.jitter, answered))
        self._suspects.put(host, suspect)
        return suspect

    def _tell(self, origin: Origin, suspect: Suspect, status: int, *, was_on: bool) -> None:
        """Says in the log what has changed."""
        throttle, level = suspect.throttle, logging.INFO
        if throttle.is_on and not suspect.is_known:
            suspect.is_known = True
            text = "%(origin)s refuses requests (%(status)s): it is asked less often"
        elif throttle.waited > self.COSTLY and not suspect.is_costly:
            suspect.is_costly, level = True, logging.WARNING
            text = (
                "%(origin)s refuses requests (%(status)s): the waiting has taken more than a "
                "minute so far. Now %(gap).3g s are between requests"
            )
        elif was_on and throttle.was_in_vain:
            text = "%(origin)s refuses no less if it is asked less often: it is asked as before"
        else:
            return
        about = {"origin": origin, "status": status, "gap": throttle.gap}
        logger.log(level, text, about, extra={"spider": self._crawler.spider})

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
        del self._suspects[origin.host]
        self._drop(origin)
