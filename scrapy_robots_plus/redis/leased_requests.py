"""The requests that a worker has, until the server hears of their end, and the turns of hosts."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl.crawl import Crawl
from scrapy_robots_plus.origins.policies import Policies

from .host_queue import LONGEST, Report

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_robots_plus.hosts.shared_pace import Ask
    from scrapy_robots_plus.origins.policy import Policy
    from scrapy_robots_plus.protocol.origin import Origin

    from .host_states import HostStates
    from .session import Session


@dataclass(slots=True, eq=False)
class LeasedRequest:
    """A request that this worker has, as the server knows it; or one that did not come from the
    queue, and has asked for the turn of its host. Times are by the monotonic clock.
    """

    request: Request
    id: bytes
    """Empty if the server no longer counts it as this worker's: then it is under way."""
    host: str
    holds: bool
    """Whether no worker gets another request to the host until this one has left."""
    since: float
    is_first: bool = False
    """Whether the server knew nothing of the host when it handed the request out."""
    asked: bool = False
    """Whether it has come so far that it has asked for its turn."""
    handed_over_at: float | None = None
    """When a download handler got it."""
    delay: float = 0.0
    """That of robots.txt, as far as it was asked for."""
    sent_by: float | None = None
    """When it counts as sent, whatever else is known."""
    departure: tuple[float, float] | None = None
    """When it left, as the server was told, and the delay."""

    @property
    def has_turn(self) -> bool:
        """Whether it may leave without asking for a turn."""
        return self.holds and bool(self.id)


class LeasedRequests:
    """Each request waits for its robots.txt, then for the engine to ask, and then is under way: it
    leaves, and the engine is done with it some time after that.

    They are a :class:`.SharedPace`, too: the hosts of the queue are those of the pace.

    No signal tells that the engine is done with a request: so :meth:`look` and
    :meth:`collect_ended` are called several times a second.
    """

    STALE_SECONDS = 3.0
    """What has waited longer than this for the engine is given back: its host may be paused."""

    def __init__(self, crawler: Crawler, session: Session, hosts: HostStates) -> None:
        self._crawler = crawler
        self._crawl = Crawl.of(crawler)
        self._session = session
        self._hosts = hosts
        self._parked: dict[Origin, list[LeasedRequest]] = {}
        """Those that wait for a robots.txt."""
        self._ready: deque[LeasedRequest] = deque()
        """Those that wait for the engine."""
        self.under_way: dict[Request, LeasedRequest] = {}
        """Those that the engine has."""
        self._leaving: dict[str, LeasedRequest] = {}
        """By host: the request that may leave, until it is known when it has."""
        self._booked: dict[str, LeasedRequest] = {}
        """By host: the turn that was asked for, until it comes."""
        self._turns = 0
        """How many turns were asked for."""
        self._last: Request | None = None
        """The last one handed out: the engine may not know it yet."""

    def __iter__(self) -> Iterator[LeasedRequest]:
        waiting = self._parked.values()
        going = self._leaving.values(), self._booked.values()
        return chain(self.under_way.values(), *going, self._ready, *waiting)

    @property
    def ids(self) -> set[bytes]:
        """Of all that the server counts as this worker's."""
        return {lease.id for lease in self if lease.id}

    @property
    def ready(self) -> int:
        """How many only wait for the engine."""
        return len(self._ready)

    @property
    def waiting(self) -> int:
        """How many wait here."""
        return self.ready + sum(map(len, self._parked.values()))

    def room_for_new_hosts(self, most: int) -> int:
        """How many requests may come to hosts whose robots.txt has to be fetched first.

        At most *most*, also if this crawl waits for no robots.txt.
        """
        if not self._crawl.holds_requests:
            return most
        return max(0, min(most, self._crawl.settings.fetch_concurrency - len(self._parked)))

    def void(self, ids: set[bytes]) -> list[Request]:
        """The server no longer counts those with one of *ids* as this worker's. It is still told
        when they leave.

        Returns the requests of those that wait here, which end with that.
        """
        for lease in self:
            if lease.id in ids:
                lease.id = b""
        waiting = chain(self._ready, *self._parked.values())
        void = [lease.request for lease in waiting if not lease.id]
        self._ready = deque(lease for lease in self._ready if lease.id)
        for origin, parked in list(self._parked.items()):
            self._parked[origin] = [lease for lease in parked if lease.id]
            if not self._parked[origin]:
                del self._parked[origin]
        return void

    # Here

    def add(self, lease: LeasedRequest, policy: Policy | None = None) -> None:
        """The request waits here, or goes back to the server. *policy*: one that has just come."""
        state = self._hosts.state(lease.request, lease.host, policy)
        if state is None:
            self._park(lease)
            return
        silent_for = self._session.silent_for(state.delay) if lease.is_first else 0.0
        closed_for = max(state.closed_for, silent_for)
        if closed_for > 0:
            self._session.tell(Report("pause", host=lease.host, seconds=closed_for))
            self._give_back(lease)
        elif state.delay and not lease.holds:  # it has no turn
            self._tell_pace(lease, state.delay)
            self._give_back(lease)
        elif lease.holds and state.delay:
            self._ready.appendleft(lease)
        else:
            if lease.holds:
                lease.holds = False
                self._tell_pace(lease, 0.0)
            self._ready.append(lease)

    def fetch_ended(self, origin: Origin, policy: Policy | None) -> bool:
        """Whether any request waited for it."""
        parked = self._parked.pop(origin, ())
        for lease in parked:
            if policy is None:
                self._give_back(lease)
            else:
                self.add(lease, policy)
        return bool(parked)

    def _give_back_stale(self, since: float) -> None:
        """Gives back what has waited for the engine *since* then: another worker may be faster."""
        stale = {lease for lease in self._ready if lease.since < since}
        if stale:
            for lease in stale:
                self._give_back(lease)
            self._ready = deque(each for each in self._ready if each not in stale)

    def clear(self) -> None:
        """Nothing waits here any more."""
        self._ready.clear()
        self._parked.clear()

    def _park(self, lease: LeasedRequest) -> None:
        origin = self._hosts.origin_to_wait_for(lease.request)
        if origin is None:
            return
        self._parked.setdefault(origin, []).append(lease)
        policies = self._crawl.get(Policies)
        if not policies.is_fetching(origin):
            policies.prefetch(origin, lease.request)

    def _give_back(self, lease: LeasedRequest) -> None:
        self._session.tell(Report("back", lease.id))

    def _tell_pace(self, lease: LeasedRequest, delay: float) -> None:
        self._session.tell(Report("pace", lease.id, lease.host, seconds=delay))

    # Under way

    def hand_out(self) -> Request:
        """The next one for the engine."""
        lease = self._ready.popleft()
        self.under_way[lease.request] = lease
        self._last = lease.request
        return lease.request

    def is_asked_again(self) -> None:
        """The engine has dealt with what it got before."""
        self._last = None

    def _has_left(self, lease: LeasedRequest, ago: float) -> None:
        """The request of *lease* left *ago* seconds ago."""
        if lease.holds:
            lease.holds, lease.sent_by = False, None
            delay = max(lease.delay, self._hosts.own_delay(lease.host))
            lease.departure = self._session.now() - ago, delay
            self._session.tell(Report("left", lease.id, lease.host, ago, delay))

    def tell_departures_again(self) -> None:
        """The server may have forgotten them, and that hosts are no longer held."""
        now = self._session.now()
        for lease in self.under_way.values():
            if lease.departure is not None:
                at, delay = lease.departure
                self._session.tell(Report("left", lease.id, lease.host, now - at, delay))

    def handed_over(self, request: Request) -> None:
        """A download handler gets *request*."""
        lease = self.under_way.get(request)
        if lease is not None and lease.holds:
            lease.handed_over_at = self._session.now()
            if not lease.asked:
                self._has_left(lease, 0.0)

    def left_downloader(self, request: Request) -> None:
        """The downloader is done with *request*."""
        lease = self.under_way.get(request)
        if lease is not None and lease.holds:
            now = self._session.now()
            self._has_left(lease, now - (lease.handed_over_at or now))

    def look(self) -> None:
        """Tells what nothing else tells, but for :meth:`collect_ended`."""
        now = self._session.now()
        for lease in chain(self.under_way.values(), self._leaving.values()):
            if lease.holds and lease.sent_by is not None and now >= lease.sent_by:
                self._has_left(lease, now - lease.sent_by)
        self._give_back_stale(now - self.STALE_SECONDS)

    def collect_ended(self) -> None:
        """Tells which requests were dealt with."""
        if not self.under_way:
            return
        for request in compat.dealt_with(self.under_way, self._crawler):
            if request is not self._last:
                lease = self.under_way.pop(request)
                if lease.id:
                    what = "freed" if lease.holds else "ended"
                    self._session.tell(Report(what, lease.id, lease.host), soon=lease.holds)

    # The pace of hosts, see SharedPace

    def ask(self, asked: Ask, answer: Callable[[float], None]) -> None:
        lease, wait = self._with_turn(asked.request, asked.host), 0.0
        if lease is None:
            wait, lease = self._ask_server(asked)
        elif self._session.is_unsure:  # the server may come back without knowing of this turn
            wait, lease = self._wait_without_answer(asked), None
        if lease is not None:
            lease.asked, lease.delay = True, asked.delay
            lease.sent_by = self._session.now() + asked.patience
            self._leaving[asked.host] = lease
        if not wait:
            self._booked.pop(asked.host, None)
        answer(wait)

    def left(self, host: str, ago: float, delay: float) -> None:
        if host not in self._leaving:
            self._session.tell(Report("left", host=host, ago=ago, seconds=delay))
        elif ago >= 0:  # else it may still be under way
            lease = self._leaving.pop(host)
            lease.delay = delay
            self._has_left(lease, ago)
            if not self._is_of_queue(lease):
                self._session.tell(Report("ended", lease.id))

    def unused(self, host: str, ago: float, delay: float) -> None:  # noqa: ARG002
        lease = self._booked.pop(host, None) or self._leaving.pop(host, None)
        if lease is not None and self._is_of_queue(lease):
            lease.sent_by = None
        elif lease is not None:
            self._session.tell(Report("freed", lease.id, host))

    def leave_alone(self, host: str, seconds: float) -> None:
        self._session.tell(Report("pause", host=host, seconds=seconds))

    def close(self) -> None:
        """The worker leaves by itself."""

    def _is_of_queue(self, lease: LeasedRequest) -> bool:
        """Whether it ends with its request, which the queue has handed out; else with its turn."""
        return self.under_way.get(lease.request) is lease

    def _wait_without_answer(self, asked: Ask) -> float:
        """How long to wait while the server does not answer. As long as it counts the worker as
        alive, others may have the turn.
        """
        if self._session.is_alive:
            return self._session.LATER
        return asked.wait_alone(self._crawl.settings.workers)

    def _with_turn(self, request: Request, host: str) -> LeasedRequest | None:
        """The lease of *request*, if it holds *host*."""
        lease = self.under_way.get(request)
        if lease is None or not lease.has_turn or lease.host != host:
            return None
        if self._session.is_unsure or not self._session.is_alive:
            self._session.renew()
        return lease if lease.has_turn else None

    def _ask_server(self, asked: Ask) -> tuple[float, LeasedRequest | None]:
        """How long to wait, and the turn, if there is one.

        A request that has the turn may wait behind this one in the same slot, each for the other:
        so it hands its turn over, and asks for another when it comes to that.
        """
        host = asked.host
        turn = self._booked.get(host)
        if turn is None or not turn.id:
            self._turns += 1  # the server may not have heard that the one before has ended
            id_, now = b"turn:%d" % self._turns, self._session.now()
            turn = LeasedRequest(asked.request, id_, host, holds=True, since=now)
        turn.request = asked.request
        leases = self.under_way.values()
        free = (each for each in leases if each.has_turn and each.host == host and not each.asked)
        holder = next(free, None)
        instead_of = b"" if holder is None else holder.id
        wait = self._session.attempt(
            partial(self._session.queue.ask, turn.id, host, asked.delay, instead_of)
        )
        if wait is None:
            if holder is not None:  # the server may have heard that: it asks for a turn of its own
                holder.delay = asked.delay
                self._has_left(holder, LONGEST)
            self._booked[host] = turn
            return self._wait_without_answer(asked), None
        if wait < 0:
            self._session.renew()
            return self._session.SOON, None
        if wait:
            self._booked[host] = turn
            return wait, None
        if holder is not None:
            holder.holds = False
        return 0.0, turn
