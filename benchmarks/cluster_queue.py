"""The queue of many hosts on a Redis server, beside the one of scrapy-redis: time and memory.

Both hold the same bytes: requests as scrapy-redis writes them. Times are by the clock of the
worker, and of Redis's CPU.
"""

from __future__ import annotations

import time
import uuid
from hashlib import sha1
from typing import TYPE_CHECKING, Any, NamedTuple

import redis
from scrapy import Request
from scrapy_redis import picklecompat

from scrapy_robots_plus.redis.host_queue import HostQueue, Report, Stored
from scrapy_robots_plus.storage import open_store
from tests.redis_server import RedisServer

from .store_records import record

if TYPE_CHECKING:
    from collections.abc import Callable

REQUESTS = 3
"""For each host."""
OPERATIONS = 3_000
"""That are timed; fewer if there are fewer hosts."""
BATCH = 16
"""As many as ``CONCURRENT_REQUESTS``."""
DELAY = 1.0
HEAD = (
    f"{'microseconds: by the clock, Redis':<40}{'push':>12}{'take out':>12}{'16 at once':>12}"
    f"{'of new hosts':>14}{'bytes a host':>14}{'a request':>11}"
)


class Time(NamedTuple):
    """Microseconds for one request."""

    clock: float
    redis: float

    def __str__(self) -> str:
        return f"{self.clock:.0f}, {self.redis:.0f}"


def data_of(host: int, number: int) -> bytes:
    request = Request(f"http://host{host}.example/some/page/{number}")
    data: bytes = picklecompat.dumps(request.to_dict())
    return data


def timed(server: RedisServer, requests: int, work: Callable[[], object]) -> Time:
    before, begin = server.usage().cpu, time.perf_counter()
    work()
    seconds = time.perf_counter() - begin
    return Time(seconds / requests * 1e6, (server.usage().cpu - before) / requests * 1e6)


def memory(client: Any) -> int:
    return int(client.info("memory")["used_memory"])


class Ours:
    """``RobotsQueue``'s, without Scrapy around it."""

    title = "RobotsQueue"

    def __init__(self, client: Any) -> None:
        self.queue = HostQueue(client, "crawl:requests", uuid.uuid4().hex, 60)
        self.reports: list[Report] = []

    def fill(self, hosts: int, number: int) -> None:
        for start in range(0, hosts, 1_000):
            batch = range(start, min(start + 1_000, hosts))
            self.queue.push([self._stored(host, number) for host in batch])

    def _stored(self, host: int, number: int) -> Stored:
        return Stored(f"host{host}.example", 0, data_of(host, number))

    def push(self, host: int, number: int) -> None:
        self.queue.push([self._stored(host, number)])

    def take(self, number: int) -> int:
        return self._exchange(number, 0)

    def take_new(self, number: int) -> int:
        return self._exchange(0, number)

    def _exchange(self, most: int, unknown: int) -> int:
        """As a worker does, which says of those that it took last time that they were sent."""
        taken = self.queue.exchange(most, unknown, reports=self.reports, renew=True).taken
        self.reports = [
            report
            for each in taken
            for report in (
                Report("left", each.id, each.host, seconds=DELAY),
                Report("ended", each.id),
            )
        ]
        return len(taken)


class Plain:
    """scrapy-redis's ``PriorityQueue``."""

    title = "scrapy-redis's PriorityQueue"
    key = "crawl:requests"

    def __init__(self, client: Any) -> None:
        self.client = client

    def fill(self, hosts: int, number: int) -> None:
        for start in range(0, hosts, 1_000):
            batch = range(start, min(start + 1_000, hosts))
            self.client.zadd(self.key, {data_of(host, number): 0 for host in batch})

    def push(self, host: int, number: int) -> None:
        self.client.execute_command("ZADD", self.key, 0, data_of(host, number))

    def take(self, _: int) -> int:
        pipe = self.client.pipeline()
        pipe.multi()
        pipe.zrange(self.key, 0, 0).zremrangebyrank(self.key, 0, 0)
        return len(pipe.execute()[0])


def compare_queues(hosts: int) -> None:
    size = len(data_of(0, 0))
    print(f"\n{hosts:,} hosts with {REQUESTS} requests of {size} bytes each\n{HEAD}", flush=True)
    for kind in (Ours, Plain):
        with RedisServer() as server, redis.Redis.from_url(server.url) as client:
            show(kind(client), hosts, server, client)


def show(queue: Ours | Plain, hosts: int, server: RedisServer, client: Any) -> None:
    operations = min(OPERATIONS, hosts // 2)
    empty = memory(client)
    queue.fill(hosts, 0)
    first = memory(client)
    for number in range(1, REQUESTS):
        queue.fill(hosts, number)
    filled = memory(client)
    request = (filled - first) / hosts / (REQUESTS - 1)
    host = (first - empty) / hosts - request
    push = timed(server, operations, lambda: push_some(queue, hosts, operations))
    new = batch = None
    if isinstance(queue, Ours):
        before = memory(client)
        new = timed(server, operations, lambda: drain(queue.take_new, BATCH, operations))
        while queue.take_new(500):
            pass
        host += (memory(client) - before) / hosts + request  # now that each has a pace
        time.sleep(DELAY)
        batch = timed(server, operations, lambda: drain(queue.take, BATCH, operations))
    one = timed(server, operations // 3, lambda: drain(queue.take, 1, operations // 3))
    print(
        f"{queue.title:<40}{push!s:>12}{one!s:>12}{batch or '-'!s:>12}{new or '-'!s:>14}"
        f"{max(host, 0):>14.0f}{request:>11.0f}",
        flush=True,
    )


def push_some(queue: Ours | Plain, hosts: int, most: int) -> None:
    for number in range(most):
        queue.push(number % hosts, REQUESTS + number // hosts)


def drain(take: Callable[[int], int], at_once: int, most: int) -> None:
    """Takes *most* requests out. There are enough."""
    done = 0
    while done < most:
        got = take(at_once)
        assert got, "there are not enough"
        done += got


def compare_memory(number: int = 20_000) -> None:
    """What else workers keep in Redis: bytes of it for one, on average."""
    with RedisServer() as server, redis.Redis.from_url(server.url) as client:
        before = memory(client)
        for start in range(0, number, 1_000):
            seen = (sha1(b"%d" % each).hexdigest() for each in range(start, start + 1_000))
            client.sadd("crawl:dupefilter", *seen)
        seen_bytes = (memory(client) - before) / number
        before = memory(client)
        with open_store(server.url, number) as store:
            for each in range(number):
                store.put(record(each)._replace(fetched_at=time.time()))
        stored_bytes = (memory(client) - before) / number
    print(f"\na fingerprint: {seen_bytes:.0f} bytes; a robots.txt: {stored_bytes:.0f} bytes")
