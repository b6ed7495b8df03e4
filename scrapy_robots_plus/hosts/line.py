"""The requests that wait at the door for one host."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from typing import ClassVar

from scrapy import Request
from twisted.internet.defer import Deferred

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl import stats
from scrapy_robots_plus.crawl.clock import Alarm
from scrapy_robots_plus.crawl.crawl import Crawl
from scrapy_robots_plus.crawl.recent import Recent
from scrapy_robots_plus.crawl.requests import valid_origin_of

from .pace import Pace
from .shared_pace import SharedPace
from .slot_delays import ShownDelay
from .turn_among_crawls import TurnAmongCrawls


class Doorway:
    """What all lines of a crawl share: the other crawls, the slots, and who waits for their places.

    A request that waits at the door has left its slot: two that the slot let go one after the other
    might leave the door together. So the least delay of the slot is kept here once more.
    """

    MOST_SLOTS = 10_000
    """How many slots with a delay are remembered: those used last."""

    def __init__(self, crawl: Crawl, shared_pace: SharedPace) -> None:
        self.crawl = crawl
        self.clock = crawl.clock
        self.shared_pace = shared_pace
        """The pace shared with other crawls, which is asked for a turn. Must not be set once a host
        has a pace."""
        self.changed: Callable[[str, Request | None], None] = lambda _, __: None
        """A function to call with each host that may be due at another time than before, and with
        the request handed to a download handler if that is why, otherwise None."""
        self.waiting = 0
        """How many requests wait in all lines. They do not count as concurrent ones."""
        self.wanting: dict[str, OrderedDict[HostLine, None]] = {}
        """The lines whose first request may go as soon as its slot has a place, by slot."""
        self.last_of_slots: Recent[str, float] = Recent(self.MOST_SLOTS)
        """The moments at which slots with a delay of their own have handed over their last
        requests."""

    @cached_property
    def slots(self) -> compat.Slots:
        return compat.Slots(self.crawl.crawler.engine.downloader)

    def slot_lets_go_at(self, key: str) -> float:
        """Returns the moment from which the slot *key* lets a request go."""
        last = self.last_of_slots.get(key)
        return -inf if last is None else last + self.slots.least_delay(key)

    def left_slot(self, key: str, now: float) -> None:
        """Records that a request of the slot *key* leaves the door."""
        if key in self.last_of_slots or self.slots.least_delay(key):
            self.last_of_slots.put(key, now)

    def place_is_free(self, key: str) -> None:
        """Offers a place that is free in the slot *key* to the requests that wait at the door.

        If none takes it, the next request in the slot gets it.
        """
        lines = self.wanting.get(key)
        while lines and not lines.popitem(last=False)[0].look(free=key):
            pass
        if not lines:
            self.wanting.pop(key, None)


@dataclass(slots=True, eq=False, repr=False)
class _Waiter:
    """A request in a line."""

    request: Request
    slot: str
    may_go: Deferred[None] = field(default_factory=Deferred)
    is_aside: bool = False
    """Whether other requests of its slot may go meanwhile."""


@dataclass(slots=True, eq=False, repr=False)
class HostLine:
    """The requests that wait for one host; each goes when its moment has come, one at a time.

    A request leaves the line in one turn of the event loop and is handed over in the next: no other
    may go meanwhile (``_leaving``). Its moment depends on the host's pace, the slot's own delay and
    the turn among other crawls, which only the first in the line asks for.

    In a slot that is not the host's own, a request that waits leaves its place to others. It takes
    a free one before it goes.
    """

    TURNS: ClassVar = 3
    """Turns of the loop in which a request is written: to connect, to be told of it, to write."""
    BLOCKED_SECONDS: ClassVar = 0.02
    """Seconds from which a turn of the loop counts as blocked."""
    LOOKS_AGAIN_SECONDS: ClassVar = 1.0
    """Seconds until the line looks for a place that nobody told it of: that of a request for a
    robots.txt, which does not wait at the door, or one that another line took to ask crawls in
    other processes, whose answer came later and was to wait."""

    host: str
    """The name of the host, in lower case and without the port."""
    _doorway: Doorway
    pace: Pace = field(default_factory=Pace)
    shown: ShownDelay = field(default_factory=ShownDelay)
    _waiting: deque[_Waiter] = field(default_factory=deque)
    _leaving: Request | None = None
    _alarm: Alarm = field(init=False)
    turn: TurnAmongCrawls = field(init=False)
    """The turn of the first request, which a host with a delay asks other crawls for."""

    def __post_init__(self) -> None:
        clock, shared_pace = self._doorway.clock, self._doorway.shared_pace
        self._alarm = Alarm(self.look, clock.monotonic, clock.call_later)
        self.turn = TurnAmongCrawls(self.host, self.pace, shared_pace, clock.monotonic)

    # For the door

    async def let_through(self, request: Request) -> None:
        """Waits until *request* may be handed over. :meth:`handed_over` must follow at once.

        Raises what :meth:`fail` was given.
        """
        waiter = _Waiter(request, request.meta.get(compat.SLOT_META_KEY, ""))
        self._waiting.append(waiter)
        self.look()
        if self._leaving is request:
            return
        self._doorway.waiting += 1
        # An answer on its way to it will let it go, in its place, or make it step aside.
        if not self.turn.is_asked_for(request):
            self._step_aside(waiter)
        try:
            await compat.wait_for(waiter.may_go)
        except BaseException:
            self._gave_up(waiter)
            raise
        finally:
            self._doorway.waiting -= 1

    def handed_over(self, request: Request) -> None:
        """Records that a download handler gets *request*; looks at the next in another turn."""
        now = self._doorway.clock.monotonic()
        self.pace.handed_over(request, now)
        self._doorway.left_slot(request.meta.get(compat.SLOT_META_KEY, ""), now)
        self._leaving = None
        self.turn.left()
        self.show()
        self._doorway.changed(self.host, request)
        if self.pace.delay:
            self._watch(request, now, self.TURNS)
        if self._waiting:
            # Not in this turn: without an asyncio loop, the next request would be handed over
            # within this call, the one after that within its own, and so on.
            self._doorway.clock.call_later(0, self.look)

    def _watch(self, request: Request, before: float, turns: int) -> None:
        """Notes, for so many *turns* of the loop, whether one has held up *request*."""

        def turned() -> None:
            now = self._doorway.clock.monotonic()
            is_blocked = now - before > self.BLOCKED_SECONDS
            if is_blocked and self.pace.departures.was_held_up(request, now):
                self.changed()
            if turns > 1:
                self._watch(request, now, turns - 1)

        self._doorway.clock.call_later(0, turned)

    def show(self, delay: float | None = None) -> None:
        """Shows *delay*, or that of robots.txt, in the host's own slot, if there is one."""
        slot = self._doorway.slots.showing(self.host)
        if slot is not None:
            self.shown.show(slot, self.pace.robots_delay if delay is None else delay)

    def changed(self) -> None:
        """Reports a better estimate of when the last request left."""
        self.turn.tell_left()
        self.look()
        self._doorway.changed(self.host, None)

    def look(self, *, free: str = "") -> bool:
        """Lets the first request go if it may, or arranges to look again.

        Returns whether it has taken a place, and keeps it. *free*: a slot in which one is about to
        be free.
        """
        if not self._waiting or self._leaving is not None or self.turn.ask_at is None:
            return False
        self._alarm.cancel()
        waiter, now = self._waiting[0], self._doorway.clock.monotonic()
        due = self._may_leave_at(waiter)
        if due <= now and self.pace.delay:
            due = self.turn.ask_at
        if due > now:
            self._alarm.set(due)
            return False
        if takes_place := waiter.is_aside:
            if free != waiter.slot and not self._doorway.slots.has_place(waiter.slot):
                self._doorway.wanting.setdefault(waiter.slot, OrderedDict())[self] = None
                self._alarm.set(now + self.LOOKS_AGAIN_SECONDS)
                return False
            self._take_place(waiter)
        if self.pace.delay:
            self.turn.ask(waiter.request, self._answered)
        else:
            self.turn.give_back()
            self._let_go()
        return takes_place and not waiter.is_aside  # told at once to wait, it has left it again

    def next_may_come_at(self) -> float:
        """Returns when another request should come; infinity while one waits to be handed over."""
        return self.pace.due_at() if self.is_empty else inf

    def first_may_go_at(self) -> float:
        """Returns when the first may go, as far as known from this crawl and the others."""
        due_at = self._may_leave_at(self._waiting[0]) if self._waiting else self.pace.due_at()
        return max(due_at, self.turn.ask_at or -inf)

    @property
    def is_empty(self) -> bool:
        return not self._waiting and self._leaving is None

    # The end of waiting

    def fail(self, error: type[Exception], fails: Callable[[Request], bool]) -> None:
        """Fails the requests that *fails* is true of, each with a new *error*."""
        failing = [each for each in self._waiting if fails(each.request)]
        for each in failing:
            self._waiting.remove(each)
        for each in failing:
            each.may_go.errback(error())
        self.look()
        self._doorway.changed(self.host, None)

    def is_late(self, latest: float) -> bool:
        """Returns whether the next request waits for more than a delay that ends by *latest*.

        It may wait for a pause, for other crawls, or because the host is asked less often. Visiting
        hours are left out: each origin has its own.
        """
        now, delay = self._doorway.clock.monotonic(), self.pace.robots_delay
        if self.pace.is_held(now) or self.turn.waits_for_others:
            return True
        return delay > 0 and max(now, self.pace.departures.handed_over_at + delay) > latest

    # One request

    def _may_leave_at(self, waiter: _Waiter) -> float:
        due_at = max(self.pace.due_at(), self._doorway.slot_lets_go_at(waiter.slot))
        if not self.pace.visits:
            return due_at
        origin = valid_origin_of(waiter.request)
        # The hours may end while it waits.
        opens_in = self.pace.opens_in(origin, self._doorway.clock.wall()) if origin else 0.0
        return max(due_at, self._doorway.clock.monotonic() + opens_in) if opens_in else due_at

    def _let_go(self) -> None:
        waiter = self._waiting.popleft()
        self._leaving = waiter.request
        # Already now: the lines of other hosts may look before it is handed over.
        self._doorway.left_slot(waiter.slot, self._doorway.clock.monotonic())
        waiter.may_go.callback(None)

    def _gave_up(self, waiter: _Waiter) -> None:
        """Removes *waiter*, which failed or was cancelled, in the line or after it was let go."""
        if waiter.is_aside:  # the downloader will take it out of its slot
            self._take_place(waiter)
        if waiter in self._waiting:
            self._waiting.remove(waiter)
        elif self._leaving is waiter.request:
            self._leaving = None
        if not self._waiting:
            self._alarm.cancel()
        self.turn.give_back(if_given=bool(self._waiting))
        self.look()
        self._doorway.changed(self.host, None)

    def _step_aside(self, waiter: _Waiter) -> None:
        if waiter.slot != self.host and not waiter.is_aside:
            waiter.is_aside = True
            self._doorway.slots.leave_place(waiter.slot, waiter.request)

    def _take_place(self, waiter: _Waiter) -> None:
        waiter.is_aside = False
        self._doorway.slots.take_place(waiter.slot, waiter.request)

    def _answered(self, request: Request, wait: float) -> None:
        """Handles the answer of other crawls to *request*: it may go, or wait for some seconds."""
        first = self._waiting[0] if self._waiting else None
        if wait and first and not self.turn.waits_for_others:
            self.turn.waits_for_others = True
            self._doorway.crawl.stats.inc_value(stats.SHARED_PACE_WAITS)
        now = self._doorway.clock.monotonic()
        if not wait and first and first.request is request and self._may_leave_at(first) <= now:
            self.turn.use()
            self._let_go()
            return
        if not wait or not first:
            self.turn.give_back()
        self.turn.tell_untold()
        if first:
            self._step_aside(first)
        self.look()
