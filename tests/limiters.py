"""Limits that servers set to the requests of one client, as functions of time."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from dataclasses import dataclass, field
from itertools import count
from math import ceil, inf
from typing import TYPE_CHECKING, Protocol

from .sites import answer

if TYPE_CHECKING:
    from collections.abc import Callable

    from .sites import Hit, Reply


class Limiter(Protocol):
    @property
    def rate(self) -> float:
        """Requests a second that it allows for long."""

    def allows(self, now: float) -> bool:
        """Whether a request that arrives at *now*, in seconds, is answered."""


@dataclass
class Interval:
    """At least so long between two requests that are answered: nginx without a burst."""

    rate: float
    last: float = -inf

    def allows(self, now: float) -> bool:
        if now - self.last < 1 / self.rate - 1e-9:
            return False
        self.last = now
        return True


@dataclass
class Bucket:
    """A token bucket: so many at once after a while without requests."""

    rate: float
    burst: int
    tokens: float = 0.0
    at: float = -inf

    def allows(self, now: float) -> bool:
        self.tokens = min(self.burst, self.tokens + (now - self.at) * self.rate)
        self.at = now
        if self.tokens < 1 - 1e-9:
            return False
        self.tokens -= 1
        return True


@dataclass
class Window:
    """So many in each minute, say, of the clock."""

    most: int
    seconds: float
    number: int = -1
    count: int = 0

    @property
    def rate(self) -> float:
        return self.most / self.seconds

    def allows(self, now: float) -> bool:
        number = int(now // self.seconds)
        if number != self.number:
            self.number, self.count = number, 0
        self.count += 1
        return self.count <= self.most


@dataclass
class SlidingWindow:
    """So many in any minute, say; *counts_refused*: refused requests are counted too."""

    most: int
    seconds: float
    counts_refused: bool = False
    times: deque[float] = field(default_factory=deque)

    @property
    def rate(self) -> float:
        return self.most / self.seconds

    def allows(self, now: float) -> bool:
        while self.times and self.times[0] <= now - self.seconds:
            self.times.popleft()
        is_allowed = len(self.times) < self.most
        if is_allowed or self.counts_refused:
            self.times.append(now)
        return is_allowed


LIMITERS: dict[str, Callable[[], Limiter]] = {
    "interval": lambda: Interval(2.0),
    "bucket of 1": lambda: Bucket(2.0, 1),
    "bucket of 10": lambda: Bucket(2.0, 10),
    "2 in a second": lambda: Window(2, 1.0),
    "2 in any second": lambda: SlidingWindow(2, 1.0),
    "2 in any second, refused or not": lambda: SlidingWindow(2, 1.0, counts_refused=True),
}
"""Each allows two requests a second."""


def limited(limiter: Limiter, *, retry_after: bool = False) -> Reply:
    """A page of a server with a limit; *retry_after*: a refusal says to wait for a second."""
    headers = {"retry_after": "1"} if retry_after else {}

    async def reply(hit: Hit, writer: asyncio.StreamWriter) -> None:
        allowed = limiter.allows(hit.at)
        then = answer("<p>A page</p>") if allowed else answer(status=429, **headers)
        await then(hit, writer)

    return reply


TELLS: dict[str, Callable[[int, int, float], dict[str, str]]] = {
    "RateLimit": lambda left, seconds, _: {
        "ratelimit": f'"default";r={left};t={seconds}',
        "ratelimit_policy": '"default";q=10;w=1',
    },
    "X-RateLimit": lambda left, seconds, _: {
        "x_ratelimit_remaining": str(left),
        "x_ratelimit_reset": str(seconds),
    },
    "X-RateLimit, a moment": lambda left, seconds, now: {
        "x_ratelimit_remaining": str(left),
        "x_ratelimit_reset": str(ceil(now + seconds)),
    },
}
"""Headers that say how many requests are left for so many seconds, at a moment since the epoch."""


def telling(
    window: Window, tells: Callable[[int, int, float], dict[str, str]], slowly: float = 0.0
) -> Reply:
    """A page of a server with a limit, of which each answer says what is left; it takes *slowly*
    seconds.
    """

    async def reply(hit: Hit, writer: asyncio.StreamWriter) -> None:
        status = 200 if window.allows(hit.at) else 429
        left = max(0, window.most - window.count)
        headers = tells(left, ceil(window.seconds - hit.at % window.seconds), time.time())
        await asyncio.sleep(slowly)
        await answer("<p>A page</p>", status, **headers)(hit, writer)

    return reply


def saying(headers: Callable[[int], dict[str, str]]) -> Reply:
    """Pages without a limit, whose headers depend on how many there were."""
    numbers = count()

    async def reply(hit: Hit, writer: asyncio.StreamWriter) -> None:
        await answer("<p>A page</p>", 200, **headers(next(numbers)))(hit, writer)

    return reply


def x_fields(left: object, reset: object) -> dict[str, str]:
    return {"x_ratelimit_remaining": str(left), "x_ratelimit_reset": str(reset)}


WRONG: dict[str, Callable[[int], dict[str, str]]] = {
    "nothing left, always": lambda _: x_fields(0, 60),
    "one left, always": lambda _: x_fields(1, 60),
    "from one to none, again and again": lambda number: x_fields(number % 2, 0),
    "the year 2100": lambda number: x_fields(max(0, 20 - number), 4_102_444_800),
    "milliseconds": lambda number: x_fields(max(0, 20 - number), 4_102_444_800_000),
    "a year of seconds": lambda number: x_fields(max(0, 20 - number), 31_536_000),
    "a moment that has passed": lambda number: x_fields(max(0, 20 - number), 1_700_000_000),
    "less than nothing": lambda number: x_fields(-number, -60),
    "words": lambda _: x_fields("none", "soon"),
    "of some pages only": lambda number: x_fields(max(0, 20 - number), 60) if number % 2 else {},
    "in the new field": lambda _: {"ratelimit": '"a";r=0;t=60'},
    "no structured field": lambda _: {"ratelimit": "0;r=0;t=60;;"},
}
"""Headers of sites without a limit, by the number of the answer."""
