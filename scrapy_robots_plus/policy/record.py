"""One fetched robots.txt, or the failure to fetch it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .access import Access, Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .origin import Origin


@dataclass(frozen=True, slots=True)
class FetchResult:
    """What a robots.txt request came back with."""

    outcome: Outcome
    url: str
    """The last URL asked, after redirects."""
    body: bytes = b""
    """Decoded, at most ``ROBOTS_FETCH_MAX_BYTES``, whole lines."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Names in lower case."""


@dataclass(frozen=True, slots=True)
class RobotsRecord:
    """What is known of an origin's robots.txt since it was last asked for."""

    origin: Origin
    access: Access
    outcome: Outcome
    url: str
    """Where the answer came from, after redirects."""
    fetched_at: float
    """Wall clock, seconds since the epoch."""
    lifetime: float
    """Seconds after which it is asked for again."""
    failures: int = 0
    """How many times in a row it could not be read."""

    @property
    def readable(self) -> bool:
        """Whether the origin gave a definite answer: its rules, or that it has none."""
        return self.access is not Access.UNREACHABLE
