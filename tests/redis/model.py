"""What the queue per host must do, without a server. A host is either free or blocked for long."""

from __future__ import annotations

from dataclasses import dataclass, field

from scrapy_robots_plus.redis.host_queue import Taken


@dataclass
class ModelHost:
    delay: float | None = None
    blocked: bool = False
    holder: bytes | None = None
    waiting: list[tuple[float, int, bytes]] = field(default_factory=list)
    """Score, number and data of each request."""

    @property
    def is_due(self) -> bool:
        return bool(self.waiting) and not self.blocked and self.holder is None


@dataclass
class Model:
    hosts: dict[str, ModelHost] = field(default_factory=dict)
    out: dict[str, dict[bytes, tuple[str, tuple[float, int, bytes]]]] = field(default_factory=dict)
    """By worker and id: the host, and the request."""
    pushed: int = 0

    def host(self, name: str) -> ModelHost:
        return self.hosts.setdefault(name, ModelHost())

    def push(self, name: str, priority: float) -> bytes:
        self.pushed += 1
        data = b"%d" % self.pushed
        self.host(name).waiting.append((-priority, self.pushed, data))
        return data

    def hand_out(self, worker: str, taken: Taken) -> None:
        """Checks that *taken* may be handed out, and does so."""
        host = self.host(taken.host)
        assert host.is_due
        assert taken.delay == host.delay
        first = min(host.waiting)
        assert first[2] == taken.data
        host.waiting.remove(first)
        assert taken.holds == (host.delay != 0)
        if taken.holds:
            host.holder = taken.id
        self.out.setdefault(worker, {})[taken.id] = (taken.host, first)

    def end(self, worker: str, id_: bytes) -> None:
        self.out[worker].pop(id_)

    def release(self, name: str, id_: bytes) -> None:
        if self.host(name).holder == id_:
            self.host(name).holder = None

    def give_back(self, worker: str, id_: bytes, *, may_have_left: bool = False) -> None:
        name, request = self.out[worker].pop(id_)
        host = self.host(name)
        host.waiting.append(request)
        if host.holder == id_ and may_have_left and host.delay:
            host.blocked = True
        self.release(name, id_)

    def give_back_all(self, worker: str, *, may_have_left: bool = False) -> None:
        for id_ in list(self.out.get(worker, ())):
            self.give_back(worker, id_, may_have_left=may_have_left)

    def due(self, *, known: bool) -> int:
        """How many requests can be taken at once of hosts whose pace is known, or is not."""
        hosts = [host for host in self.hosts.values() if (host.delay is not None) == known]
        return sum(len(host.waiting) if host.delay == 0 else 1 for host in hosts if host.is_due)

    @property
    def waiting(self) -> int:
        return sum(len(host.waiting) for host in self.hosts.values())
