"""The pace that the queue keeps: requests from it have their turn, others ask for theirs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_robots_plus.cluster.requests import Report

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_robots_plus.crawl.pacing.shared.shared_pace import Ask

    from .lease import Lease
    from .worker import Worker


class QueuePace:
    """See :class:`.SharedPace`. The hosts of the queue are those of the pace."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._leases: dict[str, Lease] = {}
        """By ticket: the request of the queue that has its turn."""
        self._turns: dict[str, bytes] = {}
        """By ticket: the id of a turn that was asked for."""

    @property
    def ids(self) -> set[bytes]:
        """Of turns that were asked for, and are not over."""
        return set(self._turns.values())

    def ask(self, asked: Ask, answer: Callable[[float], None]) -> None:
        if asked.request is None:
            answer(0.0)
            return
        lease = self._worker.lease_with_turn(asked.request, asked.host)
        if lease is None:
            answer(self._ask_server(asked))
            return
        lease.asked, lease.sent_by = True, self._worker.now() + asked.patience
        self._leases[asked.ticket] = lease
        answer(0.0)

    def _ask_server(self, asked: Ask) -> float:
        id_ = b"turn:" + asked.ticket.encode()
        wait = self._worker.ask_turn(id_, asked)
        if not wait:
            self._turns[asked.ticket] = id_
        return wait

    def left(self, host: str, ticket: str, ago: float, delay: float) -> None:
        lease, id_ = self._leases.get(ticket), self._turns.get(ticket)
        if ago >= 0:
            self._leases.pop(ticket, None)
            self._turns.pop(ticket, None)
        if lease is not None:
            if ago >= 0:
                self._worker.left(lease, ago, delay)
            return
        self._worker.left_without_lease(id_ or b"", host, ago, delay)
        if id_ is not None and ago >= 0:
            self._worker.tell(lambda: Report.ended(id_))

    def unused(self, host: str, ticket: str, ago: float) -> None:  # noqa: ARG002
        lease, id_ = self._leases.pop(ticket, None), self._turns.pop(ticket, None)
        if lease is not None:
            lease.sent_by = None
        if id_ is not None:
            self._worker.tell(lambda: Report.freed(id_, host))

    def leave_alone(self, host: str, seconds: float) -> None:
        self._worker.pause(host, seconds)

    def close(self) -> None:
        """The worker leaves by itself."""
