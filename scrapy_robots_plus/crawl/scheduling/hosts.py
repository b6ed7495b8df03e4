"""When a host is due: which lane may send a request now, and which event tries the next one.

Operations:

- ``admits``: may this lane go now? If not, it waits here;
- ``hand_out``, ``came_back``: a request is under way to its host, or no longer is;
- ``handed_over``, ``changed``: the door lets a request go, or knows better when the next is due;
- ``skip``, ``had_no_request``: a lane that should go does not;
- ``hold``: a lane waits for a moment that has nothing to do with its host;
- ``process_due``, ``set_alarm``: what is due now, and when something is due next.

Goals: even if thousands of lanes wait for one host, or for the slot of a proxy, each request costs
O(log lanes). No lane is asked again in vain, and none sleeps too long.

A host that nothing delays is known by the downloader slot that its requests go to, and what waits
for it waits for that slot. Only one of the lanes that wait for a host is made ready at a time and
tries; the others wait behind it. If any lane waits, one of four things is true, and each ends in
``_try_next``: the host is in the heap of moments, a request to it is under way, one stands at the
door, or one of its lanes is ready.

Hazards:

- A lane that was to try a host may have to do something else: its robots.txt has expired, or its
  visiting hours are over. Then the next lane tries, or all behind it would sleep for ever.
- The host of a lane may change while it waits: it has a delay now, or none any more. So the host to
  try is stored, not looked up.
- The door does not know about a request on its way there (``not_before``), and never hears of one
  that is refused on its way: that request delays nothing.
- Nothing is removed from a heap. An item that has moved on has another ticket.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, NamedTuple, Protocol

from scrapy_robots_plus.crawl.clock import Alarm
from scrapy_robots_plus.crawl.compat import SLOT_META_KEY
from scrapy_robots_plus.crawl.lanes.lane import Lane, LaneState

from .ticket_heap import TicketHeap

if TYPE_CHECKING:
    from collections.abc import Callable, KeysView

    from scrapy import Request

    from scrapy_robots_plus.crawl.clock import CallLater, Now
    from scrapy_robots_plus.crawl.lanes.lane import LaneStates


class Outlook(NamedTuple):
    """When the next request of a lane may leave, as far as known."""

    due_at: float
    """A moment; infinity if the door will say."""
    gap: float
    """The least seconds until the one after it."""
    most: float
    """How many may be under way at the same time."""
    likely_gap: float = 0.0
    """Average seconds until the one after it: jitter makes some waits shorter."""
    door_at: float = -inf
    """When the one that stands at the door may leave, if the door will say."""


class KnowsHosts(Protocol):
    """What the downloader and its door know."""

    def host_of(self, lane: Lane) -> str:
        """The host that the lane waits for, or the slot if nothing delays its host."""

    def outlook(self, lane: Lane) -> Outlook: ...


class Host:
    """The lanes that wait for one host, and the requests under way to it."""

    __slots__ = ("due_at", "gap", "last", "name", "not_before", "out", "ticket", "waiting")

    def __init__(self, name: str, ticket: int) -> None:
        self.name = name
        self.ticket = ticket
        self.out = 0
        """The number of requests that were handed out and have not come back."""
        self.last: Request | None = None
        """The last one handed out, until it is known whether it leaves."""
        self.gap = 0.0
        """Seconds to wait after it."""
        self.not_before = 0.0
        """Applies until the door knows when the host is due: a request is on its way to it."""
        self.due_at: float | None = None
        """The moment in the heap."""
        self.waiting: TicketHeap[Lane] | None = None
        """By priority and order; None if none has waited."""


class Hosts:
    """All hosts with requests under way or lanes waiting."""

    def __init__(
        self,
        known: KnowsHosts,
        states: LaneStates,
        ring: Callable[[], None],
        clock: Now,
        call_later: CallLater,
    ) -> None:
        """*ring* is called when something is due, see :meth:`set_alarm`."""
        self._known = known
        self._states = states
        self._clock = clock
        self.alarm = Alarm(ring, clock, call_later)
        self._hosts: dict[str, Host] = {}
        self._later: TicketHeap[Lane | Host] = TicketHeap()
        """By moment."""
        self._out: dict[Request, Host] = {}
        self._trying: dict[Lane, Host] = {}
        """The lanes that were made ready to try a host, until they have tried it."""
        self._admitted: tuple[Lane, Host] | None = None
        """The lane that was admitted last, until it goes."""

    def __contains__(self, request: object) -> bool:
        """Whether *request* was handed out and has not come back."""
        return request in self._out

    @property
    def out(self) -> KeysView[Request]:
        """Requests that were handed out and have not come back."""
        return self._out.keys()

    # A lane

    def admits(self, lane: Lane) -> bool:
        """Whether the lane may go. If not, it waits."""
        host = self._host_of(lane)
        self._leave(lane, host)
        outlook = self._known.outlook(lane)
        if host.out >= outlook.most and (outlook.gap or self._states.lanes > 1):
            # A host that has the crawl to itself blocks no other: it may fill the downloader, which
            # sends no more at a time than the slot allows.
            self._wait(lane, host, LaneState.FULL)
            return False
        due_at = max(host.not_before, outlook.due_at)
        if due_at > self._clock():
            self._wait(lane, host, LaneState.DELAY)
            self._try_at(due_at, host)
            return False
        host.gap = outlook.gap
        self._admitted = lane, host
        return True

    def hand_out(self, lane: Lane, request: Request, *, refused: bool) -> None:
        """A request goes to the downloader, or to be *refused*."""
        admitted, self._admitted = self._admitted, None
        host = admitted[1] if admitted and admitted[0] is lane else self._host_of(lane)
        self._out[request] = host
        host.out += 1
        if not refused:
            host.last = request
            if host.gap:
                host.not_before = self._clock() + host.gap
        self._try_next(host)

    def skip(self, lane: Lane) -> None:
        """The lane does not go, for a reason other than its host."""
        self._leave(lane, None)

    def had_no_request(self, lane: Lane) -> None:
        """The lane was admitted, but had no request to hand out."""
        self._try_next(self._host_of(lane))

    def hold(self, lane: Lane, moment: float) -> None:
        """The lane waits until *moment*."""
        self._states.move(lane, LaneState.HELD)
        self._later.push(moment, lane)

    # A request

    def came_back(self, request: Request) -> None:
        """The downloader is done with a request, whether it was sent or not."""
        host = self._out.pop(request, None)
        if host is not None:
            host.out -= 1
            self._has_left(host, request)
            self._try_next(host)
        # It may have gone to another slot than was foreseen, or past the scheduler: that slot, too,
        # may be due sooner than it was while the request was under way.
        taken = self._hosts.get(request.meta.get(SLOT_META_KEY, ""))
        if taken is not None and taken is not host:
            self._try_next(taken)

    def handed_over(self, name: str, request: Request) -> None:
        """The door has let *request* go, to the host with this name."""
        host = self._out.get(request)
        if host is not None:
            self._has_left(host, request)
        self.changed(name)

    def changed(self, name: str) -> None:
        """The host with this name may be due at another moment than it was."""
        host = self._hosts.get(name)
        first = host.waiting.first() if host is not None and host.waiting else None
        if host is None or first is None:
            return
        due_at = max(host.not_before, self._known.outlook(first[1]).due_at)
        if due_at <= self._clock():
            self._try_next(host)
        else:
            self._try_at(due_at, host)
            self.alarm.set(due_at)

    @staticmethod
    def _has_left(host: Host, request: Request) -> None:
        if host.last is request:
            # Sent: the door knows when. Refused on its way: nothing has to wait for it.
            host.last = None
            host.not_before = 0.0

    # Moments

    def process_due(self) -> None:
        """What is due now is made ready."""
        if not self._later:
            return
        now = self._clock()
        while (first := self._later.first()) is not None and first[0] <= now:
            self._later.pop()
            if isinstance(first[1], Host):
                self._try_next(first[1])
            else:
                self._states.make_ready(first[1])

    def set_alarm(self, other: float | None = None) -> None:
        """Sets the alarm to the next moment at which anything is due, or to *other* if sooner."""
        first = self._later.first()
        if first is not None:
            self.alarm.set(first[0])
        if other is not None:
            self.alarm.set(other)

    def _try_next(self, host: Host) -> None:
        """Makes the first lane waiting for the host ready, so that it tries again."""
        if host.due_at is not None:
            host.due_at = None
            host.ticket = self._states.number()
        lane = None if host.waiting is None else host.waiting.pop()
        if lane is not None:
            self._trying[lane] = host
            self._states.make_ready(lane)
        elif not host.out and self._hosts.get(host.name) is host:
            del self._hosts[host.name]

    def _leave(self, lane: Lane, host: Host | None) -> None:
        """The lane tries *host*. If it was to try another host, another lane tries that one."""
        tried = self._trying.pop(lane, None)
        if tried is not None and tried is not host:
            self._try_next(tried)

    def _wait(self, lane: Lane, host: Host, state: LaneState) -> None:
        self._states.move(lane, state)
        if host.waiting is None:
            host.waiting = TicketHeap()
        host.waiting.push((lane.priority, lane.order), lane)

    def _try_at(self, moment: float, host: Host) -> None:
        if moment < (inf if host.due_at is None else host.due_at):
            host.due_at = moment
            host.ticket = self._states.number()
            self._later.push(moment, host)

    def _host_of(self, lane: Lane) -> Host:
        name = self._known.host_of(lane)
        host = self._hosts.get(name)
        if host is None:
            host = self._hosts[name] = Host(name, self._states.number())
        return host
