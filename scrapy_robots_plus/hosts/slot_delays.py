"""Downloader slots at the door: their own delays, and the delays that they show."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl.recent import Recent

if TYPE_CHECKING:
    from scrapy.core.downloader import Slot


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

    def lets_go_at(self, key: str) -> float:
        """The moment from which the slot lets a request go."""
        last = self._last.get(key)
        return -inf if last is None else last + self._slots.least_delay(key)

    def handed_over(self, key: str, now: float) -> None:
        """A request of the slot leaves the door."""
        if key in self._last or self._slots.least_delay(key):
            self._last.put(key, now)


class ShownDelay:
    """The delay of a host in the slot that is its own, for those who look at it.

    The telnet console, extensions and the code of a project do. The door keeps the delay whatever
    the slot says. The slot's own delay is remembered, and restored when the host has none.
    """

    __slots__ = ("_delay", "_jitter", "_set", "_slot")

    def __init__(self) -> None:
        self._slot: Slot | None = None
        self._delay = self._jitter = 0.0
        """The slot's own."""
        self._set = 0.0

    def show(self, slot: Slot, delay: float) -> None:
        """Raises the delay of *slot* to *delay*, unless it is longer; 0 restores its own.

        Jitter, a part of the delay that is subtracted or added at random, is taken out if it could
        draw a delay below *delay*.
        """
        if slot is not self._slot:
            if compat.is_untouched(slot) or not delay:
                return
            self._delay, self._jitter = slot.delay, compat.slot_jitter(slot)
        elif slot.delay != self._set:  # AutoThrottle, or the project's own code
            self._delay = slot.delay
        self._slot = slot if delay else None
        is_enough = compat.least_delay(self._delay, self._jitter) >= delay
        slot.delay = self._set = self._delay if is_enough else max(self._delay, delay)
        compat.set_slot_jitter(slot, self._jitter if is_enough else 0.0)
