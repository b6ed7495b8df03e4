"""The pace of hosts to which requests go that the queue has not handed out, too."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from .host_queue import Report, encoded

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_robots_plus.hosts.shared_pace import Ask

    from .leases import Lease, Leases
    from .session import Session


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
            self._session.tell(Report("left", id_ or b"", host, ago, delay))
            if id_ is not None and known:
                self._session.tell(Report("ended", id_))
        elif known:
            self._leases.left(lease, ago, delay)

    def unused(self, host: str, ago: float, delay: float) -> None:  # noqa: ARG002
        lease, id_ = self._with_turn.pop(host, None), self._turns.pop(host, None)
        if lease is not None:
            lease.sent_by = None
        if id_ is not None:
            self._session.tell(Report("freed", id_, host))

    def leave_alone(self, host: str, seconds: float) -> None:
        self._session.tell(Report("pause", host=host, seconds=seconds))

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
