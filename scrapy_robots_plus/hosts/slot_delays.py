"""Downloader slots at the door: their own delays, and the delays that they show."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl.recent import Recent

if TYPE_CHECKING:
    from scrapy.core.downloader import Slot


class SlotTimes:
    """The moments at which slots with paced hosts have handed over their last requests.

    A request that waits at the door has left its slot: two that the slot let go one after the other
    might leave the door together. So the least delay of the slot is kept here once more. A slot
    without a delay has no entry, and the least recently used ones are forgotten.
    """

    MOST = 10_000

    def __init__(self, slots: compat.Slots) -> None:
        self._slots = slots
        self._last: Recent[str, float] = Recent(self.MOST)

    def __contains__(self, key: str) -> bool:
        return key in self._last

    def lets_go_at(self, key: str) -> float:
        """Returns the moment from which the slot *key* lets a request go."""
        last = self._last.get(key)
        return -inf if last is None else last + self._slots.least_delay(key)

    def handed_over(self, key: str, now: float) -> None:
        """Records that a request of the slot *key* leaves the door."""
        if key in self._last or self._slots.least_delay(key):
            self._last.put(key, now)


class ShownDelay:
    """The delay of a host, as its own slot shows it to whoever looks there.

    The telnet console, extensions and the code of a project do. The door keeps the delay whatever
    the slot says. The slot's own delay is remembered, and restored when the host has none.
    """

    __slots__ = ("_delay", "_jitter", "_set", "_slot")

    def __init__(self) -> None:
        self._slot: Slot | None = None
        self._delay = self._jitter = 0.0
        """The slot's own delay and jitter."""
        self._set = 0.0

    def show(self, slot: Slot, delay: float) -> None:
        """Raises the delay of *slot* to *delay* seconds, unless it is longer; 0 restores its own.

        Jitter, a part of the delay that is subtracted or added at random, is removed if it could
        make the delay shorter than *delay*.
        """
        if slot is not self._slot:
            if compat.is_untouched(slot) or not delay:
                return
            self._delay, self._jitter = slot.delay, compat.slot_jitter(slot)
        elif slot.delay != self._set:  # changed by AutoThrottle, or by the project
            self._delay = slot.delay
        self._slot = slot if delay else None
        is_enough = compat.least_delay(self._delay, self._jitter) >= delay
        slot.delay = self._set = self._delay if is_enough else max(self._delay, delay)
        compat.set_slot_jitter(slot, self._jitter if is_enough else 0.0)
