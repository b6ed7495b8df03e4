"""Sites that refuse pages for reasons of their own, as functions of time: no server, no clock."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from .sites import answer

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Container

    from .limiters import Limiter
    from .sites import Hit, Reply


class Site(Protocol):
    def status(self, page: int, now: float) -> int:
        """What a request for *page* gets that arrives at *now*, in seconds."""


@dataclass
class Limited:
    """Answers *refusal* to what a *limiter* does not allow."""

    limiter: Limiter
    refusal: int = 429

    def status(self, page: int, now: float) -> int:
        return 200 if self.limiter.allows(now) else self.refusal


@dataclass
class Dead:
    """Some pages are out of order; the first *times* that each is asked for, or always."""

    pages: Container[int]
    refusal: int = 503
    times: int | None = None
    asked: dict[int, int] = field(default_factory=dict)

    def status(self, page: int, now: float) -> int:
        if page not in self.pages:
            return 200
        self.asked[page] = self.asked.get(page, 0) + 1
        return self.refusal if self.times is None or self.asked[page] <= self.times else 200


@dataclass
class EveryNth:
    """One of *number* servers is out of order, and they take turns."""

    number: int
    refusal: int = 429
    asked: int = 0

    def status(self, page: int, now: float) -> int:
        self.asked += 1
        return 200 if self.asked % self.number else self.refusal


@dataclass
class AtRandom:
    """Refuses a *share* of the requests, whatever the pace."""

    share: float
    dice: random.Random
    refusal: int = 429

    def status(self, page: int, now: float) -> int:
        return self.refusal if self.dice.random() < self.share else 200


@dataclass
class Outages:
    """Refuses everything for *seconds* at the beginning of *every* so many, whatever the pace."""

    every: float
    seconds: float
    refusal: int = 429

    def status(self, page: int, now: float) -> int:
        return self.refusal if now % self.every < self.seconds else 200


@dataclass
class GrowingBan:
    """More than *most* requests in a second are a reason to refuse all, for longer each time."""

    most: int = 5
    ban: float = 2.0
    longest: float = 16.0
    banned_until: float = 0.0
    times: list[float] = field(default_factory=list)

    def status(self, page: int, now: float) -> int:
        if now < self.banned_until:
            return 429
        self.times = [at for at in self.times if at > now - 1.0]
        if len(self.times) < self.most:
            self.times.append(now)
            return 200
        self.banned_until = now + self.ban
        self.ban = min(2 * self.ban, self.longest)
        return 429


def served(site: Site, *, retry_after: str | None = None) -> Reply:
    """Pages ``/page?NUMBER`` of a real server that answers as *site* does."""
    headers = {} if retry_after is None else {"retry_after": retry_after}

    async def reply(hit: Hit, writer: asyncio.StreamWriter) -> None:
        status = site.status(int(hit.path.rpartition("?")[2]), hit.at)
        then = answer("<p>A page</p>") if status == 200 else answer(status=status, **headers)
        await then(hit, writer)

    return reply
