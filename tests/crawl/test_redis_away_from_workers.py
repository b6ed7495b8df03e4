"""Redis goes away from the workers of one crawl, whose requests it keeps: they wait for it, lose no
page, and keep the pace all the while.
"""

from __future__ import annotations

import re
import signal
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from tests.crawl.redis_away import FAULTS, PASSWORD
from tests.crawling import parts_of_seconds
from tests.redis_proxy import RedisProxy
from tests.redis_server import RedisServer
from tests.workers import Crawled, Workers, robots, smallest

if TYPE_CHECKING:
    from tests.sites import Host, Sites

pytest.importorskip("scrapy_redis")

DELAY = 0.25
LONGEST = 60
QUEUE: dict[str, Any] = {
    "SCHEDULER_QUEUE_CLASS": "scrapy_robots_plus.redis.RobotsQueue",
    "DUPEFILTER_CLASS": "scrapy_robots_plus.redis.RobotsDupeFilter",
}
NOTICED_BY = {"empty": 0, "out of memory": 1}
"""How many workers notice, if not all: who adds no request has no need of memory."""
BEGINS_AFTER = 2
"""Pages."""


def hosts_of(sites: Sites, pages: int) -> dict[Host, int]:
    slow = {sites.host(robots(DELAY)): pages for _ in range(3)}
    return slow | {sites.host(robots()): pages for _ in range(3)}


def slow_hosts(crawled: Crawled) -> list[Host]:
    return list(crawled.workers.hosts)[:3]


def crawl_while(
    fault: str, hosts: dict[Host, int], server: RedisServer, number: int, lasts: float = 0.0
) -> Crawled:
    """What *number* workers did, in the middle of which *server* had *fault* for *lasts* seconds,
    and until they had noticed.
    """
    with Workers(hosts, server, QUEUE) as workers:
        workers.start(number)
        began = time.monotonic()
        workers.go()
        workers.wait_until(lambda: len(workers.handled) >= BEGINS_AFTER, LONGEST)
        FAULTS[fault].begin(server)
        ends_at = time.monotonic() + lasts
        workers.wait_until(lambda: is_noticed(fault, workers), LONGEST)
        workers.wait_until(lambda: time.monotonic() >= ends_at, LONGEST)
        FAULTS[fault].end(server)
        if fault != "empty":
            workers.wait_until(lambda: len(workers.handled) >= workers.pages, LONGEST)
        return Crawled(workers, began, workers.end(), server.usage())


def is_noticed(fault: str, workers: Workers) -> bool:
    """Or has come too late to be noticed: all requests had been added."""
    if fault == "out of memory" and len(workers.handled) >= workers.pages:
        return True
    return len(warnings_in(workers.log)) >= NOTICED_BY.get(fault, len(workers.all))


def warnings_in(log: str) -> list[str]:
    return re.findall(r"\[scrapy_robots_plus\S*\] WARNING: .*", log)


def assert_all_is_well(crawled: Crawled, most_often: int = 1) -> None:
    assert "/scrapy_robots_plus/" not in crawled.log  # in no traceback
    assert " ERROR: " not in crawled.log
    assert PASSWORD not in crawled.log
    assert 1 <= min(crawled.fetched.values()) <= max(crawled.fetched.values()) <= most_often
    assert [result["failures"] for result in crawled.results] == [{}] * len(crawled.results)
    assert {result["stats"]["finish_reason"] for result in crawled.results} == {"finished"}
    # Each worker says once that the queue is away, that the store is, what a new start means.
    said = Counter(" ".join(warning.split()[2:7]) for warning in warnings_in(crawled.log))
    assert len(said) <= 3
    assert max(said.values(), default=0) <= len(crawled.results)
    assert smallest(crawled.gaps, slow_hosts(crawled)) >= 0.98 * DELAY


def assert_workers_wait_for_redis(fault: str, sites: Sites, number: int, lasts: float = 0) -> None:
    with RedisServer(password=PASSWORD, durable=True) as server:
        crawled = crawl_while(fault, hosts_of(sites, 6), server, number, lasts)
    # A server that was emptied knows no page: a worker that reads its start requests after that
    # adds them once more.
    assert_all_is_well(crawled, most_often=2 if fault == "empty" else 1)
    if fault != "empty":  # it has all requests that are not under way
        assert crawled.missing == set()


@parts_of_seconds
def test_workers_wait_for_their_redis_and_lose_no_page(sites: Sites) -> None:
    assert_workers_wait_for_redis("killed", sites, 2)


@parts_of_seconds
def test_no_page_is_lost_with_the_answer_that_hands_it_out(sites: Sites) -> None:
    """What the workers were given without their knowledge is given back, and sent once."""
    hosts = hosts_of(sites, 6)
    with RedisServer(password=PASSWORD) as server, RedisProxy(server) as road:
        # The lease of a robots.txt may be lost too: it expires soon.
        url = f"{road.url}?socket_timeout=0.2"
        settings = {**QUEUE, "REDIS_URL": url, "ROBOTS_FETCH_TIMEOUT": 5}
        with Workers(hosts, server, settings) as workers:
            workers.start(2)
            began = time.monotonic()
            workers.go()
            workers.wait_until(lambda: len(workers.handled) >= BEGINS_AFTER, LONGEST)
            road.lose_answers_to = b"EVALSHA"
            workers.wait_until(lambda: road.lost >= 4, LONGEST)
            road.lose_answers_to = b""
            workers.wait_until(lambda: len(workers.handled) >= workers.pages, LONGEST)
            crawled = Crawled(workers, began, workers.end(), server.usage())
    assert_all_is_well(crawled)
    assert crawled.missing == set()


@pytest.mark.stress
@pytest.mark.parametrize("lasts", [0.0, 10.0])
@pytest.mark.parametrize("fault", FAULTS)
def test_whatever_happens_to_redis_workers_wait_and_lose_no_page(
    sites: Sites, fault: str, lasts: float
) -> None:
    assert_workers_wait_for_redis(fault, sites, 3, lasts)


@pytest.mark.parametrize("persist", [True, False])
def test_a_worker_can_be_stopped_while_redis_is_away(sites: Sites, persist: bool) -> None:
    settings = {**QUEUE, "SCHEDULER_PERSIST": persist}
    with RedisServer(password=PASSWORD) as server:
        hosts = hosts_of(sites, 6)
        with Workers(hosts, server, settings) as workers:
            workers.start(1)
            workers.go()
            workers.wait_until(lambda: len(workers.handled) >= BEGINS_AFTER, LONGEST)
            server.kill()
            workers.wait_until(lambda: warnings_in(workers.log), LONGEST)
            workers.all[0].send(signal.SIGINT)
            workers.all[0].output(LONGEST)
            log = workers.log
    assert "Spider closed (shutdown)" in log
    assert "/scrapy_robots_plus/" not in log  # in no traceback
    assert PASSWORD not in log
