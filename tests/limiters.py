"""Limits that servers set to the requests of one client, as functions of time."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field
from math import inf
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
