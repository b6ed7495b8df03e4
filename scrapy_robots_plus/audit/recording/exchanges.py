"""Connects a crawl to its WARC file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.utils.httpobj import urlparse_cached

from scrapy_robots_plus._version import __version__
from scrapy_robots_plus.audit.writing.warc import Exchanged, Warc
from scrapy_robots_plus.origins.fetching.fetcher import Fetcher

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy import Request
    from scrapy.http import Headers

    from scrapy_robots_plus.crawl.crawl import Crawl
    from scrapy_robots_plus.origins.fetching.fetcher import Exchange

    from .problems import Problems


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
