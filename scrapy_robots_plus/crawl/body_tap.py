"""Reads at most so many bytes of a response, whatever its length or compression."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.exceptions import StopDownload

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

TAP_META_KEY = "robots_fetch"
"""Holds the :class:`Tap` of a robots.txt request, and so marks it as ours."""

_DECODED_HERE = (b"gzip", b"x-gzip", b"deflate")


class Tap:
    """What a download handler has brought for one request, before any middleware saw it."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
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

    def inflated(self) -> bytes:
        """The first ``limit`` bytes of the body. Raises ValueError where it is damaged or short.

        Inflating stops at the limit, so a small body that stands for gigabytes costs no more.
        """
        if self.response is None:
            raise ValueError("nothing has arrived")
        raw = self.response.body
        # 47: gzip or zlib, whichever it is; -15: deflate without the wrapper that it ought to have
        bare = self.encoding == b"deflate" and not _has_zlib_header(raw)
        decoder = zlib.decompressobj(-15 if bare else 47)
        try:
            body = decoder.decompress(raw, self.limit + 1)
        except zlib.error as error:
            raise ValueError(str(error)) from None
        enough = len(body) > self.limit or self.received > self.limit
        if not decoder.eof and not enough:
            raise ValueError("the compressed body ends before its time")
        return body


def content_encoding(response: Response) -> bytes:
    return b",".join(response.headers.getlist("Content-Encoding")).strip().lower()


def _has_zlib_header(raw: bytes) -> bool:
    """RFC 1950 2.2: method 8, and a multiple of 31."""
    return len(raw) > 1 and raw[0] & 0x0F == 8 and (raw[0] << 8 | raw[1]) % 31 == 0


class BodyTaps:
    """Listens to the downloads of requests that carry a tap, and to no others.

    Connected to Scrapy's signals only while there are some, so that pages do not pay for it.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._signals = crawler.signals
        self._open = 0
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

    def close(self) -> None:
        self._open -= 1
        if not self._open:
            for handler, signal in self._handlers:
                self._signals.disconnect(handler, signal)

    def _headers_received(self, request: Request, **_: Any) -> None:
        if tap := _tap_of(request):
            tap.started = True
            tap.received = 0

    def _bytes_received(self, data: bytes, request: Request, **_: Any) -> None:
        if tap := _tap_of(request):
            tap.received += len(data)
            if tap.received > tap.limit:
                raise StopDownload(fail=False)

    def _response_downloaded(self, response: Response, request: Request, **_: Any) -> None:
        if tap := _tap_of(request):
            tap.downloaded(response)
            # The handler's own limit was none. This one is for HttpCompressionMiddleware, which
            # comes next and would inflate a bomb up to DOWNLOAD_MAXSIZE.
            request.meta["download_maxsize"] = tap.limit


def _tap_of(request: Request) -> Tap | None:
    # Through meta, because a middleware may send a copy of the request in its place.
    return request.meta.get(TAP_META_KEY)
