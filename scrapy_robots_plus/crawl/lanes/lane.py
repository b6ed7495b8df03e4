"""One lane of the queue: the requests that go to one origin through one downloader slot."""

from __future__ import annotations

from enum import Enum
from itertools import count
from typing import TYPE_CHECKING, NamedTuple, Protocol

from scrapy_robots_plus.policy.origin import Origin

if TYPE_CHECKING:
    from scrapy import Request


class LaneState(Enum):
    """What a lane waits for. A lane is in exactly one state, and an event ends it."""

    READY = "ready"
    """It may be chosen."""
    REFUSED = "refused"
    """It may be chosen, and its requests will fail: their robots.txt cannot be read."""
    POLICY = "waiting for robots.txt"
    DELAY = "waiting for its delay"
    FULL = "waiting for a request to end"
    """Its slot has as many requests under way as it allows."""
    HELD = "held back"
    """Until the robots.txt is fetched again, or until its visiting hours begin."""
    EMPTY = "empty"


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


class Requests(Protocol):
    """The requests of a lane, in the order of ``ScrapyPriorityQueue``."""

    def __len__(self) -> int: ...

    @property
    def priority(self) -> int:
        """The priority of the next request; the lowest number is the most urgent."""

    def push(self, request: Request) -> None:
        """Raises ValueError if the request cannot be written to disk, OSError if none can."""

    def pop(self) -> Request | None:
        """The next request that can be read; None if none is left."""

    def peek(self) -> Request | None:
        """The next request, left in the queue; None if the queue cannot tell."""

    def priorities(self) -> list[int]:
        """Those that have requests."""

    def close(self) -> list[int]:
        """Closes the files; returns the priorities that have requests."""


class LaneQueue(Protocol):
    """The queue that a lane belongs to, which chooses among its lanes."""

    def add_resumed(self, lane: Lane) -> None:
        """The lane holds requests left by an earlier run."""

    def add_ready(self, lane: Lane) -> None:
        """The lane may be chosen."""


class Lane:
    """Requests in the order of Scrapy's own queue, and the data to choose among lanes."""

    __slots__ = ("address", "order", "queue", "requests", "state", "ticket")

    def __init__(self, address: Address, queue: LaneQueue, requests: Requests) -> None:
        self.address = address
        self.queue = queue
        self.requests = requests
        self.state = LaneState.EMPTY
        self.order = 0
        """Of lanes with the same priority, the one with the lowest number is chosen first."""
        self.ticket = 0
        """Changes with the state: a heap entry with another ticket is out of date."""

    @property
    def priority(self) -> int:
        """The priority of the next request; the lowest number is the most urgent."""
        return self.requests.priority

    def __len__(self) -> int:
        return len(self.requests)

    def next_request(self) -> Request | None:
        """The next request, left in the queue; None if the queue cannot tell."""
        return self.requests.peek()


class LaneStates:
    """Moves lanes from state to state, and counts those that are ready."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self.ready = 0
        """How many lanes may be chosen, as far as known without checking."""
        self.lanes = 0
        """How many lanes hold requests."""

    def number(self) -> int:
        """The next ticket, or the last place in the order."""
        return next(self._numbers)

    def move(self, lane: Lane, state: LaneState) -> None:
        before = lane.state
        self.ready += (state is LaneState.READY) - (before is LaneState.READY)
        self.lanes += (before is LaneState.EMPTY) - (state is LaneState.EMPTY)
        lane.state = state
        lane.ticket = next(self._numbers)

    def make_ready(self, lane: Lane) -> None:
        self.move(lane, LaneState.READY)
        lane.queue.add_ready(lane)
