"""Reads Retry-After (RFC 9110 10.2.3), and names what ends the wait of a request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.exceptions import IgnoreRequest

from scrapy_robots_plus.crawl.requests import HANDLED_META_KEY, HANDLES_ALL_META_KEY
from scrapy_robots_plus.protocol.access import TOO_MANY_REQUESTS
from scrapy_robots_plus.protocol.http_caching import http_date, retry_after
from scrapy_robots_plus.protocol.standing import CHALLENGE
from scrapy_robots_plus.settings.scrapys_own import handled_statuses

from .quota import QUOTA_HEADERS, Left, left_in

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response


BUSY = frozenset({TOO_MANY_REQUESTS, 503})
"""What a host answers that gets too many requests."""
_LISTS = ("ratelimit", "ratelimit-policy", "www-authenticate")
TELLING = frozenset(name.title().encode() for name in (CHALLENGE, *QUOTA_HEADERS))
"""Headers that may say more of a host than the status of a good answer does."""


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


_YEAR = 366 * 86_400
"""Seconds. Who asks for more means something else: a moment in seconds, or never."""


def wait_asked_for(response: Response, now: float) -> float:
    """Seconds for which the host asks for no requests; 0 if it does not ask.

    *now*: seconds since the epoch. If the host names a date, it uses its own clock: its Date
    header, if there is one, counts instead of *now*.
    """
    if response.status not in BUSY:
        return 0.0
    sent_at = http_date(header(response, "Date"))
    headers = {"retry-after": header(response, "Retry-After")}
    asked = retry_after(headers, now if sent_at is None else sent_at) or 0.0
    return asked if asked <= _YEAR else 0.0


def left_said(response: Response, now: float) -> Left | None:
    """What *response* says is left of a limit; None if it does not. *now*: as above."""
    sent_at = http_date(header(response, "Date"))
    headers = {name: header(response, name) for name in QUOTA_HEADERS}
    return left_in(headers, now if sent_at is None else sent_at)


def header(response: Response, name: str) -> str:
    """The last line of this header, or all of it if it is a list (RFC 9110 5.3); empty if there is
    none."""
    lines = response.headers.getlist(name)
    return b", ".join(lines if name in _LISTS else lines[-1:]).decode("latin-1")


def is_handled(crawler: Crawler, request: Request, status: int) -> bool:
    """Whether a callback gets an answer with *status* (Scrapy's HttpErrorMiddleware)."""
    if request.meta.get(HANDLES_ALL_META_KEY):
        return True
    handled = request.meta.get(HANDLED_META_KEY)
    if handled is None:
        handled = handled_statuses(crawler.settings, crawler.spider)
    return handled is None or status in handled
