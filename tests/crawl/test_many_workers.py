"""Several workers of one crawl, in processes of their own, with the real scrapy-redis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.redis_server import RedisServer
from tests.workers import PLAIN, Workers, robots, smallest

if TYPE_CHECKING:
    from tests.sites import Host, Sites
    from tests.workers import Crawled

pytest.importorskip("scrapy_redis")

DELAY = 0.3


def crawled(hosts: dict[Host, int], workers: int, settings: dict[str, Any]) -> Crawled:
    with RedisServer() as server, Workers(hosts, server, settings) as running:
        running.start(workers)
        crawl = running.crawl(60)
    assert (crawl.missing, crawl.stat("log_count/ERROR")) == (set(), 0), crawl.log
    return crawl


def test_workers_of_scrapy_redis_alone_share_requests_and_nothing_else(sites: Sites) -> None:
    """What those of this package are compared with."""
    slow = [sites.host(robots(DELAY)) for _ in range(3)]
    crawl = crawled(dict.fromkeys(slow, 8), 3, PLAIN)
    assert set(crawl.fetched.values()) == {1}
    assert smallest(crawl.gaps, slow) < DELAY / 2
    assert sum(crawl.robots_requests.values()) > len(slow)
