"""Workers in processes of their own, with one Redis server as their store."""

from __future__ import annotations

import signal
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from tests.sites import after, answer, hang, in_turn
from tests.workers import Workers, robots

if TYPE_CHECKING:
    from tests.redis_server import RedisServer
    from tests.sites import Host, Sites

EACH_ALL = {
    "SCHEDULER": "scrapy.core.scheduler.Scheduler",
    "DUPEFILTER_CLASS": "scrapy.dupefilters.RFPDupeFilter",
    "ROBOTS_FETCH_RETRIES": 0,
}
"""Each worker asks for each page."""


def workers(hosts: dict[Host, int], server: RedisServer, **settings: Any) -> Workers:
    return Workers(hosts, server, {**EACH_ALL, "ROBOTS_STORE": server.url, **settings})


@pytest.mark.parametrize(
    ("number", "hosts"), [(2, 10), pytest.param(4, 50, marks=pytest.mark.stress)]
)
def test_each_file_is_fetched_once_and_each_dead_host_asked_once(
    sites: Sites, server: RedisServer, number: int, hosts: int
) -> None:
    alive = [sites.host(after(0.1, answer(robots()))) for _ in range(hosts)]
    dead = [sites.host(after(0.1, answer("", 503))) for _ in range(hosts // 5)]
    with workers({**dict.fromkeys(alive, 1), **dict.fromkeys(dead, 1)}, server) as crew:
        crew.start(number)
        crew.go()
        every = {host.url("/0") for host in alive}
        crew.wait_until(lambda: crew.handled == every, 60)
        crew.wait_until(lambda: all(len(host.fetched) == number for host in alive), 60)
        results = crew.end()
    assert {host.robots_hits for host in (*alive, *dead)} == {1}
    assert {len(host.fetched) for host in alive} == {number}
    assert {len(host.fetched) for host in dead} == {0}
    counted = [result["stats"].get("robotstxt/shared_count", 0) for result in results]
    assert len(counted) == number
    assert sum(counted) > 0


@pytest.mark.stress
def test_a_worker_that_is_killed_in_the_middle_delays_nobody_beyond_its_lease(
    sites: Sites, server: RedisServer
) -> None:
    host = sites.host(in_turn(hang, answer(robots())))
    other = sites.host(robots())
    with workers({host: 1, other: 1}, server, ROBOTS_FETCH_TIMEOUT=1) as crew:
        crew.start()
        crew.go()
        crew.wait_until(lambda: host.robots_hits and crew.handled, 20)
        crew.running[0].send(signal.SIGKILL)
        left = server.client().pttl(f"{{robots:{host.origin}}}:lease") / 1000
        assert 0 < left <= 6
        crew.start(2)
        crew.wait_until(lambda: len(host.fetched) == 2, left + 10)
        crew.end()
    first, second = (hit.at for hit in host.hits if hit.path == "/robots.txt")
    assert second - first < 6 + 2
    assert host.robots_hits == 2


@pytest.mark.stress
def test_ten_workers_that_are_killed_one_after_another(sites: Sites, server: RedisServer) -> None:
    hosts = [sites.host(after(0.3, answer(robots()))) for _ in range(40)]
    kills = 10

    def asked() -> int:
        return sum(host.robots_hits for host in hosts)

    with workers(dict.fromkeys(hosts, 1), server, ROBOTS_FETCH_TIMEOUT=1) as crew:
        crew.start(2)
        crew.go()
        for number in range(kills):
            crew.start()
            before = asked()
            with suppress(AssertionError):  # in the end there is no file left to ask for
                crew.wait_until(partial(lambda before: asked() > before, before), 1)
            crew.running[number % len(crew.running)].send(signal.SIGKILL)
        crew.start(2)
        crew.wait_until(lambda: all(len(host.fetched) >= 2 for host in hosts), 60)
        assert len(crew.end()) == 4
    most_at_once = 16
    assert all(1 <= host.robots_hits <= 1 + kills for host in hosts)
    assert sum(host.robots_hits for host in hosts) <= len(hosts) + kills * most_at_once
    assert not server.client().keys("*lease")
