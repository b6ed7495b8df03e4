"""The delays of downloader slots, kept once more at the door."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from scrapy_robots_plus.crawl.recent import Recent

if TYPE_CHECKING:
    from scrapy_robots_plus import compat


class SlotTimes:
    """When each slot with paced hosts has handed over its last request.

    What waits at the door has left its slot before: two requests that the slot let go one after the
    other may come to leave together. So the least delay of the slot is kept here once more. A slot
    without a delay has no entry, and those used longest ago are forgotten.
    """

    MOST = 10_000

    def __init__(self, slots: compat.Slots) -> None:
        self._slots = slots
        self._last: Recent[str, float] = Recent(self.MOST)

    def __contains__(self, key: str) -> bool:
        return key in self._last

    def due_at(self, key: str) -> float:
        """The moment from which the slot lets a request go."""
        last = self._last.get(key)
        return -inf if last is None else last + self._slots.least_delay(key)

    def handed_over(self, key: str, now: float) -> None:
        """A request of the slot leaves the door."""
        if key in self._last or self._slots.least_delay(key):
            self._last.put(key, now)
