"""Several workers of one crawl, in processes of their own, with the real scrapy-redis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.crawling import parts_of_seconds
from tests.redis_server import RedisServer
from tests.sending import HICCUP
from tests.sites import Sites
from tests.workers import OFF, PLAIN, SHARED, Workers, robots, smallest

if TYPE_CHECKING:
    from tests.sites import Host
    from tests.workers import Crawled

pytest.importorskip("scrapy_redis")

DELAY = 0.4
PAGES_OF_SLOW = 12


def crawled(hosts: dict[Host, int], workers: int, settings: dict[str, Any]) -> Crawled:
    with RedisServer() as server, Workers(hosts, server, settings) as running:
        running.start(workers)
        crawl = running.crawl(200)
    assert (crawl.missing, crawl.stat("log_count/ERROR")) == (set(), 0), crawl.log
    return crawl


def test_workers_of_scrapy_redis_alone_keep_no_delay(sites: Sites) -> None:
    """What those of this package are compared with."""
    slow = [sites.host(robots(DELAY)) for _ in range(3)]
    crawl = crawled(dict.fromkeys(slow, 8), 3, PLAIN)
    assert set(crawl.fetched.values()) == {1}
    assert smallest(crawl.gaps, slow) < DELAY / 2


@parts_of_seconds
def test_workers_together_keep_each_delay_and_fetch_each_file_once(sites: Sites) -> None:
    slow = [sites.host(robots(DELAY)) for _ in range(3)]
    fast = [sites.host(robots()) for _ in range(3)]
    crawl = crawled({**dict.fromkeys(slow, 4), **dict.fromkeys(fast, 10)}, 4, SHARED)
    assert smallest(crawl.gaps, slow) >= DELAY - HICCUP
    assert set(crawl.robots_requests.values()) == {1}
    assert set(crawl.fetched.values()) == {1}
    assert crawl.asked("commands") <= 9 * sum(crawl.workers.hosts.values())


@pytest.mark.stress
def test_four_workers_and_a_hundred_hosts_beside_scrapy_redis_alone() -> None:
    ours, theirs, off = (fifty_slow_and_fifty_fast(each) for each in (SHARED, PLAIN, OFF))
    slow = list(ours.workers.hosts)[:50]
    bound = max((PAGES_OF_SLOW - 1) * 1.0, off.seconds)
    print(f"\n{ours.seconds:.1f} s, {ours.seconds / bound:.2f} times the bound of {bound:.1f} s")
    for crawl in (ours, theirs):
        gap = smallest(crawl.gaps, list(crawl.workers.hosts)[:50])
        print(
            f"smallest gap {gap:.3f} s, {sum(crawl.robots_requests.values())} robots.txt requests"
        )
    assert smallest(ours.gaps, slow) >= 0.98
    assert set(ours.robots_requests.values()) == {1}
    assert set(ours.fetched.values()) == {1}
    assert ours.seconds <= 1.3 * bound
    assert smallest(theirs.gaps, list(theirs.workers.hosts)[:50]) < 0.5
    assert sum(theirs.robots_requests.values()) > 100


def fifty_slow_and_fifty_fast(settings: dict[str, Any]) -> Crawled:
    with Sites() as sites:
        hosts = {sites.host(robots(1)): PAGES_OF_SLOW for _ in range(50)}
        hosts |= {sites.host(robots()): 60 for _ in range(50)}
        return crawled(hosts, 4, settings)
