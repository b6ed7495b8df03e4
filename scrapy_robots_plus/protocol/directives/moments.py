"""Moments as pages write them: RFC 822, RFC 850 and ISO 8601, as Google documents for
``unavailable_after``."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from email.utils import parsedate_tz

_LONGEST = 100
"""Characters; the longest form that makes sense has 50."""

_ISO_8601 = re.compile(
    r"(\d{4})-?(\d\d)-?(\d\d)(?:[T ]+(\d\d):?(\d\d)(?::?(\d\d)(?:\.\d+)?)?)?"
    r"\s*(?:Z|UTC|GMT|([+-])(\d\d):?(\d\d)?)?",
    re.IGNORECASE | re.ASCII,
)


def moment_in(text: str) -> float | None:
    """Seconds since 1970; None if *text* is no date.

    A date without a time is its first moment; without a zone, or with one that RFC 822 does not
    name, it is UTC.
    """
    text = text.strip()
    if len(text) > _LONGEST:
        return None
    try:
        match = _ISO_8601.fullmatch(text)
        return (_from_mail(text) if match is None else _from_iso(match)).timestamp()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _from_iso(match: re.Match[str]) -> datetime:
    *numbers, sign, hours, minutes = match.groups()
    offset = timedelta(hours=int(hours or 0), minutes=int(minutes or 0))
    zone = timezone(-offset if sign == "-" else offset)
    return datetime(*(int(each or 0) for each in numbers), tzinfo=zone)  # type: ignore[misc,arg-type]


def _from_mail(text: str) -> datetime:
    """RFC 822 or 850. Raises whatever the standard library does on what it did not expect."""
    parsed = parsedate_tz(text if ":" in text else f"{text} 00:00:00")
    if parsed is None:
        raise ValueError
    offset = timedelta(seconds=parsed[9] or 0)
    return datetime(*parsed[:6], tzinfo=timezone.utc) - offset
