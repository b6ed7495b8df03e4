"""The requests of one lane in memory, for Scrapy's own kinds of queues."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from scrapy.squeues import FifoMemoryQueue, LifoMemoryQueue

from scrapy_robots_plus.crawl.request_fields import priority_of
from scrapy_robots_plus.crawl.requests import START_META_KEY

if TYPE_CHECKING:
    from scrapy import Request

_NEWEST_FIRST: dict[type | None, bool] = {FifoMemoryQueue: False, LifoMemoryQueue: True}


class MemoryOrder(NamedTuple):
    """Which of the requests of one priority goes first: the newest, or the oldest."""

    newest_first: bool
    newest_start_first: bool | None
    """Of start requests; None if they are kept with the others."""

    @classmethod
    def of(cls, queue: type, start_queue: type | None) -> MemoryOrder | None:
        """That of two of Scrapy's own queue classes; None if one is of another kind."""
        if queue not in _NEWEST_FIRST or start_queue not in (None, *_NEWEST_FIRST):
            return None
        return cls(_NEWEST_FIRST[queue], _NEWEST_FIRST.get(start_queue))


class RequestsInMemory:
    """In the order of ``ScrapyPriorityQueue``, in a fraction of its memory.

    Most lanes of a broad crawl hold a few requests, of one priority: these are a list.
    """

    __slots__ = ("_count", "_next", "_order", "_others", "_rank")

    FEW = 16
    """Up to this many requests, taking the first out of a list costs next to nothing."""

    def __init__(self, order: MemoryOrder) -> None:
        self._order = order
        self._count = 0
        self._rank = 0
        """Twice the priority, and one more for start requests: these go after the others."""
        self._next: list[Request] | deque[Request] = []
        """The requests with the lowest rank."""
        self._others: dict[int, list[Request] | deque[Request]] | None = None
        """Those of other ranks, if there are any."""

    def __len__(self) -> int:
        return self._count

    @property
    def priority(self) -> int:
        """The priority of the next request; the lowest number is the most urgent."""
        return self._rank >> 1

    def push(self, request: Request) -> None:
        rank = self._rank_of(request)
        if not self._count:
            self._rank = rank
        if rank == self._rank:
            self._next = self._with(self._next, rank, request)
        else:
            self._push_other(rank, request)
        self._count += 1

    def pop(self) -> Request | None:
        if not self._count:
            return None
        self._count -= 1
        held = self._next
        if self._is_newest_first(self._rank):
            request = held.pop()
        else:
            request = held.popleft() if isinstance(held, deque) else held.pop(0)
        if not held and self._others:
            self._rank = min(self._others)
            self._next = self._others.pop(self._rank)
        return request

    def peek(self) -> Request | None:
        """The next request, left in the queue."""
        if not self._count:
            return None
        return self._next[-1 if self._is_newest_first(self._rank) else 0]

    def priorities(self) -> list[int]:
        """Those that have requests."""
        ranks = [self._rank, *(self._others or ())] if self._count else []
        return sorted({rank >> 1 for rank in ranks})

    def close(self) -> list[int]:
        """Empties the lane; returns the priorities that have requests."""
        priorities = self.priorities()
        self._count, self._next, self._others = 0, [], None
        return priorities

    def _push_other(self, rank: int, request: Request) -> None:
        others = self._others = {} if self._others is None else self._others
        if rank < self._rank:
            others[self._rank] = self._next
            self._rank, self._next = rank, [request]
        else:
            others[rank] = self._with(others.get(rank, []), rank, request)

    def _with(
        self, held: list[Request] | deque[Request], rank: int, request: Request
    ) -> list[Request] | deque[Request]:
        if len(held) == self.FEW and not self._is_newest_first(rank):
            held = deque(held)
        held.append(request)
        return held

    def _rank_of(self, request: Request) -> int:
        starts = self._order.newest_start_first is not None and START_META_KEY in request.meta
        return -2 * priority_of(request) + bool(starts and request.meta[START_META_KEY])

    def _is_newest_first(self, rank: int) -> bool | None:
        return self._order[rank & (self._order[1] is not None)]
