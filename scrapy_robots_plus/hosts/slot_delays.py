"""The delay that a downloader slot shows: its own or that of its host, whichever is longer."""

from __future__ import annotations

from scrapy.core.downloader import Slot

from scrapy_robots_plus import compat


class ShownDelay:
    """The delay of a host, as its own slot shows it to whoever looks there.

    The telnet console, extensions and the code of a project do. The door keeps the delay whatever
    the slot says. The slot's own delay is remembered, and restored when the host has none. What
    others set meanwhile counts as its own: so does what AutoThrottle makes of the delay shown.
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
