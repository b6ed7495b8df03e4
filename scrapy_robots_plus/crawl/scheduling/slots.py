"""Downloader slots as the queue sees them: which lane may send a request there, and when.

Operations:

- ``admits``: may this lane go now? If not, it waits here;
- ``hand_out``, ``came_back``: a request is under way to its slot, or no longer is;
- ``skip``, ``had_no_request``: a lane that should go does not;
- ``try_next``: the agenda says that a slot is due.

Goals: even if thousands of lanes share a slot, such as that of a proxy, each request costs
O(log lanes). No lane is asked again in vain, and none sleeps too long.

So only one of the lanes that wait for a slot is made ready at a time and tries it; the others wait
behind it. If any lane waits, one of three things is true, and each ends in ``try_next``: the
agenda knows when the slot is due, a request to it is under way, or one of its lanes is ready.

Hazards:

- A lane that was to try a slot may have to do something else: its robots.txt has expired, or its
  visiting hours are over. Then the next lane tries, or all behind it would sleep for ever.
- The slot of a lane may change while it waits: a Crawl-delay brings all requests of a host into
  one slot. So the slot to try is stored, not looked up.
- A slot does not know about a request on its way there (``not_before``), and never hears of one
  that is refused on its way: that request delays nothing.
- Nothing is removed from a heap. An item that has moved on has another ticket.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_robots_plus.crawl.compat import SLOT_META_KEY
from scrapy_robots_plus.crawl.lanes.lane import Lane, LaneState

from .ticket_heap import TicketHeap

if TYPE_CHECKING:
    from collections.abc import KeysView

    from scrapy import Request

    from scrapy_robots_plus.crawl.clock import Now
    from scrapy_robots_plus.crawl.lanes.lane import LaneStates

    from .agenda import Agenda
    from .surroundings import DownloaderSlots


class SharedSlot:
    """The lanes that wait for one downloader slot, and the requests under way to it."""

    __slots__ = ("due_at", "gap", "key", "last", "not_before", "out", "ticket", "waiting")

    def __init__(self, key: str, ticket: int) -> None:
        self.key = key
        self.ticket = ticket
        self.out = 0
        """The number of requests that were handed out and have not come back."""
        self.last: Request | None = None
        """The last one handed out."""
        self.gap = 0.0
        """Seconds to wait after it."""
        self.not_before = 0.0
        """Applies until the slot itself knows when it is due: a request is on its way to it."""
        self.due_at: float | None = None
        """The moment in the agenda."""
        self.waiting: TicketHeap[Lane] = TicketHeap()
        """By priority and order."""


class SharedSlots:
    """All slots with requests under way or lanes waiting."""

    def __init__(
        self,
        downloader: DownloaderSlots,
        states: LaneStates,
        agenda: Agenda[Lane | SharedSlot],
        clock: Now,
    ) -> None:
        self._downloader = downloader
        self._states = states
        self._agenda = agenda
        self._clock = clock
        self._slots: dict[str, SharedSlot] = {}
        self._out: dict[Request, SharedSlot] = {}
        self._trying: dict[Lane, SharedSlot] = {}
        """The lanes that were made ready to try a slot, until they have tried it."""

    def __contains__(self, request: object) -> bool:
        """Whether *request* was handed out and has not come back."""
        return request in self._out

    @property
    def out(self) -> KeysView[Request]:
        """Requests that were handed out and have not come back."""
        return self._out.keys()

    def admits(self, lane: Lane, delay: float) -> bool:
        """Whether the lane may go. If not, it waits; *delay* is what robots.txt asks for."""
        slot = self._slot_of(lane)
        self._leave(lane, slot)
        state = self._downloader.slot_state(slot.key)
        if slot.out >= state.capacity and (state.delay or self._states.lanes > 1):
            # A host that has the slot to itself blocks no other: it may fill the downloader, which
            # sends no more at a time than the slot allows.
            self._wait(lane, slot, LaneState.FULL)
            return False
        now = self._clock()
        due_in = max(state.due_in, self._downloader.turn_in(slot.key, lane))
        due_at = max(slot.not_before, now + due_in)
        if due_at > now:
            self._wait(lane, slot, LaneState.DELAY)
            self._try_at(due_at, slot)
            return False
        slot.gap = max(delay, state.delay)
        return True

    def hand_out(self, lane: Lane, request: Request, *, refused: bool) -> None:
        """A request goes to the downloader, or to be *refused*."""
        slot = self._slot_of(lane)
        self._out[request] = slot
        slot.out += 1
        if not refused:
            slot.last = request
            if slot.gap:
                slot.not_before = self._clock() + slot.gap
        self.try_next(slot)

    def came_back(self, request: Request) -> None:
        """The downloader is done with a request, whether it was sent or not."""
        slot = self._out.pop(request, None)
        if slot is not None:
            slot.out -= 1
            if slot.last is request:
                # Sent: the slot knows when. Refused on its way: nothing has to wait for it.
                slot.last = None
                slot.not_before = 0.0
            self.try_next(slot)
        # It may have gone to another slot than was foreseen, or past the scheduler: that slot, too,
        # may be due sooner than it was while the request was under way.
        taken = self._slots.get(request.meta.get(SLOT_META_KEY, ""))
        if taken is not None and taken is not slot:
            self.try_next(taken)

    def skip(self, lane: Lane) -> None:
        """The lane does not go, for a reason other than its slot."""
        self._leave(lane, None)

    def had_no_request(self, lane: Lane) -> None:
        """The lane was admitted, but had no request to hand out."""
        self.try_next(self._slot_of(lane))

    def try_next(self, slot: SharedSlot) -> None:
        """Makes the first lane waiting for the slot ready, so that it tries again."""
        if slot.due_at is not None:
            slot.due_at = None
            slot.ticket = self._states.number()
        lane = slot.waiting.pop()
        if lane is not None:
            self._trying[lane] = slot
            self._states.make_ready(lane)
        elif not slot.out and self._slots.get(slot.key) is slot:
            del self._slots[slot.key]

    def _leave(self, lane: Lane, slot: SharedSlot | None) -> None:
        """The lane tries *slot*. If it was to try another slot, another lane tries that one."""
        tried = self._trying.pop(lane, None)
        if tried is not None and tried is not slot:
            self.try_next(tried)

    def _wait(self, lane: Lane, slot: SharedSlot, state: LaneState) -> None:
        self._states.move(lane, state)
        slot.waiting.push((lane.priority, lane.order), lane)

    def _try_at(self, moment: float, slot: SharedSlot) -> None:
        if slot.due_at is None or moment < slot.due_at:
            slot.due_at = moment
            slot.ticket = self._states.number()
            self._agenda.put(moment, slot)

    def _slot_of(self, lane: Lane) -> SharedSlot:
        key = self._downloader.slot_key(lane)
        slot = self._slots.get(key)
        if slot is None:
            slot = self._slots[key] = SharedSlot(key, self._states.number())
        return slot
