"""What a host asks for with Retry-After in an answer to a page (RFC 9110 10.2.3)."""

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
"""The part of the wait that is kept between requests when it is over."""
GONE = 0.05
"""Seconds; a slower pace that has decayed to less is gone."""


class HeldAtClosing(IgnoreRequest):
    """The spider closed while the request waited for its host to be left alone."""

    def __init__(self) -> None:
        super().__init__("the spider closed while the host was left alone (Retry-After)")


def wait_asked_for(request: Request, response: Response, now: float) -> float:
    """Seconds for which the host wants to be left alone; 0 where it does not say so.

    *now*: seconds since the epoch. A moment that the host names is one by its own clock, so that
    its Date, where there is one, counts instead.
    """
    if response.status not in BUSY or TAP_META_KEY in request.meta:
        return 0.0
    sent_at = http_date(_header(response, b"Date"))
    headers = {"retry-after": _header(response, b"Retry-After")}
    return retry_after(headers, now if sent_at is None else sent_at) or 0.0


def _header(response: Response, name: bytes) -> str:
    return (response.headers.get(name) or b"").decode("latin-1")


class Backoff:
    """The pace of one slot after a Retry-After: nothing for a while, then slowly, then as before.

    Outside of visiting hours too there is nothing for a while.

    Times are by the clock of downloader slots.
    """

    def __init__(self) -> None:
        self.until = 0.0
        """When the wait is over."""
        self.delay = 0.0
        """Seconds between requests from then on."""

    def is_on(self, now: float) -> bool:
        """Whether the pace is not yet as before."""
        return bool(self.delay) or self.until > now

    def leave_alone(self, seconds: float, now: float) -> None:
        """Nothing for *seconds* from *now*, then slowly."""
        self.close_for(seconds, now)
        self.delay = max(self.delay, seconds * SLOWLY)

    def close_for(self, seconds: float, now: float) -> None:
        """Nothing for *seconds* from *now*, then as before."""
        self.until = max(self.until, now + seconds)

    def went_well(self, now: float) -> None:
        """An answer that asks for nothing: the pace doubles."""
        if now >= self.until:
            self.delay = self.delay / 2 if self.delay / 2 >= GONE else 0.0

    def end(self) -> None:
        """As before from now on."""
        self.until = self.delay = 0.0
