"""When items are due: a heap of moments, and an alarm for the next one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from scrapy_robots_plus.crawl.clock import Alarm, CallLater, Now

from .ticket_heap import Ticketed, TicketHeap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


_Item = TypeVar("_Item", bound=Ticketed)


class Agenda(Generic[_Item]):
    """Finding a due item takes O(log n), however many wait."""

    def __init__(self, ring: Callable[[], None], clock: Now, call_later: CallLater) -> None:
        self._heap: TicketHeap[_Item] = TicketHeap()
        self._clock = clock
        self.alarm = Alarm(ring, clock, call_later)

    def put(self, moment: float, item: _Item) -> None:
        """*item* is due at *moment*, unless its ticket changes first."""
        self._heap.push(moment, item)

    def due(self) -> Iterator[_Item]:
        """Removes and yields the items that are due now."""
        if not self._heap:
            return
        now = self._clock()
        while (first := self._heap.first()) is not None and first[0] <= now:
            self._heap.pop()
            yield first[1]

    def set_alarm(self, other: float | None = None) -> None:
        """Sets the alarm to the next moment at which an item is due, or to *other* if sooner."""
        first = self._heap.first()
        if first is not None:
            self.alarm.set(first[0])
        if other is not None:
            self.alarm.set(other)
