"""Download handlers: intercepting them, and their connection pools."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Iterator
from contextlib import suppress
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.http import Response
from scrapy.utils import _compression
from scrapy.utils.asyncio import call_later
from scrapy.utils.httpobj import urlparse_cached
from twisted.internet.defer import Deferred

from .crawler import engine_of
from .loops import run_in_background

if TYPE_CHECKING:
    from scrapy.core.downloader import Downloader
    from scrapy.crawler import Crawler
    from twisted.python.failure import Failure

logger = logging.getLogger(__name__)


DownloadFunction = Callable[[Request], Coroutine[Any, Any, Response]]
"""``DownloadHandlers.download_request_async``."""
StandIn = Callable[[DownloadFunction, Request], Coroutine[Any, Any, Response]]
"""Called in place of a download function, which it gets with the request to hand over."""


class _Handover:
    """``DownloadHandlers.download_request_async``, with all that stands before it.

    Needed by 2.14 to 2.19: no public name takes a request away from its handler.
    """

    def __init__(self, handlers: Any) -> None:
        self.handlers = handlers
        self.inner: DownloadFunction = handlers.download_request_async
        self.outer: StandIn | None = None
        self._seen: set[str] = set()

    def __call__(self, request: Request) -> Coroutine[Any, Any, Response]:
        scheme = request.url.partition(":")[0]
        if scheme not in self._seen:
            self._look_at(scheme)
        return self.inner(request) if self.outer is None else self.outer(self.inner, request)

    def _look_at(self, scheme: str) -> None:
        """Mends a handler with the first request for it: handlers are made when needed."""
        handler = self.handlers._get_handler(scheme.lower())  # noqa: SLF001
        if handler is not None:  # of the schemes that there are, which nobody else can add to
            self._seen.add(scheme)
            pool = getattr(handler, "_pool", None)
            if _is_of_http2(pool):
                _report_failures(pool)

    @classmethod
    def of(cls, downloader: Downloader) -> _Handover | None:
        """None for a downloader of another kind."""
        handlers: Any = getattr(downloader, "handlers", None)
        download = getattr(handlers, "download_request_async", None)
        if download is None:
            return None
        if not isinstance(download, cls):
            handlers.download_request_async = download = cls(handlers)
        return download


def retry_handovers(downloader: Downloader, retries: StandIn) -> None:
    """Calls *retries* in place of all that :func:`stand_before_handlers` has placed, or will place:
    it may hand over the same request several times.

    Connections of HTTP/2 that cannot be opened fail from now on, which takes until the timeout in
    2.14 to 2.19 (H2ConnectionPool hears of connections alone). That can go when they do by
    themselves.
    """
    handover = _Handover.of(downloader)
    if handover is not None:
        handover.outer = retries


def stand_before_handlers(crawler: Crawler, stand_in: StandIn) -> bool:
    """Calls *stand_in* wherever the downloader calls a download handler. False if the downloader is
    of another kind.

    Needed by 2.14 to 2.19: a handler's timeout may restart with each byte. Can go when
    ``download_timeout`` limits the whole response in all handlers, and a download can be cancelled.
    """
    handover = _Handover.of(engine_of(crawler).downloader)
    if handover is None:
        return False
    handover.inner = partial(stand_in, handover.inner)
    return True


def watch_handovers(crawler: Crawler, listener: Callable[[Request], None]) -> bool:
    """Calls *listener* with each request, just before its download handler gets it.

    False if the downloader is of another kind. Needed by 2.14 to 2.19, whose last signal before,
    ``request_reached_downloader``, is sent before the delay of the slot. Can go when there is one.
    """

    def told(download: DownloadFunction, request: Request) -> Coroutine[Any, Any, Response]:
        listener(request)
        return download(request)

    return stand_before_handlers(crawler, told)


def can_be_stopped(crawler: Crawler, request: Request) -> bool:
    """Whether the handler of *request* sends ``bytes_received``, as Scrapy's own handlers do.

    A handler derived from them may download in another way, like that of scrapy-impersonate.
    Subclasses of ``BaseStreamingDownloadHandler`` (2.16 to 2.19) do send it.
    """
    handlers: Any = engine_of(crawler).downloader.handlers
    handler = handlers._get_handler(urlparse_cached(request).scheme)  # noqa: SLF001
    method = getattr(type(handler), "download_request", None)
    own = getattr(method, "__module__", "").startswith("scrapy.core.downloader.handlers.")
    return own or any(base.__name__ == _STREAMING for base in type(handler).__mro__)


_STREAMING = "BaseStreamingDownloadHandler"


def make_room(downloader: Downloader, places: int) -> None:
    """Lets download handlers open *places* connections besides ``CONCURRENT_REQUESTS``.

    Needed by 2.16 to 2.19, whose handlers for httpx and aiohttp open no more than that, so that
    requests for robots.txt would delay pages. They are created with the downloader and warn at that
    point, so their pools are enlarged afterwards. Other handlers have no such limit. Can go when
    the limit is a setting, as proposed in
    https://github.com/scrapy/scrapy/pull/7932.
    """
    handlers: dict[str, Any] = downloader.handlers._handlers  # noqa: SLF001
    for handler in handlers.values():
        if getattr(handler, "_pool_size_total", 0):  # 0: no limit
            _widen(handler, places)


def _widen(handler: Any, places: int) -> None:
    pages = handler._pool_size_total  # noqa: SLF001
    handler._pool_size_total = pages + places  # noqa: SLF001
    pools = _pools(handler)
    for pool, limit in pools:
        setattr(pool, limit, pages + places)
    logger.debug(
        "%(handler)s: %(pools)d connection pools raised from %(pages)d to %(all)d connections, "
        "to leave room for robots.txt (https://github.com/scrapy/scrapy/pull/7932)",
        {
            "handler": type(handler).__name__,
            "pools": len(pools),
            "pages": pages,
            "all": pages + places,
        },
    )


def _pools(handler: Any) -> list[tuple[Any, str]]:
    """Where the connection pools of *handler* keep their limits."""
    connector = getattr(getattr(handler, "_session", None), "connector", None)  # aiohttp 3
    transport = getattr(getattr(handler, "_default_client", None), "_transport", None)  # httpx
    pools = [
        (connector, "_limit"),
        (getattr(transport, "_pool", None), "_max_connections"),
        (getattr(handler, "_limits", None), "max_connections"),  # of clients for proxies
    ]
    return [(pool, limit) for pool, limit in pools if hasattr(pool, limit)]


def close_idle_connections(downloader: Downloader, most: int) -> int:
    """Closes at most *most* connections that are kept open for later requests.

    Those that have been idle for the longest time come first. They are closed in one of the next
    turns of the loop. Returns how many.

    Needed by 2.14 to 2.19, which limit the idle connections of a host, but not of all hosts
    together. Can go when a setting does.
    """
    idle: list[tuple[float, Callable[[], object]]] = []
    for handler in _handlers_of(downloader):
        with suppress(AttributeError, TypeError):  # a pool of another kind: it keeps what it has
            idle += _idle(handler)
    idle.sort(key=itemgetter(0))
    for _, close in idle[:most]:
        close()
    return len(idle[:most])


def _handlers_of(downloader: Downloader) -> list[Any]:
    handlers = getattr(downloader, "handlers", None)
    return list(getattr(handlers, "_handlers", {}).values())


def _idle(handler: Any) -> Iterator[tuple[float, Callable[[], object]]]:
    """The idle connections of *handler*: since when, by its clock, and what closes each."""
    pool: Any = getattr(handler, "_pool", None)
    timers = getattr(pool, "_timeouts", None)
    if isinstance(timers, dict):  # of Twisted, which HTTP11DownloadHandler uses
        kept: float = getattr(pool, "cachedConnectionTimeout", 0.0)
        for timer in timers.values():
            yield timer.getTime() - kept, partial(timer.reset, 0)
    elif _is_of_http2(pool):
        for key, connection in pool._connections.items():  # noqa: SLF001
            if _is_idle(connection):
                timer = getattr(connection, "_TimeoutMixin__timeoutCall", None)
                since = timer.getTime() - connection.IDLE_TIMEOUT if timer else 0.0
                yield since, partial(_close_http2, pool, key, connection)
    connector = getattr(getattr(handler, "_session", None), "connector", None)
    for connections in getattr(connector, "_conns", {}).values():  # aiohttp
        for each in connections:
            yield each[1], partial(_close_in_aiohttp, connections, each)
    clients = [
        getattr(handler, "_default_client", None),
        *getattr(handler, "_proxy_clients", {}).values(),
    ]
    for client in clients:  # httpx
        pool = getattr(getattr(client, "_transport", None), "_pool", None)
        for connection in getattr(pool, "_connections", ()):
            if connection.is_idle():
                inner = getattr(connection, "_connection", None)
                yield (
                    getattr(inner, "_expire_at", None) or 0.0,
                    partial(_close_in_httpx, connection),
                )


def _is_idle(connection: Any) -> bool:
    """Whether no request uses *connection*, an ``H2ClientProtocol``."""
    used = connection.metadata["active_streams"] or connection._pending_request_stream_pool  # noqa: SLF001
    return bool(connection.transport.connected) and not used


def _close_http2(pool: Any, key: Any, connection: Any) -> None:
    """Closes *connection*, which *pool* hands out until it is closed, a turn of the loop later."""
    del pool._connections[key]  # noqa: SLF001
    connection._conn_lost_deferred = Deferred()  # noqa: SLF001 - it would take out the next one
    connection.transport.abortConnection()


def _close_in_aiohttp(connections: Any, connection: Any) -> None:
    connections.remove(connection)
    connection[0].close()


def _close_in_httpx(connection: Any) -> None:
    run_in_background(connection.aclose())


def _is_of_http2(pool: object) -> bool:
    return type(pool).__name__ == "H2ConnectionPool"


def _report_failures(pool: Any) -> None:
    """Lets requests fail when their connection of *pool* cannot be opened."""
    connect = pool._new_connection  # noqa: SLF001

    def instead(key: Any, uri: object, endpoint: Any) -> Any:
        def fail(failure: Failure) -> None:
            for waiter in pool._pending_requests.pop(key, ()):  # noqa: SLF001
                waiter.errback(failure)

        return connect(key, uri, _Endpoint(endpoint, fail))

    pool._new_connection = instead  # noqa: SLF001


class _Endpoint:
    """Tells *failed*, in a later turn of the loop, when a connection cannot be opened."""

    def __init__(self, endpoint: Any, failed: Callable[[Failure], None]) -> None:
        self._endpoint = endpoint
        self._failed = failed

    def connect(self, factory: object) -> Deferred[Any]:
        connected: Deferred[Any] = Deferred()

        def later(failure: Failure) -> None:
            call_later(0, self._failed, failure)

        self._endpoint.connect(factory).addCallbacks(connected.callback, later)
        return connected


def codec(name: str) -> Any:
    """The module that Scrapy undoes a content coding with: ``zstd``, as Python 3.14 has it, or
    ``brotli``. None if it is not installed, or this version has another (2.14: ``zstandard``)."""
    return getattr(_compression, name, None)
