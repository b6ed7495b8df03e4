"""The lanes of one queue: in memory, or in files of Scrapy's own disk queues."""

from __future__ import annotations

import errno
import os
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy.pqueues import QueueProtocol, ScrapyPriorityQueue
from scrapy.squeues import FifoMemoryQueue, LifoMemoryQueue

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl import stats
from scrapy_robots_plus.crawl.log import crawl_log
from scrapy_robots_plus.crawl.requests import START_META_KEY, priority_of
from scrapy_robots_plus.protocol.printable import counted, printable

from .host import Address, Lane, LaneQueue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from scrapy import Request
    from scrapy.crawler import Crawler


logger = crawl_log(__name__)

Classes = tuple["type[QueueProtocol]", "type[QueueProtocol] | None"]
"""Of queues, that of start requests last; None if they are kept with the others."""


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


LIFO = MemoryOrder(newest_first=True, newest_start_first=None)


class LaneInMemory(Lane):
    """For Scrapy's own kinds of queues, in a fraction of their memory.

    Most lanes of a broad crawl hold a few requests, of one priority: these are a list.
    """

    __slots__ = ("_next", "_order", "_others", "_rank", "count", "priority")
    count: int
    priority: int

    FEW = 16
    """Up to this many requests, taking the first out of a list costs next to nothing."""

    def __init__(self, address: Address, queue: LaneQueue, order: MemoryOrder) -> None:
        super().__init__(address, queue)
        self._order = order
        self.count = self.priority = 0
        self._rank = 0
        """Twice the priority, and one more for start requests: these go after the others."""
        self._next: list[Request] | deque[Request] = []
        """The requests with the lowest rank."""
        self._others: dict[int, list[Request] | deque[Request]] | None = None
        """Those of other ranks, if there are any."""

    def push(self, request: Request) -> None:
        rank = -2 * priority_of(request)
        if self._order.newest_start_first is not None and request.meta.get(START_META_KEY):
            rank += 1
        others = self._others or {}
        if not self.count:
            self._begin(rank, self._next)
        elif rank < self._rank:
            others[self._rank] = self._next
            self._begin(rank, [])
        if rank == self._rank:
            held = self._next = self._roomy(self._next, rank)
        else:
            held = others[rank] = self._roomy(others.get(rank, []), rank)
        held.append(request)
        self._others = others or None
        self.count += 1

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
    """Lanes by address: here in memory, for Scrapy's own kinds of queues."""

    asleep = 0
    """How many only the job's file knows."""
    changes = 0
    """A number that changes with :meth:`state`."""

    def __init__(self, queue: LaneQueue, order: MemoryOrder = LIFO) -> None:
        self.queue = queue
        self._order = order
        self._lanes = dict[Address, Lane]()
        self.get = self._lanes.get
        """The lane at an address; None if there is none yet."""

    def __iter__(self) -> Iterator[Lane]:
        return iter(self._lanes.values())

    def new(self, address: Address, request: Request) -> Lane | None:
        """A lane with its first request; None if it sleeps on.

        Raises what the queues raise if the request cannot be written.
        """
        lane = self._lanes[address] = LaneInMemory(address, self.queue, self._order)
        lane.push(request)
        return lane

    def remove(self, lane: Lane) -> None:
        """The lane is empty."""
        del self._lanes[lane.address]

    def state(self) -> dict[str, list[int]]:
        """What a job needs to be resumed."""
        priorities = {lane.address.name: lane.priorities() for lane in self}
        return {name: found for name, found in priorities.items() if found}

    def close(self) -> None:
        """Closes all, and forgets them."""
        for lane in self:
            lane.close()
        self._lanes.clear()


class LanesInFiles(Lanes):
    """Each lane has a folder, as in Scrapy's ``DownloaderAwarePriorityQueue``.

    A file that cannot be read costs the requests of its lane. With too many open files, no more
    lanes are opened, which leaves some for pages and robots.txt.
    """

    def __init__(self, queue: LaneQueue, crawler: Crawler, classes: Classes, folder: str) -> None:
        """*folder*: that of the job's queue; empty for queues in memory."""
        super().__init__(queue)
        self._crawler = crawler
        self._classes = classes
        self._folder = folder
        self._most = compat.most_queue_files() if folder else None
        self.files = 0
        """How many are open."""

    def resume(self, state: Any, resumed: Callable[[Lane], None]) -> None:
        """Opens the lanes of a job, *state* is what :meth:`close` returned; calls *resumed* with
        each.

        Raises ValueError for the state of a queue that does not separate hosts.
        """
        if state and not isinstance(state, dict):
            raise ValueError(
                f"The state {state!r} of the job was written by a queue that does not "
                "separate hosts. Resume it with the SCHEDULER_PRIORITY_QUEUE that it started with."
            )
        for name, priorities in (state or {}).items():
            address = Address.named(name)
            try:
                lane = self._open(address, [int(priority) for priority in priorities])
            except Exception as error:  # noqa: BLE001 - files may hold anything, and so may the state
                self.lost(address, None, error)
                continue
            if len(lane):
                self._lanes[address] = lane
                resumed(lane)

    def new(self, address: Address, request: Request) -> Lane:
        lane = self._open(address)
        try:
            lane.push(request)
        except BaseException:
            lane.close()
            raise
        self._lanes[address] = lane
        return lane

    def remove(self, lane: Lane) -> None:
        super().remove(lane)
        lane.close()
        with suppress(OSError):  # in memory, or the queues have left files behind
            Path(self._path(lane.address)).rmdir()

    def lost(self, address: Address, requests: int | None, error: Exception | None) -> None:
        """So many *requests* of a lane cannot be read; None if nobody knows how many."""
        compat.stats_of(self._crawler).inc_value(stats.QUEUE_LOST, requests or 0)
        many = "Requests" if requests is None else counted(requests, "request")
        text = printable(f"{many} to {address.name} cannot be read and are lost")
        logger(self._crawler).error("%s (%r). Their files are kept", text, error)

    def count(self, lane: _LaneInFiles, files: int) -> None:
        """*lane* has so many *files* open."""
        self.files += files - lane.files
        self.changes += files != lane.files
        lane.files = files

    def _open(self, address: Address, priorities: Iterable[int] = ()) -> Lane:
        """*priorities*: those for which an earlier run has left requests."""
        if self._most is not None and self.files >= self._most:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return _LaneInFiles(address, self.queue, self, priorities)

    def make_queue(self, address: Address, priorities: Iterable[int]) -> ScrapyPriorityQueue:
        """Scrapy's own, for the requests of one lane."""
        queue, start_queue = self._classes
        path = self._path(address)
        return ScrapyPriorityQueue.from_crawler(
            self._crawler, queue, path, priorities, start_queue_cls=start_queue
        )

    def _path(self, address: Address) -> str:
        return f"{self._folder}/{compat.path_safe(address.name)}"


class _LaneInFiles(Lane):
    __slots__ = ("_lanes", "_requests", "files")

    def __init__(
        self, address: Address, queue: LaneQueue, lanes: LanesInFiles, priorities: Iterable[int]
    ) -> None:
        super().__init__(address, queue)
        self._lanes = lanes
        self._requests = lanes.make_queue(address, priorities)
        self.files = 0
        self._count_files()

    @property
    def count(self) -> int:
        return len(self._requests)

    @property
    def priority(self) -> int:
        return compat.best_priority(self._requests)

    def push(self, request: Request) -> None:
        try:
            self._requests.push(request)
        finally:
            self._count_files()

    def pop(self) -> Request | None:
        held, request, failure = self.count, None, None
        try:
            request = self._requests.pop()
        except Exception as error:  # noqa: BLE001 - files may hold anything
            failure = error
        if request is None and held:
            self.close()
            self._requests = self._lanes.make_queue(self.address, ())
            self._lanes.lost(self.address, held, failure)
        self._count_files()
        return request

    def priorities(self) -> list[int]:
        return compat.priorities_of(self._requests)

    def close(self) -> None:
        with suppress(Exception):  # one that is damaged
            self._requests.close()
        self._lanes.count(self, 0)

    def _count_files(self) -> None:
        self._lanes.count(self, compat.count_parts(self._requests))
