"""Whose turn it is to fetch a file, of workers that share a server. Nothing waits."""

from __future__ import annotations

from asyncio import CancelledError
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted

from scrapy_robots_plus.compat import Courier, InPlace, run_in_background
from scrapy_robots_plus.crawl.clock import Clock
from scrapy_robots_plus.origins import fetch_lease
from scrapy_robots_plus.origins.fetch_lease import FIRST_PAUSE, LONGEST_PAUSE, Leases, Turn
from scrapy_robots_plus.protocol.origin import Origin
from scrapy_robots_plus.storage.redis_server import Server, ServerAwayError
from tests.redis_server import RedisServer

from .hand_clock import HandClock
from .scripted import turn as turn_of_loop

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from twisted.internet.defer import Deferred

ORIGIN = Origin("http", "site.example", 80)
KEY = "{robots:http://site.example}:lease"
LONGEST = 20.0
LOOK = LONGEST_PAUSE * 1.01


@pytest.fixture(scope="module")
def _server() -> Iterator[RedisServer]:
    with RedisServer() as running:
        yield running


@pytest.fixture
def server(_server: RedisServer) -> RedisServer:
    return _server.emptied()


class Workers:
    """Several, at one clock, whose dice always fall alike."""

    def __init__(self, server: Server) -> None:
        self.time = HandClock()
        self.clock = Clock(
            monotonic=self.time.clock, call_later=self.time.call_later, jitter=lambda: 0.25
        )
        self.leases = Leases(server, 3600.0)
        self.leases.seconds = LONGEST  # by the clock of the test
        self.errors: list[Exception] = []
        self.calls: Courier | InPlace = InPlace()

    def turn(self, origin: Origin = ORIGIN) -> Turn:
        return Turn(origin, self.leases, self.calls, self.errors.append, self.clock)

    def wait(self, turn: Turn) -> Deferred[None]:
        return run_in_background(turn.wait())

    async def pass_time(self, seconds: float) -> None:
        self.time.pass_time(seconds)
        await turn_of_loop()


@pytest_twisted.ensureDeferred
async def test_one_fetches_and_the_others_wait_until_it_has(server: RedisServer) -> None:
    workers = Workers(server.asked())
    one, other = workers.turn(), workers.turn()
    assert await one.begin()
    assert not await other.begin()
    waiting = workers.wait(other)
    await turn_of_loop()
    for _ in range(5):
        await workers.pass_time(LOOK)
        assert not waiting.called
    one.release()
    await workers.pass_time(LOOK)
    assert waiting.called
    assert await other.begin()
    assert not one.fetches_anyway
    assert not other.fetches_anyway
    other.release()
    assert workers.leases.holder(ORIGIN) is None
    assert workers.errors == []


@pytest_twisted.ensureDeferred
async def test_who_holds_the_lease_already_holds_it_until_it_is_released(
    server: RedisServer,
) -> None:
    workers = Workers(server.asked())
    one = workers.turn()
    assert await one.begin()
    assert await one.begin()
    one.release()
    other = workers.turn()
    assert await other.begin()
    one.release()  # once more
    assert workers.leases.holder(ORIGIN) is not None


class CountedCalls(InPlace):
    told = 0

    def tell(self, *arguments: Any, **options: Any) -> None:
        self.told += 1
        super().tell(*arguments, **options)


class InterruptedCalls(CountedCalls):
    """The server does what it is asked, and who asked is cancelled before the answer comes."""

    async def ask(self, call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        await super().ask(call, *arguments, **options)
        raise CancelledError


@pytest_twisted.ensureDeferred
async def test_only_what_may_be_held_is_released_and_once(server: RedisServer) -> None:
    workers = Workers(server.asked())
    workers.calls = calls = CountedCalls()
    one, other = workers.turn(), workers.turn()
    one.release()
    assert await one.begin()
    assert not await other.begin()
    other.release()
    assert calls.told == 0
    one.release()
    one.release()
    assert calls.told == 1


@pytest_twisted.ensureDeferred
async def test_a_lease_whose_answer_did_not_come_is_released(server: RedisServer) -> None:
    workers = Workers(server.asked())
    workers.calls = InterruptedCalls()
    one = workers.turn()
    with pytest.raises(CancelledError):
        await one.begin()
    assert workers.leases.holder(ORIGIN) is not None
    one.release()
    assert workers.leases.holder(ORIGIN) is None


@pytest_twisted.ensureDeferred
async def test_the_looks_become_rarer(server: RedisServer) -> None:
    workers = Workers(server.asked())
    one, other = workers.turn(), workers.turn()
    await one.begin()
    await other.begin()
    waiting = workers.wait(other)
    await turn_of_loop()
    gaps: list[float] = []
    before = workers.time.now
    asked = server.usage().commands["GET"]
    while workers.time.now < before + 3.0:
        await workers.pass_time(0.01)
        found = server.usage().commands["GET"]
        if found > asked:
            gaps.append(workers.time.now - before)
            asked, before = found, workers.time.now
        if len(gaps) == 7:
            break
    pauses = [min(FIRST_PAUSE * 1.5**number, LONGEST_PAUSE) for number in range(7)]
    assert gaps == pytest.approx([0.75 * pause for pause in pauses], abs=0.015)
    waiting.cancel()
    waiting.addErrback(lambda _: None)


@pytest_twisted.ensureDeferred
async def test_however_many_are_awaited_the_server_is_asked_no_more_often(
    server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch_lease, "MOST_LOOKS", 20)
    workers = Workers(server.asked())
    waiting = []
    for number in range(20):
        origin = Origin("http", f"site{number}.example", 80)
        holder, other = workers.turn(origin), workers.turn(origin)
        await holder.begin()
        await other.begin()
        waiting.append(workers.wait(other))
    await workers.pass_time(LOOK)
    asked = server.usage().commands["GET"]
    for _ in range(20):
        await workers.pass_time(0.5)
    assert 0 < server.usage().commands["GET"] - asked < 15 * 20  # not 400
    assert workers.leases.awaited == 20
    while workers.time.now < 1005.0 + LONGEST:
        await workers.pass_time(0.5)
    assert all(each.called for each in waiting)
    assert workers.leases.awaited == 0


@pytest_twisted.ensureDeferred
async def test_another_worker_that_fetches_next_is_a_reason_to_look_for_the_file(
    server: RedisServer,
) -> None:
    workers = Workers(server.asked())
    one, other = workers.turn(), workers.turn()
    await one.begin()
    await other.begin()
    waiting = workers.wait(other)
    await turn_of_loop()
    with server.client() as client:
        client.set(KEY, b"a third")
    await workers.pass_time(LOOK)
    assert waiting.called
    assert not await other.begin()


@pytest_twisted.ensureDeferred
async def test_one_and_the_same_worker_is_waited_for_no_longer_than_said(
    server: RedisServer,
) -> None:
    workers = Workers(server.asked())
    one, other = workers.turn(), workers.turn()
    await one.begin()
    await other.begin()
    waiting = workers.wait(other)
    await turn_of_loop()
    while workers.time.now < 1000.0 + LONGEST - LOOK:
        await workers.pass_time(0.1)
    assert not waiting.called
    for _ in range(10):
        await workers.pass_time(0.1)
    assert waiting.called
    assert await other.begin()
    assert other.fetches_anyway
    other.release()
    assert workers.leases.holder(ORIGIN) is not None  # that of the other


@pytest_twisted.ensureDeferred
async def test_a_server_that_is_away_keeps_nobody_from_fetching() -> None:
    workers = Workers(Server("redis://127.0.0.1:1"))
    turn = workers.turn()
    assert await turn.begin()
    assert turn.fetches_anyway
    assert await turn.begin()
    await turn.wait()
    turn.release()
    assert [type(each) for each in workers.errors] == [ServerAwayError]


@pytest_twisted.ensureDeferred
async def test_a_server_that_goes_away_is_not_waited_for(server: RedisServer) -> None:
    workers = Workers(server.asked())
    one, other = workers.turn(), workers.turn()
    await one.begin()
    await other.begin()
    waiting = workers.wait(other)
    await turn_of_loop()
    server.kill()
    await workers.pass_time(LOOK)
    server.start()
    assert waiting.called
    assert [type(each) for each in workers.errors] == [ServerAwayError]
    assert await other.begin()
    assert other.fetches_anyway


@pytest_twisted.ensureDeferred
async def test_a_crawl_that_ends_asks_nobody_and_counts_no_error() -> None:
    workers = Workers(Server("redis://127.0.0.1:1"))
    workers.calls = Courier("closed")
    workers.calls.close(0)
    turn = workers.turn()
    assert await turn.begin()
    turn.release()
    assert workers.errors == []
