"""A heap of waiting items that never need to be searched for and removed."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Any, Generic, Protocol, TypeVar


class Ticketed(Protocol):
    """An item that can wait."""

    ticket: int
    """Changes when the item goes elsewhere. No two items have the same ticket."""


_Item = TypeVar("_Item", bound=Ticketed)


class TicketHeap(list[tuple[Any, ...]], Generic[_Item]):
    """Entries are the parts of their order, a ticket and an item. One counts only while its item
    has that ticket.

    Finding an entry to remove it would be a scan. Instead, outdated entries are dropped when they
    reach the top, and all at once when the heap has doubled since the last time. So it never holds
    more than twice the valid entries, and each operation takes O(log n).
    """

    __slots__ = ("_full",)

    LEAST = 32
    """With fewer entries than this, outdated ones are not searched for."""

    def __init__(self) -> None:
        self._full = self.LEAST

    def push(self, order: tuple[Any, ...], item: _Item) -> None:
        """The item with the smallest *order* comes first."""
        if len(self) >= self._full:
            self[:] = [entry for entry in self if entry[-1].ticket == entry[-2]]
            heapify(self)
            self._full = max(self.LEAST, 2 * len(self))
        # One tuple for each: a tuple in another takes longer to compare, and to collect.
        heappush(self, order + (item.ticket, item))  # noqa: RUF005 - half the time

    def pop(self, group: int | None = None) -> _Item | None:  # type: ignore[override]
        """Removes and returns the first item; None if there is none, or if its order does not begin
        with *group*.
        """
        first = self.first()
        if first is None or (group is not None and first[0] != group):
            return None
        item: _Item = heappop(self)[-1]
        return item

    def first(self) -> tuple[Any, ...] | None:
        """The first entry, left in the heap; None if there is none."""
        while self:
            entry = self[0]
            if entry[-1].ticket == entry[-2]:
                return entry
            heappop(self)
        return None
