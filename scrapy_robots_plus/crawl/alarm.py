"""One timer, set to the next moment at which anything changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class Cancellable(Protocol):
    """What ``call_later`` returns."""

    def cancel(self) -> None: ...


Clock = Callable[[], float]
"""Monotonic seconds."""

CallLater = Callable[[float, Callable[[], None]], Cancellable]
"""Calls a function after so many seconds, as ``scrapy.utils.asyncio.call_later`` does."""


class Alarm:
    """Calls *ring* once at the earliest moment that it was set to."""

    LEAST = 0.001
    """Seconds. Timers and clocks differ by less; without it such a difference would be a busy
    loop."""

    def __init__(self, ring: Callable[[], None], clock: Clock, call_later: CallLater) -> None:
        self._ring = ring
        self._clock = clock
        self._call_later = call_later
        self._call: Cancellable | None = None
        self.at: float | None = None
        """When it rings, by the clock; None while it is not set."""

    def set(self, at: float) -> None:
        """Sees to it that it rings at *at* or sooner."""
        if self.at is not None and self.at <= at:
            return
        self.cancel()
        self.at = at
        self._call = self._call_later(max(at - self._clock(), self.LEAST), self._rings)

    def cancel(self) -> None:
        if self._call is not None:
            self._call.cancel()
        self._call = self.at = None

    def _rings(self) -> None:
        self._call = self.at = None
        self._ring()
