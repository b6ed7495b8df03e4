"""What became of the requests to each origin."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from scrapy_robots_plus.protocol.access import Access, Failure
from scrapy_robots_plus.protocol.standing import Standing

if TYPE_CHECKING:
    from scrapy_robots_plus.origins.policy import Policy
    from scrapy_robots_plus.origins.tally import Tally
    from scrapy_robots_plus.protocol.access import Outcome
    from scrapy_robots_plus.protocol.origin import Origin


class Kind(IntEnum):
    """What is most notable about an origin, in the order in which it is shown."""

    DENIED = 0
    """Some of its requests were denied."""
    SKIPPED = 1
    """It asks for a delay that is too long, and is not crawled."""
    UNREADABLE = 2
    """Its robots.txt cannot be read."""
    CLOSED = 3
    """It refuses pages that its robots.txt allows, or fails."""
    SLOW = 4
    """It asks for a delay, which is kept."""
    OTHER = 5


class Site(NamedTuple):
    """One origin, as the crawl leaves it."""

    origin: Origin
    policy: Policy | None
    """None if its robots.txt was not read."""
    allowed: int
    denied: int
    given_up: bool = False
    """Whether its host was given up because it had refused too many requests."""
    answers: Standing = Standing.OPEN
    """How it treats the requests that are allowed."""

    @property
    def kind(self) -> Kind:
        if self.is_skipped:
            return Kind.SKIPPED
        if self.denied and not self._is_unreachable:
            return Kind.DENIED
        if self.is_unreadable:
            return Kind.UNREADABLE
        if self.answers is not Standing.OPEN:
            return Kind.CLOSED
        return Kind.SLOW if self.delay else Kind.OTHER

    @property
    def in_words(self) -> str:
        """``200, rules``, ``503, all denied``, ..."""
        words = "not read" if self.policy is None else self.policy.in_words
        if self.given_up:
            return f"{words}, given up"
        return words if self.answers is Standing.OPEN else f"{words}, {self.answers}"

    @property
    def standing(self) -> Standing:
        """How it treats the crawl: its robots.txt first, then its answers."""
        if self.allowed or not self.denied:
            return self.answers
        if self._is_unreachable:
            return Standing.WALLED if self.failure is Failure.CHALLENGE else Standing.BROKEN
        return Standing.DENIED

    @property
    def is_unreadable(self) -> bool:
        """Whether its robots.txt cannot be read now, whatever follows from that."""
        return self.failure is not None or self._is_unreachable

    @property
    def is_closed(self) -> bool:
        """Whether its robots.txt was read, and denied all of its requests."""
        return self.kind is Kind.DENIED and not (self.allowed or self.is_unreadable)

    @property
    def failure(self) -> Outcome | None:
        """Why it cannot be read now."""
        return None if self.policy is None else self.policy.record.failure

    @property
    def _is_unreachable(self) -> bool:
        return self.policy is not None and self.policy.access is Access.UNREACHABLE

    @property
    def is_skipped(self) -> bool:
        asked = None if self.policy is None else self.policy.asked_delay
        return asked is not None and asked.skip

    @property
    def delay_asked(self) -> float | None:
        """The longest delay that its robots.txt asks for, in seconds."""
        asked = None if self.policy is None else self.policy.asked_delay
        return None if asked is None else asked.asked

    @property
    def delay(self) -> float | None:
        """The longest delay that was kept because of it, in seconds."""
        return None if self.policy is None else self.policy.longest_delay


def sites_of(tally: Tally) -> list[Site]:
    """Every origin that *tally* remembers, the most notable first.

    By kind; then most denials, longest delay, most requests.
    """
    sites = [
        Site(origin, row.policy, row.allowed, row.denied, row.given_up, row.standing)
        for origin, row in tally
    ]
    return sorted(sites, key=_rank)


def _rank(site: Site) -> tuple[int, int, float, int]:
    return site.kind, -site.denied, -(site.delay or 0.0), -site.allowed
