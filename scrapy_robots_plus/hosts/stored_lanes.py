"""The lanes of a job whose requests are in one file: some awake, the others in the file alone."""

from __future__ import annotations

from heapq import nlargest

from scrapy import Request
from scrapy.crawler import Crawler

from scrapy_robots_plus.crawl.clock import Alarm
from scrapy_robots_plus.crawl.requests import priority_of
from scrapy_robots_plus.job import FILE_NAME, Contents, rank_of
from scrapy_robots_plus.job.job import Job

from .host import Address, Lane, LaneQueue, State
from .lanes import Lanes, Order
from .turns import Hosts

HELD = State.HELD
_WAITING = {HELD, State.LATER, State.AT_DOOR, State.POLICY, State.FULL}


class StoredLane(Lane):
    """A lane that is awake: how many requests of each rank it has is in memory."""

    __slots__ = ("_counts", "_lanes", "_rank", "name")

    def __init__(self, address: Address, name: str, lanes: StoredLanes, contents: Contents) -> None:
        """Takes *contents*, what the file holds of the lane."""
        super().__init__(address, lanes.queue)
        self.name = name
        self._lanes = lanes
        self._counts = contents
        self.count = sum(contents.values())
        self._find_next()

    def push(self, request: Request) -> None:
        rank = self._lanes.add(self.name, request)
        self._counts[rank] = self._counts.get(rank, 0) + 1
        self.count += 1
        if self._rank is None or rank < self._rank:
            self._find_next()

    def pop(self) -> Request | None:
        lanes = self._lanes
        while (rank := self._rank) is not None:
            request = lanes.job.take(self.name, rank, newest=bool(lanes.order[rank & 1]))
            if request is not None:
                self._took(rank, 1)
                return request
            if lanes.job.is_held_up:
                return None
            self._took(rank, self._counts[rank])  # the others could not be read
        return None

    def _took(self, rank: int, number: int) -> None:
        self.count -= number
        self._counts[rank] -= number
        if not self._counts[rank]:
            del self._counts[rank]
            self._find_next()

    def _find_next(self) -> None:
        self._rank = min(self._counts, default=None)
        self.priority = (self._rank or 0) >> 1


class StoredLanes(Lanes):
    """The lanes of a job. Lanes asleep take no memory, and are woken by priority, then by age.

    A push to a lane that is asleep only writes the request. While there is room, lanes are woken
    with each request that is handed out. Without room, while nothing is ready, lanes that wait now
    and then give theirs to others: thousands of slow or dead hosts do not hold up the rest.
    """

    MOST_AWAKE = 10_000
    AT_ONCE = 32
    """How many lanes are woken before a request is handed out."""
    IN_VAIN = 60.0
    """The longest pause in seconds between two attempts to find lanes that are ready."""
    LEAST_PAUSE = 1.0
    """The shortest pause in seconds between two attempts to find lanes that are ready."""

    def __init__(self, queue: LaneQueue, hosts: Hosts, crawler: Crawler, order: Order) -> None:
        """Raises JobFileError if the file of the job cannot be used."""
        super().__init__(queue, order)
        self._hosts = hosts
        self.job = Job.of(crawler)
        self.job.sort(lambda request: hosts.known.address(request).name)
        self._file = self.job.file
        self._pause = self.LEAST_PAUSE
        self._next_exchange = 0.0
        self._woken_in_vain = 0
        """How many lanes were woken since the last request was handed out."""
        self._alarm = Alarm(hosts.known.wake, hosts.known.clock, hosts.known.call_later)
        """The alarm for when lanes that are asleep may take the room of lanes that wait."""

    def pop(self) -> Request | None:
        """Returns the next request of a ready host; None if nothing may be handed out now."""
        return None if self.job.is_held_up else self.job.attempt(self._pop)

    def _pop(self) -> Request | None:
        if self.asleep and self.room >= self.AT_ONCE:
            self._wake(self.AT_ONCE)
        self._hosts.begin(self.queue)
        if not self._file.held:
            return None
        request = self._hosts.pop(self.queue)
        if request is not None:
            self._pause = self.LEAST_PAUSE
            self._woken_in_vain = 0
        elif self._find_ready():
            self._hosts.known.wake()
        elif self.asleep:
            self._alarm.set(self._next_exchange)
        return request

    @property
    def asleep(self) -> int:  # type: ignore[override]
        """How many lanes are asleep."""
        return self._file.asleep

    def add(self, lane: str, request: Request) -> int:
        """Writes *request*; returns its rank. Raises ValueError if it cannot be written."""
        rank = rank_of(-priority_of(request), self.order.is_late(request))
        self.job.add(lane, rank, request)
        return rank

    @property
    def room(self) -> int:
        return self.MOST_AWAKE - len(self._lanes)

    def new(self, address: Address, request: Request) -> Lane | None:
        """Writes *request*, and returns its lane, new or just woken; None if that sleeps on.

        Raises ValueError if the request cannot be written.
        """
        name, any_asleep = address.name, self.asleep
        rank = self.add(name, request)
        if self.room <= 0:
            return None
        self._file.wake_one(name)
        return self._awake(address, name, self._file.contents(name) if any_asleep else {rank: 1})

    def remove(self, lane: Lane) -> None:
        super().remove(lane)
        self._file.sleep(lane.address.name)

    def state(self) -> dict[str, list[int]]:
        """Returns the state of the job, whichever lanes there are."""
        return {FILE_NAME: []}

    def close(self) -> None:
        super().close()
        self._alarm.cancel()

    # Who is awake

    def _find_ready(self) -> bool:
        """Wakes other lanes when nothing is ready. Returns whether it did."""
        if not self.asleep and not self._lanes and self._file.held:
            self._file.fail_as_damaged()
        if not self.asleep:
            return False
        if self.room > 0:
            return self._wake(min(self.room, 4 * self.AT_ONCE)) > 0
        now = self._hosts.known.clock()
        if now < self._next_exchange:
            return False
        if self._woken_in_vain > self.asleep:  # all had their turn
            self._pause = min(2 * self._pause, self.IN_VAIN)
            self._woken_in_vain = 0
        self._next_exchange = now + self._pause
        self._make_room(max(1, self.MOST_AWAKE // 10))
        woken = self._wake(self.room)
        self._woken_in_vain += woken
        return woken > 0

    def _wake(self, most: int) -> int:
        if most <= 0:
            return 0
        woken = self._file.wake(most)
        for name, contents in woken.items():
            address = Address.named(name)
            if address not in self._lanes:  # in a converted job, two names may mean one address
                self._hosts.enter(self._awake(address, name, contents))
        return len(woken)

    def _awake(self, address: Address, name: str, contents: Contents) -> Lane:
        lane = self._lanes[address] = StoredLane(address, name, self, contents)
        return lane

    def _make_room(self, most: int) -> None:
        """Puts waiting lanes to sleep: first those held back, then those that have waited least."""
        waiting = (each for each in self if each.state in _WAITING and self._hosts.may_sleep(each))
        for lane in nlargest(most, waiting, key=lambda lane: (lane.state is HELD, lane.ticket)):
            self._hosts.falls_asleep(lane)
            self.remove(lane)
