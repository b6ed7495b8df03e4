"""The records of a crawl, from its first to its last moment: the audit log, and the WARC file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy import Spider, signals
from scrapy.utils.asyncio import AsyncioLoopingCall, create_looping_call

from scrapy_robots_plus._version import __version__
from scrapy_robots_plus.crawl import stats
from scrapy_robots_plus.crawl.log import crawl_log
from scrapy_robots_plus.origins.fetching.fetcher import Fetcher
from scrapy_robots_plus.settings.checks import filled_in

from .crawl_entries import Recorder
from .problems import Problems
from .warc import Warc

if TYPE_CHECKING:
    from pathlib import Path

    from twisted.internet.task import LoopingCall

    from scrapy_robots_plus.crawl.crawl import Crawl

    from .log import AuditLog

logger = crawl_log(__name__)

SECONDS_BETWEEN_WRITES = 0.5
"""A crash of the process loses what came in since the last write."""

_ATTEMPTS_AT_THE_END = 40
_SECONDS_BETWEEN_ATTEMPTS = 0.05
"""Another process may be writing to the file."""


class Audit:
    """Writes the audit log and the WARC file, if the settings name them."""

    def __init__(self, crawl: Crawl) -> None:
        self._crawl = crawl
        self._problems = Problems(crawl)
        self._logs: list[AuditLog | Warc] = []
        self._recorder: Recorder | None = None
        self._loop: AsyncioLoopingCall | LoopingCall | None = None
        crawl.crawler.signals.connect(self._spider_opened, signals.spider_opened)
        crawl.crawler.signals.connect(self._spider_closed, signals.spider_closed)

    def _spider_opened(self, spider: Spider) -> None:
        if not self._crawl.has_middleware:
            return
        settings, problems = self._crawl.settings, self._problems
        if settings.audit_log:
            path = self._path(settings.audit_log, spider)
            self._recorder = Recorder(self._crawl, path, problems)
            self._logs.append(self._recorder.log)
        if settings.audit_warc:
            path = self._path(settings.audit_warc, spider)
            warc = Warc(path, f"scrapy-robots-plus {__version__}", problems.warn)
            self._crawl.get(Fetcher).subscribe(problems.never_fatal(warc.add))
            self._logs.append(warc)
        write = problems.never_fatal(self._write)
        write()
        self._loop = create_looping_call(write)
        self._loop.start(SECONDS_BETWEEN_WRITES, now=False)

    async def _spider_closed(self, reason: str) -> None:
        if self._loop is None:
            return
        self._loop.stop()
        if self._recorder is not None:
            self._recorder.end(reason)
        for _ in range(_ATTEMPTS_AT_THE_END):
            self._write()
            if not any(log.is_locked_out for log in self._logs):
                break
            await self._crawl.clock.sleep(_SECONDS_BETWEEN_ATTEMPTS)
        for log in self._logs:
            log.close()
            self._problems.count(log.errors)
            if log.lost:
                self._crawl.stats.inc_value(stats.AUDIT_LOST, log.lost)
        if self._recorder is not None:
            self._tell(self._recorder.log)

    def _tell(self, log: AuditLog) -> None:
        """Counts what was written, and names the last line."""
        collector = self._crawl.stats
        collector.set_value(stats.AUDIT_LINES, log.written)
        if log.repairs:
            collector.set_value(stats.AUDIT_REPAIRS, log.repairs)
        if log.last is not None:
            text = "%s: %d lines written; the last is number %d, its hash is %s"
            logger(self._crawl.crawler).info(text, log.path, log.written, *log.last)

    def _write(self) -> None:
        for log in self._logs:
            log.flush()

    def _path(self, setting: str, spider: Spider) -> Path:
        return filled_in(setting, spider.name, self._crawl.clock.wall())
