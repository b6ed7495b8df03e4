"""Crawl-delay, Request-rate and Visit-time as values, and how long they alone make a crawl take.

No RFC covers them. An invalid value is ignored: it never raises and never becomes a huge delay.
"""

from __future__ import annotations

import re
from datetime import time
from typing import NamedTuple

_NUMBER = re.compile(rb"\d{1,300}(?:\.\d{0,300})?|\.\d{1,300}")  # none of these is infinite
# No two adjacent parts may match the same blanks: trying all ways to split them is quadratic.
_RATE = rb"(?i)(\d{1,9})\s*/\s*(\d{1,9})\s*([smhd]?)(?:\s(.*))?"
_WINDOW = rb"(?i)(\d\d):?(\d\d)(?:\s*-\s*|\s+)(\d\d):?(\d\d)(?:\s*(?:UTC|GMT|Z))?"
_SECONDS = {b"": 1, b"s": 1, b"m": 60, b"h": 3600, b"d": 86_400}
_MINUTE, _DAY = 60, 86_400


class VisitTime(NamedTuple):
    """A daily window in UTC in which a site wants to be visited: Visit-time, not part of RFC 9309.

    The window spans midnight if ``end`` is before ``start``.
    """

    start: time
    """The first minute of the window, UTC."""
    end: time
    """The last minute of the window, UTC."""

    def __str__(self) -> str:
        return f"{self.start:%H:%M}-{self.end:%H:%M} UTC"

    def includes(self, moment: float) -> bool:
        """Returns whether *moment* (seconds since the epoch) is in the window, ends included."""
        start = second_of(self.start)
        last_minute = (second_of(self.end) - start) % _DAY  # 0600-0845 ends with 08:45:59
        return (moment - start) % _DAY < last_minute + _MINUTE

    def begins_in(self, moment: float) -> float:
        """Returns the seconds from *moment* (since the epoch) to the window; 0 during it."""
        return 0.0 if self.includes(moment) else (second_of(self.start) - moment) % _DAY


class RequestRate(NamedTuple):
    """A limit of ``requests`` in ``seconds``: Request-rate, not part of RFC 9309."""

    requests: int
    """The number of requests."""
    seconds: int
    """The time for these requests, in seconds."""
    window: VisitTime | None = None
    """The hours that the file names for it; None for all day. A crawl keeps to it at any hour."""

    def __str__(self) -> str:
        hours = f", {self.window}" if self.window else ""
        return f"{self.requests:,} in {self.seconds:,} s{hours}"

    @property
    def delay(self) -> float:
        """The seconds from the start of one request to that of the next."""
        return self.seconds / self.requests


def second_of(minute: time) -> int:
    """Returns the seconds from midnight to the beginning of a minute."""
    return (minute.hour * 60 + minute.minute) * _MINUTE


def crawl_delay(value: bytes) -> float | None:
    """Parses a number of seconds; returns None if it is negative, endless or not a number."""
    return float(value) if _NUMBER.fullmatch(value) else None


def visit_time(value: bytes) -> VisitTime | None:
    """Parses ``0600-0845`` or ``0600 0845`` (UTC); returns None for anything else."""
    match = re.fullmatch(_WINDOW, value)
    if not match:
        return None
    hour, minute, end_hour, end_minute = map(int, match.groups())
    if (end_hour, end_minute) == (24, 0):  # the end of the day (ISO 8601)
        end_hour, end_minute = 23, 59
    try:
        return VisitTime(time(hour, minute), time(end_hour, end_minute))
    except ValueError:
        return None


def request_rate(value: bytes) -> RequestRate | None:
    """Parses ``10/60``, ``1/10s`` or ``100/15m 0600-0845``; returns None for anything else."""
    match = re.fullmatch(_RATE, value)
    if not match:
        return None
    requests, seconds = int(match[1]), int(match[2]) * _SECONDS[match[3].lower()]
    window = visit_time(match[4].strip()) if match[4] else None
    # An invalid window makes the whole line invalid.
    if not requests or not seconds or (match[4] and not window):
        return None
    return RequestRate(requests, seconds, window)


def seconds_for(requests: int, start: float, delay: float, visits: VisitTime | None) -> float:
    """Returns the seconds from *start* (since the epoch) until the last of *requests* is sent.

    They are *delay* seconds apart, and in the visiting hours, if there are any. The first is sent
    at once, or when the hours begin: *n* requests take *n* - 1 delays. Takes time in proportion to
    *requests*.
    """
    if not visits:
        return max(0, requests - 1) * delay
    passed = 0.0
    for number in range(requests):
        passed += delay if number else 0.0
        passed += visits.begins_in(start + passed)
    return passed
