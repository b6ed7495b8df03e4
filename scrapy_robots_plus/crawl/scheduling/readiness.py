"""Which lanes may go now, and when the others may, without scanning all hosts."""

from __future__ import annotations

from enum import Enum
from itertools import chain
from math import inf
from typing import TYPE_CHECKING, NamedTuple, Protocol

from scrapy_robots_plus.crawl.clock import Alarm
from scrapy_robots_plus.crawl.lanes.lane import Lane, LaneState, LaneStates
from scrapy_robots_plus.crawl.policies.cache import LEAST_PAUSE

from .discovery import Discovery, Fetches
from .hosts import Hosts, KnowsHosts
from .outage_starts import OutageStarts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from scrapy import Request

    from scrapy_robots_plus.crawl.clock import CallLater
    from scrapy_robots_plus.crawl.lanes.lane import Address
    from scrapy_robots_plus.policy.origin import Origin


class OriginState(NamedTuple):
    """What is known about an origin now. Times are by the monotonic clock."""

    delay: float = 0.0
    """The delay in seconds that its robots.txt asks for."""
    unreachable: bool = False
    """Whether all its requests fail because its robots.txt cannot be read."""
    given_up: bool = False
    """Whether all its requests fail because the host has refused too many."""
    again_at: float = 0.0
    """When an unreachable robots.txt is fetched again."""
    opens_at: float = 0.0
    """When its visiting hours begin; not in the future if they have begun."""


class Surroundings(KnowsHosts, Fetches, Protocol):
    """The queue's interface to a crawl, so that only ``running_crawl.py`` depends on a real one."""

    def address(self, request: Request) -> Address:
        """The lane that a request belongs to."""

    def clock(self) -> float:
        """Monotonic seconds."""

    def origin_state(self, origin: Origin) -> OriginState | None:
        """None if the policy is unknown and must be fetched."""

    def policy_was_used(self, origin: Origin) -> None:
        """A just fetched policy was used: from now on it counts only while it is fresh."""

    def ended(self, out: Iterable[Request], last: Request | None) -> Iterable[Request]:
        """Those of the requests *out* that came back without a notification.

        *last*: the last request handed out, if it has not been checked yet.
        """


class Permission(Enum):
    """Whether a lane may go."""

    GO = "go"
    REFUSE = "go, to be refused"
    WAIT = "wait"


class LanesOfQueue(Protocol):
    """A queue: its lanes, and how many requests they hold."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Lane]: ...


class Readiness:
    """Shared by the queues of a crawl: one in memory, one on disk.

    Every lane that is not ready is where exactly one event finds it: in ``_awaiting`` until its
    policy arrives, or with :class:`Hosts` until a certain moment or until its host is due.
    """

    def __init__(
        self,
        surroundings: Surroundings,
        call_later: CallLater,
        *,
        defer: float | None = None,
        enough: float = inf,
    ) -> None:
        """*defer*: seconds for which requests to unreachable origins are kept; None refuses them.

        *enough*: when this many lanes are ready, other policies are fetched less eagerly.
        """
        self.surroundings = surroundings
        self._defer = defer
        self._call_later = call_later
        self.states = LaneStates()
        self.discovery = Discovery(surroundings, self.states, enough)
        clock = surroundings.clock
        self.hosts = Hosts(surroundings, self.states, self._ring, clock, call_later)
        self.queues: list[LanesOfQueue] = []
        """The queues, in the order in which they are asked."""
        self._awaiting: dict[Origin, Lane] = {}
        self._also_awaiting: dict[Origin, list[Lane]] = {}
        """Second and further lanes of an origin: most have one."""
        self._outages = OutageStarts(self._origins)
        self._last: Request | None = None
        """The last request handed out, until it is known whether it arrived."""

    # For the queues

    def enter(self, lane: Lane) -> None:
        """The lane has received its first request, or one more urgent than the others."""
        self.discovery.request_came_in()
        if lane.state is LaneState.EMPTY:
            lane.order = self.states.number()
        if lane.state is LaneState.POLICY:
            self.discovery.add(lane)
        elif lane.state is not LaneState.HELD:
            self.states.make_ready(lane)

    def grew(self, lane: Lane) -> None:
        """The lane has received another request, no more urgent than the others."""
        self.discovery.request_came_in()
        if lane.state is LaneState.POLICY:
            self.discovery.grow(lane)

    def name_of(self, request: Request) -> str:
        """The name of the lane that *request* belongs to."""
        return self.surroundings.address(request).name

    def woke(self, lane: Lane) -> None:
        """The lane was asleep, with its requests."""
        lane.order = self.states.number()
        self._outages.has_lanes(lane.address.origin)
        self.states.make_ready(lane)

    def may_sleep(self, lane: Lane) -> bool:
        """Whether nothing is about to happen to the lane: neither a fetch, nor a refusal."""
        origin = lane.address.origin
        fetching = origin is not None and self.surroundings.is_fetching(origin)
        return not fetching and lane.state not in (LaneState.REFUSED, LaneState.EMPTY)

    def falls_asleep(self, lane: Lane) -> None:
        """The lane is no longer known; only the file of the job holds it."""
        origin = lane.address.origin
        if origin is not None:
            self._no_longer_awaits(lane, origin)
            self.surroundings.policy_was_used(origin)
            self._outages.sleeps(origin)
        self.hosts.skip(lane)
        self.states.move(lane, LaneState.EMPTY)

    def permission_for(self, lane: Lane) -> Permission:
        """Whether the lane may go now. If it has to wait, puts it where an event finds it."""
        origin = lane.address.origin
        if origin is None:
            return self._by_host(lane)
        state = self.surroundings.origin_state(origin)
        permission = self._by_origin(lane, origin, state)
        if state is None or permission is not Permission.GO:
            self.hosts.skip(lane)
            return permission
        return self._by_host(lane)

    def hand_out(self, lane: Lane, request: Request, *, refused: bool) -> None:
        """A request of the lane goes to the downloader, or to be *refused*."""
        if lane.address.origin is not None:
            self.surroundings.policy_was_used(lane.address.origin)
        self._last = request
        self.hosts.hand_out(lane, request, refused=refused)
        lane.order = self.states.number()

    def defers(self, origin: Origin) -> bool:
        """Whether requests to *origin* are kept even though its robots.txt cannot be read."""
        now = self.surroundings.clock()
        return now < self._kept_until(origin, now)

    def takes_back(self, request: Request, origin: Origin) -> bool:
        """Whether it has handed out *request*, and takes it again while the robots.txt of *origin*
        cannot be read.
        """
        return request in self.hosts and self.defers(origin)

    def advance(self, asked: LanesOfQueue | None = None) -> None:
        """Processes everything that is due, before the queue *asked* hands out a request.

        Scrapy's scheduler asks the queue in memory, then the one on disk, in the order in which it
        created them: that is one round. An empty queue leaves the work to the next.
        """
        if asked is None or asked is self.queues[-1] or asked:
            self._process_due()
        if asked is None or asked is self.queues[0]:
            self.discovery.round_begins()

    def _process_due(self) -> None:
        last, self._last = self._last, None
        for request in self.surroundings.ended(self.hosts.out, last):
            self.hosts.came_back(request)
        self.hosts.process_due()

    def arrange_wake_up(self) -> None:
        """Nothing is ready in the queue that was asked: ensures that something will be."""
        if not self.states.ready:  # nor in the other queue
            self.discovery.nothing_is_ready()
        self.hosts.set_alarm(self.discovery.next_change)

    def delay_of(self, lane: Lane) -> float:
        """Average seconds between two requests of the lane, as far as known."""
        origin = lane.address.origin
        state = None if origin is None else self.surroundings.origin_state(origin)
        outlook = self.surroundings.outlook(lane)
        return max(state.delay if state else 0.0, outlook.gap, outlook.likely_gap)

    def due_in(self, lane: Lane) -> float:
        """Seconds until another request of the lane should come; not over 0 if it may now."""
        outlook = self.surroundings.outlook(lane)
        due_at = outlook.door_at if outlook.due_at == inf else outlook.due_at
        return due_at - self.surroundings.clock()

    def alarm(self, ring: Callable[[], None]) -> Alarm:
        """One that calls *ring*, by the clock of the crawl."""
        return Alarm(ring, self.surroundings.clock, self._call_later)

    # What a crawl tells

    def awaits(self, origin: Origin) -> bool:
        """Whether a lane waits for its policy."""
        return origin in self._awaiting

    def fetch_ended(self, origin: Origin, *, answered: bool = True) -> None:
        """A fetch has ended, with or without a policy; *answered*: see :class:`.Discovery`."""
        self.discovery.fetch_ended(answered=answered)
        for lane in self._end_wait(origin):
            if lane.state is LaneState.POLICY:
                self.states.make_ready(lane)
        self.surroundings.wake()

    def _ring(self) -> None:
        self.advance()
        if self.states.ready:
            self.surroundings.wake()
        else:
            self.arrange_wake_up()

    # Policies

    def _by_origin(self, lane: Lane, origin: Origin, state: OriginState | None) -> Permission:
        """GO means: as far as robots.txt is concerned."""
        if state is None:
            return self._wait_for_policy(lane, origin)
        if state.given_up:
            return Permission.REFUSE
        if state.unreachable:
            return self._while_unreachable(lane, origin, state)
        self._outages.over(origin)
        if state.opens_at > self.surroundings.clock():
            return self._hold(lane, state.opens_at)
        return Permission.GO

    def _while_unreachable(self, lane: Lane, origin: Origin, state: OriginState) -> Permission:
        now = self.surroundings.clock()
        until = self._kept_until(origin, now)
        if now >= until:
            return Permission.REFUSE
        self.surroundings.policy_was_used(origin)
        return self._hold(lane, min(max(state.again_at, now + LEAST_PAUSE), until))

    def _kept_until(self, origin: Origin, now: float) -> float:
        """Until when requests to *origin* are kept while its robots.txt cannot be read."""
        return -inf if self._defer is None else self._outages.since(origin, now) + self._defer

    def _origins(self) -> set[Origin]:
        """Those that have requests."""
        lanes = chain.from_iterable(self.queues)
        return {lane.address.origin for lane in lanes if lane.address.origin is not None}

    def _hold(self, lane: Lane, moment: float) -> Permission:
        self.hosts.hold(lane, moment)
        return Permission.WAIT

    def _wait_for_policy(self, lane: Lane, origin: Origin) -> Permission:
        self.states.move(lane, LaneState.POLICY)
        if self._awaiting.setdefault(origin, lane) is not lane:
            self._also_awaiting.setdefault(origin, []).append(lane)
        if not self.surroundings.is_fetching(origin):
            self.discovery.add(lane)
        return Permission.WAIT

    def _no_longer_awaits(self, lane: Lane, origin: Origin) -> None:
        lanes = [each for each in self._end_wait(origin) if each is not lane]
        if lanes:
            self._awaiting[origin] = lanes[0]
        if lanes[1:]:
            self._also_awaiting[origin] = lanes[1:]

    def _end_wait(self, origin: Origin) -> list[Lane]:
        """The lanes that waited for the policy of *origin*."""
        first = self._awaiting.pop(origin, None)
        return [] if first is None else [first, *self._also_awaiting.pop(origin, ())]

    def _by_host(self, lane: Lane) -> Permission:
        return Permission.GO if self.hosts.admits(lane) else Permission.WAIT
