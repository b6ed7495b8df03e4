"""Places for robots.txt fetches, by a clock that the test turns."""

from __future__ import annotations

import pytest
from scrapy.utils.reactor import is_asyncio_reactor_installed
from twisted.internet.defer import Deferred

from scrapy_robots_plus.origins.fetch_budget import FIRST_PATIENCE, FetchBudget
from scrapy_robots_plus.protocol.origin import Origin

from .hand_clock import HandClock

without_asyncio = pytest.mark.skipif(
    is_asyncio_reactor_installed(), reason="there a coroutine runs when the loop turns"
)


def origin(number: int) -> Origin:
    return Origin("http", f"host{number}.example", 80)


def make(places: int, ceiling: int = 10_000) -> tuple[FetchBudget, HandClock]:
    clock = HandClock()
    return FetchBudget(places, ceiling, clock.clock, clock.call_later), clock


def fill(budget: FetchBudget, first: int = 0) -> int:
    """Takes all places that are free; how many there were."""
    number = first
    while budget.free:
        budget.take(origin(number))
        number += 1
    return number - first


def test_each_silent_fetch_makes_room_for_another_one_and_one_more() -> None:
    budget, clock = make(4)
    assert fill(budget) == 4
    clock.pass_time(FIRST_PATIENCE)
    assert fill(budget, 100) == 8
    clock.pass_time(FIRST_PATIENCE)
    assert fill(budget, 200) == 16
    assert len(budget) == 28


def test_there_is_a_ceiling() -> None:
    budget, clock = make(4, ceiling=20)
    for round_ in range(6):
        fill(budget, 100 * round_)
        clock.pass_time(FIRST_PATIENCE)
    assert len(budget) == 20


def test_patience_follows_the_time_that_fetches_take() -> None:
    budget, clock = make(4)
    assert budget.patience == FIRST_PATIENCE
    budget.take(origin(1))
    clock.pass_time(0.05)
    budget.answered(origin(1))
    budget.give_back(origin(1))
    assert budget.patience == pytest.approx(0.2)
    for _ in range(200):
        budget.take(origin(1))
        clock.pass_time(0.5)
        assert budget.free  # which takes it for silent at first
        budget.answered(origin(1))
        budget.give_back(origin(1))
    assert budget.patience == pytest.approx(2.0)


def test_what_has_no_place_gives_none_back() -> None:
    budget, _ = make(1)
    budget.take(origin(1))
    budget.give_back(origin(2))
    assert not budget.free
    budget.give_back(origin(1))
    assert fill(budget, 5) == 1


def test_an_answer_gives_no_place_back() -> None:
    budget, _ = make(1)
    budget.take(origin(1))
    budget.answered(origin(1))
    assert not budget.free


@without_asyncio
def test_who_waits_is_admitted_in_order_and_by_the_clock() -> None:
    budget, clock = make(1)
    admitted: list[int] = []

    def note(_: None, number: int) -> None:
        admitted.append(number)

    budget.take(origin(0))
    for number in (1, 2, 3):
        waiting = Deferred.fromCoroutine(budget.wait(origin(number)))
        waiting.addCallback(note, number)
    assert admitted == []
    budget.give_back(origin(0))
    assert origin(1) in budget
    clock.pass_time(FIRST_PATIENCE + 0.01)
    assert origin(2) in budget
    assert origin(3) in budget


@without_asyncio
def test_who_waits_when_the_crawl_ends_is_let_go() -> None:
    budget, _ = make(1)
    budget.take(origin(0))
    let_go: list[int] = []
    waiting = Deferred.fromCoroutine(budget.wait(origin(1)))
    waiting.addBoth(lambda _: let_go.append(1))
    budget.abandon()
    assert not budget._queue


@without_asyncio
@pytest.mark.parametrize("is_end", [False, True])
def test_a_thousand_fetches_that_end_as_they_begin_are_not_one_within_the_other(
    is_end: bool,
) -> None:
    budget, _ = make(1)
    budget.take(origin(0))
    ended = []

    async def fetch(number: int) -> None:
        await budget.wait(origin(number))
        ended.append(number)
        budget.give_back(origin(number))

    fetches = [Deferred.fromCoroutine(fetch(number)) for number in range(1, 1_001)]
    if is_end:
        budget.abandon()
    else:
        budget.give_back(origin(0))

    assert ended == [*range(1, 1_001)]
    assert all(each.called for each in fetches)
