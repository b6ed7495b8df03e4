"""Knows the origins that are not asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_robots_plus.crawl.recent import Recent
from scrapy_robots_plus.protocol.verdict import Reason

if TYPE_CHECKING:
    from typing_extensions import Self

    from scrapy_robots_plus.crawl.clock import Now
    from scrapy_robots_plus.crawl.crawl import Crawl
    from scrapy_robots_plus.protocol.origin import Origin


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
