"""Moments as JSON has them."""

from __future__ import annotations

from datetime import datetime, timezone
from functools import lru_cache


@lru_cache(maxsize=4096)
def timestamp(moment: float) -> str | None:
    """RFC 3339, in UTC; None for what is not a date. *moment*: seconds since the epoch."""
    try:
        date = datetime.fromtimestamp(moment, timezone.utc)
    except (OverflowError, OSError, ValueError):  # from a store that others can write to
        return None
    return date.isoformat(timespec="microseconds").replace("+00:00", "Z")
