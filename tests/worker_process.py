"""One of several workers of a crawl, in a fork: see ``tests.workers``."""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from contextlib import suppress
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import scrapy
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.exceptions import ScrapyDeprecationWarning
from scrapy.utils.misc import load_object

from tests.crawling import BASE_SETTINGS, OwnSettings
from tests.forks import APPEND
from tests.sending import TimedSpider
from tests.waiting import pause

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from typing import Protocol

    class Appends(Protocol):
        def append(self, entry: Any) -> None: ...


LOOK_EVERY = 0.05
"""Seconds."""


class Lines:
    """A file of JSON lines, to which several processes write. It outlives a kill."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, APPEND, 0o600)

    def append(self, entry: Any) -> None:
        os.write(self._file, json.dumps(entry).encode() + b"\n")


class Asked:
    """What this process asks Redis."""

    def __init__(self) -> None:
        self.counts = {"commands": 0, "round_trips": 0}
        with suppress(ImportError):
            self._listen("send_command", "commands", lambda *_: 1)
            self._listen("pack_commands", "commands", lambda _, commands: len(commands))
            self._listen("send_packed_command", "round_trips", lambda *_: 1)

    def _listen(self, method: str, what: str, count: Callable[..., int]) -> None:
        from redis.connection import AbstractConnection

        original = getattr(AbstractConnection, method)

        @wraps(original)
        def counting(*arguments: Any, **options: Any) -> Any:
            self.counts[what] += count(*arguments)
            return original(*arguments, **options)

        setattr(AbstractConnection, method, counting)


class WorkerSpider(TimedSpider):
    """Asks for the first page of each host, which leads to the others.

    ``hosts`` are pairs of an origin and the number of its pages: ``/0``, ``/1`` and so on. It
    begins when the file ``go`` is there, and stays open until the file ``stop`` is.
    """

    name = "worker"
    custom_settings: dict[str, Any] = {}  # noqa: RUF012 - as Scrapy has it

    def __init__(self, folder: str, hosts: list[tuple[str, int]], asked: Asked) -> None:
        super().__init__()
        self.folder = Path(folder)
        self.hosts = hosts
        self.asked = asked
        self.asked_while_crawling: dict[str, int] = {}
        self.sent: Appends = Lines(self.folder / "sent")  # type: ignore[assignment]
        self.handled: Appends = Lines(self.folder / "handled")

    async def start(self) -> AsyncIterator[scrapy.Request]:
        print("opened", file=sys.stderr, flush=True)
        (self.folder / f"opened-{os.getpid()}").touch()
        await self._file_is_there("go")
        before = dict(self.asked.counts)
        for origin, pages in self.hosts:
            yield self._request(f"{origin}/0", pages=pages)
        await self._file_is_there("stop")
        now = self.asked.counts
        self.asked_while_crawling = {name: now[name] - before[name] for name in now}

    async def _file_is_there(self, name: str) -> None:
        while not (self.folder / name).exists():
            await pause(LOOK_EVERY)

    def _request(self, url: str, **arguments: Any) -> scrapy.Request:
        return scrapy.Request(url, errback=self.failed, cb_kwargs=arguments)

    def parse(self, response: scrapy.http.Response, pages: int = 0) -> Iterator[scrapy.Request]:
        for number in range(1, pages):
            yield self._request(response.urljoin(f"/{number}"))
        self.handled.append([time.monotonic(), response.url])


def main() -> None:
    """usage: a JSON object with "folder", "hosts", "settings" and "spider"."""
    warnings.simplefilter("error")
    for text in ("Passing a 'spider' argument", "Spider.log"):  # by scrapy-redis
        warnings.filterwarnings("ignore", text, ScrapyDeprecationWarning)
    job = json.loads(sys.argv[1])
    asked = Asked()
    process = AsyncCrawlerProcess(OwnSettings({**BASE_SETTINGS, **job["settings"]}))
    crawler = process.create_crawler(load_object(job["spider"]))
    process.crawl(crawler, folder=job["folder"], hosts=job["hosts"], asked=asked)
    process.start()
    assert isinstance(crawler.spider, WorkerSpider)
    result = {
        "stats": crawler.stats.get_stats(),
        "cpu": time.process_time(),
        "asked": crawler.spider.asked_while_crawling,
        "failures": {url: repr(error) for url, error in crawler.spider.failures.items()},
    }
    print(json.dumps(result, default=str))
