"""The freshness of a response: that of HTTP (RFC 9111) within the limits of RFC 9309 2.4.

A crawler's cache is private, so ``s-maxage`` does not count. Broken or contradictory headers count
as stale (RFC 9111 4.2.1), and the minimum lifetime makes that harmless. ``origins/freshness.py``
asks how long a record may answer; ``hosts/refusals.py`` reads the Retry-After of pages with it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timezone
from email.utils import parsedate_to_datetime
from math import inf
from typing import NamedTuple

from .rfc9309 import EXPIRY

Headers = Mapping[str, str]
"""Headers, names in lower case; the values of a repeated header are joined with commas."""

_ENTITY_TAG = r'(?:W/)?"[!#-~\x80-\xff]+"'
"""An entity tag (RFC 9110 8.8.3), as latin-1; not an empty one."""

CLOCK_SKEW = 60.0
"""The seconds that a time may lie in the future before its clock is distrusted."""


REFRESH_GRACE = 3_600.0
"""The seconds after its lifetime in which a record still answers while it is being refreshed."""


class Limits(NamedTuple):
    """The limits of all lifetimes, in seconds: ``ROBOTS_TTL``, ``ROBOTS_STALE_MAX``,
    ``ROBOTS_RETRY_INTERVAL``."""

    ttl_min: float
    ttl_max: float
    stale_max: float
    error_ttl: float
    error_ttl_max: float
    expiry: float = EXPIRY
    """The lifetime of a response that does not declare one."""


def lifetime(headers: Headers, now: float, limits: Limits) -> float:
    """Returns the seconds from *now* (wall clock) for which a response that just came is fresh.

    Cache-Control ``max-age``, else ``Expires``, else what the dialect says; minus the response's
    age. Within ``ROBOTS_TTL``.
    """
    fresh_for = _declared_lifetime(headers, now, limits.expiry) - age(headers, now)
    return min(max(fresh_for, limits.ttl_min), limits.ttl_max)


def source_of_lifetime(headers: Headers) -> str | None:
    """Returns the header that declares the lifetime, as served; None if none does."""
    directives = _cache_control(headers.get("cache-control", ""))
    if directives.keys() & {"no-store", "no-cache", "max-age"}:
        return f"Cache-Control: {headers['cache-control']}"
    return f"Expires: {headers['expires']}" if "expires" in headers else None


def span_of_use(now: float, limits: Limits) -> tuple[float, float]:
    """Returns the earliest and latest creation time of a record that can still answer at *now*.

    A record is too old after the longest lifetime and ``ROBOTS_STALE_MAX``, or
    :data:`REFRESH_GRACE` if that is longer. One from the future cannot answer either: a fast clock
    dated it.
    """
    return now - limits.ttl_max - max(limits.stale_max, REFRESH_GRACE), now + CLOCK_SKEW


def age(headers: Headers, now: float) -> float:
    """Returns the seconds since the origin made or validated the response (RFC 9111 4.2.3)."""
    date = http_date(headers.get("date", ""))
    apparent = max(0.0, now - date) if date is not None else 0.0
    # 5.1: the first of several values counts; a value that is not a number does not.
    stated = _delta_seconds(headers.get("age", "").split(",")[0].strip())
    return max(apparent, stated or 0.0)


def _declared_lifetime(headers: Headers, now: float, otherwise: float) -> float:
    """Returns the lifetime that the server declares (RFC 9111 4.2.1), or else *otherwise*."""
    directives = _cache_control(headers.get("cache-control", ""))
    if "no-store" in directives or "no-cache" in directives:
        return 0.0
    if "max-age" in directives:
        values = {_delta_seconds(value) for value in directives["max-age"]}
        # 4.2.1: "either the first occurrence should be used or the response considered stale".
        return (values.pop() or 0.0) if len(values) == 1 else 0.0
    if "expires" in headers:
        expires = http_date(headers["expires"])
        date = http_date(headers.get("date", ""))
        # 5.3: an invalid date, especially "0", means already expired.
        return 0.0 if expires is None else expires - (now if date is None else date)
    return otherwise


def _cache_control(value: str) -> dict[str, list[str]]:
    """Returns directives, names in lower case, each with its arguments (RFC 9111 5.2)."""
    directives: dict[str, list[str]] = {}
    for part in value.split(","):
        name, _, argument = part.partition("=")
        # 5.2: recipients ought to accept both the token and the quoted form.
        directives.setdefault(name.strip().lower(), []).append(argument.strip().strip('"'))
    return directives


def _delta_seconds(value: str) -> float | None:
    """Parses a number of seconds (RFC 9111 1.2.2); returns None for anything else."""
    if not (value.isascii() and value.isdigit()):
        return None
    return float(min(int(value[:12]), 2**31))


def http_date(value: str) -> float | None:
    """Returns seconds since the epoch for the three formats of RFC 9110 5.6.7; None for others."""
    # of two dates, the parser would read the first
    return mail_date(value) if value.count(":") == 2 else None


def mail_date(value: str) -> float | None:
    """Returns seconds since the epoch for a date as in mails (RFC 822); None for anything else.

    A date without a zone is in UTC.
    """
    try:
        parsed = parsedate_to_datetime(value)
        return parsed.replace(tzinfo=parsed.tzinfo or timezone.utc).timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


def retry_after(headers: Headers, now: float) -> float | None:
    """Returns the seconds from *now* that Retry-After asks for (RFC 9110 10.2.3), or None."""
    value = headers.get("retry-after", "").strip()
    seconds = _delta_seconds(value)
    if seconds is not None:
        return seconds
    moment = http_date(value)
    return None if moment is None else max(0.0, moment - now)


def error_lifetime(failures: int, asked: float | None, limits: Limits, jitter: float) -> float:
    """Returns the seconds until an unreadable file is fetched again.

    The time that Retry-After *asked* for, between one second and the maximum. Otherwise
    ``ROBOTS_RETRY_INTERVAL``, doubled with each of the *failures* in a row up to the maximum, minus
    up to a tenth: *jitter*, from 0 to 1, spreads retries to hosts that failed together.
    """
    if asked is not None:
        return min(max(asked, 1.0), limits.error_ttl_max)
    doubled = limits.error_ttl * 2.0 ** min(failures - 1, 32)
    return float(min(doubled, limits.error_ttl_max) * (1 - 0.1 * jitter))


def validators(headers: Headers) -> dict[str, str]:
    """Returns the conditional request headers for a response with *headers* (RFC 9110 13.1)."""
    tag = entity_tag(headers)
    if tag:
        return {"If-None-Match": tag}
    modified = headers.get("last-modified", "")
    return {"If-Modified-Since": modified} if http_date(modified) is not None else {}


def entity_tag(headers: Headers) -> str:
    """Returns the ETag (RFC 9110 8.8.3); empty if it is missing, broken or meaningless.

    An empty tag is well-formed, but a server that sends one sends it with every version.
    """
    found = re.fullmatch(_ENTITY_TAG, headers.get("etag", "").strip())
    return found[0] if found else ""


def varies_by_agent(headers: Headers) -> bool:
    """Returns whether a crawler with another User-Agent may get another response (RFC 9111 4.1)."""
    names = {name.strip().lower() for name in headers.get("vary", "").split(",")}
    return not names.isdisjoint({"*", "user-agent"})


def confirms(received: Headers, stored: Headers) -> bool:
    """Returns whether a 304 with headers *received* confirms those *stored* (RFC 9111 4.3.4).

    Its validators must match the stored ones; If-None-Match compares weakly (RFC 9110 13.1.2).
    """
    tag = entity_tag(received)
    if tag:
        return tag.removeprefix("W/") == entity_tag(stored).removeprefix("W/")
    modified = http_date(received.get("last-modified", ""))
    return modified is None or modified == http_date(stored.get("last-modified", ""))


def elapsed(since: float, now: float) -> float:
    """Returns the seconds from *since* to *now*; infinite if *since* is over ``CLOCK_SKEW`` ahead.

    Otherwise records stored before a clock was set back would never expire.
    """
    seconds = now - since
    return inf if seconds < -CLOCK_SKEW else max(0.0, seconds)
