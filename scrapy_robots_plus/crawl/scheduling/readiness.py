"""Which lanes may go now, and when the others may: no scan over hosts."""

from __future__ import annotations

from enum import Enum
from itertools import chain
from math import inf
from typing import TYPE_CHECKING

from scrapy_robots_plus.crawl.lanes.lane import Lane, Place, Places

from .agenda import Agenda
from .discovery import Discovery
from .outages import Outages
from .slots import Gate, Gates

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy import Request

    from scrapy_robots_plus.crawl.clock import CallLater
    from scrapy_robots_plus.policy.origin import Origin

    from .surroundings import Standing, Surroundings


class Answer(Enum):
    """Whether a lane may go."""

    GO = "go"
    REFUSE = "go, to be refused"
    WAIT = "wait"


class Readiness:
    """Shared by the queues of a crawl: one in memory, one on disk.

    Every lane that is not ready is where one event will find it: in ``_arrivals`` until a policy
    lands, in the agenda until a moment comes, or at its gate.
    """

    LEAST_PAUSE = 0.1
    """Seconds between two fetches of a robots.txt that cannot be read, whatever its error TTL."""

    def __init__(
        self,
        around: Surroundings,
        call_later: CallLater,
        *,
        defer: float | None = None,
        enough: float = inf,
    ) -> None:
        """*defer*: seconds for which requests to unreachable origins are kept, None to refuse them.

        *enough*: with as many lanes ready, policies of others are fetched less eagerly.
        """
        self.around = around
        self._defer = defer
        self.places = Places()
        self.discovery = Discovery(around, self.places, enough)
        self.agenda = Agenda(self._ring, around.clock, call_later)
        self.gates = Gates(around, self.places, self.agenda, around.clock)
        self.lines: list[Iterable[Lane]] = []
        """The queues, in the order in which they are asked."""
        self._arrivals: dict[Origin, list[Lane]] = {}
        self._outages = Outages(self._origins)
        self._last: Request | None = None
        """What was handed out last, until it is seen whether it has arrived."""

    # What the queues ask and tell

    def enter(self, lane: Lane) -> None:
        """The lane has got its first request, or one that is more urgent than the others."""
        self.discovery.request_came_in()
        if lane.place is Place.EMPTY:
            lane.turn = self.places.number()
        if lane.place is Place.POLICY:
            self.discovery.add(lane)
        elif lane.place is not Place.HELD:
            self.places.make_ready(lane)

    def grew(self, lane: Lane) -> None:
        """The lane has got another request, no more urgent than the others."""
        self.discovery.request_came_in()
        if lane.place is Place.POLICY:
            self.discovery.grow(lane)

    def answer(self, lane: Lane) -> Answer:
        """Whether the lane may go now. If it has to wait, it is where an event will find it."""
        origin = lane.address.origin
        if origin is None:
            return self._answer_gate(lane, 0.0)
        standing = self.around.standing(origin)
        answer = self._answer_origin(lane, origin, standing)
        if standing is None or answer is not Answer.GO:
            self.gates.skip(lane)
            return answer
        return self._answer_gate(lane, standing.delay)

    def hand_out(self, lane: Lane, request: Request, *, refused: bool) -> None:
        """A request of the lane goes to the downloader, or to where it is *refused*."""
        if lane.address.origin is not None:
            self.around.forget(lane.address.origin)
        self._last = request
        self.gates.hand_out(lane, request, refused=refused)
        lane.turn = self.places.number()

    def defers(self, origin: Origin) -> bool:
        """Whether requests to *origin* are kept although its robots.txt cannot be read."""
        if self._defer is None:
            return False
        now = self.around.clock()
        return now < self._outages.since(origin, now) + self._defer

    def advance(self, asked: object = None) -> None:
        """Brings everything up to the present, before the queue *asked* hands out a request.

        Scrapy's scheduler asks the one in memory, then the one on disk, in the order in which it
        has made them: that is one turn.
        """
        last, self._last = self._last, None
        for request in self.around.ended(self.gates.out, last):
            self.gates.came_back(request)
        for item in self.agenda.due():
            if isinstance(item, Gate):
                self.gates.pass_on(item)
            elif isinstance(item, Lane):
                self.places.make_ready(item)
        if asked is None or asked is self.lines[0]:
            self.discovery.meanwhile()

    def rest(self) -> None:
        """Sees to it that there is something to hand out later."""
        if not self.places.ready:  # nor in the other queue
            self.discovery.rest()
        self.agenda.set_alarm(self.discovery.next_change)

    def delay_of(self, lane: Lane) -> float:
        """Seconds between two requests of the lane on average, as far as is known."""
        origin = lane.address.origin
        standing = None if origin is None else self.around.standing(origin)
        slot = self.around.slot(self.around.slot_of(lane))
        return max(standing.delay if standing else 0.0, slot.delay, slot.likely_delay)

    # What a crawl tells

    def awaits(self, origin: Origin) -> bool:
        """Whether a lane waits for its policy."""
        return origin in self._arrivals

    def landed(self, origin: Origin, *, answered: bool = True) -> None:
        """A fetch has ended, in a policy or not; *answered*: the server is not a silent one."""
        self.discovery.landed(answered=answered)
        for lane in self._arrivals.pop(origin, ()):
            if lane.place is Place.POLICY:
                self.places.make_ready(lane)
        self.around.wake()

    def _ring(self) -> None:
        self.advance()
        if self.places.ready:
            self.around.wake()
        else:
            self.rest()

    # Policies

    def _answer_origin(self, lane: Lane, origin: Origin, standing: Standing | None) -> Answer:
        """GO means: as far as robots.txt is concerned."""
        if standing is None:
            return self._wait_for_policy(lane, origin)
        if standing.unreachable:
            return self._answer_unreachable(lane, origin, standing)
        self._outages.over(origin)
        if standing.opens_at > self.around.clock():
            return self._hold(lane, standing.opens_at)
        return Answer.GO

    def _answer_unreachable(self, lane: Lane, origin: Origin, standing: Standing) -> Answer:
        if self._defer is None or not self.defers(origin):
            return Answer.REFUSE
        self.around.forget(origin)
        now = self.around.clock()
        again_at = max(standing.again_at, now + self.LEAST_PAUSE)
        return self._hold(lane, min(again_at, self._outages.since(origin, now) + self._defer))

    def _origins(self) -> set[Origin]:
        """Those that have requests."""
        lanes = chain.from_iterable(self.lines)
        return {lane.address.origin for lane in lanes if lane.address.origin is not None}

    def _hold(self, lane: Lane, moment: float) -> Answer:
        self.places.move(lane, Place.HELD)
        self.agenda.put(moment, lane)
        return Answer.WAIT

    def _wait_for_policy(self, lane: Lane, origin: Origin) -> Answer:
        self.places.move(lane, Place.POLICY)
        self._arrivals.setdefault(origin, []).append(lane)
        if not self.around.is_fetching(origin):
            self.discovery.add(lane)
        return Answer.WAIT

    def _answer_gate(self, lane: Lane, delay: float) -> Answer:
        return Answer.GO if self.gates.admits(lane, delay) else Answer.WAIT
