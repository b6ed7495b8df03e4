"""How long politeness alone takes: the delay between requests to one host, and its hours."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

from .pace import second_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .pace import VisitTime

MOST_STEPS = 10_000
"""Changes of a delay that are followed, several years of them; then the average counts."""

_MINUTE, _DAY = 60, 86_400


@dataclass(frozen=True, slots=True)
class Timetable:
    """When the requests to a host may be sent.

    Delays are seconds from the start of one request to that of the next.
    """

    delay: float = 0.0
    """At any hour."""
    hourly: tuple[tuple[VisitTime, float], ...] = ()
    """Delays in some hours of the day (Request-rate)."""
    visits: VisitTime | None = None
    """The hours in which requests may be sent (Visit-time); None for all day."""

    def seconds_for(self, requests: int, start: float) -> float:
        """Seconds from *start* (since the epoch) until the last of *requests* is sent.

        The first is sent at once, or when the visiting hours begin: *n* requests take *n* - 1
        delays.
        """
        gaps = left = max(0, requests - 1)
        passed = self._opens_in(start) if requests else 0.0
        for _ in range(MOST_STEPS):
            gap = self.delay_at(start + passed)
            if not left or not gap:
                return passed
            many = left
            if self._varies:
                many = min(left, ceil(self._unchanged_for(start + passed) / gap))
            left -= many
            passed += many * gap
            passed += self._opens_in(start + passed)
        return passed * gaps / (gaps - left)

    def delay_at(self, moment: float) -> float:
        """The delay at a moment in seconds since the epoch."""
        now = (delay for window, delay in self.hourly if window.includes(moment))
        return max((self.delay, *now))

    @property
    def _varies(self) -> bool:
        return bool(self.hourly or self.visits)

    def _opens_in(self, moment: float) -> float:
        """Seconds from *moment* until the visiting hours begin; 0 during them."""
        return self.visits.begins_in(moment) if self.visits else 0.0

    def _unchanged_for(self, moment: float) -> float:
        """Seconds until any hours begin or end."""
        return min((second - moment) % _DAY or _DAY for second in self._changes())

    def _changes(self) -> Iterator[float]:
        """The seconds of the day at which hours begin or end."""
        windows = [window for window, _ in self.hourly]
        for window in (*windows, *filter(None, [self.visits])):
            yield second_of(window.start)
            yield second_of(window.end) + _MINUTE  # the last minute is included
