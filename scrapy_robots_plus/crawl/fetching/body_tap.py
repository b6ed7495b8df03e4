"""Reads at most so many bytes of a response, whatever its length or compression."""

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
_MOST_MEMBERS = 100
_PART = 206
_LONGEST_NUMBER = 19
_CODING_OVERHEAD = 64
"""Bytes by which compressing may lengthen a body: some handlers hand over what they have inflated,
with the Content-Length that it had before."""


class Tap:
    """What a download handler has brought for one request, before any middleware saw it."""

    def __init__(self, limit: int, download: Download) -> None:
        self.limit = limit
        self.enough = limit
        """How many bytes are read at least, as they are sent."""
        self.download = download
        self.started = False
        """Whether headers have arrived."""
        self.received = 0
        self.response: Response | None = None
        self.encoding = b""

    def downloaded(self, response: Response) -> None:
        self.response = response
        # Now, because HttpCompressionMiddleware takes the header away.
        self.encoding = content_encoding(response)

    @property
    def compressed(self) -> bool:
        """Whether the body is in an encoding that :meth:`inflated` undoes."""
        return self.encoding in _DECODED_HERE

    def came_from(self, url: str) -> bool:
        """Whether the body is what *url* sent, byte by byte, rather than what a browser made of it.

        Scrapy's own handlers tell of the head and of each part. Those that drive a browser do not,
        and a service that does so is at another address.
        """
        return self.started and self.response is not None and self.response.url == url

    def whole(self, response: Response) -> bytes:
        """The body as the middlewares left it, or all of it where one of them has cut it."""
        raw = self.response
        if raw is None or self.encoding or raw.status != response.status:
            return response.body
        return raw.body if raw.body.startswith(response.body) else response.body

    def missing(self, response: Response) -> str:
        """Why the body of a 2xx is only a part of the file; empty where it is not.

        What is over the limit is not missed.
        """
        raw = self.response or response
        if raw.status == _PART and not _is_all(raw.headers.get("Content-Range") or b""):
            return "a 206 answer to a request for all of it"
        if self.received > self.limit or len(raw.body) > self.limit:
            return ""
        if "download_stopped" in raw.flags:
            return "another component raised StopDownload"
        if "dataloss" in raw.flags:
            return "the connection was closed before the end"
        if self._promised > max(self.received, len(raw.body) + _CODING_OVERHEAD):
            return "the body is shorter than its Content-Length"
        return ""

    @property
    def _promised(self) -> int:
        """The Content-Length that the handler has seen; 0 where there was none."""
        value = b"" if self.response is None else self.response.headers.get("Content-Length") or b""
        return int(value) if value.isdigit() and len(value) < _LONGEST_NUMBER else 0

    def inflated(self) -> bytes:
        """The first ``limit`` bytes of the body. Raises ValueError where it is damaged or short.

        Inflating stops at the limit, so a small body that stands for gigabytes costs no more.
        """
        if self.response is None:
            raise ValueError("nothing has arrived")
        raw = self.response.body
        # 47: gzip or zlib, whichever it is; -15: deflate without the wrapper that it ought to have
        bare = self.encoding == b"deflate" and not _has_zlib_header(raw)
        body, has_end = _inflated(raw, -15 if bare else 47, self.limit + 1)
        # One that was stopped may have been so where a member ends.
        is_whole = has_end and "download_stopped" not in self.response.flags
        if not is_whole and len(body) <= self.limit:
            raise ValueError("the compressed body ends before its time")
        return body


def _inflated(raw: bytes, window: int, limit: int) -> tuple[bytes, bool]:
    """At most *limit* bytes of what *raw* stands for, and whether its end was found.

    RFC 1952 2.2: a gzip file is a series of members. Raises ValueError where one is damaged.
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
    raise ValueError(f"more than {_MOST_MEMBERS} members")


def content_encoding(response: Response) -> bytes:
    return b",".join(response.headers.getlist("Content-Encoding")).strip().lower()


def _is_all(content_range: bytes) -> bool:
    """Whether a Content-Range (RFC 9110 14.4) is the whole of what there is."""
    found = re.fullmatch(rb"\s*bytes 0-(\d{1,18})/(\d{1,18})\s*", content_range)
    return found is not None and int(found[1]) + 1 == int(found[2])


def _has_zlib_header(raw: bytes) -> bool:
    """RFC 1950 2.2: method 8, and a multiple of 31."""
    return len(raw) > 1 and raw[0] & 0x0F == 8 and (raw[0] << 8 | raw[1]) % 31 == 0


class BodyTaps:
    """Listens to the downloads of requests that carry a tap, and to no others.

    Connected to Scrapy's signals only while there are some, so that pages do not pay for it.
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
        """To be followed by one :meth:`close`."""
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
            # What does not compress is a little longer than what it stands for.
            tap.enough = tap.limit * (2 if b"Content-Encoding" in headers else 1)
            # Who sends this signal sends the other one too, and is stopped without losing what
            # was read. HTTP/1.1 looks at its limit after this.
            request.meta[MAXSIZE_META_KEY] = 0

    def _bytes_received(self, data: bytes, request: Request, **_: Any) -> None:
        if tap := _tap_of(request):
            tap.received += len(data)
            if tap.received > tap.enough:
                raise StopDownload(fail=False)

    def _response_downloaded(self, response: Response, request: Request, **_: Any) -> None:
        if tap := _tap_of(request):
            tap.downloaded(response)
            # The handler's own limit was another. This one is for HttpCompressionMiddleware, which
            # comes next and would inflate a bomb up to DOWNLOAD_MAXSIZE.
            request.meta[MAXSIZE_META_KEY] = tap.limit


def _download(
    download: compat.DownloadFunction, request: Request, *, stops: bool
) -> Coroutine[Any, Any, Response]:
    """What is done in place of *download*; *stops*: the handler can be stopped in mid-body."""
    tap = _tap_of(request)
    if tap is None:
        return download(request)
    if stops:
        request.meta[MAXSIZE_META_KEY] = 0
    request.meta[TIMEOUT_META_KEY] = tap.download.seconds_left
    return tap.download.run(download(request))


def _tap_of(request: Request) -> Tap | None:
    # Through meta, because a middleware may send a copy of the request in its place.
    return request.meta.get(TAP_META_KEY)
