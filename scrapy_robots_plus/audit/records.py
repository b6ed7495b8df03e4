"""The records of a crawl, its audit log and its WARC file: opened, written and closed with it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from scrapy import Spider, signals

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl import stats
from scrapy_robots_plus.crawl.log import Once, crawl_log
from scrapy_robots_plus.origins.fetcher import Fetcher
from scrapy_robots_plus.protocol.printable import printable
from scrapy_robots_plus.settings.checks import filled_in

from .log import AuditLog
from .recorder import Recorder
from .warc import Warc

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_robots_plus.crawl.crawl import Crawl

logger = crawl_log(__name__)

SECONDS_BETWEEN_WRITES = 0.5
"""The interval between writes. A crash of the process loses what came in since the last one."""


class Audit:
    """The writer of the audit log and the WARC file, if the settings name them.

    Errors are logged and counted, and never end the crawl.
    """

    def __init__(self, crawl: Crawl) -> None:
        self._crawl = crawl
        self._once = Once()
        self._logs: list[AuditLog | Warc] = []
        self._recorder: Recorder | None = None
        self._stop_writing: Callable[[], None] | None = None
        crawl.crawler.signals.connect(self._spider_opened, signals.spider_opened)
        crawl.crawler.signals.connect(self._spider_closed, signals.spider_closed)

    def _spider_opened(self, spider: Spider) -> None:
        crawl, settings = self._crawl, self._crawl.settings
        if not crawl.has_middleware:
            return
        now = crawl.clock.wall()
        if settings.audit_log:
            path = filled_in(settings.audit_log, spider.name, now)
            self._recorder = Recorder(crawl, path, self._warn, self._survives)
            self._logs.append(self._recorder.log)
        if settings.audit_warc:
            path = filled_in(settings.audit_warc, spider.name, now)
            warc = Warc(path, self._warn)
            crawl.get(Fetcher).listeners.append(self._survives(warc.add))
            self._logs.append(warc)
        write = self._survives(self._write)
        write()
        self._stop_writing = compat.repeat(SECONDS_BETWEEN_WRITES, write)

    def _spider_closed(self, reason: str) -> None:
        if self._stop_writing is None:
            return
        self._stop_writing()
        if self._recorder is not None:
            self._recorder.end(reason)
        self._write()
        for log in self._logs:
            log.close()
            if log.errors:
                self._crawl.stats.inc_value(stats.AUDIT_ERRORS, log.errors)
            if log.lost:
                self._crawl.stats.inc_value(stats.AUDIT_LOST, log.lost)
            if isinstance(log, AuditLog):
                written = log.last.number + 1
                self._crawl.stats.set_value(stats.AUDIT_LINES, written)
                if written:
                    text = "%s: %d lines written; the last is number %d, its hash is %s"
                    logger(self._crawl.crawler).info(text, log.path, written, *log.last)

    def _write(self) -> None:
        for log in self._logs:
            log.flush()

    def _warn(self, text: str) -> None:
        logger(self._crawl.crawler).warning("%s", printable(text))

    def _survives(self, action: Callable[..., None]) -> Callable[..., None]:
        """Wraps *action* to count and log its exceptions, the first at ERROR, others at DEBUG."""

        def guarded(*about: Any) -> None:
            try:
                action(*about)
            except Exception:  # noqa: BLE001 - an audit log is not worth a crawl
                level = logging.ERROR if self._once.is_first() else logging.DEBUG
                self._crawl.stats.inc_value(stats.AUDIT_ERRORS)
                text = "An entry is missing from the audit log"
                logger(self._crawl.crawler).log(level, text, exc_info=True)

        return guarded
