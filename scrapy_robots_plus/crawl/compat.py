"""Every touch of a private or version-dependent name of Scrapy, with the version it is for."""

from __future__ import annotations

import pickle
import time
from typing import TYPE_CHECKING, Any, TypeVar, cast

import scrapy.core.downloader as downloader_module
import scrapy.exceptions
import scrapy.signals
from scrapy import pqueues
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from scrapy.utils.misc import build_from_crawler
from scrapy.utils.reactor import is_reactor_installed
from twisted.internet import error as tx

from scrapy_robots_plus.policy.access import Failure

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from scrapy import Request
    from scrapy.core.downloader import Downloader, Slot
    from scrapy.core.engine import ExecutionEngine
    from scrapy.crawler import Crawler
    from scrapy.statscollectors import StatsCollector
    from twisted.internet.defer import Deferred


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


def most_sockets() -> int:
    """How many sockets may be used for robots.txt: a quarter of the files that may be open."""
    try:
        import resource  # not on Windows
    except ImportError:
        return 128
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    # select() takes no more than 1,024 files, whatever the limit.
    if is_reactor_installed() and "SelectReactor" in type(_reactor()).__name__:
        return 256
    return 16_384 if soft == resource.RLIM_INFINITY else max(soft // 4, 32)


def _reactor() -> object:
    from twisted.internet import reactor  # importing it installs one

    return reactor


class _WithRoom:
    """A crawler with a larger ``CONCURRENT_REQUESTS``."""

    def __init__(self, crawler: Crawler, places: int) -> None:
        self._crawler = crawler
        self.settings = crawler.settings.copy()
        self.settings.frozen = False
        own = crawler.settings.getint("CONCURRENT_REQUESTS")
        self.settings.set("CONCURRENT_REQUESTS", own and own + places, "cmdline")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._crawler, name)


def make_room(downloader: Downloader, places: int) -> None:
    """Lets download handlers open *places* connections besides ``CONCURRENT_REQUESTS``.

    Those that work without a reactor (2.15 to 2.19) open no more than that, so that requests for
    robots.txt would keep pages waiting. They are made with the downloader, and so are made again.
    """
    handlers: dict[str, Any] = downloader.handlers._handlers  # noqa: SLF001
    for scheme, handler in list(handlers.items()):
        if hasattr(handler, "_pool_size_total"):
            crawler = cast("Crawler", _WithRoom(downloader.crawler, places))
            handlers[scheme] = build_from_crawler(type(handler), crawler)
            run_in_background(handler.close())


def slot_key(downloader: Downloader, request: Request) -> str:
    """The key of the slot that *request* goes to (public, ``_get_slot_key`` before 2.14)."""
    return downloader.get_slot_key(request)


def wake_engine(crawler: Crawler) -> None:
    """Makes the engine ask the scheduler for requests, once in the next turn of the loop (2.14+).

    No public name does so.
    """
    slot = engine_of(crawler)._slot  # noqa: SLF001
    if slot is not None and slot.closing is None:
        slot.nextcall.schedule()


path_safe = pqueues._path_safe  # noqa: SLF001
"""The name on disk of a downloader slot (2.14 to 2.19), so that jobs can be resumed by either
queue."""


def fits_on_disk(request: Request, crawler: Crawler) -> bool:
    """Whether Scrapy's disk queues take *request*: they cannot name a callback that is a lambda."""
    try:
        pickle.dumps(request.to_dict(spider=crawler.spider), protocol=4)
    except Exception:  # noqa: BLE001 - the reasons are those of whatever is in its meta
        return False
    return True


def best_priority(queue: pqueues.ScrapyPriorityQueue) -> int:
    """The priority of the request that *queue* would pop; the lowest number is the most urgent.

    ``curprio`` still names that of the last request where start requests are left (2.14 to 2.19).
    """
    starts = queue._start_queues  # noqa: SLF001
    if queue.curprio is not None and (queue.curprio in queue.queues or queue.curprio in starts):
        return queue.curprio
    return min((*queue.queues, *starts), default=0)


def next_request(queue: pqueues.ScrapyPriorityQueue) -> Request | None:
    """The request that *queue* would pop, left where it is; None where it cannot tell.

    ``ScrapyPriorityQueue.peek()`` looks at ``curprio`` alone, and at start requests first.
    """
    priority = best_priority(queue)
    chosen: Any = queue.queues.get(priority) or queue._start_queues.get(priority)  # noqa: SLF001
    try:
        found: Request | None = chosen.peek() if chosen else None
    except Exception:  # noqa: BLE001 - optional in Scrapy's protocol; or it cannot be read from disk
        return None
    return found


slot_clock: Callable[[], float] = getattr(downloader_module, "monotonic", None) or time.time
"""The clock of ``Slot.lastseen``: wall clock up to 2.14 at least, monotonic in 2.19."""


def new_slot(downloader: Downloader, key: str) -> tuple[int, float]:
    """How many requests a slot that is yet to be made will take, and its least delay in seconds."""
    own: dict[str, Any] = downloader.per_slot_settings.get(key, {})
    places = own.get("concurrency", downloader.ip_concurrency or downloader.domain_concurrency)
    default: Any = getattr(downloader, "_delay", None)  # 2.19
    if default is None:  # 2.14
        settings = downloader.settings
        spider = downloader.crawler.spider
        default = getattr(spider, "download_delay", settings.getfloat("DOWNLOAD_DELAY"))
    jitter = own.get("jitter", getattr(downloader, "_jitter", 0.5))  # the latter in 2.19
    return int(places), float(own.get("delay", default)) * max(0.0, 1 - jitter)


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
