"""How many requests the engine is about to ask for."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from scrapy_robots_plus.crawl import compat
from scrapy_robots_plus.crawl.gate.downloader import RobotsDownloader

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from scrapy_robots_plus.crawl.clock import Now


class Demand:
    """By what the downloader can take, and how fast the engine has asked lately."""

    REFILL_SECONDS = 0.1
    """What the worker has should last for about this long."""
    LEAST_SECONDS = 0.2
    """What was asked for is counted over this time at least."""
    MOST_AHEAD = 16
    """How many requests may be taken before the engine asks for them."""
    MOST_AT_ONCE = 100
    """How many requests one exchange asks for, beside those ahead."""

    def __init__(self, crawler: Crawler, now: Now) -> None:
        self._crawler = crawler
        self._now = now
        self._handed_out = self._ahead = 0
        self._looked_at = now()

    def handed_out(self) -> None:
        """The engine got one."""
        self._handed_out += 1

    def look(self) -> None:
        """Counts what was handed out since the last time."""
        now = self._now()
        passed = max(now - self._looked_at, self.LEAST_SECONDS)
        ahead = int(self._handed_out * self.REFILL_SECONDS / passed)
        self._ahead, self._handed_out = min(ahead, self.MOST_AHEAD), 0
        self._looked_at = now

    def beyond(self, ready: int) -> int:
        """How many to take when *ready* requests only wait for the engine; 1 or more."""
        return max(1, int(min(self._capacity, self.MOST_AT_ONCE)) + self._ahead - ready)

    @property
    def _capacity(self) -> float:
        downloader = compat.engine_of(self._crawler).downloader
        if isinstance(downloader, RobotsDownloader):
            return downloader.capacity
        return (downloader.total_concurrency or inf) - len(downloader.active)
