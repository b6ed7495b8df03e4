"""The lanes of a job whose requests are in one file: some awake, the others in the file alone."""

from __future__ import annotations

from heapq import nlargest
from math import inf
from typing import TYPE_CHECKING

from scrapy_robots_plus.job import FILE_NAME
from scrapy_robots_plus.job.job import Job
from scrapy_robots_plus.job.renaming import name_lanes

from .host import Address, Lane, State
from .stored_requests import StoredOrder, StoredRequests

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_robots_plus.job import Contents
    from scrapy_robots_plus.job.queues import JobQueue

    from .host import LaneQueue
    from .hosts import Hosts

IN_ONE_FILE: dict[str, list[int]] = {FILE_NAME: []}
"""The state of a job whose requests are in one file, whichever lanes there are."""


def stored_lanes(
    queue: LaneQueue,
    hosts: Hosts,
    crawler: Crawler,
    classes: tuple[type[JobQueue], type[JobQueue] | None],
) -> StoredLanes:
    """Those of the job of *crawler*; *classes*: of its queues, that of start requests last.

    Raises JobFileError if the file of the job cannot be used.
    """
    job = Job.of(crawler)
    name_lanes(job, "hosts", hosts.name_of)
    return StoredLanes(queue, hosts, StoredOrder(job, *classes))


class StoredLanes:
    """Lanes by name. Those asleep take no memory; each comes in turn, by priority, then by age.

    A push to a lane that is asleep only writes the request. While there is room, lanes are woken
    with each request that is handed out. Without room, lanes that wait give theirs to others, now
    and then while nothing is ready, or when a more urgent request lies in the file: thousands of
    slow or dead hosts hold up no others.
    """

    MOST_AWAKE = 10_000
    AT_ONCE = 32
    """How many are woken before a request is handed out."""
    IN_VAIN = 60.0
    """Longest pause in seconds between two attempts to find lanes that are ready."""
    LEAST_PAUSE = 1.0
    """Shortest pause in seconds."""

    def __init__(self, queue: LaneQueue, hosts: Hosts, order: StoredOrder) -> None:
        self._queue = queue
        self._hosts = hosts
        self._order = order
        self._job = order.job
        self._lanes: dict[str, Lane] = {}
        self._most_urgent_asleep = -inf if self.asleep else inf
        """No lane that is asleep has a more urgent priority."""
        self._pause = self.LEAST_PAUSE
        self._next_exchange = 0.0
        self._woken_in_vain = 0
        """How many lanes were woken since a request was handed out."""

    def __iter__(self) -> Iterator[Lane]:
        """Those that are awake."""
        return iter(self._lanes.values())

    def __contains__(self, address: Address) -> bool:
        return address.name in self._lanes or self._job.lanes.holds(address.name)

    @property
    def held(self) -> int:
        """How many requests wait."""
        return self._job.lanes.held

    @property
    def asleep(self) -> int:
        """How many lanes are asleep."""
        return self._job.lanes.asleep

    def stays_in_memory(self, request: Request, error: Exception) -> None:
        """*request* could not be written."""
        self._job.stays_in_memory(request, error)

    @property
    def room(self) -> int:
        return self.MOST_AWAKE - len(self._lanes)

    def get(self, address: Address) -> Lane | None:
        """The lane at *address*; None if it is not awake."""
        return self._lanes.get(address.name)

    def new(self, address: Address, request: Request) -> Lane | None:
        """A lane with its first request, or one that was asleep with another; None if it sleeps on.

        Raises ValueError if the request cannot be written.
        """
        name = address.name
        if self.room <= 0:
            priority, _ = self._order.add(name, request)
            self._most_urgent_asleep = min(self._most_urgent_asleep, priority)
            return None
        contents = self._job.lanes.contents(name) if self.asleep else {}
        lane = self._awake(name, address, contents)
        try:
            lane.requests.push(request)
        except BaseException:
            if not len(lane):
                del self._lanes[name]
            else:
                self._hosts.woke(lane)
            raise
        finally:
            self._job.lanes.wake_one(name)
        return lane

    def remove(self, lane: Lane) -> None:
        """The lane is empty."""
        self._forget(lane)

    changes = 0
    """The state of the job is always the same."""

    def state(self) -> dict[str, list[int]]:
        """The state of the job."""
        return dict(IN_ONE_FILE)

    def close(self) -> dict[str, list[int]]:
        """The state of the job."""
        self._lanes.clear()
        return self.state()

    # Who is awake

    def prepare(self) -> bool:
        """Wakes some lanes if there is room. Returns whether a request may be handed out now."""
        if self._job.is_held_up:
            return False
        at_once = min(self.AT_ONCE, self.MOST_AWAKE)
        if self.room >= at_once and self.asleep:
            self._wake(at_once)
        return True

    def prefer_urgent(self, priority: float | None) -> None:
        """Wakes lanes more urgent than *priority*, that of the one that would be chosen next."""
        while priority is not None and self._most_urgent_asleep < priority and self.asleep:
            if self.room <= 0:
                self._make_room(self.AT_ONCE, self._is_less_urgent, _unimportance)
            if not self._wake(min(self.AT_ONCE, self.room)):
                return

    def find_ready(self, now: float) -> bool:
        """Nothing is ready at the moment *now*: wakes others. Returns whether it did."""
        if not self.asleep and not self._lanes and self.held:
            self._job.lanes.search()
        if not self.asleep:
            return False
        if self.room > 0:
            return self._wake(min(self.room, 4 * self.AT_ONCE)) > 0
        if now < self._next_exchange:
            return False
        if self._woken_in_vain > self.asleep:  # all had their turn
            self._pause = min(2 * self._pause, self.IN_VAIN)
            self._woken_in_vain = 0
        self._next_exchange = now + self._pause
        self._make_room(max(1, self.MOST_AWAKE // 10), self._waits, _patience)
        woken = self._wake(self.room)
        self._woken_in_vain += woken
        return woken > 0

    def handed_out(self) -> None:
        """A lane that is awake had a request to hand out."""
        self._pause = self.LEAST_PAUSE
        self._woken_in_vain = 0

    @property
    def next_change(self) -> float | None:
        """When :meth:`find_ready` may wake others; None if none is asleep."""
        return self._next_exchange if self.asleep else None

    def _wake(self, most: int) -> int:
        if most <= 0:
            return 0
        rows = self._job.lanes.wake(most)
        for name, _, contents in rows:
            if name not in self._lanes:  # unless the file was damaged, and mended
                self._hosts.woke(self._awake(name, Address.named(name), contents))
        self._most_urgent_asleep = rows[-1].priority if len(rows) == most else inf
        return len(rows)

    def _awake(self, name: str, address: Address, contents: Contents) -> Lane:
        requests = StoredRequests(self._order, name, contents)
        lane = self._lanes[name] = Lane(address, self._queue, requests)
        return lane

    def _make_room(
        self, most: int, may_go: Callable[[Lane], bool], rank: Callable[[Lane], tuple[int, int]]
    ) -> None:
        """Puts lanes to sleep that *may_go*, those with the highest *rank* first."""
        candidates = (lane for lane in self if may_go(lane) and self._hosts.may_sleep(lane))
        for lane in nlargest(most, candidates, key=rank):
            self._hosts.falls_asleep(lane)
            self._forget(lane)
            self._most_urgent_asleep = min(self._most_urgent_asleep, lane.priority)

    def _forget(self, lane: Lane) -> None:
        del self._lanes[lane.address.name]
        self._job.lanes.sleep(lane.address.name)

    def _is_less_urgent(self, lane: Lane) -> bool:
        return lane.priority > self._most_urgent_asleep

    @staticmethod
    def _waits(lane: Lane) -> bool:
        return lane.state in _WAITING


_WAITING = {State.HELD, State.LATER, State.AT_DOOR, State.POLICY, State.FULL}


def _patience(lane: Lane) -> tuple[int, int]:
    """Those held back first, then those that began to wait last."""
    return lane.state is State.HELD, lane.ticket


def _unimportance(lane: Lane) -> tuple[int, int]:
    """Those with the least urgent requests first."""
    return lane.priority, lane.ticket
