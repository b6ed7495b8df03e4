"""Hosts that are not known yet are asked for their robots.txt, but not at the cost of pages."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from scrapy_robots_plus.hosts.discovery import Discovery
from scrapy_robots_plus.origins.fetch_budget import FetchBudget
from tests.crawl.hand_clock import HandClock
from tests.crawl.lanes import Lanes
from tests.crawl.world import QUIET, Host, World

if TYPE_CHECKING:
    from scrapy_robots_plus.hosts.host import Lane
    from scrapy_robots_plus.protocol.origin import Origin

MANY = 200

with_and_without_job = pytest.mark.parametrize("job", [False, True], ids=["memory", "JOBDIR"])
"""With JOBDIR there is a second queue, and the engine asks both in each round."""


def asked(world: World) -> list[int]:
    return [number for number, host in enumerate(world.hosts) if host.fetching]


def come_in(world: World, number: int) -> None:
    """A request comes in as start requests do: the engine makes two rounds for each."""
    world.push(number)
    world.tick()
    world.tick()


@with_and_without_job
def test_while_requests_come_in_they_go_first(job: bool) -> None:
    world = World([Host() for _ in range(MANY)], fetches=MANY, job=job)
    for number in range(MANY):
        come_in(world, number)
    at_most = world.enough + 2 * MANY // Discovery.ROUNDS_PER_FETCH
    assert world.enough < len(asked(world)) <= at_most
    world.settle()
    assert len(asked(world)) <= at_most
    world.pass_time(QUIET)
    assert len(asked(world)) == MANY


def test_hosts_that_answer_are_asked_as_they_come_in() -> None:
    world = World([Host() for _ in range(MANY)], fetches=MANY, total=MANY)
    for number in range(MANY):
        come_in(world, number)
        world.land(number)
    assert not asked(world)
    assert all(host.known_until > world.now for host in world.hosts)


def test_large_hosts_are_asked_first() -> None:
    world = World([Host() for _ in range(100)], fetches=8)
    for number in [*range(100), *[97, 98, 99] * 20]:
        world.push(number)
    world.settle()
    world.pass_time(QUIET)
    assert asked(world) == [0, 1, 2, 3, 4, 97, 98, 99]


@with_and_without_job
def test_while_enough_pages_are_ready_few_are_asked(job: bool) -> None:
    open_hosts, silent, pages = 20, 200, 40
    world = World(
        [*(Host(known_until=1e9) for _ in range(open_hosts)), *(Host() for _ in range(silent))],
        fetches=silent,
        job=job,
    )
    for number in range(open_hosts):
        for _ in range(pages):
            world.push(number)
    for number in range(open_hosts, open_hosts + silent):
        world.push(number)
    while len(world.handed_out) < open_hosts * pages // 2:
        world.pass_time(world.transfer)
    assert 0 < len(asked(world)) <= 2 * len(world.handed_out) // Discovery.PAGES_PER_FETCH


class Silent(HandClock):
    """Surroundings of a discovery in which no server answers, until the test says so."""

    def __init__(self, *, places: int = 10_000, enough: int = 32) -> None:
        super().__init__()
        self.lanes = Lanes()
        self.budget = FetchBudget(places, places, self.clock, self.call_later)
        self.fetched: list[Origin] = []
        self.fetching: set[Origin] = set()
        self.open = True
        self.wakes = 0
        around: Any = self  # what discovery asks of it, and no more
        self.ready = 0
        self.enough = enough
        self.discovery = Discovery(around, count(1_000_000))

    def may_fetch(self) -> bool:
        return self.open

    def is_fetching(self, origin: Origin) -> bool:
        return origin in self.fetching

    def fetch(self, origin: Origin) -> None:
        self.budget.take(origin)
        self.fetched.append(origin)

    def wake(self) -> None:
        self.wakes += 1

    def name(self, count: int) -> list[Lane]:
        lanes = [self.lanes.new(f"{len(list(self.lanes.open))}.example") for _ in range(count)]
        for lane in lanes:
            self.discovery.add(lane)
        return lanes

    def rounds(self, count: int) -> int:
        """How many fetches start while pages are handed out."""
        before = len(self.fetched)
        for _ in range(count):
            self.discovery.round_begins(self.ready)
        return len(self.fetched) - before

    def idle_rounds(self, count: int) -> int:
        """How many fetches start while there is nothing to hand out."""
        before = len(self.fetched)
        for _ in range(count):
            self.discovery.round_begins(self.ready)
            self.discovery.nothing_is_ready()
        return len(self.fetched) - before

    def use_up_credit(self) -> None:
        """While requests come in, so that besides a fetch starts every so many rounds."""
        self.name(self.enough)
        assert self.rounds(self.enough) == self.enough

    def grow_quiet(self) -> None:
        """No request has come in for a while, and there was nothing to fetch."""
        self.idle_rounds(Discovery.QUIET_ROUNDS)


def test_servers_that_never_answer_use_the_credit_up_and_are_then_asked_now_and_then() -> None:
    around = Silent()
    around.use_up_credit()
    around.name(100)
    assert around.rounds(10 * Discovery.ROUNDS_PER_FETCH) == 10
    around.grow_quiet()
    assert around.rounds(5 * Discovery.PAGES_PER_FETCH) == 5


def test_each_answer_pays_for_another_fetch_but_only_up_to_the_credit() -> None:
    around = Silent()
    around.use_up_credit()
    around.name(300)
    around.discovery.fetch_ended(answered=False)
    for _ in range(3):
        around.discovery.fetch_ended(answered=True)
    assert around.rounds(Discovery.ROUNDS_PER_FETCH) == 3 + 1
    for _ in range(2 * around.enough):
        around.discovery.fetch_ended(answered=True)
    assert around.rounds(3 * Discovery.ROUNDS_PER_FETCH) == around.enough + 3


def test_a_crawl_without_a_limit_to_its_requests_has_one_to_its_credit() -> None:
    around = Silent(enough=10_000)
    around.name(300)
    rounds = 3 * Discovery.ROUNDS_PER_FETCH
    assert around.rounds(rounds) == Discovery.CREDIT + 3  # three that are due anyway


def test_with_enough_hosts_ready_no_credit_is_spent() -> None:
    around = Silent()
    around.ready = around.enough
    around.grow_quiet()
    around.name(100)
    assert around.rounds(10 * Discovery.PAGES_PER_FETCH) == 10
    around.ready = around.enough - 1
    assert around.rounds(Discovery.PAGES_PER_FETCH) == Discovery.PAGES_PER_FETCH


def test_with_nothing_else_to_do_some_start_at_once_and_the_engine_asks_again() -> None:
    around = Silent()
    around.grow_quiet()
    around.name(20)
    around.discovery.nothing_is_ready()
    assert len(around.fetched) == Discovery.FETCHES_AT_ONCE
    assert around.wakes == 1
    around.discovery.nothing_is_ready()
    around.discovery.nothing_is_ready()
    assert len(around.fetched) == 20
    assert around.wakes == 2


def test_only_rounds_without_a_new_request_make_it_quiet_and_each_counts_once() -> None:
    around = Silent()
    around.discovery._credit = 0
    around.name(20)
    for _ in range(3):
        around.discovery.request_came_in()
        assert around.idle_rounds(Discovery.QUIET_ROUNDS - 1) == 0
    around.discovery.nothing_is_ready()  # the other queue of the job, in the same round
    around.discovery.nothing_is_ready()
    assert not around.fetched
    assert around.idle_rounds(1) == Discovery.FETCHES_AT_ONCE


def test_while_requests_come_in_the_engine_is_not_woken_but_looks_again_soon() -> None:
    around = Silent()
    around.discovery._credit = 0
    around.name(20)
    around.discovery.request_came_in()
    for _ in range(Discovery.QUIET_ROUNDS - 1):
        around.idle_rounds(1)
        assert around.discovery.next_change == around.now + Discovery.LOOKS_AGAIN_SECONDS
    before = around.wakes
    around.idle_rounds(1)
    assert (before, around.wakes) == (0, 1)
    assert around.discovery.next_change == around.budget.next_change


def test_while_hosts_are_ready_it_does_not_look_again_soon() -> None:
    """The engine asks for them, or nothing may go: while a request that ended a run is alone."""
    around = Silent()
    around.discovery._credit = 0
    around.name(20)
    around.rounds(1)
    assert around.discovery.next_change is None


def test_before_the_first_round_nothing_makes_it_quiet() -> None:
    around = Silent()
    around.discovery._credit = 0
    around.name(20)
    around.discovery.nothing_is_ready()
    assert around.idle_rounds(Discovery.QUIET_ROUNDS - 1) == 0
    assert around.idle_rounds(1) == Discovery.FETCHES_AT_ONCE


def test_no_more_start_than_the_budget_allows() -> None:
    around = Silent(places=3)
    around.grow_quiet()
    around.name(20)
    around.discovery.nothing_is_ready()
    assert len(around.fetched) == 3
    assert around.wakes == 0
    assert around.discovery.next_change == around.budget.next_change


def test_a_crawl_that_may_not_fetch_starts_nothing_and_waits_for_nothing() -> None:
    around = Silent()
    around.grow_quiet()
    assert around.discovery.next_change is None
    around.name(20)
    around.open = False
    assert around.rounds(500) == around.idle_rounds(500) == around.wakes == 0
    assert around.discovery.next_change is None


def test_a_lane_whose_origin_is_being_fetched_takes_the_place_of_no_other() -> None:
    around = Silent()
    around.grow_quiet()
    lanes = around.name(12)
    around.fetching = {lane.address.origin for lane in lanes[:3] if lane.address.origin}
    around.discovery.nothing_is_ready()
    expected: list[Any] = [lane.address.origin for lane in lanes[3 : 3 + Discovery.FETCHES_AT_ONCE]]
    assert sorted(around.fetched) == sorted(expected)


def test_a_lane_is_fetched_for_once_although_it_has_grown() -> None:
    around = Silent()
    around.grow_quiet()
    for lane in around.name(9):
        around.lanes.add(lane, 1)
        around.discovery.grow(lane)
    for _ in range(9):
        around.discovery.nothing_is_ready()
    assert len(around.fetched) == len(set(around.fetched)) == 9


def test_a_lane_that_has_doubled_goes_by_its_new_size() -> None:
    around = Silent(places=1)
    around.grow_quiet()
    before, grows = around.name(2)
    for lane, requests in ((before, 7), (grows, 8)):
        while len(lane) < requests:
            around.lanes.add(lane, 1)
            around.discovery.grow(lane)
    around.discovery.nothing_is_ready()
    assert around.fetched == [grows.address.origin]
