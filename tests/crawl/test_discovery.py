"""Hosts that are not known yet are asked for their robots.txt, but not at the cost of pages."""

from __future__ import annotations

import pytest

from scrapy_robots_plus.crawl.scheduling.discovery import Discovery

from .world import Host, World

MANY = 2000

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
    at_most = Discovery.CREDIT + 2 * MANY // Discovery.ROUNDS_PER_FETCH
    assert Discovery.CREDIT < len(asked(world)) <= at_most
    world.settle()
    assert len(asked(world)) == MANY


def test_hosts_that_answer_are_asked_as_they_come_in() -> None:
    world = World([Host() for _ in range(MANY)], fetches=MANY, total=MANY)
    for number in range(MANY):
        come_in(world, number)
        world.land(number)
    assert not asked(world)
    assert all(host.known_until > world.now for host in world.hosts)


def test_large_hosts_are_asked_first_and_small_ones_in_between() -> None:
    world = World([Host() for _ in range(100)], fetches=8)
    for number in [*range(100), *[97, 98, 99] * 20]:
        world.push(number)
    world.settle()
    assert asked(world) == [0, 1, 2, 3, 4, 97, 98, 99]


def test_small_hosts_are_asked_in_between_although_large_ones_came_before_them() -> None:
    silent = 30
    world = World([Host() for _ in range(3 * silent)], fetches=2 * silent)
    for number in [*range(silent)] * 20:
        world.push(number)
    for number in [*range(silent, 2 * silent), *[*range(2 * silent, 3 * silent)] * 10]:
        world.push(number)
    world.settle()
    small = [number for number in asked(world) if silent <= number < 2 * silent]
    assert len(small) >= silent // 4


@with_and_without_job
def test_while_enough_pages_are_ready_few_are_asked(job: bool) -> None:
    open_hosts, silent, pages = 40, 500, 40
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
