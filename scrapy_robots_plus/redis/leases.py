"""The requests that the engine has until it is done with them, and the pace that they go at."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from scrapy_robots_plus import compat

from .host_queue import Report, encoded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_robots_plus.hosts.shared_pace import Ask

    from .host_states import HostStates
    from .session import Session


@dataclass(slots=True, eq=False)
class Lease:
    """A request that this worker has, as the server knows it. Times are by the monotonic clock."""

    id: bytes
    """Empty if the server no longer counts it as this worker's."""
    host: str
    holds: bool
    """Whether no worker gets another request to the host until this one has left."""
    since: float
    is_first: bool = False
    """Whether the server knew nothing of the host when it handed the request out."""
    asked: bool = False
    """Whether its slot has asked for its turn, and will tell when it left."""
    sent_by: float | None = None
    """When it counts as sent, whatever its slot knows."""
    departure: tuple[float, float] | None = None
    """When it left, as the server was told, and the delay."""

    @property
    def has_turn(self) -> bool:
        """Whether it may leave without asking for a turn."""
        return self.holds and bool(self.id)

    def void(self) -> None:
        """The server is still told when it leaves."""
        self.id = b""


class Leases:
    """Tells the server when a request has left, and when it was dealt with.

    No signal tells that a request was dealt with, and only some tell that one has left. So
    :meth:`look_at_departures` and :meth:`collect_ended` are called several times a second.
    """

    def __init__(self, crawler: Crawler, session: Session, hosts: HostStates) -> None:
        self._crawler = crawler
        self._session = session
        self._hosts = hosts
        self._leases: dict[Request, Lease] = {}
        self._last: Request | None = None
        """The last one handed out: the engine may not know it yet."""

    def __iter__(self) -> Iterator[Lease]:
        return iter(self._leases.values())

    def __contains__(self, request: Request) -> bool:
        return request in self._leases

    def hand_out(self, request: Request, lease: Lease) -> None:
        """The engine gets *request*."""
        self._leases[request] = self._leases.pop(request, lease)
        self._last = request

    def is_asked_again(self) -> None:
        """The engine has dealt with what it got before."""
        self._last = None

    def with_turn(self, request: Request, host: str) -> Lease | None:
        """The lease of *request*, if it holds *host*."""
        lease = self._leases.get(request)
        if lease is None or not lease.has_turn or lease.host != host:
            return None
        if self._session.is_unsure or not self._session.is_alive:
            self._session.renew()
        return lease if lease.has_turn else None

    def unasked(self, host: str) -> Lease | None:
        """One that holds *host* and whose request has not come so far that it asks for its turn."""
        leases = self._leases.values()
        free = (each for each in leases if each.holds and each.host == host and not each.asked)
        return next(free, None)

    def left(self, lease: Lease, ago: float, delay: float = 0.0) -> None:
        """The request of *lease* left *ago* seconds ago; *delay*: that of robots.txt."""
        if lease.holds:
            lease.holds, lease.sent_by = False, None
            delay = max(delay, self._hosts.drawn_delay(lease.host))
            lease.departure = self._session.now() - ago, delay
            self._session.left(lease.id, lease.host, ago, delay)

    def tell_departures_again(self) -> None:
        """The server may have forgotten them, and that hosts are no longer held."""
        now = self._session.now()
        for lease in self._leases.values():
            if lease.departure is not None:
                at, delay = lease.departure
                self._session.left(lease.id, lease.host, now - at, delay)

    def left_downloader(self, request: Request) -> None:
        """The downloader is done with *request*."""
        lease = self._leases.get(request)
        if lease is not None and lease.holds:
            self.left(lease, self._hosts.left_ago(request))

    def collect_ended(self) -> None:
        """Tells which requests were dealt with."""
        if not self._leases:
            return
        for request in compat.dealt_with(self._leases, self._crawler):
            if request is not self._last:
                lease = self._leases.pop(request)
                if lease.id:
                    self._session.tell(partial(_ended, lease), soon=lease.holds)

    def look_at_departures(self) -> None:
        """Tells which requests have left, as far as nothing else tells it."""
        now = self._session.now()
        for request, lease in self._leases.items():
            if not lease.holds:
                continue
            if lease.asked:
                if lease.sent_by is not None and now >= lease.sent_by:
                    self.left(lease, now - lease.sent_by)
            elif (ago := self._hosts.sent_ago(request)) is not None:
                self.left(lease, ago)


def _ended(lease: Lease) -> Report:
    return Report.freed(lease.id, lease.host) if lease.holds else Report.ended(lease.id)


class QueuePace:
    """See :class:`.SharedPace`. The hosts of the queue are those of the pace."""

    def __init__(self, session: Session, leases: Leases, workers: int) -> None:
        """*workers*: how many share a host, for as long as the server is away."""
        self._session = session
        self._leases = leases
        self._workers = workers
        self._with_turn: dict[str, Lease] = {}
        """By host: the request of the queue that has its turn."""
        self._turns: dict[str, bytes] = {}
        """By host: the id of a turn that was asked for."""

    @property
    def ids(self) -> set[bytes]:
        """Of turns that were asked for, and are not over."""
        return set(self._turns.values())

    def ask(self, asked: Ask, answer: Callable[[float], None]) -> None:
        lease = self._leases.with_turn(asked.request, asked.host)
        if lease is not None and self._session.is_unsure:
            if self._session.is_alive:  # the server may come back without knowing of this turn
                answer(self._session.LATER)
                return
            lease = None
        if lease is None:
            answer(self._ask_server(asked))
            return
        lease.asked, lease.sent_by = True, self._session.now() + asked.patience
        self._with_turn[asked.host] = lease
        answer(0.0)

    def left(self, host: str, ago: float, delay: float) -> None:
        known = ago >= 0  # else it may still be under way
        lease, id_ = self._with_turn.get(host), self._turns.get(host)
        if known:
            self._with_turn.pop(host, None)
            self._turns.pop(host, None)
        if lease is None:
            self._session.left(id_ or b"", host, ago, delay)
            if id_ is not None and known:
                self._session.tell(partial(Report.ended, id_))
        elif known:
            self._leases.left(lease, ago, delay)

    def unused(self, host: str, ago: float, delay: float) -> None:  # noqa: ARG002
        lease, id_ = self._with_turn.pop(host, None), self._turns.pop(host, None)
        if lease is not None:
            lease.sent_by = None
        if id_ is not None:
            self._session.tell(partial(Report.freed, id_, host))

    def leave_alone(self, host: str, seconds: float) -> None:
        self._session.pause(host, seconds)

    def close(self) -> None:
        """The worker leaves by itself."""

    def _ask_server(self, asked: Ask) -> float:
        """A request that has the turn may wait behind this one in the same slot, each for the
        other: so it hands its turn over, and asks for another when it comes to that.
        """
        id_, holder = b"turn:" + encoded(asked.host), self._leases.unasked(asked.host)
        instead_of = b"" if holder is None else holder.id
        ask = partial(self._session.queue.ask, id_, asked.host, asked.delay, instead_of)
        wait = self._session.attempt(ask)
        if wait is None:
            return asked.wait_alone(self._workers)
        if wait < 0:
            self._session.renew()
            return self._session.SOON
        if not wait:
            self._turns[asked.host] = id_
            if holder is not None:
                holder.holds = False
        return wait
