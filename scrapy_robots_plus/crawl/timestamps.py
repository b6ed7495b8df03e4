"""Moments as JSON has them."""

from __future__ import annotations

from functools import lru_cache

from scrapy_robots_plus.audit.fields import rfc3339


@lru_cache(maxsize=4096)
def timestamp(moment: float) -> str | None:
    """RFC 3339, in UTC; None for what is not a date. *moment*: seconds since the epoch."""
    try:
        return rfc3339(moment)
    except (OverflowError, ValueError):  # from a store that others can write to
        return None
