"""What the queue asks a running crawl about: its policies, slots, paces and engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from math import inf
from typing import NamedTuple

from scrapy import Request, signals

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl.crawl import Crawl
from scrapy_robots_plus.crawl.requests import chosen_slot
from scrapy_robots_plus.origins.fetch_budget import FetchBudget
from scrapy_robots_plus.origins.policies import Policies
from scrapy_robots_plus.origins.policy import Policy
from scrapy_robots_plus.protocol.origin import Origin

from .door import Door
from .downloader import ActiveRequests
from .host import Address, Lane
from .line import HostLine
from .origin_states import HELD, OPEN, UNKNOWN, OriginState, OriginStates


class Outlook(NamedTuple):
    """When the next request of a lane may leave, as far as known."""

    due_at: float
    """The moment at which it may leave; infinity if the door will say."""
    gap: float
    """The fewest seconds until the request after it."""
    most: float
    """How many requests may be under way at the same time."""


@lru_cache(maxsize=128)
def _at_once(most: float) -> Outlook:
    return Outlook(-inf, 0.0, most)  # making one takes longer than finding it


class Known:
    """What a crawl knows about its policies and its downloader. Times are by its monotonic clock.

    Without :class:`RobotsMiddleware`, or in observe mode, there are no policies to wait for, only
    slots.
    """

    def __init__(self, crawl: Crawl) -> None:
        self._crawl = crawl
        self._crawler = crawl.crawler
        self._downloader = crawl.crawler.engine.downloader
        self._has_policies = crawl.holds_requests
        self.clock = crawl.clock.monotonic
        self.call_later = crawl.clock.call_later
        total = self._crawler.settings.getint("CONCURRENT_REQUESTS")
        self.enough: float = 2 * total if total > 0 else inf
        """The number of ready hosts from which other policies are fetched less eagerly."""
        self._lines: Mapping[str, HostLine] = {}
        self._just_fetched: dict[Origin, OriginState] = {}
        """What the policies just fetched say. They take ten times the memory themselves, and a
        million hosts may wait for one slot."""
        if self._has_policies:
            self.budget = crawl.get(FetchBudget)
            self._policies = crawl.get(Policies)
            self._states = crawl.get(OriginStates)
            self._door = crawl.get(Door)
            self._lines = self._door.lines
        self._watches_arrivals = False
        self._slots = compat.Slots(self._downloader)
        self._slot_of = self._slots.get
        self._has_scopes = compat.has_throttler(crawl.crawler)
        self._slots_with_settings = self._crawler.settings.getdict("DOWNLOAD_SLOTS")
        self._of_new_slot = lru_cache(maxsize=None)(self._outlook_for_new_slot)
        """The outlook for a new slot, by its key if it has settings of its own, else by ""."""

    def address(self, request: Request) -> Address:
        """Returns the address of the lane that *request* belongs to."""
        origin = self._crawl.origin_to_wait_for(request) if self._has_policies else None
        scopes = compat.slot_key(self._downloader, request) if self._has_scopes else None
        slot = scopes or chosen_slot(request)
        if origin is None:
            return Address(None, slot or compat.slot_key(self._downloader, request))
        return Address(origin, slot or origin.host)

    # Policies

    def put_in_force(self, origin: Origin | None) -> OriginState:
        """Puts in force, and returns, what robots.txt now says of requests to *origin*.

        From now on, the door keeps its delay: so a host has one before its first request is handed
        out, and a new one as soon as the robots.txt asks for it. If requests are held back, a
        policy that was just fetched counts as used.
        """
        state = self._state_of(origin)
        if origin is None:
            return state
        if state.delay:
            self._door.keep(origin, state.delay, state.visits)
        if state.state is HELD:
            self.policy_was_used(origin)
        return state

    def _state_of(self, origin: Origin | None) -> OriginState:
        """Returns what robots.txt now says of *origin*; ``POLICY`` if it is not known."""
        if origin is None or not self._has_policies:  # lanes of a resumed job may have one
            return OPEN
        state = self._states.now(self._policies.usable(origin))
        return self._just_fetched.get(origin, UNKNOWN) if state is UNKNOWN else state

    def defers(self, origin: Origin) -> bool:
        """Returns whether requests to *origin* are kept though its robots.txt cannot be read."""
        return self._has_policies and self._states.defers(origin)

    def just_fetched(self, policy: Policy) -> None:
        """Lets one request of a waiting lane use *policy*, even if it is stale or not cached."""
        self._just_fetched[policy.origin] = self._states.under(policy)

    def policy_was_used(self, origin: Origin) -> None:
        """Forgets a policy just fetched, which was used: now it counts only while it is fresh."""
        self._just_fetched.pop(origin, None)

    def may_fetch(self) -> bool:
        """Returns whether the crawl is neither paused nor closing."""
        engine = self._crawler.engine
        return not (engine.paused or compat.is_closing(self._crawler))

    def is_fetching(self, origin: Origin) -> bool:
        """Returns whether the policy of *origin* is being fetched."""
        return self._has_policies and self._policies.is_fetching(origin)

    def fetch(self, origin: Origin) -> None:
        """Starts to fetch a policy; :meth:`.Hosts.fetch_ended` is called at the end."""
        self._policies.prefetch(origin, Request(origin.robots_url))  # for Scrapy's robots_parsed

    # The downloader

    def host_of(self, lane: Lane) -> str:
        """Returns the host that *lane* waits for, or its slot if nothing delays its host."""
        line = self._line_of(lane) if self._lines else None
        return lane.address.slot if line is None else line.host

    def outlook(self, lane: Lane) -> Outlook:
        """Returns when the next request of *lane* may leave."""
        outlook = self._outlook_of_slot(lane.address.slot)
        line = self._line_of(lane) if self._lines else None
        if line is None:
            return outlook
        due_at = max(outlook.due_at, line.next_may_come_at())
        return Outlook(due_at, max(outlook.gap, line.pace.delay), outlook.most)

    def has_room(self, lane: Lane) -> bool:
        """Returns whether the slot of *lane* has room, whatever was handed out."""
        return self._slots.has_room(lane.address.slot)

    def _line_of(self, lane: Lane) -> HostLine | None:
        origin = lane.address.origin
        return None if origin is None else self._lines.get(origin.host)

    def _outlook_of_slot(self, key: str) -> Outlook:
        slot = self._slot_of(key)
        if slot is None:
            return self._of_new_slot(key if key in self._slots_with_settings else "")
        places: float = slot.concurrency if slot.concurrency > 0 else inf
        if not slot.delay:
            return _at_once(places)
        gap = compat.least_delay(slot.delay, compat.slot_jitter(slot))
        due_in = slot.lastseen + gap - self._crawl.clock.slots()
        if slot.queue:  # what already waits in the slot is sent first, and the delay counts from it
            due_in = max(due_in, 0.0) + gap * len(slot.queue)
        return Outlook(self.clock() + due_in, gap, places)

    def _outlook_for_new_slot(self, key: str) -> Outlook:
        most, delay, jitter = compat.new_slot(self._downloader, key)
        gap = compat.least_delay(delay, jitter)
        return Outlook(-inf, gap, most if most > 0 else inf)

    def ended(self, out: Iterable[Request], last: Request | None) -> Iterable[Request]:
        """Returns those of the requests *out* that came back without a notification.

        *last*: the last request handed out, if it has not been checked yet.
        """
        active = self._downloader.active
        if not isinstance(active, ActiveRequests):
            return [request for request in out if request not in active]
        # The downloader reports the requests that reached it. A scheduler may drop one on its way
        # there: if the last one handed out is not there by now, it never will be.
        return () if last is None or last in active else (last,)

    def watch_arrivals(self, arrived: Callable[..., None]) -> None:
        """Calls *arrived* with each request that arrives in its slot, from the first call on."""
        if not self._watches_arrivals:
            self._watches_arrivals = True
            self._crawler.signals.connect(arrived, signals.request_reached_downloader)

    # The engine

    def wake(self) -> None:
        """Makes the engine ask for requests."""
        compat.wake_engine(self._crawler)

    # What the log says

    def delay_of(self, lane: Lane) -> float:
        """Returns the average seconds between two requests of *lane*, as far as known."""
        origin, key = lane.address
        slot = self._slot_of(key)
        own = compat.new_slot(self._downloader, key)[1] if slot is None else slot.delay
        return max(own, self._state_of(origin).delay, self.outlook(lane).gap)

    def due_in(self, lane: Lane) -> float:
        """Returns the seconds until the next request of *lane* is due; 0 or less if it is now."""
        due_at, line = self.outlook(lane).due_at, self._line_of(lane)
        if line is not None and due_at == inf:  # a request waits at the door
            due_at = line.first_may_go_at()
        visits = self._state_of(lane.address.origin).visits
        opens_in = visits.begins_in(self._crawl.clock.wall()) if visits else 0.0
        return max(due_at - self.clock(), opens_in)
