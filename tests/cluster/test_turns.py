"""Whose request may leave next: the rules alone, and crawls that go by them."""

from __future__ import annotations

import itertools
from math import inf
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scrapy_robots_plus.cluster.pace import turns as module
from scrapy_robots_plus.cluster.pace.turns import Turns

from .simulation import LET_GO, Worker, World

A, B, C = "a/0", "b/0", "c/0"
NOW = 1000.0


def test_the_first_to_ask_goes() -> None:
    assert Turns().ask(A, 1.0, 0.0, NOW) == 0.0


def test_the_next_goes_one_delay_later() -> None:
    turns = Turns()
    turns.ask(A, 1.0, 0.0, NOW)
    assert turns.ask(B, 1.0, 0.0, NOW + 0.25) == 0.75
    assert turns.ask(B, 1.0, 0.0, NOW + 1) == 0.0


def test_many_have_their_turns_in_the_order_in_which_they_asked() -> None:
    turns = Turns()
    turns.ask(A, 2.0, 0.0, NOW)
    waits = [turns.ask(f"{name}/0", 2.0, 0.0, NOW) for name in "bcd"]
    assert waits == [2.0, 4.0, 5.0]  # nobody is told to wait for long: those before may be gone
    assert turns.ask("d/0", 2.0, 0.0, NOW + 2) == 4.0
    assert turns.ask("b/0", 2.0, 0.0, NOW + 2) == 0.0


def test_the_longer_of_two_delays_lies_between_two_requests() -> None:
    turns = Turns()
    turns.ask(A, 1.0, 0.0, NOW)
    assert turns.ask(B, 3.0, 0.0, NOW) == 3.0
    assert turns.ask(B, 3.0, 0.0, NOW + 3) == 0.0
    assert turns.ask(A, 1.0, 0.0, NOW + 4) == 2.0


def test_the_requests_of_one_crawl_do_not_wait_for_each_other() -> None:
    turns = Turns()
    for number in range(3):
        assert turns.ask(f"a/{number}", 1.0, 15.0, NOW) == 0.0


def test_a_request_under_way_counts_as_sent_when_its_patience_ends() -> None:
    turns = Turns()
    turns.ask(A, 1.0, 15.0, NOW)
    assert turns.ask(B, 1.0, 0.0, NOW) == 1.0  # most are fast
    assert turns.ask(B, 1.0, 0.0, NOW + 1) == pytest.approx(0.1)  # somebody is slow: look again
    assert turns.ask(B, 1.0, 0.0, NOW + 15.99) == pytest.approx(0.01)
    assert turns.ask(B, 1.0, 0.0, NOW + 16) == 0.0


def test_the_delay_counts_from_when_it_left() -> None:
    turns = Turns()
    turns.ask(A, 1.0, 15.0, NOW)
    turns.left(A, 0.5, 1.0, NOW + 2)
    assert turns.ask(B, 1.0, 0.0, NOW + 2) == 0.5
    assert turns.ask(B, 1.0, 0.0, NOW + 2.5) == 0.0


def test_a_request_that_went_without_a_turn_counts_too() -> None:
    turns = Turns()
    turns.left(A, 0.0, 1.0, NOW)
    assert turns.ask(B, 1.0, 0.0, NOW) == 1.0


def test_a_request_that_may_still_leave_counts_as_late_as_it_may() -> None:
    turns = Turns()
    turns.left(A, -4.0, 1.0, NOW)
    assert turns.ask(B, 1.0, 0.0, NOW) == 1.0
    assert turns.ask(B, 1.0, 0.0, NOW + 4.9) > 0
    assert turns.ask(B, 1.0, 0.0, NOW + 5) == 0.0


def test_a_turn_can_be_reserved_before_there_is_a_request() -> None:
    turns = Turns()
    turns.ask(A, 1.0, 0.0, NOW)
    assert turns.ask(B, 1.0, None, NOW) == 1.0
    assert turns.ask(C, 1.0, 0.0, NOW) == 2.0
    assert turns.ask(C, 1.0, 0.0, NOW + 1) == pytest.approx(0.25)  # b may come in the last moment
    assert turns.ask(B, 1.0, 0.0, NOW + 1) == 0.0
    assert turns.ask(C, 1.0, 0.0, NOW + 1) == 1.0


def test_a_reserved_turn_tells_when_it_is_time_to_come() -> None:
    turns = Turns()
    assert turns.ask(B, 1.0, None, NOW) == 0.0
    assert turns.departures == {}


def test_who_reserves_again_at_once_does_not_go_before_others() -> None:
    """Its own delay lies before its next turn."""
    turns = Turns()
    turns.ask(A, 1.0, 0.0, NOW)
    assert turns.ask(A, 1.0, None, NOW) == 1.0
    assert turns.ask(B, 1.0, None, NOW) == 2.0
    assert turns.ask(A, 1.0, 0.0, NOW + 1) == 0.0
    assert turns.ask(A, 1.0, None, NOW + 1) == 2.0


def test_a_reserved_turn_is_lost_when_its_time_is_over() -> None:
    turns = Turns()
    turns.ask(A, 1.0, None, NOW)
    assert turns.ask(B, 1.0, 0.0, NOW) > 0
    assert turns.ask(B, 1.0, 0.0, NOW + 0.251) == 0.0
    assert turns.waiting == []


def test_who_is_slow_is_waited_for_longer_each_time() -> None:
    turns = Turns()
    turns.left(C, 0.0, 4.0, NOW)
    turns.ask(A, 4.0, 0.0, NOW)
    now = NOW + 4
    for grace in (0.5, 1.0, 2.0):
        assert turns.ask(B, 4.0, 0.0, now + 0.99 * grace) > 0
        now += 1.01 * grace
        assert turns.ask(B, 4.0, 0.0, now) == 0.0
        now += 4
    assert turns.ask(A, 4.0, 0.0, now) == 0.0
    assert turns.waiting == []


def test_who_does_not_come_any_more_is_forgotten() -> None:
    turns = Turns()
    turns.left(C, 0.0, 1.0, NOW)
    turns.ask(A, 1.0, 0.0, NOW)
    now = NOW
    for times in range(4):
        assert [each.ticket for each in turns.waiting] == [A], times
        now += 100
        assert turns.ask(B, 1.0, 0.0, now) == 0.0
    assert turns.waiting == []


def test_a_turn_that_is_not_used_is_given_back() -> None:
    turns = Turns()
    turns.left(A, 0.5, 1.0, NOW)
    turns.ask(A, 1.0, 15.0, NOW + 1)
    turns.unused(A, 1.75, NOW + 1.25)
    assert turns.ask(B, 1.0, 0.0, NOW + 1.25) == 0.0


def test_a_place_that_is_not_used_is_given_back() -> None:
    turns = Turns()
    turns.left(C, 0.0, 1.0, NOW)
    turns.ask(A, 1.0, 0.0, NOW)
    turns.unused(A, inf, NOW)
    turns.unused("unknown/0", inf, NOW)
    assert turns.ask(B, 1.0, 0.0, NOW + 1) == 0.0


def test_nobody_goes_while_a_host_is_left_alone() -> None:
    turns = Turns()
    turns.leave_alone(30.0, NOW)
    turns.leave_alone(10.0, NOW)
    assert turns.ask(A, 1.0, 0.0, NOW + 1) == 29.0
    assert turns.ask(A, 1.0, None, NOW + 1) == 29.0
    assert turns.ask(A, 1.0, 0.0, NOW + 30) == 0.0


def test_departures_are_forgotten_when_they_do_not_count_any_more() -> None:
    turns = Turns()
    turns.ask(A, 1.0, 5.0, NOW)
    turns.ask(B, 90.0, None, NOW)
    turns.unused(B, inf, NOW)
    assert turns.useful_until == NOW + 5 + module.REMEMBERED
    assert turns.ask(C, 200.0, 0.0, turns.useful_until - 1) > 0
    turns.unused(C, inf, NOW)
    turns.left(C, 0.0, 1.0, NOW + 5 + module.REMEMBERED)
    assert list(turns.departures) == [C]


def test_a_long_delay_is_remembered_for_as_long() -> None:
    turns = Turns()
    turns.ask(A, 500.0, 0.0, NOW)
    assert turns.useful_until == NOW + 500
    assert turns.ask(B, 1.0, 0.0, NOW + 499) == 1.0


def test_what_waits_is_of_use() -> None:
    turns = Turns()
    assert turns.useful_until == 0.0
    turns.ask(A, 1.0, None, NOW)
    assert turns.useful_until == NOW + 0.25
    turns.leave_alone(9.0, NOW)
    assert turns.useful_until == NOW + 9


# Crawls that go by them

EXACT = 1e-6


def run(seed: int, *workers: dict[str, float], most: int = 20_000) -> tuple[World, list[Worker]]:
    world = World(Turns(), Random(seed))
    made = [Worker(world, f"w{number}", **each) for number, each in enumerate(workers)]  # type: ignore[arg-type]
    for each in made:
        world.after(world.random.uniform(0, 0.1), each.begin)
    world.run(most)
    return world, made


WORKERS = st.fixed_dictionaries(
    {
        "requests": st.integers(1, 8),
        "lag": st.sampled_from([0.0, 0.01, 0.2, 0.9]),
        "connecting": st.sampled_from([0.0, 0.05, 1.0]),
        "answering": st.sampled_from([0.0, 0.05, 3.0]),
        "dies_after": st.sampled_from([None, None, None, 0, 1, 3]),
        "drops": st.sampled_from([0.0, 0.0, 0.3]),
    }
)


@given(
    st.integers(0, 2**32),
    st.sampled_from([0.1, 1.0, 7.0]),
    st.lists(WORKERS, min_size=2, max_size=6),
)
@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
def test_whatever_happens_no_gap_is_too_short_and_everybody_comes_to_an_end(
    seed: int, delay: float, workers: list[dict[str, float]]
) -> None:
    world, made = run(seed, *({**each, "delay": delay} for each in workers))
    assert min(world.gaps(), default=delay) >= delay - EXACT
    for each in made:
        assert each.sent == (each.requests if each._lives else each.dies_after)


@given(st.integers(0, 2**32), st.lists(st.sampled_from([0.5, 1.0, 4.0]), min_size=2, max_size=5))
@settings(deadline=None, max_examples=30)
def test_different_delays_are_all_kept(seed: int, delays: list[float]) -> None:
    world, _ = run(seed, *({"requests": 5, "delay": delay, "lag": 0.02} for delay in delays))
    delay_of = {f"w{number}/0": delay for number, delay in enumerate(delays)}
    ordered = sorted(world.departures)
    for (at, one), (later, other) in itertools.pairwise(ordered):
        if one != other:
            assert later - at >= max(delay_of[one], delay_of[other]) - EXACT


@pytest.mark.parametrize("seed", range(5))
def test_together_they_send_one_request_in_each_delay(seed: int) -> None:
    usual = {"requests": 20, "lag": 0.02, "connecting": 0.02, "answering": 0.1, "patience": 15.0}
    world, _ = run(seed, *[usual] * 5)
    took = world.departures[-1][0] - world.departures[0][0]
    assert 99 <= took + EXACT < 99 * 1.2


@pytest.mark.parametrize("seed", range(5))
def test_they_take_turns(seed: int) -> None:
    usual = {"requests": 20, "lag": 0.01, "patience": 15.0}
    world, made = run(seed, *[usual] * 4)
    for begin in range(0, 76, 4):
        assert len({who for _, who in sorted(world.departures)[begin : begin + 4]}) >= 3, begin
    turns: dict[str, list[int]] = {each.ticket: [] for each in made}
    for place, (_, who) in enumerate(sorted(world.departures)):
        turns[who].append(place)
    for places in turns.values():
        assert max(later - one for one, later in itertools.pairwise(places)) <= 7


@pytest.mark.parametrize("seed", range(5))
def test_nobody_asks_much_more_often_than_it_goes(seed: int) -> None:
    usual = {"requests": 20, "lag": 0.02, "connecting": 0.02, "answering": 0.1, "patience": 15.0}
    _, made = run(seed, *[usual] * 5)
    assert sum(each.asked_times for each in made) <= 6 * 100


@pytest.mark.parametrize("seed", range(5))
def test_a_crawl_that_dies_costs_the_others_its_patience(seed: int) -> None:
    patience = 6.0
    usual = {"requests": 10, "lag": 0.01, "patience": 0.0}
    dying = {**usual, "dies_after": 3, "patience": patience}
    world, made = run(seed, usual, usual, dying)
    assert [each.sent for each in made] == [10, 10, 3]
    took = world.departures[-1][0] - world.departures[0][0]
    assert took < 22 * 1.1 + 1 + patience + LET_GO


@pytest.mark.parametrize("seed", range(5))
def test_a_slow_crawl_has_its_turns_among_fast_ones(seed: int) -> None:
    fast, slow = {"requests": 30, "lag": 0.0}, {"requests": 5, "lag": 0.9}
    world, made = run(seed, fast, fast, slow)
    last = max(at for at, who in world.departures if who == made[2].ticket)
    assert last - world.departures[0][0] < 50
