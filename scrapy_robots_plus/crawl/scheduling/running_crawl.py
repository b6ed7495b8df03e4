"""The queue's view of a running crawl: its policies, its downloader slots, its engine."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from scrapy import Request, signals

from scrapy_robots_plus.crawl import compat
from scrapy_robots_plus.crawl.fetching.budget import FetchBudget
from scrapy_robots_plus.crawl.gate.crawl import Crawl
from scrapy_robots_plus.crawl.gate.downloader import RobotsDownloader
from scrapy_robots_plus.crawl.lanes.lane import Address
from scrapy_robots_plus.crawl.requests import chosen_slot

from .hosts import Outlook
from .readiness import OriginState, Readiness

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy.crawler import Crawler

    from scrapy_robots_plus.crawl.lanes.lane import Lane
    from scrapy_robots_plus.crawl.policies.policy import Policy
    from scrapy_robots_plus.policy.origin import Origin

_OPEN = OriginState()


def readiness_of(crawler: Crawler) -> Readiness:
    """The one of the crawl, which its queues share."""
    readiness = readiness_in_use(crawler)
    if readiness is None:
        crawl = Crawl.of(crawler)
        crawl.check_names()
        surroundings = RobotsSurroundings if crawl.holds_requests else CrawlSurroundings
        readiness = surroundings(crawl).readiness
        crawl.readiness = readiness
    return readiness


def readiness_in_use(crawler: Crawler) -> Readiness | None:
    """The one of the crawl, if it has a queue that asks it."""
    readiness = Crawl.of(crawler).readiness
    return readiness if isinstance(readiness, Readiness) else None


class CrawlSurroundings:
    """Answers :class:`.Readiness` from a running crawl.

    Without :class:`RobotsMiddleware`, or in observe mode, there are no policies to wait for, only
    slots.
    """

    def __init__(self, crawl: Crawl) -> None:
        self._crawl = crawl
        self._crawler = crawl.crawler
        self._downloader = compat.engine_of(crawl.crawler).downloader
        self.clock = crawl.clock.monotonic
        self.budget = self._make_budget()
        self.readiness = self._make_readiness()
        self._is_told = isinstance(self._downloader, RobotsDownloader)
        if isinstance(self._downloader, RobotsDownloader):
            self._downloader.active.subscribe(self.readiness.hosts.came_back)
        alarm = self.readiness.hosts.alarm
        crawl.crawler.signals.connect(alarm.cancel, signals.spider_closed)

    def _make_budget(self) -> FetchBudget:
        return FetchBudget(1, 1, self.clock, self._crawl.clock.call_later)

    def _make_readiness(self) -> Readiness:
        return Readiness(self, self._crawl.clock.call_later)

    def address(self, request: Request) -> Address:
        slot = chosen_slot(request)
        return Address(None, slot or compat.slot_key(self._downloader, request))

    # Policies: not called, unless a lane of a resumed job has an origin

    def origin_state(self, origin: Origin) -> OriginState | None:  # noqa: ARG002
        return OriginState()

    def policy_was_used(self, origin: Origin) -> None:
        pass

    def may_fetch(self) -> bool:
        return False

    def is_fetching(self, origin: Origin) -> bool:  # noqa: ARG002
        return False

    def fetch(self, origin: Origin, lane: Lane) -> None:
        pass

    # The downloader

    def host_of(self, lane: Lane) -> str:
        return lane.address.slot

    def outlook(self, lane: Lane) -> Outlook:
        """As the slot of the lane would have it."""
        key = lane.address.slot
        slot = self._downloader.slots.get(key)
        if slot is None:
            most, likely, jitter = compat.new_slot(self._downloader, key)
            gap = compat.least_delay(likely, jitter)
            return Outlook(-inf, gap, most if most > 0 else inf, likely)
        places: float = slot.concurrency if slot.concurrency > 0 else inf
        if not slot.delay:
            return Outlook(-inf, 0.0, places)
        gap = compat.least_delay(slot.delay, compat.slot_jitter(slot))
        due_in = slot.lastseen + gap - self._crawl.clock.slots()
        # A request that already waits in the slot is sent first, and the delay counts from it.
        due_in = max(due_in, gap) if slot.queue else due_in
        return Outlook(self.clock() + due_in, gap, places, slot.delay)

    def ended(self, out: Iterable[Request], last: Request | None) -> Iterable[Request]:
        active = self._downloader.active
        if not self._is_told:
            return [request for request in out if request not in active]
        # The downloader reports the requests that reached it. A scheduler may drop one on its way
        # there: if the last one handed out is not there by now, it never will be.
        return () if last is None or last in active else (last,)

    # The engine

    def wake(self) -> None:
        compat.wake_engine(self._crawler)


class RobotsSurroundings(CrawlSurroundings):
    """With the policies of the middleware."""

    def __init__(self, crawl: Crawl) -> None:
        super().__init__(crawl)
        self._policies = crawl.policies
        self._agents = crawl.agents
        self._pacing = crawl.pacing
        self._just_fetched: dict[Origin, OriginState] = {}
        """Not policies, which take ten times the memory: a million hosts may wait for one slot."""
        self._policies.subscribe(self._fetch_ended)
        hosts = self.readiness.hosts
        self._pacing.subscribe(hosts.changed, hosts.handed_over)

    def _make_budget(self) -> FetchBudget:
        return self._crawl.budget

    def _make_readiness(self) -> Readiness:
        settings = self._crawl.settings
        total = self._downloader.total_concurrency
        return Readiness(
            self,
            self._crawl.clock.call_later,
            defer=settings.defer or None,
            enough=2 * total if total > 0 else inf,
        )

    def address(self, request: Request) -> Address:
        origin = self._crawl.origin_to_wait_for(request)
        if origin is None:
            return super().address(request)
        return Address(origin, chosen_slot(request) or origin.host)

    def origin_state(self, origin: Origin) -> OriginState | None:
        policy = self._policies.usable(origin)
        state = self._just_fetched.get(origin) if policy is None else self._state_under(policy)
        if state is not None and state.delay:
            self._pacing.keep(origin, state.delay)
        return state

    def _state_under(self, policy: Policy) -> OriginState:
        policy.paces.enforce(self._agents.default_under(policy.settings))
        if policy.origin in self._crawl.given_up:
            return OriginState(given_up=True)
        if policy.denies_as_unreachable:
            return OriginState(unreachable=True, again_at=self.clock() + policy.fresh_for)
        if not policy.is_paced:
            return _OPEN
        opens_in = policy.opens_in
        return OriginState(policy.delay or 0.0, opens_at=opens_in and self.clock() + opens_in)

    def policy_was_used(self, origin: Origin) -> None:
        self._just_fetched.pop(origin, None)

    def may_fetch(self) -> bool:
        engine = compat.engine_of(self._crawler)
        return not (engine.paused or compat.is_closing(self._crawler))

    def is_fetching(self, origin: Origin) -> bool:
        return self._policies.is_fetching(origin)

    def fetch(self, origin: Origin, lane: Lane) -> None:
        # For Scrapy's robots_parsed; a queue class of the project may be unable to show one.
        request = lane.next_request() or Request(origin.robots_url)
        self._policies.prefetch(origin, request)

    def host_of(self, lane: Lane) -> str:
        origin, slot = lane.address
        paced = origin is not None and self._pacing.pace_of(origin.host) is not None
        return origin.host if paced and origin is not None else slot

    def outlook(self, lane: Lane) -> Outlook:
        outlook, origin = super().outlook(lane), lane.address.origin
        pace = None if origin is None else self._pacing.pace_of(origin.host)
        if origin is None or pace is None:
            return outlook
        due_at = max(outlook.due_at, self._pacing.due_at(origin.host))
        gap = max(outlook.gap, pace.delay)
        return outlook._replace(due_at=due_at, gap=gap, door_at=pace.due_at())

    def _fetch_ended(self, origin: Origin, policy: Policy | None) -> None:
        if policy is not None and self.readiness.awaits(origin):
            # Whatever its lifetime and the size of the cache: one request may use it.
            self._just_fetched[origin] = self._state_under(policy)
        self.readiness.fetch_ended(
            origin, answered=policy is not None and not policy.denies_as_unreachable
        )
