"""How a record looks to people."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

from scrapy_robots_plus.crawl.reporting.progress import duration
from scrapy_robots_plus.policy.decide import fresh_for, held_to

if TYPE_CHECKING:
    from scrapy_robots_plus.policy.freshness import Limits
    from scrapy_robots_plus.policy.record import RobotsRecord

PROGRESS_EVERY = 1_000
"""Records from one look at the progress to the next."""

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def moment(time: float) -> str:
    """A time, in seconds since the epoch, in UTC: ``2026-11-20 18:59:01``."""
    try:
        return f"{_EPOCH + timedelta(seconds=time):%Y-%m-%d %H:%M:%S}"
    except OverflowError:  # written by a clock that is very wrong
        return f"{time:g}"


def age_of(record: RobotsRecord, now: float) -> float:
    """Seconds since it was fetched or confirmed; negative if its clock was ahead."""
    return now - record.fetched_at


def freshness_of(record: RobotsRecord, now: float, limits: Limits) -> float:
    """Seconds for which a crawl with these *limits* would use it without asking; 0 if it asks."""
    return max(0.0, fresh_for(held_to(record, limits), now))


def span(seconds: float) -> str:
    """A duration; ``-`` for none."""
    return duration(seconds) if seconds > 0 else "-"
