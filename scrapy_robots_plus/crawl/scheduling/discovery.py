"""When the policies of unknown hosts are fetched: only when that does not slow pages down.

Operations:

- ``add``, ``grow``: a lane needs a policy, or has more requests than before;
- ``request_came_in``, ``fetch_ended``: there is more to do, or less;
- ``round_begins``, ``nothing_is_ready``: the engine is busy, or idle; here fetches start.

Goals: a fetch costs as much CPU time as a page, whether it is answered or not. So pages go first,
and so do incoming requests, which show which hosts have many. If there is nothing else to do, as
many fetches start as the budget allows. Thousands of servers that never answer slow nothing down.

Hazards:

- Start requests come in one by one. Only some rounds later it is known that no more will come.
- A job has two queues, and the engine asks both in each round: each round counts once.
- A lane is in two orders, by size and by age. It gets a new ticket when its fetch starts, or the
  second order would find it again.
- While the crawl is paused or closing, nothing may start, and no alarm may be set for it either: it
  would ring for ever.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Protocol

from scrapy_robots_plus.crawl.lanes.lane import LaneState

from .fetch_order import FetchOrder

if TYPE_CHECKING:
    from scrapy_robots_plus.crawl.fetching.budget import FetchBudget
    from scrapy_robots_plus.crawl.lanes.lane import Lane, LaneStates
    from scrapy_robots_plus.policy.origin import Origin


class Fetches(Protocol):
    """How policies are fetched."""

    budget: FetchBudget

    def may_fetch(self) -> bool:
        """Whether the crawl is neither paused nor about to close."""

    def is_fetching(self, origin: Origin) -> bool: ...

    def fetch(self, origin: Origin, lane: Lane) -> None:
        """Starts to fetch a policy for the lane. ``Readiness.fetch_ended`` is called at the end."""

    def wake(self) -> None:
        """Makes the engine ask for requests."""


class Discovery:
    """Starts fetches.

    While requests come in or pages are handed out, each answered fetch pays for another one.
    Servers that never answer use up the credit, and are then asked only occasionally.

    ``python benchmarks/crawl.py 400-dead 4000-dead`` (dead hosts beside live ones) decided the
    numbers below, except ``FETCHES_AT_ONCE``, for which no measurement is known.
    """

    FETCHES_AT_ONCE = 8
    """How many fetches a queue starts before it lets the engine work again."""
    PAGES_PER_FETCH = 16
    """How many pages are handed out per fetch while enough lanes are ready."""
    ROUNDS_PER_FETCH = 64
    """How many rounds the engine makes per fetch while requests are coming in."""
    QUIET_ROUNDS = 4
    """After this many rounds without a new request, no more are expected."""
    CREDIT = 128
    """How many fetches may start in the meantime before any of them is answered."""

    def __init__(self, surroundings: Fetches, states: LaneStates, enough: float = inf) -> None:
        """*enough*: when this many lanes are ready, other policies are fetched less eagerly."""
        self._surroundings = surroundings
        self._states = states
        self._enough = enough
        self._fetch_order = FetchOrder()
        self._credit = self.CREDIT
        self._rounds = 0
        self._rounds_without_request = 0
        self._idle_round = 0
        """The last round in which nothing was ready."""

    @property
    def next_change(self) -> float | None:
        """When another fetch may start, unless one ends first; None if none is to start."""
        if not self._fetch_order or not self._surroundings.may_fetch():
            return None
        return self._surroundings.budget.next_change

    def add(self, lane: Lane) -> None:
        """The policy of the lane must be fetched."""
        self._fetch_order.add(lane)

    def grow(self, lane: Lane) -> None:
        """A lane that was added has received another request."""
        size = len(lane)
        if size & (size - 1) == 0:  # it has doubled
            self._fetch_order.grow(lane)

    def request_came_in(self) -> None:
        self._rounds_without_request = 0

    def fetch_ended(self, *, answered: bool) -> None:
        """*answered*: its policy does not refuse everything."""
        if answered:
            self._credit = min(self._credit + 1, self.CREDIT)

    def round_begins(self) -> None:
        """The engine asks for a request, and must not be kept waiting."""
        self._rounds += 1
        if not self._fetch_order:
            return
        rounds = self.ROUNDS_PER_FETCH if self._is_growing else self.PAGES_PER_FETCH
        if self._rounds % rounds == 0:
            self._start(1)
        elif self._credit and self._states.ready < self._enough and self._start(1):
            self._credit -= 1

    def nothing_is_ready(self) -> None:
        """There is nothing to hand out. Incoming requests still go first."""
        if self._idle_round != self._rounds:
            self._idle_round = self._rounds
            self._rounds_without_request += 1
        self._start(0 if self._is_growing else self.FETCHES_AT_ONCE)

    def _start(self, most: int) -> int:
        """Starts at most *most* fetches; returns how many it started."""
        started = 0
        budget = self._surroundings.budget
        if not self._fetch_order or not self._surroundings.may_fetch():
            return started
        while started < most and self._fetch_order and budget.free:
            lane = self._fetch_order.pop()
            if lane is None or lane.address.origin is None:
                return started
            self._states.move(lane, LaneState.POLICY)  # gives it a new ticket
            if not self._surroundings.is_fetching(lane.address.origin):
                self._surroundings.fetch(lane.address.origin, lane)
                started += 1
        if not self._states.ready and self._fetch_order and budget.free:
            self._surroundings.wake()
        return started

    @property
    def _is_growing(self) -> bool:
        """Whether requests are coming in, one after another."""
        return self._rounds_without_request < self.QUIET_ROUNDS
