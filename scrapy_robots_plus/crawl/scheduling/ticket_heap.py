"""A heap of what waits, from which nothing has to be taken out."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Any, Generic, Protocol, TypeVar


class Ticketed(Protocol):
    """What can wait."""

    ticket: int
    """Changes when the item goes elsewhere. No two items have the same."""


_Item = TypeVar("_Item", bound=Ticketed)


class TicketHeap(Generic[_Item]):
    """An entry counts only while its item has the ticket with which it was put in.

    Looking for an entry to take it out would be a scan. Entries out of date are dropped when they
    come to the top instead, and all at once when the heap has doubled since that was last done: so
    it never holds more than twice what counts, and each operation takes O(log n).
    """

    __slots__ = ("_entries", "_full")

    LEAST = 32
    """With fewer entries it is not looked whether they are out of date."""

    def __init__(self) -> None:
        self._entries: list[tuple[Any, int, _Item]] = []
        self._full = self.LEAST

    def __len__(self) -> int:
        """How many entries there are, with those that are out of date."""
        return len(self._entries)

    def push(self, order: Any, item: _Item) -> None:
        """The *item* with the least *order* comes first."""
        if len(self._entries) >= self._full:
            self._drop_outdated()
        heappush(self._entries, (order, item.ticket, item))

    def pop(self) -> _Item | None:
        """Takes out the first item; None where there is none."""
        while self._entries:
            _, ticket, item = heappop(self._entries)
            if item.ticket == ticket:
                return item
        return None

    def first(self) -> tuple[Any, _Item] | None:
        """The first item with its order, left where it is; None where there is none."""
        while self._entries:
            order, ticket, item = self._entries[0]
            if item.ticket == ticket:
                return order, item
            heappop(self._entries)
        return None

    def clear(self) -> None:
        self._entries.clear()

    def _drop_outdated(self) -> None:
        self._entries = [entry for entry in self._entries if entry[2].ticket == entry[1]]
        heapify(self._entries)
        self._full = max(self.LEAST, 2 * len(self._entries))
