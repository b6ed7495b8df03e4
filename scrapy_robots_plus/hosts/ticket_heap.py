"""A heap of waiting items that never need to be searched for and removed."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Any, Protocol, TypeVar


class Ticketed(Protocol):
    """An item that can wait."""

    ticket: int
    """Changes when the item goes elsewhere. No two items have the same ticket."""


_Item = TypeVar("_Item", bound=Ticketed)


class TicketHeap(list[tuple[Any, int, _Item]]):
    """An entry counts only while its item has the ticket with which it was pushed.

    Finding an entry to remove it would be a scan. Instead, outdated entries are dropped when they
    reach the top, and all at once when the heap has doubled since the last time. So it never holds
    more than twice the valid entries, and each operation takes O(log n).
    """

    __slots__ = ("_full",)

    LEAST = 32
    """With fewer entries than this, outdated ones are not searched for."""

    def __init__(self) -> None:
        self._full = self.LEAST

    def push(self, order: Any, item: _Item) -> None:
        """The item with the smallest *order* comes first."""
        if len(self) >= self._full:
            self[:] = [entry for entry in self if entry[2].ticket == entry[1]]
            heapify(self)
            self._full = max(self.LEAST, 2 * len(self))
        heappush(self, (order, item.ticket, item))

    def pop(self, group: int | None = None) -> _Item | None:  # type: ignore[override]
        """Removes and returns the first item; None if there is none, or if its order, a tuple, does
        not begin with *group*.
        """
        while self:
            order, ticket, item = self[0]
            is_valid = item.ticket == ticket
            if is_valid and group is not None and order[0] != group:
                return None
            heappop(self)
            if is_valid:
                return item
        return None

    def first(self) -> tuple[Any, _Item] | None:
        """The first item with its order, left in the heap; None if there is none."""
        while self:
            order, ticket, item = self[0]
            if item.ticket == ticket:
                return order, item
            heappop(self)
        return None
