"""A host of the queue: the lanes that may go to it, and what is under way. No I/O, no clock.

A lane is the requests that go to one origin through one downloader slot.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from scrapy_robots_plus.protocol.origin import Origin

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request


class TicketHeap(list[tuple[Any, ...]]):
    """Entries are the parts of their order, a ticket and an item, which is a host or a lane. One
    counts only while its item has that ticket: no two items have the same.

    Finding an entry to remove it would be a scan. Instead, outdated entries are dropped when they
    reach the top, and all at once when the heap has doubled since the last time. So it never holds
    more than twice the valid entries, and each operation takes O(log n).
    """

    __slots__ = ("_full",)

    LEAST = 32
    """With fewer entries than this, outdated ones are not searched for."""

    def __init__(self) -> None:
        self._full = self.LEAST

    def push(self, order: tuple[Any, ...], item: Any) -> None:
        """The item with the smallest *order* comes first."""
        if len(self) >= self._full:
            self[:] = [entry for entry in self if entry[-1].ticket == entry[-2]]
            heapify(self)
            self._full = max(self.LEAST, 2 * len(self))
        # One tuple for each: a tuple in another takes longer to compare, and to collect.
        heappush(self, order + (item.ticket, item))  # noqa: RUF005 - half the time

    def pop(self, group: int | None = None) -> Any:  # type: ignore[override]
        """Removes and returns the first item; None if there is none, or if its order does not begin
        with *group*.
        """
        first = self.first()
        if first is None or (group is not None and first[0] != group):
            return None
        return heappop(self)[-1]

    def first(self) -> tuple[Any, ...] | None:
        """The first entry, left in the heap; None if there is none."""
        while self:
            entry = self[0]
            if entry[-1].ticket == entry[-2]:
                return entry
            heappop(self)
        return None


class State(Enum):
    """What a host waits for, or a lane that is in no host; one in a host has the state of that. An
    event ends each but ``IDLE`` and ``EMPTY``.
    """

    # Of hosts
    READY = "ready"
    """It may be chosen."""
    LATER = "waiting for a moment"
    FULL = "waiting for a request to end"
    """Its slot has as many requests under way as it allows."""
    AT_DOOR = "waiting for a request at the door"
    IDLE = "idle"
    """No lane is in it."""

    # Of lanes in no host
    POLICY = "waiting for robots.txt"
    HELD = "held back"
    """Until the robots.txt is fetched again, or until its visiting hours begin."""
    REFUSED = "with an unreadable robots.txt"
    """It may be chosen, and its requests will fail."""
    EMPTY = "empty"
    """Without requests."""


class Address(NamedTuple):
    """What the requests of a lane have in common."""

    origin: Origin | None
    """Whose robots.txt applies to them; None if none does."""
    slot: str
    """Their downloader slot."""

    @property
    def name(self) -> str:
        """The name of the lane in the state of a job.

        Scrapy's DownloaderAwarePriorityQueue names its queues by their slots alone.
        """
        if self.origin is None:
            odd = "://" in self.slot or self.slot.startswith(" ")
            return f" {self.slot}" if odd else self.slot
        return str(self.origin) if self.slot == self.origin.host else f"{self.origin} {self.slot}"

    @classmethod
    def named(cls, name: str) -> Address:
        """The address with this :attr:`name`. For the name of a slot, one without an origin."""
        front, _, slot = name.partition(" ")
        if "://" not in front:
            return cls(None, name if front else slot)
        try:
            origin = Origin.of(front)
        except ValueError:
            origin = None
        return cls(None, name) if origin is None else cls(origin, slot or origin.host)


class LaneQueue(Protocol):
    """The queue that a lane belongs to."""

    number: int
    """Of the queues of a crawl, the one with the lowest number is asked first."""

    @property
    def lanes_asleep(self) -> int:
        """How many lanes only the job's file knows."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Lane]:
        """The lanes that it holds in memory."""

    def take(self, lane: Lane) -> Request | None:
        """Takes the next request out of *lane*; None if none can be read."""


class Lane(ABC):
    """Requests in the order of ``ScrapyPriorityQueue``, and the data to choose among lanes."""

    __slots__ = ("_waits", "address", "count", "host", "order", "priority", "queue", "ticket")

    def __init__(self, address: Address, queue: LaneQueue) -> None:
        self.address = address
        self.queue = queue
        self.count = 0
        """How many requests it holds."""
        self.priority = 0
        """That of the next request; the lowest number is the most urgent."""
        self.host: Host | None = None
        """The host that it is in; None while it waits elsewhere."""
        self._waits = State.EMPTY
        self.order = 0
        """Of lanes with the same priority, the one with the lowest number is chosen first."""
        self.ticket = 0
        """Changes with the state: a heap entry with another ticket is out of date."""

    @abstractmethod
    def push(self, request: Request) -> None:
        """Raises ValueError if the request cannot be written to disk."""

    @abstractmethod
    def pop(self) -> Request | None:
        """The next request that can be read; None if none is left, or none may go now."""

    def __len__(self) -> int:
        return self.count

    @property
    def state(self) -> State:
        """What it waits for: that of its host if it is in one."""
        return self._waits if self.host is None else self.host.state

    @property
    def rank(self) -> tuple[int, int, int]:
        """Its place among the lanes of its host."""
        return self.queue.number, self.priority, self.order

    def waits(self, state: State, ticket: int) -> None:
        """It is in no host, but in *state*."""
        self._waits = state
        self.ticket = ticket


@dataclass(slots=True, eq=False, repr=False)
class Host:
    """The lanes that may go to one host as far as robots.txt says, and what is under way to it.

    A host that nothing delays is known by the downloader slot of its requests, which it may share
    with thousands of others, that of a proxy for example. It reads no clock and sets no timer.
    """

    name: str
    order: int
    """Of hosts with the same priority, the one with the lowest number is chosen first."""
    ticket: int = 0
    """Changes with the state: a heap entry with another ticket is out of date."""
    state: State = State.IDLE
    out: int = 0
    """How many requests were handed out and have not come back."""
    gap: float = 0.0
    """Seconds to wait after a request, when it was last looked at."""
    waits_until: float = 0.0
    """The moment that it waits for."""
    last: Request | None = None
    """The last request handed out, until it is known whether it leaves."""
    not_before: float = 0.0
    """Applies until the door knows when the host is due: a request is on its way to it."""
    _lane: Lane | None = None
    """The only lane: most hosts have one."""
    _lanes: TicketHeap | None = None
    """All of them, by priority and order, if there were ever two at the same time."""

    def add(self, lane: Lane) -> None:
        """*lane* may go, or has changed its priority or order. It has a new ticket."""
        lane.host = self
        if self._lanes is None:
            if self._lane is None or self._lane is lane:
                self._lane = lane
                return
            self._lanes = TicketHeap()
            self._lanes.push(self._lane.rank, self._lane)
        self._lanes.push(lane.rank, lane)

    def remove(self, lane: Lane) -> None:
        """*lane* is elsewhere from now on, and gets a new ticket there."""
        lane.host = None
        if self._lane is lane:
            self._lane = None

    def next_lane(self) -> Lane | None:
        """The lane to go next, left in; None if there is none."""
        if self._lanes is None:
            return self._lane
        first = self._lanes.first()
        if first is None:
            self._lane = self._lanes = None
            return None
        lane: Lane = first[-1]
        return lane

    def has_left(self, request: Request) -> None:
        """*request* is sent, and the door knows when; or it was refused, and delays nothing."""
        if self.last is request:
            self.last = None
            self.not_before = 0.0
