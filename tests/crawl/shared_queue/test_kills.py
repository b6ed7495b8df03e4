"""A worker that is killed loses nothing, and breaks no pace: what it had is handed out again."""

from __future__ import annotations

import random
import signal
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.crawling import parts_of_seconds
from tests.redis_server import RedisServer
from tests.sending import HICCUP
from tests.workers import (
    EACH_FOR_ITSELF,
    PLAIN,
    SHARED,
    Crawled,
    Workers,
    robots,
    smallest,
)

if TYPE_CHECKING:
    from tests.sites import Host, Sites

pytest.importorskip("scrapy_redis")

DELAY = 0.4
QUIET_SECONDS = 15.0
"""After so long without a page, none will come."""


def kill_one(workers: Workers, generator: random.Random) -> None:
    """Another takes its place."""
    victim = generator.choice(workers.running)
    victim.send(signal.SIGKILL)
    workers.start()


def wait_for_the_end(workers: Workers, at: float) -> None:
    handled, since = 0, time.monotonic()
    while handled < workers.pages and time.monotonic() < min(at, since + QUIET_SECONDS):
        if len(workers.handled) > handled:
            handled, since = len(workers.handled), time.monotonic()
        time.sleep(0.1)


def killed_crawl(
    hosts: dict[Host, int], kills: int, settings: dict[str, Any], *, seconds: float = 120
) -> Crawled:
    """Workers are killed at random, while there is something left; then the crawl goes on to its
    end, until nothing has come for a while, or for as long as *seconds*.
    """
    generator = random.Random(kills)
    options = {"CONCURRENT_REQUESTS": 8, **settings}
    with RedisServer() as server, Workers(hosts, server, options) as workers:
        workers.start(3)
        workers.go()
        begin = time.monotonic()
        for turn in range(1, kills + 1):
            share = workers.pages * turn / (kills + 2)
            while len(workers.handled) < share and time.monotonic() < begin + seconds:
                time.sleep(0.1)
            kill_one(workers, generator)
        wait_for_the_end(workers, begin + seconds)
        return Crawled(workers, begin, workers.end(), None)


def hosts_of(sites: Sites, slow: int, fast: int, pages: int) -> tuple[list[Host], dict[Host, int]]:
    paced = [sites.host(robots(DELAY)) for _ in range(slow)]
    return paced, {
        **dict.fromkeys(paced, pages),
        **{sites.host(robots()): pages * 5 for _ in range(fast)},
    }


@parts_of_seconds
def test_workers_that_are_killed_lose_no_page_and_break_no_pace(sites: Sites) -> None:
    paced, hosts = hosts_of(sites, 3, 3, 6)
    crawl = killed_crawl(hosts, 2, {**SHARED, "ROBOTS_WORKER_LIFETIME": 1})
    assert crawl.missing == set()
    assert smallest(crawl.gaps, paced) >= DELAY - HICCUP


@pytest.mark.stress
def test_twenty_kills_beside_scrapy_redis(sites: Sites) -> None:
    paced, hosts = hosts_of(sites, 10, 10, 30)
    ours = killed_crawl(hosts, 20, {**SHARED, "ROBOTS_WORKER_LIFETIME": 2})
    again = sum(ours.fetched.values()) - len(ours.fetched)
    others, their_hosts = hosts_of(sites, 10, 10, 30)
    theirs = killed_crawl(their_hosts, 20, {**PLAIN, **EACH_FOR_ITSELF})
    print(
        f"20 kills, {sum(hosts.values())} pages: {len(ours.missing)} lost, {again} fetched again, "
        f"smallest gap {smallest(ours.gaps, paced):.3f} s of {DELAY} s; with scrapy-redis's own "
        f"queue {len(theirs.missing)} lost, smallest gap {smallest(theirs.gaps, others):.3f} s"
    )
    assert ours.missing == set()
    assert smallest(ours.gaps, paced) >= DELAY - HICCUP
    assert len(theirs.missing) > 0
