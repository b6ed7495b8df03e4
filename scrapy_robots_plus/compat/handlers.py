"""Download handlers: their interception, their connection pools and their content codings."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Coroutine
from functools import partial
from operator import methodcaller
from typing import Any

from scrapy import Request
from scrapy.core.downloader import Downloader
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.utils import _compression
from scrapy.utils.httpobj import urlparse_cached

DownloadFunction = Callable[[Request], Coroutine[Any, Any, Response]]
"""The type of ``DownloadHandlers.download_request_async``."""
StandIn = Callable[[DownloadFunction, Request], Coroutine[Any, Any, Response]]
"""The type of what replaces a download function, called with it and the request."""


class _Handover:
    """``DownloadHandlers.download_request_async``, with all stand-ins before it.

    Needed for Scrapy 2.14 to 2.19: no public name takes a request away from its handler.
    """

    def __init__(self, download: DownloadFunction) -> None:
        self.inner = download
        self.outer: StandIn | None = None

    def __call__(self, request: Request) -> Coroutine[Any, Any, Response]:
        if self.outer is None:
            return self.inner(request)
        # Looked up at each try: a stand-in may come while a request waits for the next one.
        return self.outer(lambda each: self.inner(each), request)

    @classmethod
    def of(cls, downloader: Downloader) -> _Handover | None:
        """Returns the handover of *downloader*, made if needed; None for other kinds of them."""
        handlers: Any = getattr(downloader, "handlers", None)
        if handlers is None:
            return None
        download = handlers.download_request_async
        if not isinstance(download, cls):
            handlers.download_request_async = download = cls(download)
        return download


def retry_handovers(downloader: Downloader, retries: StandIn) -> None:
    """Calls *retries* around all that :func:`intercept_downloads` has placed, or will place.

    It may hand over the same request several times.
    """
    if handover := _Handover.of(downloader):
        handover.outer = retries


def intercept_downloads(crawler: Crawler, stand_in: StandIn) -> bool:
    """Calls *stand_in* wherever the downloader calls a download handler.

    Returns False if the downloader is of another kind. Needed for Scrapy 2.14 to 2.19: a handler's
    timeout may restart with each byte. Remove when ``download_timeout`` limits the whole response
    in all handlers, and a download can be cancelled.
    """
    handover = _Handover.of(crawler.engine.downloader)
    if handover is None:
        return False
    handover.inner = partial(stand_in, handover.inner)
    return True


def watch_handovers(crawler: Crawler, listener: Callable[[Request], None]) -> bool:
    """Calls *listener* with each request, just before its download handler gets it.

    Returns False if the downloader is of another kind. Needed for Scrapy 2.14 to 2.19, whose last
    signal before that, ``request_reached_downloader``, precedes the delay of the slot. Remove when
    there is a later one.
    """

    def told(download: DownloadFunction, request: Request) -> Coroutine[Any, Any, Response]:
        listener(request)
        return download(request)

    return intercept_downloads(crawler, told)


_HTTP2_CAN_BE_STOPPED = importlib.util.find_spec("scrapy.core._http2") is not None
"""Scrapy 2.18 gave the package this name; before that, it was ``scrapy.core.http2``."""


def can_be_stopped(crawler: Crawler, request: Request) -> bool:
    """Returns whether the handler of *request* sends ``bytes_received``, as Scrapy's own do.

    A handler derived from them may download in another way, like that of scrapy-impersonate.
    Subclasses of ``BaseStreamingDownloadHandler`` (Scrapy 2.16 to 2.19) do send it. The handler for
    HTTP/2 does not before Scrapy 2.18.
    """
    handlers: Any = crawler.engine.downloader.handlers
    handler = handlers._get_handler(urlparse_cached(request).scheme)  # noqa: SLF001
    method = getattr(type(handler), "download_request", None)
    module = getattr(method, "__module__", "")
    own = module.startswith("scrapy.core.downloader.handlers.")
    if module.endswith(".http2"):
        own = _HTTP2_CAN_BE_STOPPED
    kinds = {base.__name__ for base in type(handler).__mro__}
    return own or "BaseStreamingDownloadHandler" in kinds


def enlarge_connection_pools(downloader: Downloader, places: int) -> None:
    """Lets download handlers open *places* connections besides ``CONCURRENT_REQUESTS``.

    Needed for Scrapy 2.16 to 2.19, whose handlers for httpx and aiohttp open no more than that, so
    that requests for robots.txt would delay pages. They are created with the downloader and warn
    then, so their pools are enlarged afterwards. Other handlers have no such limit. Remove when the
    limit is a setting, as proposed in https://github.com/scrapy/scrapy/pull/7932.
    """
    handlers: dict[str, Any] = downloader.handlers._handlers  # noqa: SLF001
    for handler in handlers.values():
        pages = getattr(handler, "_pool_size_total", 0)
        if not pages:  # no limit
            continue
        handler._pool_size_total = pages + places  # noqa: SLF001
        connector = getattr(getattr(handler, "_session", None), "connector", None)  # aiohttp 3
        transport = getattr(getattr(handler, "_default_client", None), "_transport", None)  # httpx
        for pool, limit in (
            (connector, "_limit"),
            (getattr(transport, "_pool", None), "_max_connections"),
            (getattr(handler, "_limits", None), "max_connections"),  # of clients for proxies
        ):
            if hasattr(pool, limit):
                setattr(pool, limit, pages + places)


def close_idle_connections(downloader: Downloader, most: int) -> int:
    """Closes at most *most* idle connections, those idle for longest first; returns how many.

    They are closed in one of the next turns of the loop. Needed for Scrapy 2.14 to 2.19, whose
    ``HTTP11DownloadHandler`` keeps connections open for later requests for four minutes, however
    many hosts there are. Remove when a setting limits them. The handlers for aiohttp and httpx keep
    theirs for 15 seconds at most.
    """
    handlers = getattr(getattr(downloader, "handlers", None), "_handlers", {})
    idle: list[Any] = []
    for handler in handlers.values():
        timers = getattr(getattr(handler, "_pool", None), "_timeouts", None)
        if isinstance(timers, dict):  # of Twisted's HTTPConnectionPool
            idle += timers.values()
    idle.sort(key=methodcaller("getTime"))
    for timer in idle[:most]:
        timer.reset(0)
    return len(idle[:most])


def codec(name: str) -> Any:
    """Returns Scrapy's module for a content coding: ``zstd``, as in Python 3.14, or ``brotli``.

    None if it is not installed, or this Scrapy version uses another (2.14: ``zstandard``).
    """
    return getattr(_compression, name, None)
