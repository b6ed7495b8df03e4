"""Lanes whose robots.txt must be fetched, and in which order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .ticket_heap import TicketHeap

if TYPE_CHECKING:
    from .host import Lane


class FetchOrder:
    """The lane with the most requests comes first, and every fourth time the one waiting longest.

    Large lanes give access to the most pages: among thousands of hosts that may or may not answer,
    large sites do not wait for all the small ones. The highest priority goes before all others.
    """

    LONGEST_WAIT_EVERY = 4

    def __init__(self) -> None:
        self._by_order: TicketHeap[Lane] = TicketHeap()
        self._by_size: TicketHeap[Lane] = TicketHeap()
        self._pops = 0

    def __bool__(self) -> bool:
        """Whether there may be any lanes: those that have left are only noticed later."""
        return bool(self._by_order)

    def add(self, lane: Lane) -> None:
        self._by_order.push((lane.priority, lane.order), lane)
        if lane.count > 1:  # most have one: these are in one heap only
            self.grow(lane)

    def grow(self, lane: Lane) -> None:
        """The lane has at least twice as many requests as when it was added."""
        size = lane.count.bit_length()
        self._by_size.push((lane.priority, -size, lane.order), lane)

    def pop(self) -> Lane | None:
        """The lane to fetch for next; None if there is none. It may be returned again."""
        self._pops += 1
        oldest, largest = self._by_order.first(), self._by_size.first()
        if oldest is None or largest is None or largest[0][0] > oldest[0][0]:
            return self._by_order.pop()
        return (self._by_size if self._pops % self.LONGEST_WAIT_EVERY else self._by_order).pop()
