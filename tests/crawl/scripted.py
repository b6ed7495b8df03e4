"""The middleware, the policies and the fetcher on an engine that answers in the order it is told.

The engine is a stand-in, because a real one cannot be made to answer in a given order.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from greenlet import greenlet
from scrapy import Request, Spider
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from scrapy.settings import Settings
from scrapy.signalmanager import SignalManager
from scrapy.statscollectors import MemoryStatsCollector
from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from scrapy.utils.reactor import is_asyncio_reactor_installed
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.error import ConnectionLost
from twisted.internet.task import deferLater
from twisted.python.failure import Failure

from scrapy_robots_plus import RobotsIgnored
from scrapy_robots_plus.crawl.clock import Clock
from scrapy_robots_plus.requests import middleware

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

RULES = b"User-agent: *\nDisallow: /closed\n"

# What a robots.txt request can come back with: a status and a body, or an exception.
ANSWERS: list[tuple[int, bytes] | BaseException] = [
    (200, RULES),
    (200, RULES),
    (500, b""),
    (429, b""),
    (301, b""),  # without a target
    ConnectionLost(),
    IgnoreRequest("some other middleware"),
    RuntimeError("a bug somewhere"),
    asyncio.CancelledError(),
    CancelledError(),
]


@dataclass
class Engine:
    """Hands each download to the test, which says when and how it ends."""

    pending: list[tuple[Request, Deferred[Response]]] = field(default_factory=list)
    under_way: Counter[str] = field(default_factory=Counter)
    _slot: Any = field(
        default_factory=lambda: SimpleNamespace(
            closing=None, scheduler=SimpleNamespace(persist=False)
        )
    )
    downloader: Any = field(default_factory=lambda: SimpleNamespace(slots={}))

    async def download_async(self, request: Request) -> Response:
        answer: Deferred[Response] = Deferred()
        self.pending.append((request, answer))
        self.under_way[request.url] += 1
        # One fetch per origin, however many requests wait and whatever was evicted.
        assert self.under_way[request.url] == 1
        try:
            return await maybe_deferred_to_future(answer)
        finally:
            self.under_way[request.url] -= 1

    def answer(self, number: int, kind: int, headers: dict[str, str] | None = None) -> None:
        if not self.pending:
            return
        request, waiting = self.pending.pop(number % len(self.pending))
        answer = ANSWERS[kind]
        if waiting.called:
            return
        if isinstance(answer, tuple):
            status, body = answer
            headers = {"ETag": '"1"'} if status == 200 else headers
            waiting.callback(Response(request.url, status, headers, body))
        else:
            waiting.errback(answer)


class Sender:
    """Of the signals of one crawler. By default all have one, and reach the handlers of each."""


class StandIn(SimpleNamespace):
    """A crawler, which is found by what it is rather than by what it holds."""

    __hash__ = object.__hash__  # type: ignore[assignment]


def make_crawler(**overrides: Any) -> Any:
    crawler: Any = StandIn(
        settings=Settings({"ROBOTSTXT_OBEY": True, "STATS_DUMP": False, **overrides}),
        signals=SignalManager(Sender()),
        spider=Spider("probe"),
        engine=Engine(),
        get_downloader_middleware=lambda _: None,
    )
    crawler.stats = MemoryStatsCollector(crawler)
    return crawler


class Scenario:
    """One run: what was asked, and what each request came to."""

    def __init__(self, cache_size: int, **settings: Any) -> None:
        self.now = 0.0
        sizes = {"ROBOTS_CACHE_SIZE": cache_size, "ROBOTS_STORE_MAX": cache_size}
        self.crawler = make_crawler(ROBOTS_FETCH_RETRIES=1, **sizes, **settings)
        clock = Clock(wall=lambda: self.now, monotonic=lambda: self.now, jitter=lambda: 0.5)
        self.middleware = middleware.RobotsMiddleware(self.crawler, clock)
        self.running: list[Deferred[None]] = []
        self.results: dict[int, str] = {}
        self.leaks: list[str] = []

    def request(self, origin: int, page: str, later_headers: dict[str, str] | None = None) -> None:
        """*later_headers* are put in by another middleware, after ours."""
        request = Request(f"http://host{origin}.example/{page}")
        self._start(self._process(request, later_headers or {}), page)

    def request_sitemaps(self, origin: int) -> None:
        """Asks for what a robots.txt names, by a request that is not sent."""
        url = f"http://host{origin}.example/robots.txt"
        request = Request(url, meta={"robots_sitemaps": True})
        self._start(self._process(request, {}), "sitemaps")

    def ask(self, origin: int, page: str) -> None:
        """Asks the policies from code."""
        self._start(self._ask(f"http://host{origin}.example/{page}"), page)

    def _start(self, coroutine: Coroutine[Any, Any, None], page: str) -> None:
        number = len(self.running)
        task = deferred_from_coro(coroutine)
        self.running.append(task)
        task.addCallbacks(
            lambda _: self.results.setdefault(number, f"passed {page}"),
            lambda failure: self.results.setdefault(number, outcome(failure.value)),
        )

    async def _ask(self, url: str) -> None:
        if not await self.middleware.policies.allowed(url):
            raise IgnoreRequest

    async def _process(self, request: Request, later_headers: dict[str, str]) -> None:
        await self.middleware.process_request(request)
        if later_headers:
            request.headers.update(later_headers)
            await self.middleware._process_request_last(request)


def outcome(error: BaseException) -> str:
    reason = f": {error.verdict.reason}" if isinstance(error, RobotsIgnored) else ""
    return type(error).__name__ + reason


async def turn(seconds: float = 0.0) -> None:
    """Lets whatever is ready run, including what it makes ready."""
    from twisted.internet import reactor

    for _ in range(3 if is_asyncio_reactor_installed() else 1):
        await deferLater(reactor, seconds, lambda: None)


def in_greenlet(function: Callable[[], object]) -> Deferred[None]:
    """Runs *function*, which blocks on Deferreds, beside the reactor."""
    done: Deferred[None] = Deferred()

    def body() -> None:
        try:
            function()
        except BaseException:  # noqa: BLE001 - raised again where it is awaited
            call_later(0, done.errback, Failure())  # type: ignore[no-untyped-call]
        else:
            call_later(0, done.callback, None)

    greenlet(body).switch()
    return done
