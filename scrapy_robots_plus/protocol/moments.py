"""Moments as text: RFC 3339, in UTC."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def rfc3339(moment: float) -> str:
    """A moment, in seconds since the epoch, in UTC with microseconds (RFC 3339)."""
    text = (_EPOCH + timedelta(seconds=moment)).isoformat(timespec="microseconds")
    return f"{text[:-6]}Z"


def moment_of(text: str) -> float:
    """Seconds since the epoch, from RFC 3339 in UTC (``Z``). Raises ValueError for other text."""
    if not text.endswith("Z"):
        raise ValueError(f"expected a time in UTC that ends in Z, not {text!r}")
    return (datetime.fromisoformat(f"{text[:-1]}+00:00") - _EPOCH).total_seconds()
