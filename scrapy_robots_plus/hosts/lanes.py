"""The lanes of one queue, in memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from scrapy import Request, squeues

from scrapy_robots_plus.crawl.requests import START_META_KEY, priority_of

from .host import Address, Lane, LaneQueue

_NEWEST_FIRST: dict[type, bool] = {
    squeues.FifoMemoryQueue: False,
    squeues.LifoMemoryQueue: True,
    squeues.MarshalFifoDiskQueue: False,
    squeues.MarshalLifoDiskQueue: True,
    squeues.PickleFifoDiskQueue: False,
    squeues.PickleLifoDiskQueue: True,
}
"""Whether the newest request goes first, for Scrapy's own queues: only their order counts."""


class Order(NamedTuple):
    """The order of requests of one priority: the newest, or the oldest, goes first."""

    newest_first: bool
    newest_start_first: bool | None
    """Whether the newest start request goes first; None if they are kept with the others."""

    @classmethod
    def of(cls, queue: type, start_queue: type | None) -> Order | None:
        """Returns the order of two of Scrapy's own queue classes; None if one is not of these."""
        if queue not in _NEWEST_FIRST or (start_queue and start_queue not in _NEWEST_FIRST):
            return None
        return cls(_NEWEST_FIRST[queue], _NEWEST_FIRST[start_queue] if start_queue else None)

    def is_late(self, request: Request) -> bool:
        """Returns whether *request* goes after the others of its priority: a start request that is
        kept apart.
        """
        return self.newest_start_first is not None and bool(request.meta.get(START_META_KEY))


class LaneInMemory(Lane):
    """A lane in the order of Scrapy's own queues, in a fraction of their memory.

    Most lanes of a broad crawl hold a few requests of one priority: a list is enough.
    """

    __slots__ = ("_next", "_order", "_others", "_rank")

    FEW = 16
    """The number of requests up to which taking the first out of a list costs almost nothing."""

    def __init__(self, address: Address, queue: LaneQueue, order: Order) -> None:
        super().__init__(address, queue)
        self._order = order
        self._rank = 0
        """The lowest rank: twice the priority, and one more for start requests: these go later."""
        self._next: list[Request] | deque[Request] = []
        """The requests with the lowest rank."""
        self._others: dict[int, list[Request] | deque[Request]] | None = None
        """The requests of other ranks, by rank; None if there are none."""

    def push(self, request: Request) -> None:
        rank = -2 * priority_of(request) + self._order.is_late(request)
        if not self.count:
            self._begin(rank, self._next)
        if rank == self._rank:
            held = self._next
            if len(held) == self.FEW:
                held = self._next = self._roomy(held, rank)
        else:
            held = self._of_another(rank)
        held.append(request)
        self.count += 1

    def _of_another(self, rank: int) -> list[Request] | deque[Request]:
        """Returns what holds the requests of *rank*, which is not that of the next request yet."""
        others = self._others = self._others or {}
        if rank < self._rank:
            others[self._rank] = self._next
            self._begin(rank, [])
            return self._next
        held = others[rank] = self._roomy(others.get(rank, []), rank)
        return held

    def pop(self) -> Request | None:
        if not self.count:
            return None
        self.count -= 1
        held = self._next
        if self._order[self._rank & 1]:
            request = held.pop()
        else:
            request = held.popleft() if isinstance(held, deque) else held.pop(0)
        if not held and self._others:
            rank = min(self._others)
            self._begin(rank, self._others.pop(rank))
        return request

    def _begin(self, rank: int, held: list[Request] | deque[Request]) -> None:
        self._rank, self.priority, self._next = rank, rank >> 1, held

    def _roomy(
        self, held: list[Request] | deque[Request], rank: int
    ) -> list[Request] | deque[Request]:
        is_full = len(held) == self.FEW and not self._order[rank & 1]
        return deque(held) if is_full else held


class Lanes:
    """The lanes of one queue, by address: here in memory."""

    asleep = 0
    """How many lanes are only in the job's file."""

    def __init__(self, queue: LaneQueue, order: Order) -> None:
        self.queue = queue
        self.order = order
        self._lanes = dict[Address, Lane]()
        self.get = self._lanes.get
        """A function that returns the lane at an address; None if there is none yet."""

    def __iter__(self) -> Iterator[Lane]:
        return iter(self._lanes.values())

    def new(self, address: Address, request: Request) -> Lane | None:
        """Returns a new lane with its first request; None if it stays asleep."""
        lane = self._lanes[address] = LaneInMemory(address, self.queue, self.order)
        lane.push(request)
        return lane

    def remove(self, lane: Lane) -> None:
        """Removes *lane*, which is empty."""
        del self._lanes[lane.address]

    def state(self) -> dict[str, list[int]]:
        """Returns what is needed to resume a job."""
        return {}

    def close(self) -> None:
        """Forgets all lanes."""
        self._lanes.clear()
