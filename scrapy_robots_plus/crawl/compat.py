"""Every touch of a private or version-dependent name of Scrapy, with the version it is for."""

from __future__ import annotations

import asyncio
import pickle
import time
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar, cast

import scrapy.core.downloader as downloader_module
import scrapy.exceptions
import scrapy.signals
from scrapy import pqueues
from scrapy.core.scheduler import Scheduler
from scrapy.downloadermiddlewares.httpcache import HttpCacheMiddleware
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from scrapy.utils.httpobj import urlparse_cached
from scrapy.utils.log import get_scrapy_root_handler
from scrapy.utils.reactor import is_reactor_installed
from twisted.internet import error as tx
from twisted.internet.defer import CancelledError
from twisted.logger import globalLogBeginner

from scrapy_robots_plus.policy.access import Failure

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable

    from scrapy import Request
    from scrapy.core.downloader import Downloader, Slot
    from scrapy.core.engine import ExecutionEngine
    from scrapy.crawler import Crawler
    from scrapy.http import Response
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


LOGGERS_OF_FAILED_CRAWLS = ("asyncio", "twisted")
"""The loggers that say why a crawl could not start: those of its task, or of its Deferred."""


def mark_as_failed(crawler: Crawler) -> None:
    """Lets ``scrapy crawl`` exit with status 1 after a crawl that could not start.

    Up to 2.14 at least a crawl counts as failed only where its spider could not be made.
    """
    crawler.spider = None


@cache
def log_failed_crawls_once() -> None:
    """Keeps Twisted from printing a failure that Scrapy logs.

    It prints critical ones with a traceback until somebody says where its log goes, and Scrapy's
    observer (2.14 to 2.19) does not say so.
    """
    if get_scrapy_root_handler() is not None:
        globalLogBeginner.beginLoggingTo([], discardBuffer=True, redirectStandardIO=False)


def scheduler_persists(crawler: Crawler) -> bool:
    """Whether what the scheduler is given now is still there in the next crawl (2.14 to 2.19).

    Scrapy's own says so by its queue on disk, scrapy-redis's by ``persist``. Of any other it is
    assumed: where it is wrong, a request is forgotten that was to be dropped in any case.
    """
    slot = engine_of(crawler)._slot  # noqa: SLF001
    if slot is None:
        return False
    scheduler: Any = slot.scheduler
    if getattr(type(scheduler), "enqueue_request", None) is Scheduler.enqueue_request:
        return getattr(scheduler, "dqs", None) is not None
    return bool(getattr(scheduler, "persist", True))


def run_in_background(coroutine: Coroutine[Any, Any, _T]) -> Deferred[_T]:
    """Starts *coroutine* in whatever loop there is; cancelling the Deferred cancels it."""
    return deferred_from_coro(coroutine)


async def wait_for(waiter: Deferred[_T]) -> _T:
    """Waits for a Deferred that nobody else waits for, in every reactor mode.

    A Deferred shared by several waiters gives its result to the first alone.
    """
    return await maybe_deferred_to_future(waiter)


def http_cache(crawler: Crawler) -> HttpCacheMiddleware | None:
    """Scrapy's HTTP cache, where it is in use; its ``storage`` is the project's."""
    return crawler.get_downloader_middleware(HttpCacheMiddleware)


CANCELLED = (asyncio.CancelledError, CancelledError)
"""What is raised where something waits for what is cancelled, in any reactor mode."""


class DownloadFunction(Protocol):
    """``DownloadHandlers.download_request_async``."""

    def __call__(self, request: Request, /) -> Coroutine[Any, Any, Response]: ...


class StandIn(Protocol):
    """What is called in the place of a :class:`DownloadFunction`, which it is given."""

    def __call__(
        self, download: DownloadFunction, request: Request, /, *, stops: bool
    ) -> Coroutine[Any, Any, Response]: ...


def stand_before_handlers(crawler: Crawler, stand_in: StandIn) -> None:
    """Calls *stand_in* wherever the downloader calls a download handler (2.14 to 2.19).

    *stops* tells it whether StopDownload stops the handler, as far as that can be known before.
    """
    handlers: Any = getattr(engine_of(crawler).downloader, "handlers", None)
    download = getattr(handlers, "download_request_async", None)
    if download is None:  # a downloader that has none
        return

    def instead(request: Request) -> Coroutine[Any, Any, Response]:
        handler = handlers._get_handler(urlparse_cached(request).scheme)  # noqa: SLF001
        return stand_in(download, request, stops=_can_be_stopped(handler))

    handlers.download_request_async = instead


def _can_be_stopped(handler: object) -> bool:
    """Whether *handler* sends ``bytes_received``: Scrapy's own do.

    One derived from them may download in another way, as scrapy-impersonate's does, but for those
    that fill in what ``BaseStreamingDownloadHandler`` (2.19) leaves open.
    """
    method = getattr(type(handler), "download_request", None)
    own = getattr(method, "__module__", "").startswith("scrapy.core.downloader.handlers.")
    return own or any(base.__name__ == _STREAMING for base in type(handler).__mro__)


_STREAMING = "BaseStreamingDownloadHandler"


def last_process_request(crawler: Crawler, method: object) -> None:
    """Makes *method* the last ``process_request``, after all middlewares (2.14 to 2.19)."""
    manager = engine_of(crawler).downloader.middleware
    manager.methods["process_request"].append(cast("Any", method))


def most_sockets() -> int:
    """How many sockets may be used for robots.txt: a quarter of the files that may be open."""
    files = _most_files()
    # select() takes no more than 1,024 files, whatever the limit.
    if is_reactor_installed() and "SelectReactor" in type(_reactor()).__name__:
        files = min(files, 1024)
    return max(min(files, 65_536) // 4, 32)


def most_queue_files() -> int:
    """How many files of queues may be open: five eighths of all, an eighth is left for pages."""
    return _most_files() * 5 // 8


def _most_files() -> int:
    """How many files this process may have open."""
    try:
        import resource  # not on Windows
    except ImportError:
        return 512
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 1_000_000 if soft == resource.RLIM_INFINITY else soft


def _reactor() -> object:
    from twisted.internet import reactor  # importing it installs one

    return reactor


def make_room(downloader: Downloader, places: int) -> None:
    """Lets download handlers open *places* connections besides ``CONCURRENT_REQUESTS``.

    Those that work without a reactor (2.16 to 2.19) open no more than that, so that requests for
    robots.txt would keep pages waiting. They are made with the downloader, and warn when they are
    made, so their pools are made larger afterwards. Other handlers have no such limit.
    """
    handlers: dict[str, Any] = downloader.handlers._handlers  # noqa: SLF001
    for handler in handlers.values():
        if getattr(handler, "_pool_size_total", 0):  # 0: no limit
            handler._pool_size_total += places  # noqa: SLF001
            for pool, limit in _pools(handler):
                setattr(pool, limit, handler._pool_size_total)  # noqa: SLF001


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


class Part(NamedTuple):
    """One of the queues in a ``ScrapyPriorityQueue``: requests of one priority (2.14 to 2.19)."""

    priority: int
    starts: bool
    """Whether it holds start requests."""
    queue: pqueues.QueueProtocol

    @property
    def name(self) -> str:
        """That of its file or folder."""
        return part_name(self.priority, starts=self.starts)


def part_name(priority: int, *, starts: bool) -> str:
    return f"{priority}s" if starts else str(priority)


def part_names(priorities: Iterable[int]) -> set[str]:
    return {
        part_name(priority, starts=starts) for priority in priorities for starts in (False, True)
    }


def parts_of(queue: pqueues.ScrapyPriorityQueue) -> list[Part]:
    parts = [Part(priority, False, part) for priority, part in queue.queues.items()]
    starts = queue._start_queues.items()  # noqa: SLF001
    return parts + [Part(priority, True, part) for priority, part in starts]


def count_parts(queue: pqueues.ScrapyPriorityQueue) -> int:
    return len(queue.queues) + len(queue._start_queues)  # noqa: SLF001


def part_in_turn(queue: pqueues.ScrapyPriorityQueue) -> Part | None:
    """The one that ``pop()`` will ask."""
    priority = best_priority(queue)
    for starts, parts in enumerate((queue.queues, queue._start_queues)):  # noqa: SLF001
        if priority in parts:
            return Part(priority, bool(starts), parts[priority])
    return None


def open_part(queue: pqueues.ScrapyPriorityQueue, priority: int, *, starts: bool) -> None:
    """Opens what a former crawl has left of it. Raises whatever the file is worth."""
    if starts and queue._start_queue_cls is None:  # noqa: SLF001
        return
    parts = queue._start_queues if starts else queue.queues  # noqa: SLF001
    make = queue._sqfactory if starts else queue.qfactory  # noqa: SLF001
    part = make(priority)
    if not len(part):
        part.close()
        return
    parts[priority] = part
    queue.curprio = best_priority(queue)


def take_out(queue: pqueues.ScrapyPriorityQueue, part: Part) -> None:
    """Takes *part* out of *queue*, which holds it."""
    parts = queue._start_queues if part.starts else queue.queues  # noqa: SLF001
    del parts[part.priority]
    rest = (*queue.queues, *queue._start_queues)  # noqa: SLF001
    queue.curprio = min(rest, default=None)


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
    part = part_in_turn(queue)
    try:
        found: Request | None = cast("Any", part.queue).peek() if part is not None else None
    except Exception:  # noqa: BLE001 - optional in Scrapy's protocol; or it cannot be read from disk
        return None
    return found


slot_clock: Callable[[], float] = getattr(downloader_module, "monotonic", None) or time.time
"""The clock of ``Slot.lastseen``: wall clock up to 2.14 at least, monotonic in 2.19."""


def new_slot(downloader: Downloader, key: str) -> tuple[int, float, float]:
    """How many requests a slot that is yet to be made will take, its delay and its jitter."""
    own: dict[str, Any] = downloader.per_slot_settings.get(key, {})
    places = own.get("concurrency", downloader.ip_concurrency or downloader.domain_concurrency)
    default: Any = getattr(downloader, "_delay", None)  # 2.19
    if default is None:  # 2.14
        settings = downloader.settings
        spider = downloader.crawler.spider
        default = getattr(spider, "download_delay", settings.getfloat("DOWNLOAD_DELAY"))
    jitter = own.get("jitter", getattr(downloader, "_jitter", 0.5))  # the latter in 2.19
    return int(places), float(own.get("delay", default)), float(jitter)


def least_delay(delay: float, jitter: float) -> float:
    """The shortest delay that a slot may draw at random. A jitter above 1 goes to 0."""
    return delay * max(0.0, 1 - jitter)


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


class _Transfers(set["Request"]):
    """``Slot.transferring``: tells of each request that comes in, and of each that goes."""

    def __init__(
        self,
        requests: Iterable[Request],
        begun: Callable[[Request], None],
        ended: Callable[[Request], None],
    ) -> None:
        super().__init__(requests)
        self._begun = begun
        self._ended = ended

    def add(self, request: Request) -> None:
        super().add(request)
        self._begun(request)

    def remove(self, request: Request) -> None:
        super().remove(request)
        self._ended(request)


def watch_transfers(
    slot: Slot, begun: Callable[[Request], None], ended: Callable[[Request], None]
) -> None:
    """Calls *begun* just before a request of *slot* is handed to its download handler.

    *ended* is called when the handler is done, just before the downloader looks when the next one
    may go. No signal comes at these moments (2.14 to 2.19).
    """
    slot.transferring = _Transfers(slot.transferring, begun, ended)


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
