"""The hours of the day, UTC, that a Visit-time or a Request-rate names."""

from __future__ import annotations

from datetime import time
from typing import Any, NamedTuple

_DAY = 86_400


class Hours(NamedTuple):
    """From *start* to *end*, both included, in seconds since midnight.

    They go over midnight where *end* is before *start*.
    """

    start: int
    end: int

    def contain(self, moment: float) -> bool:
        """Whether a moment, in seconds since the epoch, is in them."""
        second = moment % _DAY
        # The last minute counts as a whole: 0845 ends at 08:45:59.
        if self.start <= self.end:
            return self.start <= second < self.end + 60
        return second >= self.start or second < self.end + 60

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
    return Hours(_second(start), _second(end))


def _second(moment: time) -> int:
    return moment.hour * 3600 + moment.minute * 60 + moment.second
