"""Random interleavings of requests, answers, failures, cancellations, evictions and closing.

The engine is a stand-in, because a real one cannot be made to answer in a given order; the
middleware, the policies and the fetcher are the real ones.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
from greenlet import greenlet
from hypothesis import given, settings
from hypothesis import strategies as st
from scrapy import Request, Spider
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from scrapy.settings import Settings
from scrapy.signalmanager import SignalManager
from scrapy.statscollectors import MemoryStatsCollector
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from scrapy.utils.reactor import is_asyncio_reactor_installed
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.error import ConnectionLost
from twisted.internet.task import deferLater
from twisted.python.failure import Failure

from scrapy_robots_plus import RobotsIgnored, RobotsMiddleware
from scrapy_robots_plus.crawl.policies import Policies

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ORIGINS = 4
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

STEPS = st.one_of(
    st.tuples(st.just("request"), st.integers(0, ORIGINS - 1), st.sampled_from(["open", "closed"])),
    st.tuples(st.just("answer"), st.integers(0, 20), st.sampled_from(range(len(ANSWERS)))),
    st.tuples(st.just("cancel"), st.integers(0, 20), st.none()),
    st.tuples(st.just("pass time"), st.integers(1, 100_000), st.none()),
)


@dataclass
class Engine:
    """Hands each download to the test, which says when and how it ends."""

    pending: list[tuple[Request, Deferred[Response]]] = field(default_factory=list)
    under_way: Counter[str] = field(default_factory=Counter)
    _slot: Any = field(default_factory=lambda: SimpleNamespace(closing=None))
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

    def answer(self, number: int, kind: int) -> None:
        if not self.pending:
            return
        request, waiting = self.pending.pop(number % len(self.pending))
        answer = ANSWERS[kind]
        if waiting.called:
            return
        if isinstance(answer, tuple):
            waiting.callback(Response(request.url, status=answer[0], body=answer[1]))
        else:
            waiting.errback(answer)


def make_crawler(**overrides: Any) -> Any:
    crawler = SimpleNamespace(
        settings=Settings({"ROBOTSTXT_OBEY": True, "STATS_DUMP": False, **overrides}),
        signals=SignalManager(),
        spider=Spider("probe"),
        engine=Engine(),
    )
    crawler.stats = MemoryStatsCollector(crawler)
    return crawler


class Scenario:
    """One run: what was asked, and what each request came to."""

    def __init__(self, cache_size: int) -> None:
        self.now = 0.0
        self.crawler = make_crawler(ROBOTS_CACHE_SIZE=cache_size, ROBOTS_FETCH_RETRIES=1)
        self.middleware = RobotsMiddleware.from_crawler(self.crawler)
        self.middleware.policies._clock = lambda: self.now
        self.running: list[Deferred[None]] = []
        self.results: dict[int, str] = {}
        self.leaks: list[str] = []

    def request(self, origin: int, page: str) -> None:
        number = len(self.running)
        request = Request(f"http://host{origin}.example/{page}")
        task = deferred_from_coro(self.middleware.process_request(request))
        self.running.append(task)
        task.addCallbacks(
            lambda _: self.results.setdefault(number, f"passed {page}"),
            lambda failure: self.results.setdefault(number, outcome(failure.value)),
        )

    async def run(self, steps: list[Any], closes: bool) -> None:
        engine = self.crawler.engine
        for step, first, second in steps:
            if step == "request":
                self.request(first, second)
            elif step == "answer":
                engine.answer(first, second)
            elif step == "cancel" and self.running:
                self.running[first % len(self.running)].cancel()
            elif step == "pass time":
                self.now += first
            await turn()
        if closes:
            engine._slot.closing = Deferred()
        for round_ in range(100):
            if len(self.results) == len(self.running) and (closes or not engine.pending):
                break
            if not closes:
                engine.answer(round_, round_)
            await turn(0.001 if closes else 0)
        assert len(self.results) == len(self.running), "a waiter hangs"
        while engine.pending:  # what hangs at closing ends at its timeout
            engine.answer(0, 5)
            await turn()


def outcome(error: BaseException) -> str:
    reason = f": {error.verdict.reason}" if isinstance(error, RobotsIgnored) else ""
    return type(error).__name__ + reason


async def turn(seconds: float = 0.0) -> None:
    """Lets whatever is ready run, including what it makes ready."""
    from twisted.internet import reactor

    for _ in range(3 if is_asyncio_reactor_installed() else 1):
        await deferLater(reactor, seconds, lambda: None)


@settings(max_examples=1000, deadline=None)
@given(steps=st.lists(STEPS, max_size=60), cache_size=st.integers(1, 4), closes=st.booleans())
def check_scenario(steps: list[Any], cache_size: int, closes: bool) -> None:
    scenario = Scenario(cache_size)
    pytest_twisted.blockon(Deferred.fromCoroutine(scenario.run(steps, closes)))
    expected = {
        "passed open",
        "RobotsDisallowed: rule",
        "RobotsUnreachable: unreachable",
        "CancelledError",
    }
    if closes:
        expected.add("RobotsUnreachable: closing")
    assert set(scenario.results.values()) <= expected
    assert not scenario.middleware.policies._flights


@pytest.fixture
def _quick_and_quiet(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(Policies, "CLOSING_CHECK_SECONDS", 0.001)
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.usefixtures("_quick_and_quiet")
@pytest_twisted.ensureDeferred
async def test_no_leak_and_no_hung_waiter_in_1000_runs() -> None:
    await in_greenlet(check_scenario)


def in_greenlet(function: Callable[[], None]) -> Deferred[None]:
    """Runs *function*, which blocks on Deferreds, beside the reactor."""
    from twisted.internet import reactor

    done: Deferred[None] = Deferred()

    def body() -> None:
        try:
            function()
        except BaseException:  # noqa: BLE001 - raised again where it is awaited
            reactor.callLater(0, done.errback, Failure())
        else:
            reactor.callLater(0, done.callback, None)

    greenlet(body).switch()
    return done
