"""One queue with many hosts, in a process of its own.

usage: python -m benchmarks.frontier_queue KIND HOSTS PAGES FOLDER [resume]

A real crawler with all settings at their defaults opens it; what the engine would do with a
request is left out. Prints JSON.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import resource
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import scrapy
from scrapy.core.scheduler import Scheduler
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.utils.httpobj import urlparse_cached

from .frontier_kinds import KINDS, Kind

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

USUAL_LIMIT = 1024
"""Open files: what ``ulimit -n`` says on most systems."""
MOST_POPS = 30_000
POPS_TIMED_TOGETHER = 20
MOST_SECONDS = 30.0
"""For all pops."""
MOST_MEMORY = 8 << 30
BATCH = 1_000
URL = "http://host{}.example/{}"


def memory() -> int:
    """Octets of this process in memory."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


class Stopwatch:
    """CPU time and time by the clock of what is done under it."""

    def __init__(self) -> None:
        self.cpu = self.clock = 0.0
        self.times = 0

    def __enter__(self) -> None:
        self._cpu, self._clock = time.process_time(), time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self.cpu += time.process_time() - self._cpu
        self.clock += time.perf_counter() - self._clock

    @property
    def each(self) -> dict[str, float]:
        """Microseconds."""
        times = max(self.times, 1)
        return {"cpu": self.cpu / times * 1e6, "clock": self.clock / times * 1e6}


class Measuring(scrapy.Spider):
    name = "frontier"
    hosts: int
    pages: int
    kind: Kind
    resumes: bool
    result: dict[str, Any]

    async def start(self) -> AsyncIterator[Any]:
        engine: Any = self.crawler.engine
        engine.paused = True
        scheduler = engine._slot.scheduler
        try:
            if not self.resumes:
                self.fill(scheduler)
            self.result["held"] = len(scheduler)
            self.result["files"] = open_files()
            self.empty(scheduler)
        except OSError as error:
            self.result["failed"] = f"{error.strerror} after {len(scheduler):,} requests"
        del scheduler
        closing = engine.close_spider_async(reason="measured")
        self.closing = asyncio.ensure_future(closing)  # it waits for this method to end
        return
        yield

    def fill(self, scheduler: Any) -> None:
        before = memory()
        first, further = Stopwatch(), Stopwatch()
        self.result.update(before=before)
        for page in range(self.pages):
            watch = further if page else first
            for batch in self.batches(page):
                with watch:
                    for request in batch:
                        scheduler.enqueue_request(request)
                watch.times += len(batch)
                if not self.kind.parses:
                    parse(batch)
                if self.is_too_much(before):
                    raise OSError(0, "More than 8 GiB of memory")
            self.result["first" if not page else "further"] = watch.each
        if self.kind.ours:
            scheduler.next_request()  # all that are awake now wait for their robots.txt
        self.result["memory"] = memory() - before

    def batches(self, page: int) -> Iterator[list[scrapy.Request]]:
        for start in range(0, self.hosts, BATCH):
            numbers = range(start, min(start + BATCH, self.hosts))
            yield [scrapy.Request(URL.format(number, page), dont_filter=True) for number in numbers]

    def is_too_much(self, before: int) -> bool:
        used = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
        return used - before > MOST_MEMORY

    def empty(self, scheduler: Any) -> None:
        """As many requests as there is time for, as if each were answered at once."""
        if self.kind.ours:
            open_all(self.crawler)
        watch = Stopwatch()
        most = min(MOST_POPS, len(scheduler) // 2)  # some are left to close and to resume
        request: scrapy.Request | None = None
        while watch.times < most and watch.clock < MOST_SECONDS and len(scheduler):
            with watch:
                for _ in range(POPS_TIMED_TOGETHER):
                    request = scheduler.next_request()
            if request is None:
                raise OSError(0, "No request is handed out")
            watch.times += POPS_TIMED_TOGETHER
        self.result["pops"] = watch.times
        self.result["pop"] = watch.each


def parse(requests: list[scrapy.Request]) -> None:
    """As Scrapy's offsite middleware does; the result is kept as long as the request."""
    for request in requests:
        urlparse_cached(request)


def open_all(crawler: Any) -> None:
    """From now on, every robots.txt is known and allows all without a delay."""
    from scrapy_robots_plus.crawl.crawl import Crawl
    from scrapy_robots_plus.hosts.turns import hosts_of
    from scrapy_robots_plus.origins.policies import Policies
    from scrapy_robots_plus.origins.policy import Policy
    from scrapy_robots_plus.protocol.access import Access
    from scrapy_robots_plus.protocol.origin import Origin
    from scrapy_robots_plus.storage.record import RobotsRecord

    crawl, hosts, day = Crawl.of(crawler), hosts_of(crawler), 86_400.0
    origin = Origin("http", "host.example", 80)
    record = RobotsRecord(
        origin, Access.UNAVAILABLE, 404, origin.robots_url, crawl.clock.wall(), day
    )
    policy = Policy(record, None, crawl.settings, crawl.clock, crawl.stats)
    crawl.get(Policies).usable = lambda *_: policy  # type: ignore[method-assign]
    for origin in list(hosts._awaiting):
        hosts.fetch_ended(origin, policy)


def timed(method: Callable[..., Any], watch: Stopwatch) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:
        with watch:
            return method(*arguments)

    return call


def main() -> None:
    name, hosts, pages, folder, *resume = sys.argv[1:]
    kind = KINDS[name]
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (USUAL_LIMIT, hard))
    opening, closing = Stopwatch(), Stopwatch()
    Scheduler.open = timed(Scheduler.open, opening)  # type: ignore[method-assign]
    Scheduler.close = timed(Scheduler.close, closing)  # type: ignore[method-assign]
    settings: dict[str, Any] = {"LOG_LEVEL": "ERROR", "TELNETCONSOLE_ENABLED": False}
    if kind.on_disk:
        settings["JOBDIR"] = folder
    process = AsyncCrawlerProcess({**settings, **kind.settings})
    result: dict[str, Any] = {}
    process.crawl(
        Measuring,
        hosts=int(hosts),
        pages=int(pages),
        kind=kind,
        resumes=bool(resume),
        result=result,
    )
    at_start = memory()
    process.start()
    result.update(
        opening=opening.clock,
        closing=closing.clock,
        disk=size_of(folder),
        after=memory() - at_start,
    )
    print(json.dumps(result))


def size_of(folder: str) -> int:
    return sum(path.lstat().st_blocks * 512 for path in Path(folder).rglob("*"))


if __name__ == "__main__":
    main()
