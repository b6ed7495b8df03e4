"""What it costs to choose a request: RobotsPriorityQueue beside Scrapy's own, by number of hosts.

usage: python benchmarks/pop_cost.py [HOSTS ...]
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from scrapy import Request, Spider
from scrapy.pqueues import DownloaderAwarePriorityQueue
from scrapy.settings import Settings
from scrapy.signalmanager import SignalManager
from scrapy.squeues import LifoMemoryQueue
from scrapy.statscollectors import MemoryStatsCollector
from scrapy.utils.httpobj import urlparse_cached

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

PAGES = 2


class FakeCrawler:
    """As much of a crawler as the queues look at."""

    def __init__(self) -> None:
        self.settings = Settings({"ROBOTSTXT_OBEY": True, "ROBOTS_CACHE_SIZE": 1_000_000})
        self.signals = SignalManager()
        self.spider = Spider("benchmark")
        self.stats = MemoryStatsCollector(self)
        downloader = SimpleNamespace(
            slots={},
            active=set(),
            total_concurrency=16,
            domain_concurrency=8,
            ip_concurrency=0,
            per_slot_settings={},
            settings=self.settings,
            crawler=self,
            get_slot_key=lambda request: urlparse_cached(request).hostname or "",
        )
        slot = SimpleNamespace(closing=None, nextcall=SimpleNamespace(schedule=lambda: None))
        self.engine = SimpleNamespace(downloader=downloader, paused=False, _slot=slot)
        self.middleware: Any = None

    def get_downloader_middleware(self, _: type) -> Any:
        return self.middleware


def ours(hosts: int) -> tuple[Any, Any]:
    """The queue, with the policies of all hosts known, and what takes a request back."""
    from scrapy_robots_plus import RobotsMiddleware, RobotsPriorityQueue
    from scrapy_robots_plus.crawl.clock import DEFAULT_CLOCK
    from scrapy_robots_plus.crawl.policies.policy import Policy
    from scrapy_robots_plus.crawl.scheduling.running_crawl import readiness_of
    from scrapy_robots_plus.policy.access import Access
    from scrapy_robots_plus.policy.origin import Origin
    from scrapy_robots_plus.policy.record import RobotsRecord

    crawler: Any = FakeCrawler()
    crawler.middleware = middleware = RobotsMiddleware(crawler)
    policies = middleware.policies
    for number in range(hosts):
        origin = Origin("http", f"host{number}.example", 80)
        record = RobotsRecord(origin, Access.UNAVAILABLE, 404, origin.robots_url, time.time(), 1e9)
        policies._remember(Policy(record, None, middleware.settings, DEFAULT_CLOCK, crawler.stats))
    queue = RobotsPriorityQueue(crawler, LifoMemoryQueue, "")
    return queue, readiness_of(crawler).slots.came_back


def theirs(_: int) -> tuple[Any, Any]:
    return DownloaderAwarePriorityQueue(FakeCrawler(), LifoMemoryQueue, ""), lambda _: None


def microseconds(make: Any, hosts: int, pops: int) -> float:
    """The time of one ``pop()``, the best of five rounds."""
    queue, take_back = make(hosts)
    for page in range(PAGES):
        for number in range(hosts):
            queue.push(Request(f"http://host{number}.example/{page}"))
    best = float("inf")
    for _ in range(5):
        began = time.perf_counter()
        for _ in range(pops):
            take_back(queue.pop())
        best = min(best, time.perf_counter() - began)
    return best / pops * 1e6


def main() -> None:
    numbers = [int(text) for text in sys.argv[1:]] or [100, 1_000, 10_000, 100_000]
    print(f"{'hosts':>9}  {'ours':>10}  {'DownloaderAwarePriorityQueue':>30}")
    for hosts in numbers:
        pops = hosts * PAGES // 10
        mine = microseconds(ours, hosts, min(pops, 2_000))
        other = microseconds(theirs, hosts, min(pops, max(3, 200_000 // hosts)))
        print(f"{hosts:>9,}  {mine:>7.1f} us  {other:>27,.1f} us", flush=True)


if __name__ == "__main__":
    main()
