"""The scheduler's queue: it hands out a request only when its host is ready."""

from __future__ import annotations

import logging
import shutil
from collections import deque
from contextlib import suppress
from heapq import heappop, heappush
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.pqueues import ScrapyPriorityQueue

from scrapy_robots_plus.crawl import compat

from .lane import Address, Lane, Place
from .readiness import Answer, Readiness
from .surroundings import readiness_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.pqueues import QueueProtocol
    from typing_extensions import Self


logger = logging.getLogger(__name__)


class RobotsPriorityQueue:
    """``SCHEDULER_PRIORITY_QUEUE``: hosts that are ready take turns, the others wait here.

    Order within a host, the queues on disk and the state of a job are those of Scrapy's
    ``DownloaderAwarePriorityQueue``; jobs that one of the two has begun can be resumed by the
    other. Raises ValueError for the state of any other queue.
    """

    REFUSALS_EVERY = 32
    """Requests that are going to be refused have every 32nd turn while others are ready."""

    def __init__(
        self,
        crawler: Crawler,
        downstream_queue_cls: type[QueueProtocol],
        key: str,
        startprios: dict[str, Iterable[int]] | None = None,
        *,
        start_queue_cls: type[QueueProtocol] | None = None,
        readiness: Readiness | None = None,
    ) -> None:
        if startprios and not isinstance(startprios, dict):
            raise ValueError(
                f"The state {startprios!r} of the job was written by a queue that keeps hosts "
                "together. Resume it with the SCHEDULER_PRIORITY_QUEUE that it was begun with."
            )
        self._crawler = crawler
        self._downstream = downstream_queue_cls
        self._start_queue = start_queue_cls
        self._key = key
        self._readiness = readiness or readiness_of(crawler)
        self._around = self._readiness.around
        self._lanes: dict[Address, Lane] = {}
        self._ready: list[tuple[int, int, int, Lane]] = []
        self._refused: deque[tuple[int, Lane]] = deque()
        self._turns = 0
        self._length = 0
        self._asked = False
        """Whether the engine is being answered, so that it need not be woken."""
        self._readiness.lines.append(self)
        for name, priorities in (startprios or {}).items():
            self._resume(name, priorities)

    @classmethod
    def from_crawler(
        cls,
        crawler: Crawler,
        downstream_queue_cls: type[QueueProtocol],
        key: str,
        startprios: dict[str, Iterable[int]] | None = None,
        *,
        start_queue_cls: type[QueueProtocol] | None = None,
    ) -> Self:
        return cls(crawler, downstream_queue_cls, key, startprios, start_queue_cls=start_queue_cls)

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Lane]:
        """The lanes that hold requests."""
        return iter(self._lanes.values())

    def __contains__(self, name: str) -> bool:
        return Address.named(name) in self._lanes

    def push(self, request: Request) -> None:
        """Raises ValueError, as Scrapy's queues do, where a request cannot be put on disk."""
        address = self._around.address(request)
        lane = self._lanes.get(address)
        if lane is None:
            self._clear(address)
            lane = self._new_lane(address)
            try:
                lane.requests.push(request)
            except BaseException:
                lane.requests.close()
                raise
            self._lanes[address] = lane
            self._readiness.enter(lane)
        else:
            most_urgent = lane.priority
            lane.requests.push(request)
            if -request.priority < most_urgent:
                self._readiness.enter(lane)
            else:
                self._readiness.grew(lane)
        self._length += 1

    def pop(self) -> Request | None:
        """The next request of a host that is ready; None where none is, now.

        The engine is woken when one is.
        """
        self._asked = True
        try:
            return self._pop()
        finally:
            self._asked = False

    def peek(self) -> Request | None:
        """The next request of the host whose turn it may be, left where it is.

        None where no host is ready, or where the queue in use cannot tell.
        """
        while self._ready and self._ready[0][3].ticket != self._ready[0][2]:
            heappop(self._ready)
        return self._ready[0][3].next_request() if self._ready else None

    def close(self) -> dict[str, list[int]]:
        """Closes the queues; returns the state to resume from."""
        state = {lane.address.name: lane.requests.close() for lane in self._lanes.values()}
        self._lanes.clear()
        self._ready.clear()
        self._refused.clear()
        self._length = 0
        self._readiness.agenda.alarm.cancel()
        return state

    def is_ready(self, lane: Lane) -> None:
        """Called by readiness: the lane may be chosen."""
        heappush(self._ready, (lane.priority, lane.turn, lane.ticket, lane))
        if not self._asked:
            # Perhaps by the other queue of the job, with which it shares gates: the engine has
            # asked here before it asked there.
            self._around.wake()

    def _pop(self) -> Request | None:
        readiness = self._readiness
        readiness.advance(self)
        while (lane := self._next()) is not None:
            refused = lane.place is Place.REFUSED
            answer = readiness.answer(lane)
            if answer is Answer.REFUSE and not refused:
                self._refused.append((readiness.places.move(lane, Place.REFUSED), lane))
            elif answer is not Answer.WAIT:
                request = self._take(lane, refused=answer is Answer.REFUSE)
                if request is not None:
                    return request
        readiness.rest()
        return None

    def _next(self) -> Lane | None:
        """The lane whose turn it is."""
        self._turns += 1
        if self._turns % self.REFUSALS_EVERY == 0 and (lane := self._next_refused()):
            return lane
        while self._ready:
            *_, ticket, lane = heappop(self._ready)
            if lane.ticket == ticket:
                return lane
        return self._next_refused()

    def _next_refused(self) -> Lane | None:
        while self._refused:
            ticket, lane = self._refused.popleft()
            if lane.ticket == ticket:
                return lane
        return None

    def _take(self, lane: Lane, *, refused: bool) -> Request | None:
        priority = lane.priority
        try:
            request = lane.requests.pop()
        except Exception:  # it cannot be read from disk, and is gone from there
            self._length -= 1
            self._pass_over(lane)
            raise
        if request is None:
            if lane.priority == priority:  # a file that is damaged
                self._length -= len(lane.requests)
                lane.requests.close()
            self._pass_over(lane)
            return None
        self._length -= 1
        left = len(lane.requests)
        if not left:
            self._drop(lane)
        elif refused:
            self._refused.append((self._readiness.places.move(lane, Place.REFUSED), lane))
        self._readiness.hand_out(lane, request, refused=refused)
        if left and not refused:
            self._readiness.places.make_ready(lane)
        return request

    def _pass_over(self, lane: Lane) -> None:
        """The lane had its turn and no request: the others of its host are not to wait for it."""
        if len(lane.requests):
            self._readiness.places.make_ready(lane)
        else:
            self._drop(lane)
        self._readiness.gates.pass_over(lane)

    def _drop(self, lane: Lane) -> None:
        self._readiness.places.move(lane, Place.EMPTY)
        del self._lanes[lane.address]
        lane.requests.close()
        if self._key:
            with suppress(OSError):  # not empty: the queues have left files behind
                self._folder(lane.address).rmdir()

    def _folder(self, address: Address) -> Path:
        return Path(self._key, compat.path_safe(address.name))

    def _clear(self, address: Address) -> None:
        """Removes what a job that was killed has left where a new lane is to be.

        No state names it, so nobody would read it; but a file that was cut short cannot be opened.
        """
        if self._key and (folder := self._folder(address)).is_dir():
            shutil.rmtree(folder, ignore_errors=True)

    def _new_lane(self, address: Address, priorities: Iterable[int] = ()) -> Lane:
        requests = ScrapyPriorityQueue.from_crawler(
            self._crawler,
            self._downstream,
            f"{self._key}/{compat.path_safe(address.name)}",
            priorities,
            start_queue_cls=self._start_queue,
        )
        return Lane(address, self, requests)

    def _resume(self, name: str, priorities: Iterable[int]) -> None:
        address = Address.named(name)
        try:
            lane = self._new_lane(address, priorities)
        except Exception:
            logger.exception("Requests to %s are lost: the job was killed while writing", name)
            return
        if not len(lane.requests):
            lane.requests.close()
            return
        self._lanes[address] = lane
        self._length += len(lane.requests)
        self._readiness.enter(lane)
