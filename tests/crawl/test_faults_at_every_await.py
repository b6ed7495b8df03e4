"""A fault at every await of the way from a request to its verdict, one at a time.

The modules are compiled again with each ``await`` passing through a function that can fail there.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import logging
from functools import cache
from importlib import import_module
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
from scrapy import signals
from scrapy.utils.asyncio import call_later
from scrapy.utils.reactor import is_asyncio_reactor_installed
from twisted.internet.defer import CancelledError, Deferred

from scrapy_robots_plus.compat import ClosingWatch, Courier, InPlace, run_in_background
from scrapy_robots_plus.crawl.clock import DEFAULT_CLOCK, Clock
from scrapy_robots_plus.origins import fetch_lease
from scrapy_robots_plus.origins.fetcher import Fetcher
from scrapy_robots_plus.origins.store_or_site import Retrieval
from scrapy_robots_plus.protocol.origin import Origin
from tests.crawl.leases_in_memory import leases_in_memory
from tests.crawl.scripted import Scenario, turn
from tests.redis_server import RedisServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import ModuleType


# In the order in which they import each other.
MODULES = [
    import_module(f"scrapy_robots_plus.{name}")
    for name in (
        "compat",
        "origins.fetcher",
        "origins.fetch_lease",
        "origins.store_or_site",
        "origins.policies",
        "requests.judge",
        "crawl.crawl",
        "requests.middleware",
    )
]
RULES, ERROR, LOST = 0, 2, 5  # of scripted.ANSWERS
FAULTS = ("raise before", "raise after", "cancel before", "cancel after", "close")
HERE = "__fault_here__"


class OthersFirst:
    """Another worker begins to fetch each file first, and is called off."""

    def __init__(self) -> None:
        self.calls: Courier | InPlace = InPlace()
        self.leases = leases_in_memory(60, DEFAULT_CLOCK.monotonic)

    def turn(self, origin: Origin) -> fetch_lease.Turn:
        self.others_begin(origin)
        return fetch_lease.Turn(origin, self.leases, self.calls, print, DEFAULT_CLOCK)

    def others_begin(self, origin: Origin) -> None:
        self.leases.take(origin, b"of another")
        call_later(0.002, self.leases.release, origin, b"of another")


class DeadWorkersFirst(OthersFirst):
    """A worker that is dead has the lease of each file, for a short while."""

    def __init__(self, server: RedisServer) -> None:
        self.client = server.client()
        self.calls = Courier("leases")
        self.leases = fetch_lease.Leases(server.asked(), 60)

    def others_begin(self, origin: Origin) -> None:
        self.client.set(f"{{robots:{origin}}}:lease", "of a dead worker", nx=True, px=50)


class CameBack:
    """A network that was away in the first fetch of each file, until another site was asked."""

    def __init__(self) -> None:
        self.origins: set[Origin] = set()

    async def outage_ended(self, origin: Origin, began: float, until: float, ask: Any) -> bool:
        is_first = origin not in self.origins
        if is_first:
            self.origins.add(origin)
            await ask(Origin("http", f"knocked-at-for.{origin.host}", 80), 1.0)
        return is_first

    async def dns_outage_ended(self, origin: Origin, began: float, until: float) -> bool:
        async def ask(*_: object) -> None:
            await turn()

        return await self.outage_ended(origin, began, until, ask)


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with RedisServer() as running:
        yield running


class _Wrap(ast.NodeTransformer):
    """``await x`` becomes ``await __fault_here__(site, x)``."""

    def __init__(self, module: str) -> None:
        self.module = module
        self.sites: list[str] = []

    def visit_Await(self, node: ast.Await) -> ast.Await:
        self.generic_visit(node)
        site = f"{self.module}:{node.lineno} {ast.unparse(node)[:50]}"
        self.sites.append(site)
        call = ast.Call(ast.Name(HERE, ast.Load()), [ast.Constant(site), node.value], [])
        return ast.copy_location(ast.Await(call), node)


def wrapped(module: ModuleType) -> tuple[Any, list[str]]:
    wrap = _Wrap(module.__name__.rpartition(".")[2])
    tree = ast.fix_missing_locations(wrap.visit(ast.parse(inspect.getsource(module))))
    return compile(tree, module.__file__ or "", "exec"), wrap.sites


WRAPPED = [wrapped(module) for module in MODULES]
SITES = [
    site
    for _, sites in WRAPPED
    for site in sites
    # Scrapy has the signal from 2.18 on.
    if "signals.send_catch_log" not in site or hasattr(signals, "robots_parsed")
]


class Injector:
    """Fails once, at one site, in one way."""

    def __init__(self, site: str, fault: str) -> None:
        self.site = site
        self.fault = fault
        self.hit = False
        self.close: Any = None

    async def __call__(self, site: str, awaitable: Any) -> Any:
        if site != self.site or self.hit:
            return await awaitable
        self.hit = True
        if self.fault == "close":
            self.close()
        elif self.fault.endswith("before"):
            discard(awaitable)
            raise self.error()
        result = await awaitable
        if self.fault.endswith("after"):
            raise self.error()
        return result

    def error(self) -> BaseException:
        if self.fault.startswith("raise"):
            return RuntimeError("injected")
        return asyncio.CancelledError() if is_asyncio_reactor_installed() else CancelledError()


def discard(awaitable: Any) -> None:
    """Ends what is not awaited, as a failing await would."""
    if hasattr(awaitable, "close"):
        awaitable.close()
    else:
        awaitable.cancel()


@pytest.fixture
def injector(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Injector]:
    monkeypatch.setattr(ClosingWatch, "SECONDS", 0.001)
    made = Injector(*request.param)
    before = [dict(vars(module)) for module in MODULES]
    logging.disable(logging.CRITICAL)
    for module, (code, _) in zip(MODULES, WRAPPED, strict=True):
        vars(module)[HERE] = made
        exec(code, vars(module))
    yield made
    logging.disable(logging.NOTSET)
    for module, names in zip(MODULES, before, strict=True):
        vars(module).clear()
        vars(module).update(names)


async def settle(
    scenario: Scenario, answers: Iterable[int], headers: dict[str, str] | None = None
) -> None:
    """Gives *answers*, with *headers*, to downloads, and then rules, until every request and every
    fetch has come to an end.
    """
    then = iter(answers)
    for _ in range(200):
        done = len(scenario.results) == len(scenario.running)
        if done and not scenario.middleware.policies._fetches:
            break
        if scenario.crawler.engine.pending:
            scenario.crawler.engine.answer(0, next(then, RULES), headers)
        await turn(0.001)


async def look_up(scenario: Scenario) -> None:
    policies = scenario.middleware.policies
    await policies._retrieval._store.load(Origin("http", "site1.example", 80))
    await policies.may("http://host1.example/open", "train-ai")


def is_in(site: str, *methods: Callable[..., Any]) -> bool:
    """Whether *site* is in one of *methods*."""
    module, line = site.split()[0].split(":")
    return any(
        method.__module__.endswith(f".{module}") and int(line) in lines_of(method)
        for method in methods
    )


@cache
def lines_of(method: Callable[..., Any]) -> range:
    lines, first = inspect.getsourcelines(method)
    return range(first, first + len(lines))


def is_of_tdmrep(site: str) -> bool:
    """Whether only a crawl that declares a use comes there."""
    return "tdmrep" in site


def fault_at(place: int, site: str, kind: int, fault: str) -> Any:
    """One kind of fault at each site, another one at the next; all in `make stress`."""
    marks = [pytest.mark.stress] * ((kind - place) % len(FAULTS) > 0)
    return pytest.param((site, fault), id=f"{site} | {fault}", marks=marks)


@pytest.mark.parametrize(
    "injector",
    [fault_at(*at, *how) for at in enumerate(SITES) for how in enumerate(FAULTS)],
    indirect=True,
)
@pytest_twisted.ensureDeferred
async def test_no_leak_no_hung_waiter_no_lost_request(
    injector: Injector, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    uses = {"ROBOTS_AI_USES": ["train-ai"]} if is_of_tdmrep(injector.site) else {}
    scenario = Scenario(cache_size=2, **uses)
    engine = scenario.crawler.engine
    monkeypatch.setattr(fetch_lease, "FIRST_PAUSE", 0.002)
    retrieval = scenario.middleware.policies._retrieval
    if injector.site.startswith("fetch_lease:"):
        shared = DeadWorkersFirst(request.getfixturevalue("server"))
        request.addfinalizer(lambda: shared.calls.close(1))
        monkeypatch.setattr(retrieval, "_turn_for", shared.turn)
    elif "wait_for(waiter)" in injector.site or is_in(injector.site, Retrieval._find):
        monkeypatch.setattr(retrieval, "_turn_for", OthersFirst().turn)

    def close() -> None:
        engine._slot.closing = Deferred()

    injector.close = close
    changed = {"User-Agent": "Foobot"}
    for page, headers in [("open", {}), ("closed", {}), ("open", changed), ("closed", changed)]:
        scenario.request(0, page, headers)
        scenario.request(1, page, headers)
        await turn()
    scenario.ask(1, "closed")
    run_in_background(look_up(scenario)).addErrback(lambda _: None)
    # Without a network the HTTP cache is asked; with one the first error leads to another try.
    is_cut_off = is_in(injector.site, Fetcher.recall) or "recall" in injector.site
    if is_cut_off:
        storage = SimpleNamespace(retrieve_response=lambda *_: None)
        cache = SimpleNamespace(storage=storage)
        monkeypatch.setattr(scenario.crawler, "get_downloader_middleware", lambda _: cache)
    was_away = is_in(injector.site, Fetcher.fetch, Fetcher._was_away, Fetcher._knock)
    if was_away:
        name = "_names" if "_names" in injector.site else "_network"
        monkeypatch.setattr(retrieval._fetcher, name, CameBack())
    asks: dict[str, str] | None = None
    if is_in(injector.site, Fetcher._tried) and "sleep" in injector.site:
        asks = {"Retry-After": "1"}
        monkeypatch.setattr(Clock, "sleep", lambda *_: turn(0.001))
    await settle(scenario, [LOST] * 4 if is_cut_off or was_away else [ERROR], asks)
    for _ in range(2):  # an error to a conditional request; and one fault is no lasting harm
        if injector.fault == "close" and injector.hit:
            break
        scenario.now += 100_000
        scenario.request_sitemaps(0)
        scenario.request(0, "open")
        scenario.request(0, "closed")
        await settle(scenario, [ERROR])
    results = [scenario.results.get(number) for number in range(len(scenario.running))]
    assert injector.hit, "this await is never reached"
    assert None not in results, "a waiter hangs"
    assert "passed closed" not in results, "a leak"
    assert not scenario.middleware.policies._fetches
    if injector.fault != "close":
        assert results[-2:] == ["passed open", "RobotsDisallowed: rule"]
