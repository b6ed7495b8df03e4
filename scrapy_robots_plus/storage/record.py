"""One fetched robots.txt, or the failure to fetch it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from scrapy_robots_plus.protocol.access import Access, Outcome, is_definite

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy_robots_plus.protocol.origin import Origin

KEPT_HEADERS = ("cache-control", "content-type", "date", "etag", "expires", "last-modified")
"""The response headers that a record keeps, for freshness, validation and the charset."""


@dataclass(frozen=True, slots=True)
class FetchResult:
    """The result of a robots.txt request."""

    outcome: Outcome
    url: str
    """The last URL asked, after redirects."""
    body: bytes = b""
    """Decoded, at most ``ROBOTS_FETCH_MAX_BYTES``, whole lines."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Names in lower case."""
    not_modified: bool = False
    """Whether it is a 304 to a conditional request, so that the known answer still holds."""
    interrupted: bool = False
    """Whether the crawl itself ended it, so that it says nothing about the site."""
    replayed: bool = False
    """Whether it comes from Scrapy's HTTP cache, so that it says nothing about the site today."""
    is_cut: bool = False
    """Whether the file is longer than what was read of it (``ROBOTS_FETCH_MAX_BYTES``)."""
    detail: str = ""
    """What happened, in words, if there is no status: the exception or the condition."""


@dataclass(frozen=True, slots=True)
class RobotsRecord:
    """What is known about an origin's robots.txt: its last readable answer, and failures since.

    Freshness is that of RFC 9111, within the bounds of RFC 9309 2.4. Times are wall clock, in
    seconds since the epoch; spans are seconds.
    """

    origin: Origin
    """Whose robots.txt it is."""
    access: Access
    """The access of the last readable answer; if there never was one, that of the failure
    according to the status policy."""
    outcome: Outcome
    """The HTTP status of the last readable answer; if there never was one, the failure."""
    url: str
    """Where the answer came from, after redirects."""
    fetched_at: float
    """When the answer was received or last found unchanged."""
    lifetime: float
    """How many seconds after ``fetched_at`` it is fresh."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Headers of the answer that are needed later, names in lower case: ``cache-control``,
    ``content-type``, ``date``, ``etag``, ``expires``, ``last-modified``."""
    sha256: str = ""
    """Hash of ``body``, in hexadecimal; empty if there are no rules."""
    failure: Outcome | None = None
    """Why the last fetch could not read the file; None if it could."""
    failures: int = 0
    """How many times in a row it could not be read."""
    failed_at: float = 0.0
    """When that last happened."""
    retry_in: float = 0.0
    """How many seconds after ``failed_at`` it is fetched again."""
    is_cut: bool = False
    """Whether the file is longer than ``body`` was (``ROBOTS_FETCH_MAX_BYTES``)."""
    body: bytes = field(default=b"", repr=False)
    """The text of the rules. Empty in records in memory, which keep the parsed rules instead."""

    @property
    def readable(self) -> bool:
        """Whether the origin ever gave a definite answer: its rules, or that it has none.

        An outage is not an answer, even if the status policy allows everything in an outage.
        """
        return self.access is not Access.UNREACHABLE and is_definite(self.outcome)
