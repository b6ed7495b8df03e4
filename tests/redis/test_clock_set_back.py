"""The clock of the server is set back, or a replica whose clock is behind takes over."""

from __future__ import annotations

import time
from math import inf
from typing import TYPE_CHECKING, Any

import pytest

from scrapy_robots_plus.redis.host_queue import Report

from .workers import HOUR, MARK, Crew, make_known, names, stored, take, tell

if TYPE_CHECKING:
    from scrapy_robots_plus.redis.host_queue import HostQueue
    from tests.redis_server import RedisServer

A = "a.example"
TEN_MINUTES = 600_000
"""Milliseconds."""
LATE = 2.0
"""Seconds by which the queue may be late after its clock was set back."""


def set_clock_back(queue: HostQueue, client: Any) -> None:
    """All times are as a server has written them whose clock was ten minutes ahead."""
    for name in ("due", "new", "workers", "idle"):
        for member in client.zrange(queue.key(name), 0, -1):
            client.zincrby(queue.key(name), TEN_MINUTES, member)
    for host, text in client.hgetall(queue.key("pace")).items():
        if host == MARK:
            continue
        delay, at, holder = text.split(b" ")
        client.hset(queue.key("pace"), host, b"%s %d %s" % (delay, int(at) + TEN_MINUTES, holder))
    if clock := client.get(queue.key("clock")):
        noted, ahead = map(int, clock.split())
        client.set(queue.key("clock"), f"{noted + TEN_MINUTES} {ahead}")


@pytest.fixture
def worker(crew: Crew) -> HostQueue:
    """With two requests for one host, which had its last one an hour ago."""
    queue = crew.worker("1")
    make_known(queue, A, 60.0)
    queue.push(stored(A, "a", "b"))
    return queue


def test_a_host_waits_for_its_delay_and_no_longer(worker: HostQueue, client: Any) -> None:
    (a,) = take(worker)
    tell(worker, Report("left", a.id, A, 0.0, 60.0))
    set_clock_back(worker, client)
    told = worker.exchange(10, 10)
    assert told.taken == []
    assert told.wait == pytest.approx(60.0, abs=LATE)


def test_it_may_be_set_back_again_and_again(worker: HostQueue, client: Any) -> None:
    tell(worker, Report("pause", host=A, seconds=60.0))
    for _ in range(3):
        set_clock_back(worker, client)
        told = worker.exchange(10, 10, renew=True)
        assert told.wait == pytest.approx(60.0, abs=3 * LATE)


@pytest.mark.parametrize("known", [True, False])
def test_a_host_that_is_due_is_due_at_once_or_soon(crew: Crew, client: Any, known: bool) -> None:
    worker = crew.worker("1")
    if known:
        make_known(worker, A, 60.0)
    worker.push(stored(A, "a"))
    worker.exchange(renew=True)
    set_clock_back(worker, client)
    told = worker.exchange(1, 1)
    assert told.taken or 0.0 < told.wait <= LATE


def test_a_pause_is_kept_and_no_longer(worker: HostQueue, client: Any) -> None:
    worker.exchange(reports=[Report("pause", host=A, seconds=HOUR)], renew=True)
    set_clock_back(worker, client)
    assert worker.exchange(10, 10).wait == pytest.approx(HOUR, abs=LATE)
    assert worker.ask(b"x", A, 1.0) == pytest.approx(HOUR, abs=LATE)


def test_a_host_that_is_held_stays_held(worker: HostQueue, client: Any) -> None:
    (a,) = take(worker)
    set_clock_back(worker, client)
    assert worker.exchange(10, 10).wait == inf
    tell(worker, Report("left", a.id, A, 60.0, 60.0))
    assert names(take(worker)) == ["b"]


def test_a_worker_is_not_taken_for_dead(client: Any) -> None:
    crew = Crew(client, lifetime=60.0)
    one, two = crew.worker("1"), crew.worker("2")
    one.push(stored(A, "a"))
    take(one)
    set_clock_back(one, client)
    assert not two.exchange(renew=True).more
    assert two.state()[:3] == (0, 1, 1)
    assert not one.exchange(renew=True).forgotten
    first, second = (client.zscore(each.key("workers"), each.worker) for each in (one, two))
    assert first == pytest.approx(second, abs=1000 * LATE)


def test_a_worker_that_is_dead_does_not_come_alive(client: Any) -> None:
    crew = Crew(client, lifetime=60.0)
    one, two = crew.worker("1"), crew.worker("2")
    one.push(stored(A, "a"))
    take(one)
    client.zincrby(one.key("workers"), -65_000, "1")  # it was heard of 65 seconds ago
    set_clock_back(one, client)
    assert two.exchange(renew=True).more
    assert two.state()[:3] == (1, 0, 0)


def test_a_full_server_notices_it_too(server: RedisServer) -> None:
    client = server.client()
    worker = Crew(client).worker("1")
    make_known(worker, A, 60.0)
    worker.push(stored(A, "a"))
    tell(worker, Report("pause", host=A, seconds=60.0))
    set_clock_back(worker, client)
    server.run_out_of_memory()
    for _ in range(2):
        assert worker.exchange(10, 10).wait == pytest.approx(60.0, abs=LATE)
    client.close()


def test_the_time_is_written_once_a_second_at_most(worker: HostQueue, client: Any) -> None:
    def written() -> int:
        return int(client.info("commandstats")["cmdstat_set"]["calls"])

    before, began = written(), time.monotonic()
    for _ in range(50):
        worker.exchange(renew=True)
    assert written() - before <= 1 + time.monotonic() - began
