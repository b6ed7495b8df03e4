"""Backs off when a host answers a page with Retry-After (RFC 9110 10.2.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.exceptions import IgnoreRequest

from scrapy_robots_plus.crawl.requests import TAP_META_KEY
from scrapy_robots_plus.policy.access import TOO_MANY_REQUESTS
from scrapy_robots_plus.policy.freshness import http_date, retry_after

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response

BUSY = frozenset({TOO_MANY_REQUESTS, 503})

SLOWLY = 0.1
"""The part of the wait that is kept between requests after it."""
GONE = 0.05
"""Seconds; a delay that has decayed below this ends."""


class HeldAtClosing(IgnoreRequest):
    """The spider closed while the request waited for a Retry-After or Visit-time."""

    def __init__(self) -> None:
        super().__init__(
            "the spider closed while the request waited for a Retry-After or Visit-time"
        )


def wait_asked_for(request: Request, response: Response, now: float) -> float:
    """Seconds for which the host asks for no requests; 0 if it does not ask.

    *now*: seconds since the epoch. If the host names a date, it uses its own clock: its Date
    header, if there is one, counts instead of *now*.
    """
    if response.status not in BUSY or TAP_META_KEY in request.meta:
        return 0.0
    sent_at = http_date(_header(response, b"Date"))
    headers = {"retry-after": _header(response, b"Retry-After")}
    return retry_after(headers, now if sent_at is None else sent_at) or 0.0


def _header(response: Response, name: bytes) -> str:
    return (response.headers.get(name) or b"").decode("latin-1")


class Backoff:
    """The delay of one slot after a Retry-After: a pause, then a slow start, then as before.

    Outside visiting hours there is a pause too.

    Times are by the clock of downloader slots.
    """

    def __init__(self) -> None:
        self.until = 0.0
        """When the pause ends."""
        self.delay = 0.0
        """Seconds between requests after that."""

    def is_on(self, now: float) -> bool:
        """Whether there is a pause, or a longer delay than usual."""
        return bool(self.delay) or self.until > now

    def leave_alone(self, seconds: float, now: float) -> None:
        """No requests for *seconds* from *now*, then a slow start."""
        self.shut_for(seconds, now)
        self.delay = max(self.delay, seconds * SLOWLY)

    def shut_for(self, seconds: float, now: float) -> None:
        """No requests for *seconds* from *now*, then as before."""
        self.until = max(self.until, now + seconds)

    def went_well(self, now: float) -> None:
        """An answer without Retry-After: the delay halves."""
        if now >= self.until:
            self.delay = self.delay / 2 if self.delay / 2 >= GONE else 0.0

    def end(self) -> None:
        """Back to the usual delay."""
        self.until = self.delay = 0.0
