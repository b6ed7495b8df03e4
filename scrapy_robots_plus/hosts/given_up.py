"""The hosts and sites that are not asked for a while."""

from __future__ import annotations

from typing import ClassVar

from scrapy_robots_plus.crawl.crawl import Crawl
from scrapy_robots_plus.crawl.recent import Recent
from scrapy_robots_plus.protocol.origin import Origin
from scrapy_robots_plus.protocol.verdict import Reason


class GivenUp:
    """The hosts that answer nothing but 429, and the origins that wall off the crawl.

    A host stands for all its origins. If there are too many, the oldest are forgotten. An origin
    whose robots.txt is not obeyed never counts as given up.
    """

    SECONDS: ClassVar = {Reason.GIVEN_UP: 3_600.0, Reason.WALLED: 600.0}
    """Seconds until a host or an origin is tried again, by reason."""

    def __init__(self, crawl: Crawl) -> None:
        self._settings = crawl.settings
        self._clock = crawl.clock.monotonic
        self._until: Recent[str | Origin, float] = Recent(crawl.settings.cache_size)
        """The times until which given-up hosts (by name) and walled origins are not asked."""

    def reason(self, origin: Origin) -> Reason | None:
        """Returns why requests to *origin* fail; None if they do not."""
        if not self._until:  # as in almost every crawl
            return None
        now = self._clock()
        for held, reason in ((origin.host, Reason.GIVEN_UP), (origin, Reason.WALLED)):
            if now < self._until.get(held, now) and self._settings.for_origin(origin).obey:
                return reason
        return None

    def __contains__(self, origin: Origin) -> bool:
        return self.reason(origin) is not None

    def add(self, origin: Origin, reason: Reason) -> None:
        held = origin.host if reason is Reason.GIVEN_UP else origin
        self._until.put(held, self._clock() + self.SECONDS[reason])

    def open(self, origin: Origin) -> None:
        """Forgets that *origin* was walled."""
        self._until.pop(origin, None)
