"""A job that is killed again and again, in processes of its own, until it may run to its end.

usage, in a fork: JOB ITEMS SETTINGS URL...
"""

from __future__ import annotations

import faulthandler
import json
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import scrapy
from scrapy import signals

from scrapy_robots_plus import RobotsUnreachable
from scrapy_robots_plus.crawl.requests import PUT_BACK_META_KEY
from scrapy_robots_plus.hosts.door import HeldAtClosing
from scrapy_robots_plus.job import FILE_NAME, JobFile
from tests.crawling import BASE_SETTINGS, OwnSettings
from tests.programs import LONGEST, Program
from tests.sites import answer, in_turn, redirect
from tests.waiting import pause

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from typing_extensions import Self

    from tests.sites import Host, Reply, Sites

MAIN = f"{__name__}:main"
PAGES = 100
"""Of each host. Each is linked from one other, so that none is found but by its link."""

SCRAPYS: dict[str, Any] = {
    "SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.DownloaderAwarePriorityQueue",
    "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleLifoDiskQueue",
    "SCHEDULER_START_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
    "DUPEFILTER_CLASS": "scrapy.dupefilters.RFPDupeFilter",
}
"""Everything as in Scrapy."""


def path_of(number: int) -> str:
    """How a page links to page *number*: some are reached by another road."""
    return {3: f"/to/{number}", 7: f"/gone/{number}"}.get(number % 10, f"/{number}")


def make_hosts(sites: Sites, number: int) -> list[Host]:
    hosts = []
    for _ in range(number):
        host = sites.host("User-agent: *\nDisallow: /never\n")
        for page in range(PAGES):
            if page % 10 == 3:
                host.pages[f"/to/{page}"] = redirect(host.url(f"/{page}"), 302)
            elif page % 10 == 5:
                host.pages[f"/{page}"] = in_turn(answer(status=503), answer("<p>A page</p>"))
            elif page % 10 == 7:
                host.pages[f"/gone/{page}"] = answer(status=404)
        hosts.append(host)
    return hosts


class KilledSpider(scrapy.Spider):
    """From page n to 3n+1, 3n+2 and 3n+3, slowly, with an item before and after."""

    name = "killed"

    def __init__(self, urls: list[str]) -> None:
        super().__init__()
        self.urls = urls

    async def start(self) -> AsyncIterator[scrapy.Request]:
        for url in self.urls:
            yield scrapy.Request(url, errback=self.another_road)

    async def parse(self, response: Response) -> Any:
        number = int(response.url.rpartition("/")[2])
        yield {"page": response.url, "part": "first"}
        if number % 10 == 9:
            extra = scrapy.Request(response.urljoin(f"/extra/{number}"))
            with suppress(RobotsUnreachable):  # what code asks for is not put back
                try:
                    await self.crawler.engine.download_async(extra)
                except HeldAtClosing:  # the spider closes: this page comes again
                    return
        for child in range(3 * number + 1, 3 * number + 4):
            await pause(0.003)
            if child < PAGES:
                url = response.urljoin(path_of(child))
                yield scrapy.Request(url, priority=child % 3, errback=self.another_road)
        yield {"page": response.url, "part": "last"}

    def another_road(self, failure: Any) -> Iterator[scrapy.Request]:
        url = failure.request.url
        if "/gone/" in url:
            yield scrapy.Request(url.replace("/gone/", "/"), errback=self.another_road)


class LongWay:
    """Before a request comes to its robots.txt, that may be out of date."""

    async def process_request(self, request: scrapy.Request) -> None:
        await pause(0.3)


class SlowPipeline:
    """Writes items, some time after they came."""

    def __init__(self, crawler: Crawler) -> None:
        self.path = Path(crawler.settings["ITEMS_FILE"])

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    async def process_item(self, item: Any) -> Any:
        await pause(0.02)
        with self.path.open("a") as file:
            file.write(f"{item['page']} {item['part']}\n")
        return item


class Run:
    """One process that crawls the job."""

    def __init__(self, job: Path, hosts: list[Host], settings: dict[str, Any]) -> None:
        self._items = Path(f"{job}.items")
        arguments = [str(job), str(self._items), json.dumps(settings)]
        arguments += [host.url("/0") for host in hosts]
        self.log = Path(f"{job}.log")
        with self.log.open("a") as log:
            self._process = Program(MAIN, *arguments, stderr=log.fileno())
        self._told: list[bytes] = []
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        with self._process.stdout as told:
            self._told.extend(iter(told.readline, b""))

    @property
    def is_over(self) -> bool:
        return self._process.poll() is not None

    def wait_for(self, word: str) -> None:
        while f"{word}\n".encode() not in self._told and not self.is_over:
            time.sleep(0.002)

    def interrupt(self) -> None:
        self._process.send_signal(signal.SIGINT)

    def kill(self) -> bool:
        """Whether it was still running."""
        was_running = not self.is_over
        self._process.kill()
        return self._ended() == -signal.SIGKILL and was_running

    def _ended(self, seconds: float = LONGEST) -> int:
        status = self._process.wait(seconds)
        self._process.close()
        return status

    def end(self) -> int:
        """Its exit status. If it does not end, as after damage to one of Scrapy's files, it shows
        where it is, in its log, and is killed.
        """
        written = -1
        while self._items_size() > written:  # it goes on, on however busy a machine
            written = self._items_size()
            with suppress(subprocess.TimeoutExpired):
                return self._ended(120)
        self._process.send_signal(signal.SIGUSR1)
        time.sleep(1)
        self.kill()
        return self._ended()

    def _items_size(self) -> int:
        return self._items.stat().st_size if self._items.exists() else 0


def kill_once(run: Run, kind: str, moment: float) -> bool:
    """*moment*: from 0 to 1. Returns whether it was running."""
    if kind == "putting back":
        run.wait_for("put back")
        time.sleep(0.2 * moment)
    elif kind == "resuming":
        run.wait_for("starts")
        time.sleep(0.2 * moment)
    elif kind == "first second":
        run.wait_for("opened")
        time.sleep(moment)
    elif kind == "middle":
        run.wait_for("opened")
        time.sleep(1 + 2 * moment)
    else:  # closing
        run.wait_for("opened")
        time.sleep(0.5 + moment)
        run.interrupt()
        time.sleep(0.25 * moment)
    return run.kill()


KINDS = ("first second", "middle", "closing", "resuming", "first second", "resuming", "closing")


@dataclass
class Outcome:
    """What became of a job, or of several."""

    kills: int = 0
    pages: int = 0
    missing: int = 0
    items_missing: int = 0
    twice: int = 0
    """Pages that were fetched again."""
    status: int = 0
    log: str = ""

    def __str__(self) -> str:
        return (
            f"{self.kills} kills, {self.pages} pages: {self.missing} pages missing, "
            f"{self.items_missing} items missing, {self.twice} fetched again"
        )

    def __add__(self, other: Outcome) -> Outcome:
        return Outcome(
            self.kills + other.kills,
            self.pages + other.pages,
            self.missing + other.missing,
            self.items_missing + other.items_missing,
            self.twice + other.twice,
            self.status or other.status,
            self.log + other.log,
        )


def kill_and_resume(
    sites: Sites,
    job: Path,
    kills: int,
    seed: int = 0,
    hosts: int = 12,
    settings: dict[str, Any] | None = None,
    robots: Reply | None = None,
    kinds: Sequence[str] = KINDS,
) -> Outcome:
    """Kills a job at *kills* random moments and lets it run to its end.

    What was set aside because it was, by chance, under way at three kills is given back.
    """
    its_hosts, dice = make_hosts(sites, hosts), random.Random(seed)
    if robots is not None:
        for host in its_hosts:
            host.robots(robots)
    killed = 0
    for number in range(kills):
        run = Run(job, its_hosts, settings or {})
        killed += kill_once(run, kinds[(seed + number) % len(kinds)], dice.random())
    status = Run(job, its_hosts, settings or {}).end()
    while gives_back(job / FILE_NAME):
        status = Run(job, its_hosts, settings or {}).end()
    return outcome_of(job, its_hosts, killed, status)


def gives_back(path: Path) -> bool:
    """As ``scrapy robots job retry``."""
    if not path.exists():
        return False
    with JobFile(path) as file:
        return bool(file.retry())


def outcome_of(job: Path, hosts: list[Host], kills: int, status: int) -> Outcome:
    """When the last run of *job* has ended with *status*."""
    numbers = [(host, number) for host in hosts for number in range(PAGES)]
    got = Counter((host.address, path) for host in hosts for path in host.fetched)
    counts = {(host, number): got[host.address, f"/{number}"] for host, number in numbers}
    items = {f"{host.url(f'/{n}')} {part}" for host, n in numbers for part in ("first", "last")}
    written = set(Path(f"{job}.items").read_text().splitlines())
    return Outcome(
        kills,
        pages=len(numbers),
        missing=sum(not count for count in counts.values()),
        items_missing=len(items - written),
        twice=sum(max(0, count - 1 - (n % 10 == 5)) for (_, n), count in counts.items()),
        status=status,
        log=Path(f"{job}.log").read_text(),
    )


def main() -> None:
    from scrapy.crawler import AsyncCrawlerProcess

    faulthandler.register(signal.SIGUSR1)
    job, items, own, *urls = sys.argv[1:]
    settings = {
        **BASE_SETTINGS,
        "JOBDIR": job,
        "ITEMS_FILE": items,
        "ITEM_PIPELINES": {SlowPipeline: 1},
        "RETRY_ENABLED": True,
        "LOG_LEVEL": "INFO",
        "LOGSTATS_INTERVAL": 0,
        **json.loads(own),
    }
    process = AsyncCrawlerProcess(OwnSettings(settings))
    crawler = process.create_crawler(KilledSpider)

    def opened() -> None:
        print("opened", flush=True)

    def scheduled(request: scrapy.Request) -> None:
        if PUT_BACK_META_KEY in request.meta:
            print("put back", flush=True)

    crawler.signals.connect(opened, signals.spider_opened)
    crawler.signals.connect(scheduled, signals.request_scheduled)
    print("starts", flush=True)
    process.crawl(crawler, urls=urls)
    process.start()
    reason = crawler.stats.get_value("finish_reason")
    sys.exit(0 if reason in ("finished", "shutdown") else 1)
