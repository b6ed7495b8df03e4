"""The lanes of one queue: in memory, or in files of Scrapy's own disk queues."""

from __future__ import annotations

import errno
import logging
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.pqueues import ScrapyPriorityQueue

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl import stats
from scrapy_robots_plus.protocol.counting import counted
from scrapy_robots_plus.protocol.printable import printable

from .host import Address, Lane

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.pqueues import QueueProtocol

    from .host import LaneQueue, Requests

logger = logging.getLogger(__name__)

Classes = tuple["type[QueueProtocol]", "type[QueueProtocol] | None"]
"""Of queues, that of start requests last; None if they are kept with the others."""


class Lanes:
    """Lanes by address."""

    asleep = 0
    """How many only the job's file knows."""
    changes = 0
    """A number that changes with :meth:`state`."""

    def __init__(self, queue: LaneQueue, requests: Callable[[Address], Requests]) -> None:
        """*requests* makes those of a new lane."""
        self._queue = queue
        self._requests = requests
        self._lanes: dict[Address, Lane] = {}

    def __iter__(self) -> Iterator[Lane]:
        return iter(self._lanes.values())

    def __contains__(self, address: object) -> bool:
        return address in self._lanes

    def get(self, address: Address) -> Lane | None:
        """The lane at *address*; None if there is none yet."""
        return self._lanes.get(address)

    def new(self, address: Address, request: Request) -> Lane:
        """A lane with its first request.

        Raises what Scrapy's disk queues raise if it cannot be written.
        """
        requests = self._requests(address)
        try:
            requests.push(request)
        except BaseException:
            requests.close()
            raise
        lane = self._lanes[address] = Lane(address, self._queue, requests)
        return lane

    def remove(self, lane: Lane) -> None:
        """The lane is empty."""
        del self._lanes[lane.address]

    def state(self) -> dict[str, list[int]]:
        """The priorities that have requests, by lane."""
        open_now = {lane.address.name: lane.requests.priorities() for lane in self}
        return {name: found for name, found in open_now.items() if found}

    def close(self) -> dict[str, list[int]]:
        """Closes all; returns the priorities that have requests, by lane."""
        closed = {lane.address.name: lane.requests.close() for lane in self}
        self._lanes.clear()
        return {name: priorities for name, priorities in closed.items() if priorities}


class LanesInFiles(Lanes):
    """Each lane has a folder, as in Scrapy's ``DownloaderAwarePriorityQueue``.

    A file that cannot be read costs the requests of its lane. With too many open files, no more
    lanes are opened, which leaves some for pages and robots.txt.
    """

    def __init__(self, queue: LaneQueue, crawler: Crawler, classes: Classes, folder: str) -> None:
        """*folder*: that of the job's queue; empty for queues in memory."""
        super().__init__(queue, self._open)
        self._crawler = crawler
        self._classes = classes
        self._folder = folder
        self._most = compat.most_queue_files() if folder else None
        self.files = 0
        """How many are open."""
        compat.check_names("ScrapyPriorityQueue", self.make_queue(Address(None, ""), ()))

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
                requests = self._open(address, [int(priority) for priority in priorities])
            except Exception as error:  # noqa: BLE001 - files may hold anything, and so may the state
                self.lost(address, None, error)
                continue
            if len(requests):
                lane = self._lanes[address] = Lane(address, self._queue, requests)
                resumed(lane)

    def remove(self, lane: Lane) -> None:
        super().remove(lane)
        lane.requests.close()
        with suppress(OSError):  # in memory, or the queues have left files behind
            Path(self._path(lane.address)).rmdir()

    def lost(self, address: Address, requests: int | None, error: Exception | None) -> None:
        """So many *requests* of a lane cannot be read; None if nobody knows how many."""
        compat.stats_of(self._crawler).inc_value(stats.QUEUE_LOST, requests or 0)
        many = "Requests" if requests is None else counted(requests, "request")
        text = printable(f"{many} to {address.name} cannot be read and are lost")
        extra = {"spider": self._crawler.spider}
        logger.error("%s (%r). Their files are kept", text, error, extra=extra)

    def opened(self, more: int) -> None:
        """So many *more* files are open."""
        self.files += more
        self.changes += bool(more)

    def _open(self, address: Address, priorities: Iterable[int] = ()) -> Requests:
        """*priorities*: those for which an earlier run has left requests."""
        if self._most is not None and self.files >= self._most:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return _RequestsInFiles(self, address, priorities)

    def make_queue(self, address: Address, priorities: Iterable[int]) -> ScrapyPriorityQueue:
        """Scrapy's own, for the requests of one lane."""
        queue, start_queue = self._classes
        path = self._path(address)
        return ScrapyPriorityQueue.from_crawler(
            self._crawler, queue, path, priorities, start_queue_cls=start_queue
        )

    def _path(self, address: Address) -> str:
        return f"{self._folder}/{compat.path_safe(address.name)}"


class _RequestsInFiles:
    """Those of one lane."""

    def __init__(self, lanes: LanesInFiles, address: Address, priorities: Iterable[int]) -> None:
        self._lanes = lanes
        self._address = address
        self._queue = lanes.make_queue(address, priorities)
        self._files = 0
        self._count_files()

    def __len__(self) -> int:
        return len(self._queue)

    @property
    def priority(self) -> int:
        return compat.best_priority(self._queue)

    def push(self, request: Request) -> None:
        try:
            self._queue.push(request)
        finally:
            self._count_files()

    def pop(self) -> Request | None:
        held, request, failure = len(self), None, None
        try:
            request = self._queue.pop()
        except Exception as error:  # noqa: BLE001 - files may hold anything
            failure = error
        if request is None and held:
            self.close()
            self._queue = self._lanes.make_queue(self._address, ())
            self._lanes.lost(self._address, held, failure)
        self._count_files()
        return request

    def peek(self) -> Request | None:
        return compat.next_request(self._queue)

    def priorities(self) -> list[int]:
        return compat.priorities_of(self._queue)

    def close(self) -> list[int]:
        priorities = self.priorities()
        with suppress(Exception):  # one that is damaged
            self._queue.close()
        self._lanes.opened(-self._files)
        self._files = 0
        return priorities

    def _count_files(self) -> None:
        files = compat.count_parts(self._queue)
        self._lanes.opened(files - self._files)
        self._files = files
