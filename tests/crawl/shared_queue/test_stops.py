"""A worker is stopped as systemd, Docker and Scrapyd do: SIGTERM, and again if it takes long."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

import pytest

from tests.crawling import parts_of_seconds
from tests.redis_server import RedisServer
from tests.sending import HICCUP
from tests.sites import answer, hang
from tests.workers import SHARED, Workers, robots, smallest

if TYPE_CHECKING:
    from tests.sites import Sites

pytest.importorskip("scrapy_redis")

DELAY = 0.5
LEAST = DELAY - HICCUP / 2
"""Seconds: a gap that is broken is much shorter."""


def held(server: RedisServer) -> list[int]:
    """How many requests each worker has that has any."""
    with server.client() as client:
        keys = client.keys("{worker:requests}:out:*")
        return sorted(client.hlen(key) for key in keys)


@parts_of_seconds
@pytest.mark.parametrize(
    "stop", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.stress)]
)
def test_a_worker_that_is_stopped_gives_back_what_it_has_at_once(
    sites: Sites, stop: signal.Signals
) -> None:
    """Its lifetime is much longer than this test."""
    paced = [sites.host(robots(DELAY)) for _ in range(3)]
    hosts = {**dict.fromkeys(paced, 6), sites.host(robots()): 60}
    settings: dict[str, Any] = {**SHARED, "ROBOTS_WORKER_LIFETIME": 600}
    with RedisServer() as server, Workers(hosts, server, settings) as workers:
        workers.start(2)
        workers.go()
        workers.wait_until(lambda: len(workers.handled) > 10, 30)
        workers.all[0].send(stop)
        workers.all[0].output(30)
        crawled = workers.crawl(60)
        assert held(server) == []
    assert crawled.missing == set()
    assert set(crawled.fetched.values()) == {1}
    assert smallest(crawled.gaps, paced) >= LEAST
    assert crawled.log.count("Spider closed (shutdown)") == 1


@parts_of_seconds
def test_a_worker_that_is_stopped_twice_gives_it_back_after_its_lifetime(sites: Sites) -> None:
    """It waits for a page that does not come, and is not allowed to."""
    paced, silent = [sites.host(robots(DELAY)) for _ in range(3)], sites.host(robots())
    silent.pages["/0"] = hang
    hosts = {**dict.fromkeys(paced, 6), silent: 1}
    settings: dict[str, Any] = {**SHARED, "ROBOTS_WORKER_LIFETIME": 2}
    with RedisServer() as server, Workers(hosts, server, settings) as workers:
        workers.start(1)
        workers.go()
        workers.wait_until(lambda: silent.fetched, 30)
        stopped = workers.all[0]
        stopped.send(signal.SIGTERM)
        workers.wait_until(lambda: "Received SIGTERM" in workers.log, 30)
        workers.start(1)
        assert stopped.is_running
        stopped.send(signal.SIGTERM)
        stopped.output(30)
        assert held(server)[0] >= 1
        silent.pages["/0"] = answer("<p>A page</p>", content_type="text/html")
        crawled = workers.crawl(60)
        assert held(server) == []
    assert crawled.missing == set()
    assert crawled.fetched[silent.url("/0")] == 2
    assert smallest(crawled.gaps, paced) >= LEAST
