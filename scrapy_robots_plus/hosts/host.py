"""A host of the queue: its lanes, and the requests under way to it. No I/O, no clock.

A lane holds the requests that go to one origin through one downloader slot.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum
from heapq import heapify, heappop, heappush
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from scrapy_robots_plus.protocol.origin import Origin

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request


class TicketHeap(list[tuple[Any, ...]]):
    """A heap of hosts or lanes, whose entries are the parts of their order, a ticket and the item.
    An entry is valid only while its item has that ticket; no two items have the same one.

    Finding an entry to remove it would be a scan. Instead, outdated entries are dropped when they
    reach the top, and all at once when the heap has doubled since the last time. So it never holds
    more than twice the valid entries, and each operation takes O(log n).
    """

    __slots__ = ("_full",)

    LEAST = 32
    """The number of entries below which outdated ones are not searched for."""

    def __init__(self) -> None:
        self._full = self.LEAST

    def push(self, order: tuple[Any, ...], item: Any) -> None:
        """Adds *item*; the one with the smallest *order* comes first."""
        if len(self) >= self._full:
            self[:] = [entry for entry in self if entry[-1].ticket == entry[-2]]
            heapify(self)
            self._full = max(self.LEAST, 2 * len(self))
        # One flat tuple: a nested one takes longer to compare, and to collect.
        heappush(self, order + (item.ticket, item))  # noqa: RUF005 - half the time

    def pop(self, group: int | None = None) -> Any:  # type: ignore[override]
        """Removes and returns the first item; None if there is none.

        If *group* is given, also None if the order of the first item does not begin with it.
        """
        entry = self.first()
        if entry is None or (group is not None and entry[0] != group):
            return None
        return heappop(self)[-1]

    def first(self) -> tuple[Any, ...] | None:
        """Returns the first valid entry, left in the heap; None if there is none."""
        while self:
            entry = self[0]
            if entry[-1].ticket == entry[-2]:
                return entry
            heappop(self)
        return None


class State(Enum):
    """What a host waits for, or a lane that is in no host; a lane in a host has the host's state.

    An event ends each state except ``IDLE`` and ``EMPTY``.
    """

    # Of hosts
    READY = "ready"
    """A host that may be chosen."""
    LATER = "waiting for a moment"
    FULL = "waiting for a request to end"
    """A host whose slot has as many requests under way as it allows."""
    AT_DOOR = "waiting for a request at the door"
    IDLE = "idle"
    """A host without lanes."""

    # Of lanes in no host
    POLICY = "waiting for robots.txt"
    HELD = "held back"
    """A lane that waits until its robots.txt is fetched again, or its visiting hours begin."""
    REFUSED = "whose requests fail"
    """A lane that may be chosen, and whose requests will fail."""
    EMPTY = "empty"
    """A lane without requests."""


class Address(NamedTuple):
    """What the requests of a lane have in common."""

    origin: Origin | None
    """The origin whose robots.txt applies to the requests; None if none does."""
    slot: str
    """The downloader slot of the requests."""

    @property
    def name(self) -> str:
        """The name of the lane in the state of a job.

        Scrapy's DownloaderAwarePriorityQueue names its queues by their slots alone.
        """
        slot = str(self.slot)  # code of the project may choose an object of any type
        if self.origin is None:
            return f" {slot}" if "://" in slot or slot.startswith(" ") else slot
        return str(self.origin) if slot == self.origin.host else f"{self.origin} {slot}"

    @classmethod
    def named(cls, name: str) -> Address:
        """Returns the address with this :attr:`name`; for that of a slot, one without an origin."""
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
    """The place among the queues of a crawl: the lowest number is asked first."""

    @property
    def lanes_asleep(self) -> int:
        """How many lanes are only in the job's file, not in memory."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Lane]:
        """Iterates over the lanes that the queue holds in memory."""

    def take(self, lane: Lane) -> Request | None:
        """Takes the next request out of *lane*; None if none can be read."""


class Lane(ABC):
    """Requests in the order of ``ScrapyPriorityQueue``, and the data to choose among lanes."""

    __slots__ = ("_waits", "address", "count", "host", "order", "priority", "queue", "ticket")

    def __init__(self, address: Address, queue: LaneQueue) -> None:
        self.address = address
        self.queue = queue
        self.count = 0
        """How many requests the lane holds."""
        self.priority = 0
        """The priority of the next request; the lowest number is the most urgent."""
        self.host: Host | None = None
        """The host that the lane is in; None while it waits elsewhere."""
        self._waits = State.EMPTY
        self.order = 0
        """The place among lanes of the same priority: the lowest number is chosen first."""
        self.ticket = 0
        """A number that changes with the state: a heap entry with another one is outdated."""

    @abstractmethod
    def push(self, request: Request) -> None:
        """Adds *request*. Raises ValueError if it cannot be written to disk."""

    @abstractmethod
    def pop(self) -> Request | None:
        """Takes out the next request that can be read; None if none is left, or none may go now."""

    def __len__(self) -> int:
        return self.count

    @property
    def state(self) -> State:
        """What the lane waits for: the state of its host if it is in one."""
        return self._waits if self.host is None else self.host.state

    @property
    def rank(self) -> tuple[int, int, int]:
        """The sort key of the lane among those of its host."""
        return self.queue.number, self.priority, self.order

    def put_in(self, state: State, ticket: int) -> None:
        """Puts a lane that is in no host in *state*."""
        self._waits = state
        self.ticket = ticket


@dataclass(slots=True, eq=False, repr=False)
class Host:
    """The lanes that may go to one host as far as robots.txt says, and what is under way to it.

    A host that nothing delays is known by the downloader slot of its requests, which it may share
    with thousands of others, such as that of a proxy. This class reads no clock and sets no timer.
    """

    name: str
    order: int
    """The place among hosts of the same priority: the lowest number is chosen first."""
    ticket: int = 0
    """A number that changes with the state: a heap entry with another one is outdated."""
    state: State = State.IDLE
    out: int = 0
    """How many requests were handed out, and neither answered nor given up."""
    let_go_at: float = -inf
    """The moment at which the last request was let go."""
    is_slow_to_arrive: bool = False
    """Whether a middleware of the project keeps requests from their slot, or sends them to another
    one. Found out anew when none is under way: a callback that blocked the loop looks alike."""
    lead: float = 0.0
    """Seconds that a request takes to its slot, if the host has a delay: middlewares may await
    something. It is handed out earlier by that."""
    gap: float = 0.0
    """Seconds to wait after a request, as of the last look at the host."""
    waits_until: float = 0.0
    """The moment that the host waits for in the state ``LATER``."""
    last: Request | None = None
    """The last request handed out, until it is known whether it leaves."""
    not_before: float = 0.0
    """The moment before which no request leaves, while the last one is on its way to the door."""
    _lane: Lane | None = None
    """The only lane, as most hosts have one."""
    _lanes: TicketHeap | None = None
    """All lanes, by priority and order, if there were ever two at the same time."""

    def add(self, lane: Lane) -> None:
        """Adds *lane*, or sorts it in again: its priority or order, and its ticket, are new."""
        lane.host = self
        if self._lanes is None:
            if self._lane is None or self._lane is lane:
                self._lane = lane
                return
            self._lanes = TicketHeap()
            self._lanes.push(self._lane.rank, self._lane)
        self._lanes.push(lane.rank, lane)

    def remove(self, lane: Lane) -> None:
        """Removes *lane*, which gets a new ticket wherever it goes."""
        lane.host = None
        if self._lane is lane:
            self._lane = None

    def next_lane(self) -> Lane | None:
        """Returns the lane to go next, left in the host; None if there is none."""
        if self._lanes is None:
            return self._lane
        first = self._lanes.first()
        if first is None:
            self._lane = self._lanes = None
            return None
        lane: Lane = first[-1]
        return lane

    def note_left(self, request: Request) -> None:
        """Records that *request* was sent, as the door knows, or was refused and delays nothing."""
        if self.last is request:
            self.last = None
            self.not_before = 0.0
