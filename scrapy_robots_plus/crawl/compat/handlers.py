"""Download handlers: intercepting them, and the size of their connection pools."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Protocol

from scrapy.utils.httpobj import urlparse_cached

from .crawler import engine_of

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from scrapy import Request
    from scrapy.core.downloader import Downloader
    from scrapy.crawler import Crawler
    from scrapy.http import Response

logger = logging.getLogger(__name__)


class DownloadFunction(Protocol):
    """``DownloadHandlers.download_request_async``."""

    def __call__(self, request: Request, /) -> Coroutine[Any, Any, Response]: ...


class StandIn(Protocol):
    """Called instead of a :class:`DownloadFunction`, which is its first argument."""

    def __call__(
        self, download: DownloadFunction, request: Request, /, *, stops: bool
    ) -> Coroutine[Any, Any, Response]: ...


def stand_before_handlers(crawler: Crawler, stand_in: StandIn) -> None:
    """Calls *stand_in* wherever the downloader calls a download handler.

    Needed by 2.14 to 2.19: no public name takes a request away from its handler, and a handler's
    timeout may restart with each byte. Can go when ``download_timeout`` limits the whole response
    in all handlers, and a download can be cancelled.

    *stops*: whether the handler can be stopped with StopDownload, as far as known.
    """
    handlers: Any = getattr(engine_of(crawler).downloader, "handlers", None)
    download = getattr(handlers, "download_request_async", None)
    if download is None:  # a downloader of another kind
        return

    def instead(request: Request) -> Coroutine[Any, Any, Response]:
        handler = handlers._get_handler(urlparse_cached(request).scheme)  # noqa: SLF001
        return stand_in(download, request, stops=_can_be_stopped(handler))

    handlers.download_request_async = instead


def watch_handovers(crawler: Crawler, listener: Callable[[Request], None]) -> bool:
    """Calls *listener* with each request, just before its download handler gets it.

    False if the downloader is of another kind. Needed by 2.14 to 2.19, whose last signal before,
    ``request_reached_downloader``, is sent before the delay of the slot. Can go when there is one.
    """
    handlers: Any = getattr(engine_of(crawler).downloader, "handlers", None)
    download = getattr(handlers, "download_request_async", None)
    if download is None:
        return False

    def instead(request: Request) -> Coroutine[Any, Any, Response]:
        listener(request)
        coroutine: Coroutine[Any, Any, Response] = download(request)
        return coroutine

    handlers.download_request_async = instead
    return True


def _can_be_stopped(handler: object) -> bool:
    """Whether *handler* sends ``bytes_received``, as Scrapy's own handlers do.

    A handler derived from them may download in another way, like that of scrapy-impersonate.
    Subclasses of ``BaseStreamingDownloadHandler`` (2.16 to 2.19) do send it.
    """
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
