"""The time of a crawl: its clocks, timers and dice in one place, so that tests can set them."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from scrapy.utils import asyncio as scrapy_asyncio

from scrapy_robots_plus import compat
from scrapy_robots_plus.protocol.printable import rfc3339

Now = Callable[[], float]
"""A function that returns a moment in seconds, for code that needs no more of a :class:`Clock`."""


class Cancellable(Protocol):
    """A timer that :data:`CallLater` has set."""

    def cancel(self) -> None: ...


CallLater = Callable[[float, Callable[[], object]], Cancellable]
"""A function that calls another after a number of seconds."""


@dataclass(slots=True, eq=False, repr=False)
class Clock:
    """The clocks of a crawl: ``wall`` dates records, ``monotonic`` measures how long they are held,
    ``jitter`` spreads retries.
    """

    wall: Now = time.time
    """Seconds since the epoch."""
    monotonic: Now = time.monotonic
    """Seconds, by a clock that never goes back."""
    jitter: Callable[[], float] = random.random
    """A random number from 0 to 1."""
    slots: Now = compat.slot_clock
    """Seconds, by the clock that the downloader uses for the delays of its slots."""
    call_later: CallLater = scrapy_asyncio.call_later
    """The timers of the current event loop."""

    async def sleep(self, seconds: float) -> None:
        """Waits for *seconds*, while the rest of the loop goes on."""
        await compat.sleep(seconds, self.call_later)


DEFAULT_CLOCK = Clock()


class Alarm:
    """A timer that calls *ring* once, at the earliest moment that it was set to."""

    LEAST = 0.001
    """The shortest wait in seconds. Timers and clocks differ by less: that would be a busy loop."""

    def __init__(self, ring: Callable[[], object], now: Now, call_later: CallLater) -> None:
        self._ring = ring
        self._now = now
        self._call_later = call_later
        self._call: Cancellable | None = None
        self.at: float | None = None
        """The moment at which it rings, by the clock *now*; None if it is not set."""

    def set(self, at: float) -> None:
        """Makes the alarm ring at *at*, or earlier if it was set to an earlier moment."""
        if self.at is not None and self.at <= at:
            return
        self.cancel()
        self.at = at
        self._call = self._call_later(max(at - self._now(), self.LEAST), self._rings)

    def cancel(self) -> None:
        if self._call is not None:
            self._call.cancel()
        self._call = self.at = None

    def _rings(self) -> None:
        self._call = self.at = None
        self._ring()


@lru_cache(maxsize=4096)
def timestamp(moment: float) -> str | None:
    """Returns *moment*, seconds since the epoch, by RFC 3339 in UTC; None if it is no date."""
    try:
        return rfc3339(moment)
    except (OverflowError, ValueError):  # from a store that others can write to
        return None
