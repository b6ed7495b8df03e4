"""Fetches of the policies of unknown hosts, which start only when they do not slow pages down.

Operations:

- ``add``, ``grow``: a lane needs a policy, or has more requests than before;
- ``request_came_in``, ``fetch_ended``: there is more to do, or less;
- ``round_begins``, ``nothing_is_ready``: the engine is busy, or idle; fetches start here.

Goals: a fetch costs as much CPU time as a page, whether it is answered or not. So pages go first,
and so do incoming requests, which show which hosts have many. If there is nothing else to do, as
many fetches start as the budget allows. Even thousands of silent servers slow nothing down.

Hazards:

- Start requests come in one by one. That no more will come is known only a few rounds later. The
  engine makes a round for each by itself: to wake it would make two of every one.
- A job has two queues, and the engine asks both in each round: each round counts once.
- A lane that has grown is in the heap more than once. It gets a new ticket when its fetch starts,
  or it would be found again.
- While the crawl is paused or closing, no fetch may start, and no alarm may be set for one: it
  would ring for ever.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .host import Lane, TicketHeap

if TYPE_CHECKING:
    from scrapy_robots_plus.protocol.origin import Origin

    from .known import Known


class Discovery:
    """The lanes that wait for a fetch: by priority, then large and old ones first.

    A fetch for a large lane gives access to the most pages: among thousands of hosts that may or
    may not answer, large sites do not wait for all small ones, nor small ones for ever.

    While requests come in or pages are handed out, each answered fetch pays for another one.
    Servers that never answer use up the credit, and are then asked only occasionally.

    The numbers below were chosen with ``python benchmarks/crawl.py 400-dead 4000-dead`` (dead hosts
    beside live ones), except ``FETCHES_AT_ONCE``, for which no measurement is known.
    """

    FETCHES_AT_ONCE = 8
    """How many fetches a queue starts before it lets the engine work again."""
    PAGES_PER_FETCH = 16
    """How many pages are handed out per fetch while enough hosts are ready."""
    ROUNDS_PER_FETCH = 64
    """How many rounds the engine makes per fetch while requests are coming in."""
    QUIET_ROUNDS = 4
    """The number of rounds without a new request after which no more are expected."""
    LOOKS_AGAIN_SECONDS = 0.001
    """Seconds until the next round, as long as more requests are expected and none comes."""
    NUMBERS_PER_DOUBLING = 10_000
    """By how many numbers a lane moves forward each time its requests double; each request that
    comes in takes about two."""
    CREDIT = 128
    """How many extra fetches may start in busy rounds before any of them is answered; no more than
    the hosts that are wanted."""

    def __init__(self, known: Known, tickets: Iterator[int]) -> None:
        self._known = known
        self._tickets = tickets
        self._lanes = TicketHeap()
        self._most_credit = self._credit = min(self.CREDIT, known.enough)
        self._rounds = 0
        self._rounds_without_request = 0
        self._idle_round = 0
        """The last round in which nothing was ready."""

    @property
    def next_change(self) -> float | None:
        """The time at which another fetch may start, unless one ends first; None if none is due."""
        if not self._lanes or not self._known.may_fetch():
            return None
        if self._is_growing and self._idle_round == self._rounds:
            return self._known.clock() + self.LOOKS_AGAIN_SECONDS
        return self._known.budget.next_change

    def add(self, lane: Lane) -> None:
        """Adds *lane*, whose policy must be fetched, or moves it forward."""
        early = lane.count.bit_length() * self.NUMBERS_PER_DOUBLING
        self._lanes.push((lane.priority, lane.order - early), lane)

    def grow(self, lane: Lane) -> None:
        """Moves *lane*, which was added and has received another request, forward if it doubled."""
        size = lane.count
        if size & (size - 1) == 0:  # it has doubled
            self.add(lane)

    def request_came_in(self) -> None:
        self._rounds_without_request = 0

    def fetch_ended(self, *, answered: bool) -> None:
        """Regains a credit if *answered*: a fetch ended in a policy under which requests may go."""
        if answered:
            self._credit = min(self._credit + 1, self._most_credit)

    def round_begins(self, ready: int) -> None:
        """Starts at most one fetch, so as not to delay the engine; *ready* hosts have a request."""
        self._rounds += 1
        if not self._lanes:
            return
        rounds = self.ROUNDS_PER_FETCH if self._is_growing else self.PAGES_PER_FETCH
        if self._rounds % rounds == 0:
            self._start(1)
        elif self._credit and ready < self._known.enough and self._start(1):
            self._credit -= 1

    def nothing_is_ready(self) -> None:
        """Starts several fetches, unless requests are coming in: these still go first."""
        if self._idle_round != self._rounds:
            self._idle_round = self._rounds
            self._rounds_without_request += 1
        if not self._is_growing and self._start(self.FETCHES_AT_ONCE) == self.FETCHES_AT_ONCE:
            self._known.wake()

    def _start(self, most: int) -> int:
        """Starts at most *most* fetches; returns how many it started."""
        started = 0
        if not self._lanes or not self._known.may_fetch():
            return started
        budget = self._known.budget
        while started < most and self._lanes and budget.free:
            lane = self._lanes.pop()
            if lane is None:
                return started
            lane.ticket = next(self._tickets)
            origin: Origin = lane.address.origin  # not None: it waits for a robots.txt
            if not self._known.is_fetching(origin):
                self._known.fetch(origin)
                started += 1
        return started

    @property
    def _is_growing(self) -> bool:
        """Whether requests are coming in, one after another."""
        return self._rounds_without_request < self.QUIET_ROUNDS
