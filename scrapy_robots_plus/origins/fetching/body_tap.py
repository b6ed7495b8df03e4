"""Reads a response up to a limit, whatever its length or compression."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.exceptions import StopDownload

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl.requests import MAXSIZE_META_KEY, TAP_META_KEY, TIMEOUT_META_KEY

from .decoding import CutOffError, can_decode, codings_in, decoded, may_hide_a_cut

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Headers, Response

    from .download import Download

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
        """Whether the body has content codings that :meth:`inflated` undoes."""
        return can_decode(codings_in(self.encoding))

    @property
    def cannot_be_checked(self) -> bool:
        """Whether nobody can tell if the body was cut off: Scrapy may decode it all the same."""
        return may_hide_a_cut(codings_in(self.encoding))

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
        """The Content-Length that the handler saw, the largest of several (RFC 9110 8.6); 0 if
        there was none."""
        values = [] if self.response is None else self.response.headers.getlist("Content-Length")
        numbers = (value.strip() for value in b",".join(values).split(b","))
        lengths = (int(each) for each in numbers if each.isdigit() and len(each) < _LONGEST_NUMBER)
        return max(lengths, default=0)

    def inflated(self, raw: bytes) -> bytes:
        """The first ``limit`` bytes of the body *raw*, decompressed.

        Raises CutOffError if the body is cut off, ValueError if it is damaged.
        """
        body = decoded(raw, codings_in(self.encoding) or (b"gzip",), self.limit)
        # A download may have been stopped exactly where a gzip member ends.
        was_stopped = self.response is not None and "download_stopped" in self.response.flags
        if was_stopped and len(body) <= self.limit:
            raise CutOffError("the download of the compressed body was stopped")
        return body


def content_encoding(response: Response) -> bytes:
    return b",".join(response.headers.getlist("Content-Encoding")).strip().lower()


def _is_all(content_range: bytes) -> bool:
    """Whether a Content-Range (RFC 9110 14.4) covers the whole file."""
    found = re.fullmatch(rb"\s*bytes 0-(\d{1,18})/(\d{1,18})\s*", content_range)
    return found is not None and int(found[1]) + 1 == int(found[2])


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
