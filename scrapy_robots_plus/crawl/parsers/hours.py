"""The hours of the day, UTC, that a Visit-time or a Request-rate names."""

from __future__ import annotations

from datetime import time
from typing import Any, NamedTuple

from scrapy_robots_plus.protocol.pace import holds, second_of

_DAY = 86_400


class Hours(NamedTuple):
    """From *start* to *end*, both included, in seconds since midnight.

    They go over midnight where *end* is before *start*.
    """

    start: int
    end: int

    def contain(self, moment: float) -> bool:
        """Whether a moment, in seconds since the epoch, is in them."""
        return holds(self.start, self.end, moment % _DAY)

    def begin_in(self, moment: float) -> float:
        """Seconds from *moment* to when they begin; 0 in the middle of them."""
        return 0.0 if self.contain(moment) else (self.start - moment) % _DAY


def hours_of(value: Any) -> Hours | None:
    """The hours of anything that has a start and an end as times of day (``datetime.time``).

    ``start`` and ``end``, or ``start_time`` and ``end_time`` as Protego has them.
    """
    if isinstance(value, Hours):
        return value
    start = getattr(value, "start", None) or getattr(value, "start_time", None)
    end = getattr(value, "end", None) or getattr(value, "end_time", None)
    if not isinstance(start, time) or not isinstance(end, time):
        return None
    return Hours(int(second_of(start)), int(second_of(end)))
