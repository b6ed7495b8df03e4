"""Lanes whose robots.txt is to be fetched, and in which order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .ticket_heap import TicketHeap

if TYPE_CHECKING:
    from scrapy_robots_plus.crawl.lanes.lane import Lane


class Unknown:
    """The lane with the most requests, and every fourth time the one that has waited longest.

    The former opens the way to most pages: with thousands of hosts of which nobody knows whether
    they answer, large sites do not wait for all the small ones. The highest priority goes first.
    """

    LONGEST_WAIT_EVERY = 4

    def __init__(self) -> None:
        self._by_order: TicketHeap[Lane] = TicketHeap()
        self._by_size: TicketHeap[Lane] = TicketHeap()
        self._pops = 0

    def __bool__(self) -> bool:
        """Whether there may be any: lanes that have left are found when they are looked at."""
        return bool(self._by_order)

    def add(self, lane: Lane) -> None:
        self._by_order.push((lane.priority, lane.order), lane)
        self.grow(lane)

    def grow(self, lane: Lane) -> None:
        """The lane has at least twice as many requests as when it was added."""
        size = len(lane).bit_length()
        self._by_size.push((lane.priority, -size, lane.order), lane)

    def pop(self) -> Lane | None:
        """The lane to be fetched for next; None where there is none. It may be named again."""
        self._pops += 1
        heaps = [self._by_size, self._by_order]
        for heap in heaps if self._pops % self.LONGEST_WAIT_EVERY else reversed(heaps):
            lane = heap.pop()
            if lane is not None:
                return lane
        return None
