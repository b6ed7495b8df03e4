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

from .host_queue import Report

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
    """Whether a request may leave with its turn, this one or another of the worker."""
    delay: float = 0.0
    """That of robots.txt, as far as it was asked for; once it has left, that of the host."""
    sent_by: float | None = None
    """When it counts as sent, whatever else is known; once it has left, when that was."""

    def has_turn_of(self, host: str) -> bool:
        """Whether a request to *host* may leave without asking the server for a turn."""
        return self.holds and bool(self.id) and not self.asked and self.host == host


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
        return self._drop_void()

    def _drop_void(self) -> list[Request]:
        dropped: list[Request] = []
        for waiting in (self._ready, *self._parked.values()):
            dropped += [lease.request for lease in waiting if not lease.id]
            kept = [lease for lease in waiting if lease.id]
            waiting.clear()
            waiting.extend(kept)
        return dropped

    # Here

    def add(self, lease: LeasedRequest, policy: Policy | None = None) -> None:
        """The request waits here, or goes back to the server. *policy*: one that has just come."""
        state = self._hosts.state(lease.request, lease.host, policy)
        if state is None:
            self._park(lease)
        elif state.closed_for > 0:
            self._session.tell(Report("pause", host=lease.host, seconds=state.closed_for))
            self._give_back(lease)
        elif state.delay and (lease.is_first or not lease.holds):
            # The server may have lost what other workers sent there, or it has no turn.
            self._tell_pace(lease, state.delay)
            self._give_back(lease)
        elif state.delay:
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

    def clear(self) -> None:
        """Nothing waits here any more."""
        self._ready.clear()
        self._parked.clear()

    def _park(self, lease: LeasedRequest) -> None:
        origin = self._hosts.origin_to_wait_for(lease.request)
        if origin is None:
            return
        self._parked.setdefault(origin, []).append(lease)
        self._crawl.get(Policies).prefetch(origin, lease.request)

    def _give_back(self, lease: LeasedRequest) -> None:
        self._session.tell(Report("back", lease.id))
        lease.id = b""

    def _tell_pace(self, lease: LeasedRequest, delay: float) -> None:
        self._session.tell(Report("pace", lease.id, lease.host, seconds=delay))

    # Under way

    def hand_out(self) -> Request:
        """The next one for the engine."""
        lease = self._ready.popleft()
        self.under_way[lease.request] = lease
        return lease.request

    def _has_left(self, lease: LeasedRequest, ago: float) -> None:
        """The request of *lease* left *ago* seconds ago."""
        if lease.holds:
            lease.holds, lease.sent_by = False, self._session.now() - ago
            lease.delay = max(lease.delay, self._hosts.own_delay(lease.host))
            self._tell_left(lease, ago)

    def _tell_left(self, lease: LeasedRequest, ago: float) -> None:
        self._session.tell(Report("left", lease.id, lease.host, ago, lease.delay))

    def tell_departures_again(self) -> None:
        """The server may have forgotten them, and that hosts are no longer held."""
        now = self._session.now()
        for lease in self.under_way.values():
            if lease.sent_by is not None and not lease.holds:
                self._tell_left(lease, now - lease.sent_by)

    def handed_over(self, request: Request) -> None:
        """A download handler gets *request*."""
        lease = self.under_way.get(request)
        if lease is not None and not lease.asked:
            self._has_left(lease, 0.0)

    def left_downloader(self, request: Request) -> None:
        """The downloader is done with *request*."""
        lease = self.under_way.get(request)
        if lease is not None:
            self._has_left(lease, 0.0)

    def look(self) -> None:
        """Tells what nothing else tells, but for :meth:`collect_ended`."""
        now = self._session.now()
        for lease in chain(self.under_way.values(), self._leaving.values()):
            if lease.holds and lease.sent_by is not None and now >= lease.sent_by:
                self._has_left(lease, now - lease.sent_by)
        for lease in self._ready:
            if lease.since < now - self.STALE_SECONDS:  # another worker may be faster
                self._give_back(lease)
        self._drop_void()

    def collect_ended(self) -> None:
        """Tells which requests were dealt with."""
        for request in compat.dealt_with(self.under_way, self._crawler):
            lease = self.under_way.pop(request)
            frees = lease.holds and self._leaving.get(lease.host) is not lease
            if lease.id:
                what = "freed" if frees else "ended"
                self._session.tell(Report(what, lease.id, lease.host), soon=frees)

    # The pace of hosts, see SharedPace

    def ask(self, asked: Ask, answer: Callable[[float], None]) -> None:
        turn, wait = self._turn_here(asked), 0.0
        if turn is None:
            turn, wait = self._turn_of_server(asked)
        elif self._session.is_unsure:  # the server may come back without knowing of this turn
            turn, wait = None, self._wait_without_answer(asked)
        if turn is not None:
            turn.asked, turn.delay = True, asked.delay
            turn.sent_by = self._session.now() + asked.patience
            self._leaving[asked.host] = turn
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
            lease.asked, lease.sent_by = False, None
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

    def _turn_here(self, asked: Ask) -> LeasedRequest | None:
        """The turn of the host, if a request of the queue has it that is under way: this one, or
        another. That may wait behind this one in the same slot, each for the other: so it hands its
        turn over, and asks for another when it comes to that.
        """
        own = self.under_way.get(asked.request)
        leases = chain(() if own is None else (own,), self.under_way.values())
        turn = next((lease for lease in leases if lease.has_turn_of(asked.host)), None)
        if turn is not None and (self._session.is_unsure or not self._session.is_alive):
            self._session.renew()
        return turn if turn is not None and turn.id else None

    def _turn_of_server(self, asked: Ask) -> tuple[LeasedRequest | None, float]:
        """The turn that the server gives, or how long to wait."""
        host, session = asked.host, self._session
        turn = self._booked.get(host)
        if turn is None or not turn.id:
            self._turns += 1  # the server may not have heard that the one before has ended
            id_ = b"turn:%d" % self._turns
            turn = LeasedRequest(asked.request, id_, host, holds=True, since=session.now())
            self._booked[host] = turn
        wait = session.attempt(partial(session.queue.ask, turn.id, host, asked.delay))
        if wait is None:
            return None, self._wait_without_answer(asked)
        if wait < 0:
            session.renew()
            return None, session.SOON
        return None if wait else turn, wait
