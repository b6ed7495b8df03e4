"""The requests of one lane in the file of a job."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from scrapy_robots_plus.crawl.request_fields import priority_of
from scrapy_robots_plus.crawl.requests import START_META_KEY

if TYPE_CHECKING:
    from scrapy import Request

    from scrapy_robots_plus.job import Contents
    from scrapy_robots_plus.job.job import Job
    from scrapy_robots_plus.job.queues import JobQueue


class StoredOrder(NamedTuple):
    """In which order, and how, a job's requests are written."""

    job: Job
    queue: type[JobQueue]
    start_queue: type[JobQueue] | None
    """That of start requests; None if they are kept with the others."""

    def add(self, lane: str, request: Request) -> tuple[int, bool]:
        """Writes *request*; returns its priority, and whether it is kept as a start request.

        Raises ValueError if it cannot be written.
        """
        starts = self.start_queue is not None and bool(request.meta.get(START_META_KEY))
        priority = -priority_of(request)
        self.job.add(lane, priority, request, self._class(starts).dumps, starts=starts)
        return priority, starts

    def newest_first(self, *, starts: bool) -> bool:
        return self._class(starts).newest_first

    def _class(self, starts: bool) -> type[JobQueue]:
        return self.start_queue if starts and self.start_queue is not None else self.queue


class StoredRequests:
    """Those of a lane that is awake: how many there are of each priority is in memory."""

    __slots__ = ("_count", "_counts", "_lane", "_next", "_order")

    def __init__(self, order: StoredOrder, lane: str, contents: Contents) -> None:
        """*contents*: what the file holds of it."""
        self._order = order
        self._lane = lane
        self._counts = contents
        self._count = sum(contents.values())
        self._next: tuple[int, bool] | None = min(contents, default=None)

    def __len__(self) -> int:
        return self._count

    @property
    def priority(self) -> int:
        """The priority of the next request; the lowest number is the most urgent."""
        return 0 if self._next is None else self._next[0]

    def push(self, request: Request) -> None:
        """Raises ValueError if the request cannot be written."""
        place = self._order.add(self._lane, request)
        self._counts[place] = self._counts.get(place, 0) + 1
        self._count += 1
        if self._next is None or place < self._next:
            self._next = place

    def pop(self) -> Request | None:
        """The next request that can be read; None if none is left, or none may go now."""
        while self._next is not None:
            priority, starts = self._next
            newest = self._order.newest_first(starts=starts)
            request = self._order.job.take(self._lane, priority, starts=starts, newest=newest)
            if request is not None:
                self._took(self._next, 1)
                return request
            if self._order.job.is_held_up:
                return None
            self._took(self._next, self._counts[self._next])  # the others could not be read
        return None

    def peek(self) -> Request | None:
        """The next request, left in the file; None if it cannot be read."""
        if self._next is None:
            return None
        priority, starts = self._next
        newest = self._order.newest_first(starts=starts)
        return self._order.job.peek(self._lane, priority, starts=starts, newest=newest)

    def priorities(self) -> list[int]:
        """Those that have requests."""
        return sorted({priority for priority, _ in self._counts})

    close = priorities

    def _took(self, place: tuple[int, bool], number: int) -> None:
        self._count -= number
        self._counts[place] -= number
        if not self._counts[place]:
            del self._counts[place]
            self._next = min(self._counts, default=None)
