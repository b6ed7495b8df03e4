"""Several processes that crawl together through a Redis server, and what the sites saw of them."""

from __future__ import annotations

import itertools
import json
import signal
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from .forks import WORKER, Forks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from typing_extensions import Self

    from .forks import Fork
    from .redis_server import RedisServer
    from .sites import Host

LONGEST = 300
"""Seconds that a worker lives for."""

SCRAPY_REDIS: dict[str, Any] = {
    "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
    "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter",
    "SCHEDULER_PERSIST": True,
    "LOG_LEVEL": "INFO",
    "LOGSTATS_INTERVAL": 0,
}
SHARED: dict[str, Any] = {
    "SCHEDULER_QUEUE_CLASS": "scrapy_robots_plus.redis.RobotsQueue",
    "DUPEFILTER_CLASS": "scrapy_robots_plus.redis.RobotsDupeFilter",
}
"""Everything is shared: the add-on keeps robots.txt files where the requests are."""
PLAIN: dict[str, Any] = {"ADDONS": {}, "ROBOTSTXT_OBEY": True}
"""scrapy-redis with Scrapy's own robots.txt middleware."""
OFF: dict[str, Any] = {"ADDONS": {}, "ROBOTSTXT_OBEY": False}
"""scrapy-redis alone."""
EACH_FOR_ITSELF: dict[str, Any] = {"SCHEDULER_QUEUE_CLASS": "scrapy_redis.queue.PriorityQueue"}
"""The add-on with scrapy-redis's queue, which knows of no delay."""


def robots(delay: float = 0) -> str:
    asked = f"Crawl-delay: {delay:g}\n" if delay else ""
    return f"User-agent: *\nDisallow: /private/\n{asked}"


class Workers:
    """Workers of one crawl of *hosts*, each with its number of pages."""

    def __init__(
        self,
        hosts: Mapping[Host, int],
        server: RedisServer,
        settings: dict[str, Any] | None = None,
        *,
        spider: str = "tests.worker_process.WorkerSpider",
    ) -> None:
        self.hosts = hosts
        self.server = server
        self.settings = {**SCRAPY_REDIS, "REDIS_URL": server.url, **(settings or {})}
        self.spider = spider
        self.all: list[Fork] = []
        self._entries: dict[str, list[Any]] = defaultdict(list)

    def __enter__(self) -> Self:
        self._own_folder = TemporaryDirectory(prefix="workers")
        self.folder = Path(self._own_folder.name)
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self.all:
            worker.send(signal.SIGKILL)
            worker.output(20)
        self._own_folder.cleanup()

    @property
    def running(self) -> list[Fork]:
        return [worker for worker in self.all if worker.is_running]

    def start(self, number: int = 1, **settings: Any) -> None:
        """Starts so many, and waits until their crawls are open."""
        before = len(self.all)
        for _ in range(number):
            self.all.append(self._start_one(settings))
        for worker in self.all[before:]:
            opened = self.folder / f"opened-{worker.pid}"
            self.wait_until(opened.exists, 30)

    def _start_one(self, settings: dict[str, Any]) -> Fork:
        job = {
            "folder": str(self.folder),
            "hosts": [(host.origin, pages) for host, pages in self.hosts.items()],
            "settings": {**self.settings, **settings},
            "spider": self.spider,
        }
        return Forks.running().start(WORKER, [json.dumps(job)], LONGEST, self.folder / "log")

    def go(self) -> None:
        (self.folder / "go").touch()

    def stop(self) -> None:
        (self.folder / "stop").touch()

    def wait_until(self, condition: Callable[[], object], seconds: float) -> None:
        give_up_at = time.monotonic() + seconds
        while not condition():
            assert self.running or self.have_ended_well, f"the workers have ended: {self.log}"
            assert time.monotonic() < give_up_at, f"what is waited for does not come: {self.log}"
            time.sleep(0.02)

    @property
    def have_ended_well(self) -> bool:
        return all(worker.output(0) for worker in self.all)

    def crawl(self, seconds: float) -> Crawled:
        """Lets those that were started crawl until each page was handled, and end."""
        begin, before = time.monotonic(), self.server.usage()
        self.go()
        self.wait_until(lambda: len(self.handled) >= self.pages, seconds)
        usage = self.server.usage() - before
        return Crawled(self, begin, self.end(), usage)

    def end(self) -> list[dict[str, Any]]:
        """The results of the workers that were not killed."""
        self.stop()
        outputs = [worker.output(60) for worker in self.all]
        return [json.loads(output.splitlines()[-1]) for output in outputs if output]

    # What has happened so far.
    @property
    def pages(self) -> int:
        """How many there are."""
        return sum(self.hosts.values())

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text()

    @property
    def handled(self) -> set[str]:
        """URLs of pages whose callback came to its end."""
        return {url for _, url in self.entries("handled")}

    def entries(self, name: str) -> list[tuple[float, str]]:
        """Those of a file that grows: none is parsed again with each look."""
        path, known = self.folder / name, self._entries[name]
        text = path.read_text() if path.exists() else ""
        lines = text[: text.rfind("\n") + 1].splitlines()
        known += (tuple(json.loads(line)) for line in lines[len(known) :])
        return list(known)


@dataclass
class Crawled:
    """What a crawl came to. Times are those of the workers, all of which have the same clock."""

    workers: Workers
    began: float
    results: list[dict[str, Any]]
    usage: Any
    sent: list[tuple[float, str]] = field(init=False)
    handled: list[tuple[float, str]] = field(init=False)

    def __post_init__(self) -> None:
        self.sent = self.workers.entries("sent")
        self.handled = self.workers.entries("handled")
        self.log = self.workers.log

    @property
    def seconds(self) -> float:
        """From the start to the last page."""
        return max(at for at, _ in self.handled) - self.began

    @cached_property
    def gaps(self) -> dict[Host, list[float]]:
        """Seconds between pages of a host, as all workers together sent them."""
        times = defaultdict(list)
        for at, url in self.sent:
            if not url.endswith("/robots.txt"):
                times[url.rpartition("/")[0]].append(at)
        return {host: _gaps(times[host.origin]) for host in self.workers.hosts}

    @property
    def arrival_gaps(self) -> dict[Host, list[float]]:
        """The same, as the hosts saw them."""
        return {host: host.gaps for host in self.workers.hosts}

    @property
    def robots_requests(self) -> dict[Host, int]:
        return {host: host.robots_hits for host in self.workers.hosts}

    @property
    def fetched(self) -> Counter[str]:
        """How often each page was."""
        return Counter(host.url(path) for host in self.workers.hosts for path in host.fetched)

    @property
    def missing(self) -> set[str]:
        hosts = self.workers.hosts.items()
        pages = {host.url(f"/{number}") for host, count in hosts for number in range(count)}
        return pages - {url for _, url in self.handled}

    def asked(self, what: str) -> int:
        """How many ``commands`` or ``round_trips`` to Redis the workers needed."""
        return sum(result["asked"][what] for result in self.results)

    @property
    def cpu(self) -> float:
        return sum(result["cpu"] for result in self.results)

    def stat(self, name: str) -> Any:
        return sum(result["stats"].get(name, 0) for result in self.results)


def _gaps(times: Iterable[float]) -> list[float]:
    return [later - earlier for earlier, later in itertools.pairwise(sorted(times))]


def smallest(gaps: Mapping[Host, list[float]], among: Iterable[Host]) -> float:
    return min((gap for host in among for gap in gaps[host]), default=float("inf"))
