"""Lanes of a job's file: a few are awake, all come in turn, and none is forgotten."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scrapy_robots_plus.hosts.stored_lanes import StoredLanes
from scrapy_robots_plus.job.job import Job
from tests.crawl.test_queue_properties import (
    HOST,
    HOSTS,
    MOVES,
    STEP,
    Watched,
    assert_nothing_is_left,
    finish,
    run,
)
from tests.crawl.world import Host, World, host_number

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MOST = 8
"""How many lanes may be awake."""


@pytest.fixture(autouse=True)
def _few_are_awake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StoredLanes, "MOST_AWAKE", MOST)
    monkeypatch.setattr(StoredLanes, "AT_ONCE", MOST)


@pytest.fixture
def worlds(tmp_path: Path) -> Iterator[Any]:
    made: list[World] = []

    def make(hosts: list[Host], **options: Any) -> World:
        made.append(World(hosts, folder=tmp_path, **options))
        return made[-1]

    yield make
    for world in made:
        world.stop()


def awake(world: World) -> int:
    return len(list(world.queue))


def known(delay: float = 0.0) -> Host:
    return Host(delay, known_until=1e9)


def test_all_hosts_come_though_few_may_be_awake(worlds: Any) -> None:
    world = worlds([known() for _ in range(60)], transfer=0.1)
    for _ in range(3):
        for number in range(60):
            world.push(number)
    assert awake(world) == MOST
    assert len(world.queue) == 180
    most = 0
    while len(world.queue) or world.active:
        world.pass_time(0.1)
        most = max(most, awake(world))
    assert most <= MOST
    assert Counter(map(host_number, world.handed_out)) == dict.fromkeys(range(60), 3)
    assert_nothing_is_left(world)


def test_hosts_asleep_come_by_priority(worlds: Any) -> None:
    world = worlds([known() for _ in range(40)], total=1, transfer=0.1)
    world.paused = True
    for number in range(40):
        world.push(number, priority=number % 4)
    world.paused = False
    world.pass_time(100)
    assert len(world.handed_out) == 40
    order = [-each.priority for each in world.handed_out if host_number(each) >= MOST]
    assert order == sorted(order)


def test_hosts_asleep_come_by_age(worlds: Any) -> None:
    world = worlds([known() for _ in range(40)], total=1, transfer=0.1)
    for number in range(40):
        world.push(number)
    world.pass_time(100)
    assert [host_number(request) for request in world.handed_out] == list(range(40))


def test_hosts_that_wait_make_way_for_others(worlds: Any) -> None:
    """Those before are dead, slow, or not to be read for a long time."""
    dead = [Host() for _ in range(12)]
    slow = [known(1000.0) for _ in range(12)]
    deferred = [Host(known_until=1e9, unreachable=True) for _ in range(12)]
    world = worlds([*dead, *slow, *deferred, *(known() for _ in range(20))], defer=1e8)
    for _ in range(2):
        for number in range(56):
            world.push(number)
    world.pass_time(2_000)
    live = [host_number(request) for request in world.handed_out if host_number(request) >= 36]
    assert Counter(live) == dict.fromkeys(range(36, 56), 2)
    assert awake(world) <= MOST


def test_in_a_crawl_of_slow_hosts_all_keep_their_delay(worlds: Any) -> None:
    world = worlds([known(10.0) for _ in range(40)], total=16, transfer=0.1)
    for _ in range(3):
        for number in range(40):
            world.push(number)
    sent: dict[int, list[float]] = {number: [] for number in range(40)}
    for _ in range(4_000):
        before = len(world.handed_out)
        world.pass_time(0.1)
        for request in world.handed_out[before:]:
            sent[host_number(request)].append(world.now)
    assert all(len(times) == 3 for times in sent.values())
    gaps = [after - before for times in sent.values() for before, after in pairwise(times)]
    assert min(gaps) > 9.8


def test_nothing_is_asked_in_vain_while_all_hosts_are_held_back(worlds: Any) -> None:
    unreadable = [Host(known_until=1e9, unreachable=True) for _ in range(40)]
    world = worlds(unreadable, defer=1e8)
    for number in range(40):
        world.push(number)
    world.pass_time(100)
    ticks = world.ticks
    world.pass_time(10_000)
    assert world.ticks - ticks < 1_000


def test_a_host_asleep_is_named_and_counted(worlds: Any) -> None:
    world = worlds([known() for _ in range(40)])
    for number in range(40):
        world.push(number)
    assert world.queue.lanes_asleep == 40 - MOST
    assert sum(Job.of(world.crawler).file.contents("http://host39.example").values()) == 1
    assert Job.of(world.crawler).file.contents("http://host40.example") == {}


def test_a_job_is_resumed_without_reading_its_requests(tmp_path: Path) -> None:
    first = World([known() for _ in range(40)], folder=tmp_path)
    for number in range(40):
        first.push(number)
    first.stop()
    second = World([known() for _ in range(40)], folder=tmp_path)
    assert len(second.queue) == 40
    assert awake(second) == 0
    second.woken = True
    second.pass_time(100)
    assert Counter(map(host_number, second.handed_out)) == dict.fromkeys(range(40), 1)
    second.stop()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    hosts=st.lists(HOST, min_size=HOSTS, max_size=HOSTS),
    steps=st.lists(STEP, min_size=20, max_size=60) | st.lists(STEP | MOVES, max_size=60),
    total=st.sampled_from([2, 16]),
    travel=st.sampled_from([0.0, 0.01]),
    transfer=st.sampled_from([0.1, 5.0]),
    defer=st.sampled_from([None, 20.0]),
    most=st.sampled_from([1, 2, 4, 100]),
)
def test_no_host_goes_early_none_starves_nothing_is_lost(
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    hosts: list[Host],
    steps: list[Any],
    total: int,
    travel: float,
    transfer: float,
    defer: float | None,
    most: int,
) -> None:
    monkeypatch.setattr(StoredLanes, "MOST_AWAKE", most)
    monkeypatch.setattr(StoredLanes, "AT_ONCE", min(32, most))
    folder = tmp_path_factory.mktemp("job")
    options = {"travel": travel, "transfer": transfer, "folder": folder}
    world = Watched(hosts, defer=defer, total=total, fetches=3, **options)
    pushed = run(world, steps)
    finish(world)
    assert Counter(request.url for request in world.handed_out) == pushed
    assert_nothing_is_left(world)
    world.stop()
