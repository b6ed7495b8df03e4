"""Which origins are not asked for a while."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from scrapy_robots_plus.crawl.recent import Recent
from scrapy_robots_plus.protocol.verdict import Reason

if TYPE_CHECKING:
    from typing_extensions import Self

    from scrapy_robots_plus.crawl.clock import Now
    from scrapy_robots_plus.crawl.crawl import Crawl
    from scrapy_robots_plus.protocol.origin import Origin


class GivenUp:
    """Origins that are not asked for a while: they answer nothing but 429, or wall off the crawl.
    The oldest are forgotten if too many.
    """

    SECONDS = MappingProxyType({Reason.GIVEN_UP: 3_600.0, Reason.WALLED: 600.0})
    """Until an origin is tried again."""

    def __init__(self, size: int, clock: Now) -> None:
        """*clock*: monotonic seconds."""
        self._clock = clock
        self._held: Recent[Origin, tuple[float, Reason]] = Recent(size)
        """Until when, and why."""

    @classmethod
    def of_crawl(cls, crawl: Crawl) -> Self:
        return cls(crawl.settings.cache_size, crawl.clock.monotonic)

    def __contains__(self, origin: Origin) -> bool:
        if not self._held:  # as in almost every crawl
            return False
        return self._clock() < self._held.get(origin, (0.0,))[0]

    def reason(self, origin: Origin) -> Reason:
        """Why its requests fail."""
        return self._held[origin][1] if origin in self._held else Reason.GIVEN_UP

    def add(self, origin: Origin, reason: Reason) -> None:
        self._held.put(origin, (self._clock() + self.SECONDS[reason], reason))

    def open(self, origin: Origin) -> None:
        """*origin* is walled no more."""
        if self.reason(origin) is Reason.WALLED:
            del self._held[origin]
