"""The records of a crawl, from its first to its last moment: the audit log, and the WARC file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.utils.asyncio import create_looping_call
from scrapy.utils.httpobj import urlparse_cached
from twisted.internet.defer import Deferred

from scrapy_robots_plus import compat
from scrapy_robots_plus._version import __version__
from scrapy_robots_plus.audit.warc import Exchanged, Warc
from scrapy_robots_plus.origins.fetching.fetcher import Fetcher
from scrapy_robots_plus.settings.checks import filled_in

from .recorder import Problems, Recorder

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy import Request, Spider
    from scrapy.http import Headers
    from scrapy.utils.asyncio import AsyncioLoopingCall
    from twisted.internet.task import LoopingCall

    from scrapy_robots_plus.crawl.crawl import Crawl
    from scrapy_robots_plus.origins.fetching.fetcher import Exchange


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


class ExchangeRecorder:
    """The WARC file of one crawl: what is written to it."""

    def __init__(self, crawl: Crawl, path: Path, problems: Problems) -> None:
        self._problems = problems
        self._warc = Warc(path, f"scrapy-robots-plus {__version__}", problems.warn)
        crawl.get(Fetcher).subscribe(problems.never_fatal(self._exchanged))

    @property
    def waits(self) -> bool:
        """Whether another process is writing, so that something has to wait."""
        return self._warc.is_locked_out

    def write(self) -> None:
        """Writes what waits."""
        self._warc.flush()

    def end(self, reason: str) -> None:
        """The crawl ends, of which a WARC file says nothing."""

    def close(self) -> None:
        """After the last :meth:`write`."""
        self._warc.close()
        self._problems.count(self._warc.errors)

    def _exchanged(self, exchange: Exchange) -> None:
        self._warc.add(exchanged(exchange))


def exchanged(exchange: Exchange) -> Exchanged:
    """What the WARC file keeps of *exchange*."""
    request, response = exchange.request, exchange.response
    address = response.ip_address
    return Exchanged(
        at=exchange.at,
        url=request.url,
        method=request.method,
        protocol=response.protocol or "HTTP/1.1",
        request_headers=[*_host(request), *_pairs(request.headers)],
        status=response.status,
        response_headers=[*_pairs(response.headers), *_removed(exchange)],
        body=response.body,
        address=None if address is None else str(address),
        is_cut="download_stopped" in response.flags,
    )


def _host(request: Request) -> list[tuple[str, str]]:
    """The header that every download handler adds (RFC 9110 7.2)."""
    return [] if b"Host" in request.headers else [("Host", urlparse_cached(request).netloc)]


def _removed(exchange: Exchange) -> list[tuple[str, str]]:
    if exchange.encoding and not exchange.response.headers.getlist("Content-Encoding"):
        return [("Content-Encoding", exchange.encoding.decode("latin-1"))]
    return []


def _pairs(headers: Headers) -> list[tuple[str, str]]:
    return [
        (name.decode("latin-1"), value.decode("latin-1"))
        for name, values in headers.items()
        for value in values
    ]
