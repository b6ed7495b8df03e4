"""The time of a crawl: clocks, timers and dice in one place, so that a test can set them."""

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
"""Returns a moment, in seconds; a part of :class:`Clock`, for what needs no other."""


class Cancellable(Protocol):
    """What :data:`CallLater` returns."""

    def cancel(self) -> None: ...


CallLater = Callable[[float, Callable[[], None]], Cancellable]
"""Calls a function after a number of seconds."""


@dataclass(slots=True, eq=False, repr=False)
class Clock:
    """``wall`` dates records, ``monotonic`` measures while they are held, ``jitter`` spreads
    retries.
    """

    wall: Now = time.time
    """Seconds since the epoch."""
    monotonic: Now = time.monotonic
    """Seconds."""
    jitter: Callable[[], float] = random.random
    """A number from 0 to 1."""
    slots: Now = compat.slot_clock
    """Seconds, by the clock that the downloader uses for the delays of its slots."""
    call_later: CallLater = scrapy_asyncio.call_later
    """In the current loop."""

    async def sleep(self, seconds: float) -> None:
        """Lets everything else in the loop go on for *seconds*."""
        await compat.sleep(seconds, self.call_later)


DEFAULT_CLOCK = Clock()


class Alarm:
    """One timer: calls *ring* once, at the earliest moment that it was set to."""

    LEAST = 0.001
    """Seconds. Timers and clocks differ by less; without it such a difference would be a busy
    loop."""

    def __init__(self, ring: Callable[[], object], now: Now, call_later: CallLater) -> None:
        self._ring = ring
        self._now = now
        self._call_later = call_later
        self._call: Cancellable | None = None
        self.at: float | None = None
        """When it rings, by the clock *now*; None if it is not set."""

    def set(self, at: float) -> None:
        """Makes it ring at *at* or earlier."""
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
    """RFC 3339, in UTC; None for what is not a date. *moment*: seconds since the epoch."""
    try:
        return rfc3339(moment)
    except (OverflowError, ValueError):  # from a store that others can write to
        return None
