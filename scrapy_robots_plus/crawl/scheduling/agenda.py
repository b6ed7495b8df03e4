"""What is due when: a heap of moments, and the alarm for the next."""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING, Protocol

from scrapy_robots_plus.crawl.alarm import Alarm, CallLater, Clock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


class Ticketed(Protocol):
    """What can wait for a moment."""

    ticket: int
    """An entry with another ticket is out of date."""


class Agenda:
    """Finding what is due takes O(log n), whatever waits."""

    def __init__(self, ring: Callable[[], None], clock: Clock, call_later: CallLater) -> None:
        self._heap: list[tuple[float, int, int, Ticketed]] = []
        self._order = count()
        self._clock = clock
        self.alarm = Alarm(ring, clock, call_later)

    def put(self, moment: float, item: Ticketed) -> None:
        """*item* is due at *moment*, unless its ticket changes before."""
        heappush(self._heap, (moment, next(self._order), item.ticket, item))

    def due(self) -> Iterable[Ticketed]:
        """Takes out what is due now."""
        now = self._clock()
        if not self._heap or self._heap[0][0] > now:
            return ()
        return self._take_out(now)

    def _take_out(self, now: float) -> Iterator[Ticketed]:
        while self._heap and self._heap[0][0] <= now:
            _, _, ticket, item = heappop(self._heap)
            if item.ticket == ticket:
                yield item

    def set_alarm(self, other: float | None = None) -> None:
        """To the next moment at which something is due, or to *other* if that is sooner."""
        while self._heap and self._heap[0][3].ticket != self._heap[0][2]:
            heappop(self._heap)
        if self._heap:
            self.alarm.set(self._heap[0][0])
        if other is not None:
            self.alarm.set(other)
