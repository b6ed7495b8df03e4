"""Whose turn it is to fetch a file, of several workers, in any order of events."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest
import pytest_twisted

from scrapy_robots_plus.compat import InPlace, run_in_background
from scrapy_robots_plus.crawl.clock import Clock
from scrapy_robots_plus.origins.fetch_lease import LONGEST_PAUSE, Turn
from scrapy_robots_plus.protocol.origin import Origin
from tests.crawl.hand_clock import HandClock
from tests.crawl.leases_in_memory import leases_in_memory
from tests.crawl.scripted import turn as turn_of_loop

if TYPE_CHECKING:
    from twisted.internet.defer import Deferred

ORIGIN = Origin("http", "site.example", 80)
LIFETIME = 20.0
LOOK = LONGEST_PAUSE * 1.01


class Crawl:
    """One that needs the file: it begins to fetch it, or waits and asks again."""

    def __init__(self, world: World) -> None:
        self.turn = world.turn()
        self.fetches = False
        self.since = 0.0
        self._world = world
        self.running: Deferred[None] = run_in_background(self._run())
        self.running.addErrback(lambda _: None)

    async def _run(self) -> None:
        while not await self.turn.begin():
            await self.turn.wait()
        self.fetches, self.since = True, self._world.time.now

    def end(self) -> None:
        """It has fetched the file, or is called off."""
        self.running.cancel()
        self.fetches = False
        self.turn.release()


class World:
    def __init__(self) -> None:
        self.time = HandClock()
        self.clock = Clock(
            monotonic=self.time.clock, call_later=self.time.call_later, jitter=lambda: 0.25
        )
        self.leases = leases_in_memory(LIFETIME, self.time.clock)
        self.crawls: list[Crawl] = []

    def turn(self) -> Turn:
        return Turn(ORIGIN, self.leases, InPlace(), print, self.clock)

    async def look(self) -> None:
        """Lets those who wait look again."""
        self.time.pass_time(LOOK)
        await turn_of_loop()

    @property
    def fetching(self) -> list[Crawl]:
        return [each for each in self.crawls if each.fetches]

    def begin(self) -> Crawl:
        crawl = Crawl(self)
        self.crawls.append(crawl)
        return crawl

    def end(self, crawl: Crawl) -> None:
        self.crawls.remove(crawl)
        crawl.end()


@pytest_twisted.ensureDeferred
async def test_one_fetches_and_the_others_wait_for_it() -> None:
    world = World()
    first, second, third = world.begin(), world.begin(), world.begin()
    for _ in range(3):
        await world.look()
        assert world.fetching == [first]
    world.end(first)
    await world.look()
    (next_one,) = world.fetching
    assert next_one in (second, third)
    world.end(next_one)
    await world.look()
    (last,) = world.fetching
    assert {next_one, last} == {second, third}
    world.end(last)
    assert world.leases.holder(ORIGIN) is None


@pytest_twisted.ensureDeferred
async def test_one_that_does_not_end_in_time_is_waited_for_no_longer() -> None:
    world = World()
    stuck, second = world.begin(), world.begin()
    await turn_of_loop()
    while world.time.now < stuck.since + LIFETIME - LOOK:
        await world.look()
        assert world.fetching == [stuck]
    await world.look()
    await world.look()
    assert world.fetching == [stuck, second]
    third = world.begin()
    world.end(stuck)  # what it gives up is no longer its own
    await world.look()
    assert world.fetching == [second]
    world.end(second)
    await world.look()
    assert world.fetching == [third]


@pytest_twisted.ensureDeferred
async def test_nobody_waits_for_one_that_has_ended() -> None:
    world = World()
    turn = world.turn()
    await turn.wait()
    assert await turn.begin()
    turn.release()
    turn.release()
    assert world.leases.holder(ORIGIN) is None


async def play(seed: int) -> None:
    """Crawls begin, end and are called off while time passes, in an order made of *seed*."""
    world, dice = World(), Random(seed)
    for _ in range(40):
        what = dice.random()
        if what < 0.4:
            world.begin()
        elif what < 0.8 and world.crawls:
            world.end(dice.choice(world.crawls))
        else:
            world.time.pass_time(dice.choice([0.0, 1.0, LIFETIME / 2, LIFETIME]))
        await world.look()
        in_time = [each for each in world.fetching if world.time.now < each.since + LIFETIME]
        assert len(in_time) <= 1
        assert in_time or not world.crawls or len(world.fetching) == len(world.crawls)
    while world.crawls:
        assert world.fetching
        world.end(world.fetching[0])
        await world.look()
    assert world.leases.holder(ORIGIN) is None


@pytest.mark.parametrize("seed", range(20))
@pytest_twisted.ensureDeferred
async def test_in_any_order_of_events_one_fetches_and_nobody_waits_in_vain(seed: int) -> None:
    await play(seed)


@pytest.mark.stress
@pytest_twisted.ensureDeferred
async def test_in_very_many_orders_of_events() -> None:
    for seed in range(20, 5_000):
        await play(seed)
