"""The way to each downloader slot: its delay and its places, kept before a request goes there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_robots_plus.crawl.lanes.lane import Lane, Place

from .ticket_heap import TicketHeap

if TYPE_CHECKING:
    from collections.abc import KeysView

    from scrapy import Request

    from scrapy_robots_plus.crawl.clock import Now
    from scrapy_robots_plus.crawl.lanes.lane import Places

    from .agenda import Agenda
    from .surroundings import Slots


class Gate:
    """Lanes whose requests go to one slot, and what is under way to it."""

    __slots__ = ("gap", "key", "lanes", "last", "not_before", "opens_at", "out", "ticket")

    def __init__(self, key: str, ticket: int) -> None:
        self.key = key
        self.ticket = ticket
        self.out = 0
        """How many requests were handed out and have not come back."""
        self.last: Request | None = None
        """The last of them."""
        self.gap = 0.0
        """Seconds to keep after it."""
        self.not_before = 0.0
        """Until the slot itself can say when it is due: a request is on its way to it."""
        self.opens_at: float | None = None
        """What the agenda knows."""
        self.lanes: TicketHeap[Lane] = TicketHeap()
        """Those that wait, by priority and turn."""


class Gates:
    """One lane at a time looks whether a gate is open; the rest wait behind it.

    So many lanes may share a slot, and each request costs O(log lanes) all the same. A gate that
    lanes wait at is closed, and its opening is in the agenda or is the end of a request; or it is
    open, and one of its lanes is ready and passes on when it has had its turn.
    """

    def __init__(self, slots: Slots, places: Places, agenda: Agenda, clock: Now) -> None:
        self._slots = slots
        self._places = places
        self._agenda = agenda
        self._clock = clock
        self._gates: dict[str, Gate] = {}
        self._out: dict[Request, Gate] = {}
        self._looking: dict[Lane, Gate] = {}
        """The lanes that were made ready to look at a gate, until they have."""

    def __contains__(self, request: object) -> bool:
        """Whether it was handed out, and has not come back."""
        return request in self._out

    @property
    def out(self) -> KeysView[Request]:
        """Requests that were handed out, and have not come back."""
        return self._out.keys()

    def admits(self, lane: Lane, delay: float) -> bool:
        """Whether the lane may go. If not, it waits; *delay* is what robots.txt asks for."""
        gate = self._gate_of(lane)
        self._leave(lane, gate)
        slot = self._slots.slot(gate.key)
        if gate.out >= slot.places and (slot.delay or self._places.lanes > 1):
            # A host that is alone keeps nobody waiting: it may fill the downloader, which sends
            # no more at a time than the slot has places.
            self._wait(lane, gate, Place.FULL)
            return False
        now = self._clock()
        opens_at = max(gate.not_before, now + slot.due_in)
        if opens_at > now:
            self._wait(lane, gate, Place.DELAY)
            self._open_later(gate, opens_at)
            return False
        gate.gap = max(delay, slot.delay)
        return True

    def hand_out(self, lane: Lane, request: Request, *, refused: bool) -> None:
        """A request goes to the downloader, or to where it is refused."""
        gate = self._gate_of(lane)
        self._out[request] = gate
        gate.out += 1
        if not refused:
            gate.last = request
            if gate.gap:
                gate.not_before = self._clock() + gate.gap
        self.pass_on(gate)

    def came_back(self, request: Request) -> None:
        """The downloader is done with a request, whether it was sent or not."""
        gate = self._out.pop(request, None)
        if gate is None:
            return
        gate.out -= 1
        if gate.last is request:
            # Sent: the slot knows when. Refused on its way: nobody has to wait for it.
            gate.last = None
            gate.not_before = 0.0
        self.pass_on(gate)

    def skip(self, lane: Lane) -> None:
        """The lane does not go, for a reason that is not its gate."""
        self._leave(lane, None)

    def pass_over(self, lane: Lane) -> None:
        """The lane was admitted, and had no request to hand out."""
        self.pass_on(self._gate_of(lane))

    def pass_on(self, gate: Gate) -> None:
        """Lets the next lane look whether the gate is open."""
        if gate.opens_at is not None:
            gate.opens_at = None
            gate.ticket = self._places.number()
        lane = gate.lanes.pop()
        if lane is not None:
            self._looking[lane] = gate
            self._places.make_ready(lane)
        elif not gate.out and self._gates.get(gate.key) is gate:
            del self._gates[gate.key]

    def _leave(self, lane: Lane, gate: Gate | None) -> None:
        """Where the lane was the one to look at a gate and goes elsewhere, another one looks."""
        looked_at = self._looking.pop(lane, None)
        if looked_at is not None and looked_at is not gate:
            self.pass_on(looked_at)

    def _wait(self, lane: Lane, gate: Gate, place: Place) -> None:
        self._places.move(lane, place)
        gate.lanes.push((lane.priority, lane.turn), lane)

    def _open_later(self, gate: Gate, moment: float) -> None:
        if gate.opens_at is None or moment < gate.opens_at:
            gate.opens_at = moment
            gate.ticket = self._places.number()
            self._agenda.put(moment, gate)

    def _gate_of(self, lane: Lane) -> Gate:
        key = self._slots.slot_of(lane)
        gate = self._gates.get(key)
        if gate is None:
            gate = self._gates[key] = Gate(key, self._places.number())
        return gate
