"""The requests that stand at the door for one host, and their turn among other crawls."""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import dataclass, field
from functools import partial
from math import inf
from typing import TYPE_CHECKING, ClassVar

from twisted.internet.defer import Deferred

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl.clock import Alarm, Clock

from .pace import Pace
from .shared_pace import Ask, SharedPace
from .slot_delays import ShownDelay, SlotTimes

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request

    from scrapy_robots_plus.protocol.pace import VisitTime


@dataclass(eq=False, repr=False)
class Doorway:
    """What all lines of a crawl share."""

    clock: Clock
    slots: compat.Slots
    times: SlotTimes
    shared_pace: SharedPace
    """Asked for a turn among other crawls."""
    on_wait_for_others: Callable[[], None]
    """Called when a request has to wait for other crawls."""
    on_change: Callable[[str, Request | None], None]
    """Called with a host that may be due at another moment, and with its request that a download
    handler gets, if that is why."""
    waiting: int = 0
    """How many requests stand in all lines."""
    wanting: dict[str, OrderedDict[HostLine, None]] = field(default_factory=dict)
    """By slot: the lines whose first may go as soon as the slot has a place for it."""

    def place_is_free(self, key: str) -> None:
        """A request of the slot *key* is over: its place goes to one that stands at the door, or to
        the next in the slot if none wants it.
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
    """Whether others of its slot may go meanwhile."""


@dataclass(slots=True, eq=False, repr=False)
class HostLine:
    """Lets one request at a time go, when its moment has come.

    A request leaves the line in one turn of the loop and is handed over in the next: nobody else
    may go meanwhile (``leaving``). The moment is that of the host's pace, of the slot's own delay,
    and of the turn among other crawls, which only the first in the line asks for.

    In a slot that is not the host's own, a request that waits leaves its place to others. It takes
    a free one before it goes.
    """

    LOOKS_AGAIN_SECONDS: ClassVar = 1.0
    """Until it looks for a place that nobody has told of: that of a robots.txt, which does not come
    through the door."""

    host: str
    """Its name, in lower case and without the port."""
    _doorway: Doorway
    pace: Pace = field(default_factory=Pace)
    visits: VisitTime | None = None
    """The visiting hours under which the last request has come here."""
    shown: ShownDelay = field(default_factory=ShownDelay)
    _waiting: deque[_Waiter] = field(default_factory=deque)
    _leaving: Request | None = None
    _alarm: Alarm = field(init=False)
    _asked: Ask | None = None
    """The last question to other crawls, until a request goes or none waits for the answer."""
    _ask_at: float | None = -inf
    """When to ask again; None while the answer is on its way."""
    _is_granted: bool = False
    """Whether the one that leaves has its turn."""
    _is_untold: bool = False
    """Whether other crawls are still to hear when the last request left. While the answer to a
    question is on its way, the host would seem free although the next one may have been let go.
    """
    _waits_for_others: bool = False

    def __post_init__(self) -> None:
        clock = self._doorway.clock
        self._alarm = Alarm(self.look, clock.monotonic, clock.call_later)

    # For the door

    async def let_through(self, request: Request) -> None:
        """Waits for the moment at which *request* may be handed over. :meth:`handed_over` follows
        at once.

        Raises what :meth:`fail` was given.
        """
        waiter = _Waiter(request, request.meta.get(compat.SLOT_META_KEY, ""))
        self._waiting.append(waiter)
        self.look()
        if self._leaving is request:
            return
        self._doorway.waiting += 1
        asked = self._asked if self._ask_at is None else None
        # The answer on its way may let it go, in its place, or have it step aside.
        if not (asked and asked.request is request):
            self._step_aside(waiter)
        try:
            await compat.wait_for(waiter.may_go)
        except BaseException:
            self._gave_up(waiter)
            raise
        finally:
            self._doorway.waiting -= 1

    def handed_over(self, request: Request) -> None:
        """A download handler gets *request*."""
        now = self._doorway.clock.monotonic()
        self.pace.handed_over(request, now)
        self._doorway.times.handed_over(request.meta.get(compat.SLOT_META_KEY, ""), now)
        self._leaving = None
        if self._is_granted:
            self._is_granted = self._is_untold = False
            self._asked = None
        else:
            self._tell_left()
        self.show()
        self.look()
        self._doorway.on_change(self.host, request)

    def show(self) -> None:
        """Shows the delay in the slot of the host, if there is one."""
        slot = self._doorway.slots.showing(self.host)
        if slot is not None:
            self.shown.show(slot, self.pace.robots_delay)

    def changed(self) -> None:
        """It may be known better when the last request left."""
        self._tell_left()
        self.look()
        self._doorway.on_change(self.host, None)

    def look(self, *, free: str = "") -> bool:
        """Lets the first one go if it may, or arranges to look again. Returns whether it has taken
        a place: *free* is a slot in which one becomes free.
        """
        if not self._waiting or self._leaving is not None or self._ask_at is None:
            return False
        self._alarm.cancel()
        waiter, now = self._waiting[0], self._doorway.clock.monotonic()
        if self.visits and (opens_in := self.visits.begins_in(self._doorway.clock.wall())):
            self.pace.shut_for(opens_in, now)  # the hours have ended while it waited
        due = self._may_leave_at(waiter)
        if due <= now and self.pace.delay:
            due = self._ask_at
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
            self._ask(waiter.request, now)
        else:
            self.give_back()
            self._let_go()
        return takes_place

    def next_may_come_at(self) -> float:
        """When another request should come; infinity while one stands here: its handover tells."""
        return self.pace.due_at() if self.is_empty else inf

    def first_may_go_at(self) -> float:
        """When the one that stands here may go, as far as this crawl and the others have said."""
        return max(self.pace.due_at(), self._ask_at or -inf)

    @property
    def is_empty(self) -> bool:
        return not self._waiting and self._leaving is None

    # The end of waiting

    def forget(self) -> None:
        """Nothing waits, and nothing needs to: what it has done to its slot is undone."""
        slot = self._doorway.slots.showing(self.host)
        if slot is not None:
            self.shown.show(slot, 0.0)
        self.give_back()

    def fail(self, error: type[Exception], fails: Callable[[Request], bool]) -> None:
        """The requests that *fails* is true of end in an *error*."""
        failing = [each for each in self._waiting if fails(each.request)]
        for each in failing:
            self._waiting.remove(each)
        for each in failing:
            each.may_go.errback(error())
        self.look()
        self._doorway.on_change(self.host, None)

    def is_late(self, latest: float) -> bool:
        """Whether the next one waits for a pause, for other crawls, or because of a delay until
        after the moment *latest*.
        """
        now, delay = self._doorway.clock.monotonic(), self.pace.robots_delay
        next_at = max(now, self.pace.departures.handed_over_at + delay)
        return self.pace.is_held(now) or self._waits_for_others or (delay > 0 and next_at > latest)

    def give_back(self) -> None:
        """No request waits for the turn that was asked for."""
        asked, self._asked = self._asked, None
        self._ask_at, self._is_granted, self._waits_for_others = -inf, False, False
        if asked is not None:
            since = self._doorway.clock.monotonic() - self.pace.departures.surely(asked.delay)
            self._doorway.shared_pace.unused(asked.host, since, asked.delay)
            if self._is_untold:
                self._tell_left()

    # One request

    def _may_leave_at(self, waiter: _Waiter) -> float:
        return max(self.pace.due_at(), self._doorway.times.lets_go_at(waiter.slot))

    def _let_go(self) -> None:
        waiter = self._waiting.popleft()
        self._leaving = waiter.request
        # Now, for the lines of other hosts look before it is handed over.
        self._doorway.times.handed_over(waiter.slot, self._doorway.clock.monotonic())
        waiter.may_go.callback(None)

    def _gave_up(self, waiter: _Waiter) -> None:
        """It failed or was cancelled, in the line or just after it was let go."""
        if waiter.is_aside:  # the downloader will take it out of its slot
            self._take_place(waiter)
        if waiter in self._waiting:
            self._waiting.remove(waiter)
        elif self._leaving is waiter.request:
            self._leaving = None
        if not self._waiting:
            self._alarm.cancel()
        if self._is_granted or not self._waiting:
            self.give_back()
        self.look()
        self._doorway.on_change(self.host, None)

    def _step_aside(self, waiter: _Waiter) -> None:
        if waiter.slot != self.host and not waiter.is_aside:
            waiter.is_aside = True
            self._doorway.slots.leave_place(waiter.slot, waiter.request)

    def _take_place(self, waiter: _Waiter) -> None:
        waiter.is_aside = False
        self._doorway.slots.take_place(waiter.slot, waiter.request)

    # Other crawls

    def _ask(self, request: Request, now: float) -> None:
        departures, delay = self.pace.departures, self.pace.delay
        since, patience = now - departures.latest(delay), departures.patience(delay)
        asked = self._asked = Ask(self.host, delay, patience, since, request)
        self._ask_at = None
        self._doorway.shared_pace.ask(asked, partial(self._answered, asked))

    def _answered(self, asked: Ask, wait: float) -> None:
        if asked is not self._asked:
            return  # given back meanwhile
        now = self._doorway.clock.monotonic()
        self._ask_at = now + wait
        if not wait and self._may_use(asked, now):
            self._ask_at, self._waits_for_others, self._is_granted = -inf, False, True
            self._let_go()
            return
        if not wait or not self._waiting:
            self.give_back()
        elif not self._waits_for_others:
            self._waits_for_others = True
            self._doorway.on_wait_for_others()
        if self._is_untold:
            self._tell_left()
        if self._waiting:
            self._step_aside(self._waiting[0])
        self.look()

    def _may_use(self, asked: Ask, now: float) -> bool:
        """Whether the request that was asked for is still the first, and may still go."""
        if not self._waiting or self._waiting[0].request is not asked.request:
            return False
        return self._may_leave_at(self._waiting[0]) <= now

    def _tell_left(self) -> None:
        """Tells other crawls when the last request left, as far as known."""
        delay = self.pace.delay
        self._is_untold = bool(delay) and (self._ask_at is None or self._is_granted)
        if delay and not self._is_untold:
            ago = self._doorway.clock.monotonic() - self.pace.departures.surely(delay)
            self._doorway.shared_pace.left(self.host, ago, delay)
