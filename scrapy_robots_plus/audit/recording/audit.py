"""The records of a crawl, from its first to its last moment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.utils.asyncio import create_looping_call
from twisted.internet.defer import Deferred

from scrapy_robots_plus import compat

from .exchanges import ExchangeRecorder
from .paths import filled_in
from .problems import Problems
from .recorder import Recorder

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy import Spider
    from scrapy.utils.asyncio import AsyncioLoopingCall
    from twisted.internet.task import LoopingCall

    from scrapy_robots_plus.crawl.crawl import Crawl

SECONDS_BETWEEN_WRITES = 0.5
"""A crash of the process loses what came in since the last write."""

_ATTEMPTS_AT_THE_END = 40
_SECONDS_BETWEEN_ATTEMPTS = 0.05
"""Another process may be writing to the file."""


class Audit:
    """Writes the audit log and the WARC file, if the settings name them."""

    def __init__(self, crawl: Crawl) -> None:
        self._crawl = crawl
        self._recorders: list[Recorder | ExchangeRecorder] = []
        self._loop: AsyncioLoopingCall | LoopingCall | None = None
        crawl.crawler.signals.connect(self._spider_opened, signals.spider_opened)
        crawl.crawler.signals.connect(self._spider_closed, signals.spider_closed)

    def _spider_opened(self, spider: Spider) -> None:
        if not self._crawl.has_middleware:
            return
        settings, problems = self._crawl.settings, Problems(self._crawl)
        if settings.audit_log:
            path = self._path(settings.audit_log, spider)
            self._recorders.append(Recorder(self._crawl, path, problems))
        if settings.audit_warc:
            path = self._path(settings.audit_warc, spider)
            self._recorders.append(ExchangeRecorder(self._crawl, path, problems))
        write = problems.never_fatal(self._write)
        write()
        self._loop = create_looping_call(write)
        self._loop.start(SECONDS_BETWEEN_WRITES, now=False)

    async def _spider_closed(self, reason: str) -> None:
        if self._loop is None:
            return
        self._loop.stop()
        for recorder in self._recorders:
            recorder.end(reason)
        for _ in range(_ATTEMPTS_AT_THE_END):
            self._write()
            if not any(recorder.waits for recorder in self._recorders):
                break
            await self._pause()
        for recorder in self._recorders:
            recorder.close()

    def _write(self) -> None:
        for recorder in self._recorders:
            recorder.write()

    async def _pause(self) -> None:
        waiter: Deferred[None] = Deferred()
        self._crawl.clock.call_later(_SECONDS_BETWEEN_ATTEMPTS, lambda: waiter.callback(None))
        await compat.wait_for(waiter)

    def _path(self, setting: str, spider: Spider) -> Path:
        return filled_in(setting, spider.name, self._crawl.clock.wall())
