"""Workers of a crawl, without a crawl."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

from scrapy_robots_plus.redis.host_queue import HostQueue, Report, Stored

if TYPE_CHECKING:
    from scrapy_robots_plus.redis.host_queue import Taken

HOUR = 3600.0
MARK = b"//mark"
"""Stands in keys, so that their loss is noticed."""


class Crew:
    """The workers of one crawl, which has a key of its own."""

    def __init__(self, client: Any, lifetime: float = HOUR) -> None:
        self.client = client
        self.key = f"{uuid4().hex}:requests"
        self._lifetime = lifetime

    def worker(self, name: str) -> HostQueue:
        """It comes to a queue that has been there for an hour."""
        queue = HostQueue(self.client, self.key, name, self._lifetime)
        if not self.client.exists(queue.key("pace")):
            while queue.exchange().more:
                pass
            self.age(queue)
        return queue

    def age(self, queue: HostQueue) -> None:
        """As if the last loss, or the beginning of the queue, had been an hour ago."""
        born, since, *others = self.client.hget(queue.key("pace"), MARK).split(b" ")
        since = b"%d" % (int(since) - 1000 * HOUR)
        self.client.hset(queue.key("pace"), MARK, b" ".join([born, since, *others]))

    def declare_dead(self, worker: HostQueue) -> None:
        """As if it had not been heard of for long."""
        self.client.zadd(worker.key("workers"), {worker.worker: 1})

    @property
    def key_names(self) -> set[str]:
        return {key.decode() for key in self.client.keys(f"*{self.key}*")}


def stored(host: str, *data: str, priority: float = 0) -> list[Stored]:
    return [Stored(host, priority, each.encode()) for each in data]


def names(taken: list[Taken]) -> list[str]:
    return [each.data.decode() for each in taken]


def take(worker: HostQueue, most: int = 10, unknown: int = 10) -> list[Taken]:
    return worker.exchange(most, unknown, renew=True).taken


def tell(worker: HostQueue, *reports: Report) -> None:
    worker.exchange(reports=reports)


def make_known(worker: HostQueue, host: str, delay: float = 0.0) -> None:
    """From now on requests to *host* are *delay* seconds apart, the last one an hour ago."""
    tell(worker, Report("left", b"", host, HOUR, delay))


def give_back_of_the_dead(worker: HostQueue) -> None:
    """*worker* gives back all that dead workers have."""
    assert any(not worker.exchange(renew=True).more for _ in range(100))
