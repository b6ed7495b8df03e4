"""When the policies of unknown hosts are fetched: no sooner than pages can do without the time."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from scrapy_robots_plus.crawl.lanes.lane import Place

from .unknown import Unknown

if TYPE_CHECKING:
    from scrapy_robots_plus.crawl.lanes.lane import Lane, Places

    from .surroundings import Surroundings


class Discovery:
    """Starts fetches. Each costs as much of the processor as a page, whether it is answered or not.

    With nothing else to do, all fetches start that the budget has places for. While requests come
    in or pages are handed out, each fetch that is answered pays for another one. Servers that never
    answer use the credit up, and are then asked now and then.
    """

    FETCHES_AT_ONCE = 8
    """How many fetches a queue starts before the engine gets to work again."""
    PAGES_PER_FETCH = 16
    """How many pages are handed out for each fetch that starts although there are enough."""
    TURNS_PER_FETCH = 64
    """How many turns the engine takes for each fetch that starts while requests are coming in."""
    QUIET_TURNS = 4
    """After how many turns without a new request no more of them are coming in."""
    CREDIT = 128
    """How many fetches may start meanwhile, before any of them is answered."""

    def __init__(self, around: Surroundings, places: Places, enough: float = inf) -> None:
        """*enough*: with as many lanes ready, policies of others are fetched less eagerly."""
        self._around = around
        self._places = places
        self._enough = enough
        self._unknown = Unknown()
        self._credit = self.CREDIT
        self._turns = 0
        self._turns_without_request = 0
        self._rested_at = 0

    @property
    def next_change(self) -> float | None:
        """When another fetch may start, unless one ends before; None where none is to start."""
        if not self._unknown or not self._around.may_fetch():
            return None
        return self._around.budget.next_change

    def add(self, lane: Lane) -> None:
        """The policy of the lane is to be fetched."""
        self._unknown.add(lane)

    def grow(self, lane: Lane) -> None:
        """A lane that was added has got another request."""
        size = len(lane)
        if size & (size - 1) == 0:  # it has doubled
            self._unknown.grow(lane)

    def request_came_in(self) -> None:
        self._turns_without_request = 0

    def landed(self, *, answered: bool) -> None:
        """A fetch has ended; *answered*: the server is not a silent one."""
        if answered:
            self._credit = min(self._credit + 1, self.CREDIT)

    def meanwhile(self) -> None:
        """The engine asks for a request, which must not wait for this."""
        self._turns += 1
        if not self._unknown:
            return
        if self._turns % (self.TURNS_PER_FETCH if self._is_growing else self.PAGES_PER_FETCH) == 0:
            self.start(1)
        elif self._credit and self._places.ready < self._enough and self.start(1):
            self._credit -= 1

    def rest(self) -> None:
        """There is nothing to hand out.

        While requests are coming in, as start requests do one by one, they go first all the same:
        they tell which hosts have many.
        """
        if self._rested_at != self._turns:  # each queue of a job says so
            self._rested_at = self._turns
            self._turns_without_request += 1
        self.start(0 if self._is_growing else self.FETCHES_AT_ONCE)

    def start(self, most: int) -> int:
        """Starts fetches, at most so many; returns how many."""
        started = 0
        budget = self._around.budget
        if not self._unknown or not self._around.may_fetch():
            return started
        while started < most and self._unknown and budget.free:
            lane = self._unknown.pop()
            if lane is None or lane.address.origin is None:
                return started
            # With another ticket it is not found in the order of size and of waiting as well.
            self._places.move(lane, Place.POLICY)
            if not self._around.is_fetching(lane.address.origin):
                self._around.fetch(lane.address.origin, lane)
                started += 1
        if not self._places.ready and self._unknown and budget.free:
            self._around.wake()
        return started

    @property
    def _is_growing(self) -> bool:
        """Whether requests are coming in, one after another."""
        return self._turns_without_request < self.QUIET_TURNS
