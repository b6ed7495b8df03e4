"""Backs off when a host asks for it with Retry-After (RFC 9110 10.2.3), or refuses requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.exceptions import IgnoreRequest

from scrapy_robots_plus.crawl.requests import HANDLED_META_KEY, HANDLES_ALL_META_KEY, TAP_META_KEY
from scrapy_robots_plus.protocol.access import TOO_MANY_REQUESTS
from scrapy_robots_plus.protocol.freshness import http_date, retry_after
from scrapy_robots_plus.settings.scrapys_own import handled_statuses

from .quota import ANY_QUOTA, QUOTA_HEADERS, left_in

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from .quota import Left, Quota
    from .throttle import Throttle

BUSY = frozenset({TOO_MANY_REQUESTS, 503})
"""What a host answers that gets too many requests."""
SLOWLY = 0.1
"""The part of the wait that is kept between requests after it."""
GONE = 0.05
"""Seconds; a delay that has decayed below this ends."""


class HeldAtClosing(IgnoreRequest):
    """The spider closed while the request waited for its host, or for a connection of this
    machine.
    """

    def __init__(self) -> None:
        super().__init__(
            "the spider closed while the request waited for a Retry-After, a Visit-time, a long "
            "delay or other crawls, its host refused requests, or this machine was short of "
            "connections"
        )


class HeldAtGivingUp(IgnoreRequest):
    """The host was given up while the request waited in its slot."""


def wait_asked_for(request: Request, response: Response, now: float) -> float:
    """Seconds for which the host asks for no requests; 0 if it does not ask.

    *now*: seconds since the epoch. If the host names a date, it uses its own clock: its Date
    header, if there is one, counts instead of *now*.
    """
    if response.status not in BUSY or TAP_META_KEY in request.meta:
        return 0.0
    sent_at = http_date(header(response, "Date"))
    headers = {"retry-after": header(response, "Retry-After")}
    return retry_after(headers, now if sent_at is None else sent_at) or 0.0


def left_said(response: Response, now: float) -> Left | None:
    """What *response* says is left of a limit; None if it does not. *now*: as above."""
    if not any(name in response.headers for name in ANY_QUOTA):  # as in almost every answer
        return None
    sent_at = http_date(header(response, "Date"))
    headers = {name: header(response, name) for name in QUOTA_HEADERS if name in response.headers}
    return left_in(headers, now if sent_at is None else sent_at)


def header(response: Response, name: str) -> str:
    """The last header of this name; empty if there is none."""
    return (response.headers.get(name) or b"").decode("latin-1")


def is_handled(crawler: Crawler, request: Request, status: int) -> bool:
    """Whether a callback gets an answer with *status* (Scrapy's HttpErrorMiddleware)."""
    if request.meta.get(HANDLES_ALL_META_KEY):
        return True
    handled = request.meta.get(HANDLED_META_KEY)
    if handled is None:
        handled = handled_statuses(crawler.settings, crawler.spider)
    return handled is None or status in handled


class Backoff:
    """The delay of one slot after a Retry-After: a pause, then a slow start, then as before.

    If its host refuses requests, the pause and the delay of a throttle, if they are longer. Outside
    visiting hours there is a pause too.

    Times are by the clock of downloader slots.
    """

    def __init__(self) -> None:
        self._until = self._delay = 0.0
        self.throttle: Throttle | None = None
        """None if its host was not slowed down."""
        self.quota: Quota | None = None
        """None if its host has not said what is left of a limit."""

    @property
    def until(self) -> float:
        """When the pause ends."""
        until = self._until if self.throttle is None else max(self._until, self.throttle.until)
        return until if self.quota is None else max(until, self.quota.due_at)

    @property
    def delay(self) -> float:
        """Seconds between requests after that."""
        return self._delay if self.throttle is None else max(self._delay, self.throttle.gap)

    def holds(self, now: float) -> bool:
        """Whether there is a pause or a longer delay than usual."""
        return bool(self.delay) or self.until > now

    def is_on(self, now: float) -> bool:
        """The same, or whether there may soon be one again."""
        quota = self.quota is not None and self.quota.is_on(now)
        return quota or self.holds(now) or (self.throttle is not None and self.throttle.is_on)

    def leave_alone(self, seconds: float, now: float) -> None:
        """No requests for *seconds* from *now*, then a slow start."""
        self.shut_for(seconds, now)
        self._delay = max(self._delay, seconds * SLOWLY)

    def shut_for(self, seconds: float, now: float) -> None:
        """No requests for *seconds* from *now*, then as before."""
        self._until = max(self._until, now + seconds)

    def went_well(self, now: float) -> None:
        """An answer that neither asks for a pause nor refuses: the delay halves."""
        if now >= self._until:
            self._delay = self._delay / 2 if self._delay / 2 >= GONE else 0.0

    def end(self) -> None:
        """Back to the usual delay."""
        self._until = self._delay = 0.0
        self.throttle = self.quota = None
