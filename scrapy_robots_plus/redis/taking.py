"""Requests on their way from the server to the engine."""

from __future__ import annotations

from collections import deque
from functools import partial
from itertools import chain
from math import inf
from typing import TYPE_CHECKING

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl.clock import Alarm, Now
from scrapy_robots_plus.crawl.crawl import Crawl
from scrapy_robots_plus.hosts.downloader import RobotsDownloader
from scrapy_robots_plus.origins.policies import Policies

from .host_queue import Exchange, Report, State, Taken
from .leases import Lease, Leases

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_robots_plus.origins.policy import Policy
    from scrapy_robots_plus.protocol.origin import Origin

    from .host_states import HostState, HostStates
    from .pushing import Pushing, Serialization
    from .queue_log import QueueLog
    from .session import Session


class Demand:
    """By what the downloader can take, and how fast the engine has asked lately."""

    REFILL_SECONDS = 0.1
    """What the worker has should last for about this long."""
    LEAST_SECONDS = 0.2
    """What was asked for is counted over this time at least."""
    MOST_AHEAD = 16
    """How many requests may be taken before the engine asks for them."""
    MOST_AT_ONCE = 100
    """How many requests one exchange asks for, beside those ahead."""

    def __init__(self, crawler: Crawler, now: Now) -> None:
        self._crawler = crawler
        self._now = now
        self._handed_out = self._ahead = 0
        self._looked_at = now()

    def handed_out(self) -> None:
        """The engine got one."""
        self._handed_out += 1

    def look(self) -> None:
        """Counts what was handed out since the last time."""
        now = self._now()
        passed = max(now - self._looked_at, self.LEAST_SECONDS)
        ahead = int(self._handed_out * self.REFILL_SECONDS / passed)
        self._ahead, self._handed_out = min(ahead, self.MOST_AHEAD), 0
        self._looked_at = now

    def beyond(self, ready: int) -> int:
        """How many to take when *ready* requests only wait for the engine; 1 or more."""
        return max(1, int(min(self._capacity, self.MOST_AT_ONCE)) + self._ahead - ready)

    @property
    def _capacity(self) -> float:
        downloader = compat.engine_of(self._crawler).downloader
        if isinstance(downloader, RobotsDownloader):
            return downloader.capacity
        return (downloader.total_concurrency or inf) - len(downloader.active)


class InHand:
    """They wait for their robots.txt, or for the engine to ask."""

    STALE_SECONDS = 3.0
    """What has waited longer than this for the engine is given back: its host may be paused."""

    def __init__(self, crawl: Crawl, session: Session, hosts: HostStates) -> None:
        self._crawl = crawl
        self._session = session
        self._hosts = hosts
        self._ready: deque[tuple[Request, Lease]] = deque()
        self._parked: dict[Origin, list[tuple[Request, Lease]]] = {}
        """Those that wait for a robots.txt."""

    def __len__(self) -> int:
        return len(self._ready) + sum(map(len, self._parked.values()))

    def leases(self) -> Iterator[Lease]:
        """Those of all requests."""
        return (lease for _, lease in chain(self._ready, *self._parked.values()))

    @property
    def ready(self) -> int:
        """How many only wait for the engine."""
        return len(self._ready)

    def room_for_new_hosts(self, most: int) -> int:
        """How many requests may come to hosts whose robots.txt has to be fetched first.

        *most*: the answer if this crawl waits for no robots.txt.
        """
        if not self._crawl.holds_requests:
            return most
        return max(0, self._crawl.settings.fetch_concurrency - len(self._parked))

    def take(self) -> tuple[Request, Lease]:
        """The next one for the engine."""
        return self._ready.popleft()

    def add(self, request: Request, lease: Lease, policy: Policy | None = None) -> None:
        """*request* waits here, or goes back to the server. *policy*: one that has just arrived."""
        state = self._hosts.state(request, lease.host, policy)
        if state is None:
            self._park(request, lease)
        elif lease.id and (closed_for := self._closed_for(state, lease)) > 0:
            self._session.pause(lease.host, closed_for)
            self._give_back(lease)
        elif state.delay and not lease.holds and lease.id:  # it has no turn
            self._tell_pace(lease, state.delay)
            self._give_back(lease)
        elif lease.holds and state.delay:
            self._ready.appendleft((request, lease))
        else:
            if lease.holds:
                lease.holds = False
                self._tell_pace(lease, 0.0)
            self._ready.append((request, lease))

    def fetch_ended(self, origin: Origin, policy: Policy | None) -> bool:
        """Whether any request waited for it."""
        parked = self._parked.pop(origin, ())
        for request, lease in parked:
            if policy is None:
                self._give_back(lease)
            else:
                self.add(request, lease, policy)
        return bool(parked)

    def give_back_stale(self) -> None:
        """Gives back what has waited too long for the engine: another worker may be faster."""
        since = self._session.now() - self.STALE_SECONDS
        stale = [lease for _, lease in self._ready if lease.id and lease.since < since]
        for lease in stale:
            self._give_back(lease)
        if stale:
            gone = set(stale)
            self._ready = deque(each for each in self._ready if each[1] not in gone)

    def clear(self) -> None:
        self._ready.clear()
        self._parked.clear()

    def _park(self, request: Request, lease: Lease) -> None:
        origin = self._hosts.origin_to_wait_for(request)
        if origin is None:
            return
        self._parked.setdefault(origin, []).append((request, lease))
        if not self._crawl.get(Policies).is_fetching(origin):
            self._crawl.get(Policies).prefetch(origin, request)

    def _closed_for(self, state: HostState, lease: Lease) -> float:
        silent_for = self._session.silent_for(state.delay) if lease.is_first else 0.0
        return max(state.closed_for, silent_for)

    def _give_back(self, lease: Lease) -> None:
        self._session.tell(partial(Report.back, lease.id))

    def _tell_pace(self, lease: Lease, delay: float) -> None:
        self._session.tell(partial(Report.pace, lease.id, lease.host, delay))


class Taking:
    """Asks the server for as many as the engine is about to ask for, when a host is due.

    They wait here for their robots.txt only, and for the next time that the engine asks.
    """

    LONGEST_WAIT = 0.5
    """Seconds after which the server is asked again, whatever it answered: other workers push."""

    def __init__(
        self,
        crawler: Crawler,
        session: Session,
        hosts: HostStates,
        leases: Leases,
        pushing: Pushing,
        serialization: Serialization,
        log: QueueLog,
    ) -> None:
        crawl = Crawl.of(crawler)
        self._pushing = pushing
        pushing.on_given = self._was_given
        self._now = crawl.clock.monotonic
        self._session = session
        self._leases = leases
        self._serialization = serialization
        self._log = log
        self._in_hand = InHand(crawl, session, hosts)
        self._demand = Demand(crawler, self._now)
        self._ask_at = self._refill_at = 0.0
        self._waiting, self._waiting_at = 0, -inf
        self._alarm = Alarm(partial(compat.wake_engine, crawler), self._now, crawl.clock.call_later)

    def next(self) -> Request | None:
        """The next request that may be sent; None if there is none now. The engine is woken when
        there may be one.
        """
        if not self._in_hand.ready:
            self._pushing.give_at_once()
        if self._now() >= (self._refill_at if self._in_hand.ready else self._ask_at):
            self._ask_for_more()
        if not self._in_hand.ready:
            self._alarm.set(self._ask_at)
            return None
        request, lease = self._in_hand.take()
        self._leases.hand_out(request, lease)
        self._demand.handed_out()
        return request

    def __len__(self) -> int:
        """How many requests wait here, or at the server as far as is known."""
        return max(0, self._waiting) + len(self._in_hand)

    @property
    def here(self) -> int:
        """How many requests wait here."""
        return len(self._in_hand)

    @property
    def parked(self) -> int:
        """How many of these wait for a robots.txt."""
        return len(self._in_hand) - self._in_hand.ready

    @property
    def any_waits_there(self) -> bool:
        """Whether the server has requests, as far as is known."""
        return bool(self._waiting)

    @property
    def is_outdated(self) -> bool:
        """Whether it was not asked for some time how many it has."""
        return self._now() > self._waiting_at + self.LONGEST_WAIT

    def exchange(self, most: int = 0, unknown: int = 0) -> None:
        """See :meth:`.Session.exchange`. Before, the server gets what pages have yielded."""
        self._leases.collect_ended()
        self._pushing.give_at_once()
        told, now = self._session.exchange(most, unknown), self._now()
        if told is None:
            self._ask_at = now + self.LONGEST_WAIT
        else:
            for each in told.taken:
                self._receive(each)
            self._note_wait(told, now, asked=most > 0)
            self._session.make_sure()
        self._alarm.set(self._ask_at)

    def state(self) -> State | None:
        """See :meth:`.Session.state`."""
        state = self._session.state()
        if state is not None:
            self._waiting, self._waiting_at = state.waiting, self._now()
        return state

    def fetch_ended(self, origin: Origin, policy: Policy | None) -> bool:
        """Whether any request waited for it."""
        waited = self._in_hand.fetch_ended(origin, policy)
        if waited:
            self._ask_at = 0.0
        return waited

    def look(self) -> None:
        """Called several times a second."""
        self._demand.look()
        self._in_hand.give_back_stale()

    def leases(self) -> Iterator[Lease]:
        """Those of all requests that wait here."""
        return self._in_hand.leases()

    def clear(self) -> None:
        """Nothing waits any more, here or there."""
        self._in_hand.clear()
        self._waiting = 0

    def wake_in(self, seconds: float) -> None:
        """The engine is to ask again then."""
        self._alarm.set(self._now() + seconds)

    def close(self) -> None:
        self._alarm.cancel()

    def _ask_for_more(self) -> None:
        new_hosts = self._in_hand.room_for_new_hosts(Demand.MOST_AT_ONCE)
        self.exchange(self._demand.beyond(self._in_hand.ready), new_hosts)
        self._refill_at = self._now() + Demand.REFILL_SECONDS

    def _was_given(self, due: bool) -> None:
        """The server has got another request, which may be *due*."""
        self._waiting += 1
        if due:
            self.wake_in(0.0)
            self._ask_at = 0.0

    def _note_wait(self, told: Exchange, now: float, *, asked: bool) -> None:
        if told.waiting is None:
            self._ask_at = now  # it got as much as it could take
            return
        wait = inf if told.wait is None else told.wait
        ask_at = now + min(wait, self.LONGEST_WAIT)
        self._ask_at = ask_at if asked else min(self._ask_at, ask_at)
        self._waiting, self._waiting_at = told.waiting, now

    def _receive(self, taken: Taken) -> None:
        is_first = taken.delay is None
        lease = Lease(taken.id, taken.host, taken.holds, self._now(), is_first)
        try:
            request = self._serialization.read(taken.data)
        except Exception as error:  # noqa: BLE001 - any serializer may be in use
            self._log.cannot_be_read(self._session.queue.keys.aside, error)
            self._session.tell(partial(Report.aside, taken.id))
            return
        self._in_hand.add(request, lease)
