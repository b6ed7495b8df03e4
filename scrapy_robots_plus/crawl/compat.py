"""Every touch of a private or version-dependent name of Scrapy, with the version it is for."""

from __future__ import annotations

import inspect
from codecs import BOM_UTF8
from collections.abc import Coroutine, Iterable
from typing import TYPE_CHECKING, Any, TypeVar, cast

import scrapy.exceptions
import scrapy.signals
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.internet import error as tx
from w3lib.encoding import http_content_type_encoding

from scrapy_robots_plus.policy.access import Failure

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.core.downloader import Downloader, Slot
    from scrapy.core.engine import ExecutionEngine
    from scrapy.crawler import Crawler
    from scrapy.robotstxt import RobotParser
    from scrapy.statscollectors import StatsCollector
    from twisted.internet.defer import Deferred

    from .agent import Names

_T = TypeVar("_T")

SLOT_META_KEY = "download_slot"
"""``Downloader.DOWNLOAD_SLOT``: the downloader writes it, redirects copy it."""

robots_parsed: object | None = getattr(scrapy.signals, "robots_parsed", None)
"""Scrapy's signal for a parsed robots.txt, 2.18 and later."""


def engine_of(crawler: Crawler) -> ExecutionEngine:
    # Optional in the annotations of 2.14 to 2.17, late but never None from 2.18.
    return crawler.engine


def stats_of(crawler: Crawler) -> StatsCollector:
    return crawler.stats


def is_closing(crawler: Crawler) -> bool:
    """Whether the engine waits for its last requests, or has ended. No signal says so (2.14+)."""
    slot = engine_of(crawler)._slot  # noqa: SLF001
    return slot is None or slot.closing is not None


def run_in_background(coroutine: Coroutine[Any, Any, None]) -> Deferred[None]:
    """Starts *coroutine* in whatever loop there is; cancelling the Deferred cancels it."""
    return deferred_from_coro(coroutine)


async def wait_for(waiter: Deferred[_T]) -> _T:
    """Waits for a Deferred that nobody else waits for, in every reactor mode.

    A Deferred shared by several waiters gives its result to the first alone.
    """
    return await maybe_deferred_to_future(waiter)


def last_process_request(crawler: Crawler, method: object) -> None:
    """Makes *method* the last ``process_request``, after all middlewares (2.14 to 2.19)."""
    manager = engine_of(crawler).downloader.middleware
    manager.methods["process_request"].append(cast("Any", method))


def slot_key(downloader: Downloader, request: Request) -> str:
    """The key of the slot that *request* goes to (public, ``_get_slot_key`` before 2.14)."""
    return downloader.get_slot_key(request)


def slot_jitter(slot: Slot) -> float:
    """The largest part of the delay that is taken off at random."""
    if hasattr(slot, "jitter"):  # 2.19
        return float(slot.jitter)
    return 0.5 if slot.randomize_delay else 0.0  # up to 2.18


def set_slot_jitter(slot: Slot, jitter: float) -> None:
    if hasattr(slot, "jitter"):  # 2.19
        slot.jitter = jitter
    else:  # up to 2.18
        slot.randomize_delay = bool(jitter)


def _exception_types(*names: str) -> tuple[type[Exception], ...]:
    """Those of the exceptions of ``scrapy.exceptions`` that this version has (2.15 to 2.19)."""
    found = (getattr(scrapy.exceptions, name, None) for name in names)
    return tuple(kind for kind in found if kind is not None)


_TIMEOUT: tuple[type[Exception], ...] = (
    TimeoutError,
    tx.TimeoutError,
    *_exception_types("DownloadTimeoutError"),
)
_DNS: tuple[type[Exception], ...] = (tx.DNSLookupError, *_exception_types("CannotResolveHostError"))
_CUT = _exception_types("ResponseDataLossError")
_CONNECTION: tuple[type[Exception], ...] = (
    OSError,
    tx.ConnectError,
    tx.ConnectionClosed,
    *_exception_types("DownloadConnectionRefusedError", "DownloadFailedError"),
)


def failure_of(exception: BaseException, *, headers_received: bool) -> Failure:
    """What kind of failure a download handler's *exception* is."""
    if isinstance(exception, _DNS):
        return Failure.DNS
    if isinstance(exception, _TIMEOUT):
        return Failure.TIMEOUT
    if isinstance(exception, _CUT) or (headers_received and _is_connection_loss(exception)):
        return Failure.CUT
    return Failure.CONNECTION if _is_connection_loss(exception) else Failure.ERROR


def _is_connection_loss(exception: BaseException) -> bool:
    # twisted.web's ResponseFailed wraps what happened; it reaches us as it is up to 2.14.
    return isinstance(exception, _CONNECTION) or hasattr(exception, "reasons")


def make_parser(parsers: Any, crawler: Crawler, body: bytes, content_type: str) -> RobotParser:
    """A ``RobotParser`` of *body*. Those that take a charset get that of the Content-Type."""
    if "charset" not in inspect.signature(parsers.from_crawler).parameters:
        # Not all of Scrapy's parsers see a rule behind a byte order mark.
        return cast("RobotParser", parsers.from_crawler(crawler, body.removeprefix(BOM_UTF8)))
    charset = http_content_type_encoding(content_type)
    return cast("RobotParser", parsers.from_crawler(crawler, body, charset=charset))


def parser_crawl_delay(parser: Any, user_agent: Names) -> object:
    """The Crawl-delay that a ``RobotParser`` names for *user_agent*, unchecked.

    ``RobotParser.crawl_delay`` is there from 2.18; before, Scrapy's own parsers are asked
    through what they wrap.
    """
    if hasattr(parser, "crawl_delay"):
        return parser.crawl_delay(user_agent)
    wrapped = getattr(parser, "rp", None)
    for name in ("crawl_delay", "get_crawl_delay"):
        if hasattr(wrapped, name):
            return getattr(wrapped, name)(user_agent)
    return None


def parser_sitemaps(parser: Any) -> tuple[str, ...]:
    """The Sitemap lines that a parser names; Scrapy's interface has no name for them."""
    holder = parser if hasattr(parser, "sitemaps") else getattr(parser, "rp", None)
    found = getattr(holder, "sitemaps", None) or getattr(holder, "site_maps", None)
    if callable(found):
        found = found()
    return tuple(str(url) for url in found) if isinstance(found, Iterable) else ()
