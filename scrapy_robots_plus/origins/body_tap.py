"""A robots.txt request in its download handler: limited in time and length, and cancellable.

A response is read up to a limit, whatever its length or compression. Its content codings are undone
before any middleware sees it, and it is known whether the body is the whole file.
"""

from __future__ import annotations

import re
from collections.abc import Coroutine
from typing import Any

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import StopDownload
from scrapy.http import Headers, Response, TextResponse
from scrapy.responsetypes import responsetypes
from twisted.internet.defer import CancelledError, Deferred

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl.clock import Clock
from scrapy_robots_plus.crawl.requests import MAXSIZE_META_KEY, TAP_META_KEY, TIMEOUT_META_KEY
from scrapy_robots_plus.protocol.access import Failure, is_definite

from .codings import SCRAPYS, BodyError, codings_in, decoded


class TimeAllowed:
    """The time left of ``ROBOTS_FETCH_TIMEOUT``, for all requests of one fetch together.

    Only time in a download handler counts, not time spent in a slot or in a middleware of the
    project, nor time in which the process itself stood still.
    """

    def __init__(self, seconds: float, clock: Clock) -> None:
        self.seconds = self.left = seconds
        """The seconds allowed, and those left: 0 or less when the time is up."""
        self.clock = clock


_STOPPED = "download_stopped"
"""Scrapy's flag for a body that was ended by StopDownload."""

_CODING_OVERHEAD = 64
"""The most bytes by which compression lengthens a body: some handlers return an inflated body with
the Content-Length of the compressed one."""


class Tap:
    """One request in a download handler, and its response before any middleware sees it."""

    LENIENCY = 0.5
    """Seconds that a handler has to end an overdue request by itself, as Scrapy's own do."""
    LATE = 1.0
    """Seconds by which an alarm is late only if the process stood still: a callback blocked it, or
    somebody stopped it. A busy machine delays it less."""

    def __init__(self, limit: int, time: TimeAllowed) -> None:
        self.limit = limit
        self.enough = limit
        """The bytes on the wire after which the download is stopped."""
        self._time = time
        self._running: Deferred[Response] | None = None
        self._expired_at: float | None = None
        self._is_called_off = False
        self.begin()

    def begin(self) -> None:
        """Resets the tap, as a download begins."""
        self.started = False
        """Whether headers have arrived."""
        self.received = 0
        self.response: Response | None = None
        """The response that the download handler returned; None before."""
        self.body = b""
        """The decoded body; if it was encoded, a few octets more than ``limit`` at most."""
        self.error: BodyError | None = None
        """Why the body of a 2xx is not the whole file; None if it is."""

    @property
    def seconds_left(self) -> float:
        """Seconds for ``download_timeout``: never 0, which would mean no timeout, and slightly more
        than are left. Timers may ring a little early, which is no reason to try again."""
        return max(self._time.left, 0) + 0.02

    async def run(self, download: Coroutine[Any, Any, Response]) -> Response:
        """Returns the response of *download*. Raises TimeoutError when the time is up.

        ``download_timeout`` is not enough: some handlers restart it with each byte.
        """
        clock = self._time.clock
        began = clock.monotonic()
        running = self._running = compat.run_in_background(download)
        allowed = self.seconds_left + self.LENIENCY
        alarm = clock.call_later(allowed, self._expire)
        try:
            response = await compat.wait_for(running)
            # The HTTP/2 handler returns an empty body when it is cancelled.
            if self._expired_at is None:
                return response
        except BaseException as error:
            if self._expired_at is None:
                if self._is_called_off and isinstance(error, compat.CANCELLED):
                    # The downloader handles this one; asyncio's is not an Exception.
                    raise CancelledError from None
                raise
        finally:
            alarm.cancel()
            took = clock.monotonic() - began
            # A handler may take long to end a request that has expired.
            until_alarm = took if self._expired_at is None else self._expired_at - began
            if until_alarm <= allowed + self.LATE:
                self._time.left -= took
        raise TimeoutError(f"not complete within {self._time.seconds:g} s")

    def call_off(self) -> None:
        """Cancels the download and its connection. Does nothing if it has ended."""
        self._is_called_off = True
        if self._running is not None:
            self._running.cancel()

    def _expire(self) -> None:
        self._expired_at = self._time.clock.monotonic()
        self.call_off()

    def take(self, response: Response) -> Response:
        """Notes the handler's *response*; returns it with its content codings undone.

        Codings that Scrapy does not undo either are left to the project's middlewares.
        """
        self.response, self.body = response, response.body
        codings = codings_in(response)
        is_scrapys = SCRAPYS.issuperset(codings)
        try:
            if missing := self._missing(response):
                raise BodyError(Failure.CUT, missing)
            if is_scrapys and codings and response.body:
                is_stopped = _STOPPED in response.flags
                self.body = decoded(response.body, codings, self.limit, is_stopped=is_stopped)
        except BodyError as error:
            self.error = error if 200 <= response.status < 300 else None
        is_plain = self.body is response.body and "Content-Encoding" not in response.headers
        if is_plain or not is_scrapys:
            return response
        headers = response.headers.copy()
        headers.pop("Content-Encoding", None)
        # As Scrapy does with a compressed response: its class and encoding are found anew.
        kind = responsetypes.from_args(headers=headers, url=response.url, body=self.body)
        anew: dict[str, Any] = {"encoding": None} if issubclass(kind, TextResponse) else {}
        return response.replace(cls=kind, headers=headers, body=self.body, **anew)

    def came_from(self, url: str) -> bool:
        """Returns whether the body is exactly what *url* sent, not a browser's version of it.

        Scrapy's own handlers send signals for the headers and for each part of the body. Handlers
        that drive a browser do not, and a service that drives one has another URL.
        """
        return self.started and self.response is not None and self.response.url == url

    def _missing(self, raw: Response) -> str:
        """Returns why the body of a 2xx is only part of the file; empty if it is complete.

        Bytes over the limit do not count as missing.
        """
        if raw.status == 206:
            return "status 206 (partial content), although the whole file was requested"
        if self.received > self.limit or len(raw.body) > self.limit:
            return ""
        if _STOPPED in raw.flags:
            return "another component raised StopDownload"
        if "dataloss" in raw.flags:
            return "the connection was closed before the end of the body"
        # The largest counts if there are several (RFC 9110 8.6).
        promised = re.findall(rb"\b\d{1,18}\b", b",".join(raw.headers.getlist("Content-Length")))
        came = max(self.received, len(raw.body) + _CODING_OVERHEAD)
        if max(map(int, promised), default=0) > came:
            return "the body is shorter than its Content-Length"
        return ""


class BodyTaps:
    """The listener to downloads of requests that carry a tap, and to no others.

    It is connected to Scrapy's signals only while such requests exist, so that pages cost nothing.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._open = 0
        self._is_between = False

    def open(self) -> None:
        """Starts to listen. Each call needs one :meth:`close`."""
        self._open += 1
        if self._open == 1:
            self._crawler.signals.connect(self._headers_received, signals.headers_received)
            self._crawler.signals.connect(self._bytes_received, signals.bytes_received)
        if not self._is_between:
            self._is_between = True
            compat.intercept_downloads(self._crawler, self._download)

    def close(self) -> None:
        self._open -= 1
        if not self._open:
            self._crawler.signals.disconnect(self._headers_received, signals.headers_received)
            self._crawler.signals.disconnect(self._bytes_received, signals.bytes_received)

    def _download(
        self, download: compat.DownloadFunction, request: Request
    ) -> Coroutine[Any, Any, Response]:
        """Runs in place of *download*, for requests of all kinds."""
        tap = request.meta.get(TAP_META_KEY)
        return download(request) if tap is None else self._tapped(tap, download, request)

    async def _tapped(
        self, tap: Tap, download: compat.DownloadFunction, request: Request
    ) -> Response:
        if compat.can_be_stopped(self._crawler, request):  # in the middle of a body
            request.meta[MAXSIZE_META_KEY] = 0
        request.meta[TIMEOUT_META_KEY] = tap.seconds_left
        tap.begin()  # again, if a middleware has the request sent again
        response = await tap.run(download(request))
        if not isinstance(response, Response):  # Scrapy fails the request
            return response
        # The handler is done with its limit. This one is for HttpCompressionMiddleware, which would
        # inflate a bomb with another coding up to DOWNLOAD_MAXSIZE.
        request.meta[MAXSIZE_META_KEY] = tap.limit
        taken = tap.take(response)
        # Until now this kept Scrapy's HTTP cache from answering. The cache may store the site's
        # answer, but not a part of a file: in a replay, nobody could tell that it is one. Nor that
        # of an outage, which would take the place of the last good copy; but in a replay, the cache
        # may have asked whether its own copy holds, and knows what an outage says of that.
        is_outage = not (is_definite(taken.status) or 300 <= taken.status < 400)
        is_new = "cached_response" not in request.meta
        request.meta["dont_cache"] = tap.error is not None or (is_outage and is_new)
        return taken

    def _headers_received(self, request: Request, headers: Headers, **_: Any) -> None:
        if tap := _tap_of(request):
            tap.started = True
            tap.received = 0
            # Incompressible data grows a little when it is compressed.
            tap.enough = tap.limit * (2 if b"Content-Encoding" in headers else 1)
            # A handler that sends this signal also sends bytes_received, which can stop it without
            # losing what was read. The one for HTTP/1.1 checks its own limit after this.
            request.meta[MAXSIZE_META_KEY] = 0

    def _bytes_received(self, data: bytes, request: Request, **_: Any) -> None:
        if tap := _tap_of(request):
            tap.received += len(data)
            if tap.received > tap.enough:
                raise StopDownload(fail=False)


def _tap_of(request: Request) -> Tap | None:
    # From meta, because a middleware may send a copy of the request instead.
    return request.meta.get(TAP_META_KEY)
