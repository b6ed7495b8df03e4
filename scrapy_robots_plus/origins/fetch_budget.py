"""The limit on robots.txt files fetched at the same time (``ROBOTS_FETCH_CONCURRENCY``)."""

from __future__ import annotations

from collections import OrderedDict
from math import inf

from scrapy import signals
from twisted.internet.abstract import isIPAddress
from twisted.internet.defer import Deferred

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl.clock import Alarm, CallLater, Now
from scrapy_robots_plus.crawl.crawl import Crawl
from scrapy_robots_plus.protocol.origin import Origin

FIRST_PATIENCE = 1.0
"""Seconds after which a fetch counts as silent, before any has been answered."""
LEAST_PATIENCE, MOST_PATIENCE = 0.1, 5.0
PATIENCE = 4.0
"""The multiple of the average response time after which a fetch counts as silent."""
SILENT_PER_PLACE = 128
SPARE_LOOK_UPS = 1
"""The number of look-ups that fetches leave free, to see whether names are found at all."""


class FetchBudget:
    """The places for fetches of robots.txt files. Silent fetches give theirs to others.

    A server that accepts connections and never answers costs a socket and no work. If it kept its
    place until the timeout, hundreds of such servers would block all other fetches. Each silent
    fetch also lets one more start, so that even thousands of them do not slow the others down.

    Few threads look up names. A name that gets no answer keeps its thread for many seconds, and a
    live host whose name waits for it would seem dead. So no fetch starts while names that are not
    found yet take all threads but one.
    """

    def __init__(self, places: int, ceiling: int, clock: Now, call_later: CallLater) -> None:
        self._places = places
        self.ceiling = max(places, min(ceiling, places * SILENT_PER_PLACE))
        """The most fetches under way, however many are silent."""
        self._clock = clock
        self._asked: OrderedDict[Origin, float] = OrderedDict()
        self._silent: dict[Origin, float] = {}
        self._looked_up: set[Origin] = set()
        """The origins under way whose addresses were not known at the last look."""
        self._are_names_known = True
        """Whether this process looks names up by itself: False if, say, a proxy does."""
        self._average: float | None = None
        self._queue: OrderedDict[Deferred[None], Origin] = OrderedDict()
        self._is_admitting = False
        self._alarm = Alarm(self._admit, clock, call_later)

    @classmethod
    def of_crawl(cls, crawl: Crawl) -> FetchBudget:
        most, clock = crawl.settings.fetch_concurrency, crawl.clock
        budget = cls(most, compat.most_sockets(), clock.monotonic, clock.call_later)
        crawl.crawler.signals.connect(budget.abandon, signals.spider_closed)
        return budget

    @property
    def patience(self) -> float:
        """Seconds after which a fetch counts as silent."""
        if self._average is None:
            return FIRST_PATIENCE
        return min(max(PATIENCE * self._average, LEAST_PATIENCE), MOST_PATIENCE)

    def __len__(self) -> int:
        return len(self._asked) + len(self._silent)

    def __contains__(self, origin: Origin) -> bool:
        return origin in self._asked or origin in self._silent

    @property
    def free(self) -> bool:
        """Whether another fetch may start."""
        return not self._queue and self._has_room()

    @property
    def next_change(self) -> float | None:
        """The monotonic time at which there may be room: the next fetch counts as silent, or an
        address may have been found. None if nothing is under way that could make room."""
        oldest = next(iter(self._asked.values()), self._clock() if self._looked_up else None)
        return None if oldest is None else oldest + self.patience

    def take(self, origin: Origin) -> None:
        """Takes a place for *origin*, whose fetch starts now, even if none is free."""
        if origin not in self:
            self._asked[origin] = self._clock()
            is_address = isIPAddress(origin.host) or ":" in origin.host
            if self._are_names_known and not is_address and compat.most_look_ups() < inf:
                self._looked_up.add(origin)

    def answered(self, origin: Origin) -> None:
        """Records that the server of *origin* answered; its time counts in the average."""
        if origin in self._looked_up and not compat.is_name_found(origin.host):
            self._are_names_known = False
            self._looked_up.clear()
        # Fetches that counted as silent raise the average too.
        began = self._asked.get(origin, self._silent.get(origin))
        if began is not None:
            took = self._clock() - began
            before = took if self._average is None else self._average
            self._average = before + (took - before) / 8

    def give_back(self, origin: Origin) -> None:
        """Frees the place of *origin*, if it has one, for those that wait."""
        self._asked.pop(origin, None)
        self._silent.pop(origin, None)
        self._admit()

    async def wait(self, origin: Origin) -> None:
        """Takes a place for *origin* as soon as one is free, unless it has one already."""
        if origin in self:
            return
        turn: Deferred[None] = Deferred()
        self._queue[turn] = origin
        self._admit()
        try:
            await compat.wait_for(turn)
        finally:
            self._queue.pop(turn, None)

    def abandon(self) -> None:
        """Ends all waits, as the crawl ends. Those who waited check for that themselves."""
        self._alarm.cancel()
        waiting = list(self._queue)
        self._queue.clear()  # first: without asyncio, each goes on at once, and gives a place back
        for turn in waiting:
            turn.callback(None)

    def _find_silent(self) -> None:
        limit = self._clock() - self.patience
        while self._asked:
            origin, began = next(iter(self._asked.items()))
            if began > limit:
                return
            del self._asked[origin]
            self._silent[origin] = began

    def _admit(self) -> None:
        if self._is_admitting:
            return
        # Without asyncio, a fetch goes on within the callback. If it ends there, it gives its place
        # back: this loop goes on with that, instead of one call within the other for each fetch.
        self._is_admitting = True
        try:
            while self._queue and self._has_room():
                turn, origin = self._queue.popitem(last=False)
                self.take(origin)
                turn.callback(None)
        finally:
            self._is_admitting = False
        if self._queue and self.next_change is not None:
            self._alarm.set(self.next_change)

    @property
    def most(self) -> int:
        """How many fetches may be under way now: more if some of them are silent."""
        self._find_silent()
        return min(self._places + 2 * len(self._silent), self.ceiling)

    def _has_room(self) -> bool:
        if len(self) >= self.most:
            return False
        self._looked_up = {
            each for each in self._looked_up if each in self and not compat.is_name_found(each.host)
        }
        return len(self._looked_up) < max(1, compat.most_look_ups() - SPARE_LOOK_UPS)
