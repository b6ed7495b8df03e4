"""Reads a response up to a limit, whatever its length or compression."""

from __future__ import annotations

import re
import zlib
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.exceptions import StopDownload

from scrapy_robots_plus.crawl import compat
from scrapy_robots_plus.crawl.requests import MAXSIZE_META_KEY, TAP_META_KEY, TIMEOUT_META_KEY

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Headers, Response

    from .download import Download

_DECODED_HERE = (b"gzip", b"x-gzip", b"deflate")
_GZIP = b"\x1f\x8b"
_DEFLATE = b"\x08"
_MOST_MEMBERS = 100
_PART = 206
_LONGEST_NUMBER = 19
_CODING_OVERHEAD = 64
"""Bytes by which compression may lengthen a body: some handlers return an inflated body with the
Content-Length of the compressed one."""


class Tap:
    """What a download handler returned for one request, before any middleware saw it."""

    def __init__(self, limit: int, download: Download) -> None:
        self.limit = limit
        self.enough = limit
        """Bytes on the wire that are read at least."""
        self.download = download
        self.started = False
        """Whether headers have arrived."""
        self.received = 0
        self.response: Response | None = None
        self.encoding = b""

    def downloaded(self, response: Response) -> None:
        self.response = response
        # Now, because HttpCompressionMiddleware removes the header.
        self.encoding = content_encoding(response)

    @property
    def compressed(self) -> bool:
        """Whether the body has a content encoding that :meth:`inflated` decodes."""
        return self.encoding in _DECODED_HERE

    def came_from(self, url: str) -> bool:
        """Whether the body is exactly what *url* sent, rather than a browser's version of it.

        Scrapy's own handlers send signals for the headers and for each part of the body. Handlers
        that drive a browser do not, and a service that drives one has another URL.
        """
        return self.started and self.response is not None and self.response.url == url

    def whole(self, response: Response) -> bytes:
        """The body as the middlewares left it, or the whole body if one of them cut it."""
        raw = self.response
        if raw is None or self.encoding or raw.status != response.status:
            return response.body
        return raw.body if raw.body.startswith(response.body) else response.body

    def missing(self, response: Response) -> str:
        """Why the body of a 2xx is only a part of the file; empty if it is complete.

        Bytes over the limit do not count as missing.
        """
        raw = self.response or response
        if raw.status == _PART and not _is_all(raw.headers.get("Content-Range") or b""):
            return "a 206 in response to a request for the whole file"
        if self.received > self.limit or len(raw.body) > self.limit:
            return ""
        if "download_stopped" in raw.flags:
            return "another component raised StopDownload"
        if "dataloss" in raw.flags:
            return "the connection was closed before the end of the body"
        if self._promised > max(self.received, len(raw.body) + _CODING_OVERHEAD):
            return "the body is shorter than its Content-Length"
        return ""

    @property
    def _promised(self) -> int:
        """The Content-Length that the handler saw; 0 if there was none."""
        value = b"" if self.response is None else self.response.headers.get("Content-Length") or b""
        return int(value) if value.isdigit() and len(value) < _LONGEST_NUMBER else 0

    def inflated(self, raw: bytes) -> bytes:
        """The first ``limit`` bytes of the body *raw*, inflated.

        Inflating stops at the limit, so a decompression bomb costs no more than any other body.
        Raises ValueError if the body is damaged or cut off.
        """
        # 47: gzip or zlib, detected; -15: raw deflate, without the zlib header it should have
        bare = self.encoding == b"deflate" and not _has_zlib_header(raw)
        body, has_end = _inflated(raw, -15 if bare else 47, self.limit + 1)
        # A download may have been stopped exactly where a gzip member ends.
        was_stopped = self.response is not None and "download_stopped" in self.response.flags
        is_whole = has_end and not was_stopped
        if not is_whole and len(body) <= self.limit:
            raise ValueError("the compressed body is cut off")
        if is_gzip(body):
            raise ValueError("the body is compressed twice")
        return body


def _inflated(raw: bytes, window: int, limit: int) -> tuple[bytes, bool]:
    """Inflates *raw* up to *limit* bytes; also returns whether the end was reached.

    RFC 1952 2.2: a gzip file is a series of members. Raises ValueError if one is damaged.
    """
    body = b""
    for _ in range(_MOST_MEMBERS):
        decoder = zlib.decompressobj(window)
        try:
            body += decoder.decompress(raw, limit - len(body))
        except zlib.error as error:
            raise ValueError(str(error)) from None
        raw = decoder.unused_data
        if not decoder.eof or len(body) >= limit or not raw.startswith(_GZIP):
            return body, decoder.eof
    raise ValueError(f"more than {_MOST_MEMBERS} gzip members")


def is_gzip(body: bytes) -> bool:
    """Whether *body* begins as a gzip file does (RFC 1952 2.3.1). No text begins like that."""
    return body.startswith(_GZIP + _DEFLATE)


def content_encoding(response: Response) -> bytes:
    return b",".join(response.headers.getlist("Content-Encoding")).strip().lower()


def _is_all(content_range: bytes) -> bool:
    """Whether a Content-Range (RFC 9110 14.4) covers the whole file."""
    found = re.fullmatch(rb"\s*bytes 0-(\d{1,18})/(\d{1,18})\s*", content_range)
    return found is not None and int(found[1]) + 1 == int(found[2])


def _has_zlib_header(raw: bytes) -> bool:
    """RFC 1950 2.2: method 8, and the first two bytes are a multiple of 31."""
    return len(raw) > 1 and raw[0] & 0x0F == 8 and (raw[0] << 8 | raw[1]) % 31 == 0


class BodyTaps:
    """Listens to the downloads of requests that carry a tap, and to no others.

    Connected to Scrapy's signals only while such requests exist, so that pages pay nothing.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._signals = crawler.signals
        self._open = 0
        self._is_between = False
        self._handlers = (
            (self._headers_received, signals.headers_received),
            (self._bytes_received, signals.bytes_received),
            (self._response_downloaded, signals.response_downloaded),
        )

    def open(self) -> None:
        """Each call needs one :meth:`close`."""
        self._open += 1
        if self._open == 1:
            for handler, signal in self._handlers:
                self._signals.connect(handler, signal)
        if not self._is_between:
            self._is_between = True
            compat.stand_before_handlers(self._crawler, _download)

    def close(self) -> None:
        self._open -= 1
        if not self._open:
            for handler, signal in self._handlers:
                self._signals.disconnect(handler, signal)

    def _headers_received(self, request: Request, headers: Headers, **_: Any) -> None:
        if tap := _tap_of(request):
            tap.started = True
            tap.received = 0
            # Incompressible data is a little longer once compressed.
            tap.enough = tap.limit * (2 if b"Content-Encoding" in headers else 1)
            # A handler that sends this signal also sends bytes_received, where it is stopped
            # without losing what was read. HTTP/1.1 checks its own limit after this.
            request.meta[MAXSIZE_META_KEY] = 0

    def _bytes_received(self, data: bytes, request: Request, **_: Any) -> None:
        if tap := _tap_of(request):
            tap.received += len(data)
            if tap.received > tap.enough:
                raise StopDownload(fail=False)

    def _response_downloaded(self, response: Response, request: Request, **_: Any) -> None:
        if tap := _tap_of(request):
            tap.downloaded(response)
            # The handler had a limit of its own. This one is for HttpCompressionMiddleware, which
            # runs next and would inflate a bomb up to DOWNLOAD_MAXSIZE.
            request.meta[MAXSIZE_META_KEY] = tap.limit


def _download(
    download: compat.DownloadFunction, request: Request, *, stops: bool
) -> Coroutine[Any, Any, Response]:
    """Runs in place of *download*; *stops*: the handler can be stopped in the middle of a body."""
    tap = _tap_of(request)
    if tap is None:
        return download(request)
    if stops:
        request.meta[MAXSIZE_META_KEY] = 0
    request.meta[TIMEOUT_META_KEY] = tap.download.seconds_left
    return tap.download.run(download(request))


def _tap_of(request: Request) -> Tap | None:
    # From meta, because a middleware may send a copy of the request instead.
    return request.meta.get(TAP_META_KEY)
