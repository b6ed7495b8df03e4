"""What the queue asks of a running crawl: its policies, slots and paces, its engine."""

from __future__ import annotations

from functools import lru_cache
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from scrapy import Request

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl.requests import chosen_slot
from scrapy_robots_plus.origins.agents import Agents
from scrapy_robots_plus.origins.fetch_budget import FetchBudget
from scrapy_robots_plus.origins.policies import Policies

from .door import Door
from .downloader import ActiveRequests
from .given_up import GivenUp
from .host import Address, Lane

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from scrapy_robots_plus.crawl.crawl import Crawl
    from scrapy_robots_plus.origins.policy import Policy
    from scrapy_robots_plus.protocol.origin import Origin

    from .line import HostLine


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


_OPEN = OriginState()


def state_under(policy: Policy, agents: Agents, given_up: GivenUp, now: float) -> OriginState:
    """What *policy* says of its origin, for the agent that most requests are sent as."""
    policy.enforce(agents.default_under(policy.settings))
    if policy.origin in given_up:
        return OriginState(given_up=True)
    if policy.denies_as_unreachable:
        return OriginState(unreachable=True, again_at=now + policy.fresh_for)
    if not policy.is_paced:
        return _OPEN
    opens_in = policy.opens_in
    return OriginState(policy.delay or 0.0, opens_at=opens_in and now + opens_in)


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


@lru_cache(maxsize=128)
def _at_once(most: float) -> Outlook:
    return Outlook(-inf, 0.0, most)  # making one takes longer than finding it


class Known:
    """What a crawl knows of its policies and its downloader. Times are by its monotonic clock.

    Without :class:`RobotsMiddleware`, or in observe mode, there are no policies to wait for, only
    slots.
    """

    def __init__(self, crawl: Crawl) -> None:
        self._crawl = crawl
        self._crawler = crawl.crawler
        self._downloader = compat.engine_of(crawl.crawler).downloader
        self._has_policies = crawl.holds_requests
        self.clock = crawl.clock.monotonic
        self.call_later = crawl.clock.call_later
        total = self._crawler.settings.getint("CONCURRENT_REQUESTS")
        self.enough: float = 2 * total if total > 0 else inf
        """When this many hosts are ready, other policies are fetched less eagerly."""
        self.budget = FetchBudget(1, 1, self.clock, self.call_later)
        self.defer: float | None = None
        """Seconds for which requests to unreachable origins are kept; None refuses them."""
        self._lines: Mapping[str, HostLine] = {}
        self._just_fetched: dict[Origin, OriginState] = {}
        """Not policies, which take ten times the memory: a million hosts may wait for one slot."""
        if self._has_policies:
            self.budget = crawl.get(FetchBudget)
            self.defer = crawl.settings.defer or None
            self._policies = crawl.get(Policies)
            self._agents = crawl.get(Agents)
            self._given_up = crawl.get(GivenUp)
            self._door = crawl.get(Door)
            self._lines = self._door.lines
        self._slot_of = compat.Slots(self._downloader).get
        self._has_scopes = compat.has_throttler(crawl.crawler)
        self._slots_with_settings = self._crawler.settings.getdict("DOWNLOAD_SLOTS")
        self._usual: Outlook | None = None
        """For a slot that has no settings of its own and is not there yet."""

    def address(self, request: Request) -> Address:
        """The lane that *request* belongs to."""
        origin = self._crawl.origin_to_wait_for(request) if self._has_policies else None
        scopes = compat.slot_key(self._downloader, request) if self._has_scopes else None
        slot = scopes or chosen_slot(request)
        if origin is None:
            return Address(None, slot or compat.slot_key(self._downloader, request))
        return Address(origin, slot or origin.host)

    # Policies

    def origin_state(self, origin: Origin) -> OriginState | None:
        """None if the policy is unknown and must be fetched.

        The door keeps its delay from now on: so a host has it before its first request is handed
        out, and another one as soon as the robots.txt asks for another.
        """
        if not self._has_policies:  # a resumed job may have had some
            return _OPEN
        policy = self._policies.usable(origin)
        if policy is None:
            state = self._just_fetched.get(origin)
        else:
            state = state_under(policy, self._agents, self._given_up, self.clock())
        if state is not None and state.delay:
            self._door.line(origin.host).pace.keep(origin, state.delay)
        return state

    def just_fetched(self, policy: Policy) -> None:
        """A lane waits for *policy*: whatever its lifetime and the size of the cache, one request
        may use it.
        """
        state = state_under(policy, self._agents, self._given_up, self.clock())
        self._just_fetched[policy.origin] = state

    def policy_was_used(self, origin: Origin) -> None:
        """A just fetched policy was used: from now on it counts only while it is fresh."""
        self._just_fetched.pop(origin, None)

    def may_fetch(self) -> bool:
        """Whether the crawl is neither paused nor about to close."""
        engine = compat.engine_of(self._crawler)
        return not (engine.paused or compat.is_closing(self._crawler))

    def is_fetching(self, origin: Origin) -> bool:
        """Whether the policy of *origin* is on its way."""
        return self._policies.is_fetching(origin)

    def fetch(self, origin: Origin) -> None:
        """Starts to fetch a policy. At the end comes :meth:`.Hosts.fetch_ended`."""
        self._policies.prefetch(origin, Request(origin.robots_url))  # for Scrapy's robots_parsed

    # The downloader

    def host_of(self, lane: Lane) -> str:
        """The host that the lane waits for, or the slot if nothing delays its host."""
        origin, slot = lane.address
        if self._lines and origin is not None and origin.host in self._lines:
            return origin.host
        return slot

    def outlook(self, lane: Lane) -> Outlook:
        """When the next request of the lane may leave."""
        outlook, origin = self._outlook_of_slot(lane.address.slot), lane.address.origin
        line = self._lines.get(origin.host) if self._lines and origin is not None else None
        if line is None:
            return outlook
        due_at = max(outlook.due_at, line.next_may_come_at())
        gap = max(outlook.gap, line.pace.delay)
        return outlook._replace(due_at=due_at, gap=gap, door_at=line.first_may_go_at())

    def _outlook_of_slot(self, key: str) -> Outlook:
        slot = self._slot_of(key)
        if slot is None:
            if key in self._slots_with_settings:
                return self._outlook_for_new_slot(key)
            if self._usual is None:  # not before it is asked: AutoThrottle sets it
                self._usual = self._outlook_for_new_slot(key)
            return self._usual
        places: float = slot.concurrency if slot.concurrency > 0 else inf
        if not slot.delay:
            return _at_once(places)
        gap = compat.least_delay(slot.delay, compat.slot_jitter(slot))
        due_in = slot.lastseen + gap - self._crawl.clock.slots()
        # A request that already waits in the slot is sent first, and the delay counts from it.
        due_in = max(due_in, gap) if slot.queue else due_in
        return Outlook(self.clock() + due_in, gap, places, slot.delay)

    def _outlook_for_new_slot(self, key: str) -> Outlook:
        most, likely, jitter = compat.new_slot(self._downloader, key)
        gap = compat.least_delay(likely, jitter) if likely else 0.0
        return Outlook(-inf, gap, most if most > 0 else inf, likely)

    def ended(self, out: Iterable[Request], last: Request | None) -> Iterable[Request]:
        """Those of the requests *out* that came back without a notification.

        *last*: the last request handed out, if it has not been checked yet.
        """
        active = self._downloader.active
        if not isinstance(active, ActiveRequests):
            return [request for request in out if request not in active]
        # The downloader reports the requests that reached it. A scheduler may drop one on its way
        # there: if the last one handed out is not there by now, it never will be.
        return () if last is None or last in active else (last,)

    # The engine

    def wake(self) -> None:
        """Makes the engine ask for requests."""
        compat.wake_engine(self._crawler)
