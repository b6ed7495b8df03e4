"""Hosts that are not asked any more because they answer nothing but 429."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_robots_plus.crawl.recent import Recent

if TYPE_CHECKING:
    from typing_extensions import Self

    from scrapy_robots_plus.crawl.clock import Now
    from scrapy_robots_plus.crawl.crawl import Crawl
    from scrapy_robots_plus.protocol.origin import Origin


class GivenUp:
    """Origins by the time when they are tried again; the oldest are forgotten if too many."""

    SECONDS = 3_600.0
    """Until an origin is tried again."""

    def __init__(self, size: int, clock: Now) -> None:
        """*clock*: monotonic seconds."""
        self._clock = clock
        self._until: Recent[Origin, float] = Recent(size)

    @classmethod
    def of_crawl(cls, crawl: Crawl) -> Self:
        return cls(crawl.settings.cache_size, crawl.clock.monotonic)

    def __contains__(self, origin: Origin) -> bool:
        if not self._until:  # as in almost every crawl
            return False
        until = self._until.get(origin)
        if until is not None and until <= self._clock():
            del self._until[origin]
            return False
        return until is not None

    def add(self, origin: Origin) -> None:
        self._until.put(origin, self._clock() + self.SECONDS)
