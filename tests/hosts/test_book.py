"""Who leaves next: an entry of the book alone, and crawls that go by it."""

from __future__ import annotations

import itertools
import json
from math import inf
from random import Random

import pytest
from hypothesis import strategies as st

from scrapy_robots_plus.hosts import book as book
from scrapy_robots_plus.hosts.book import BookInMemory, Entry
from tests.examples import tried

from .simulation import LET_GO, Worker, World

A, B, C = "a", "b", "c"
NOW = 1000.0


def go(entry: Entry, who: str, now: float = NOW, delay: float = 1.0, patience: float = 0.0) -> None:
    """*who* asks, and may go at once."""
    assert entry.ask(now, who, delay, patience, None) == (0.0, None)


def test_the_first_to_ask_goes() -> None:
    go(Entry(), A)


def test_the_next_goes_one_delay_later() -> None:
    entry = Entry()
    go(entry, A)
    wait, moment = entry.ask(NOW + 0.25, B, 1.0, 0.0, None)
    assert wait == 0.75
    assert entry.ask(NOW + 1, B, 1.0, 0.0, moment) == (0.0, None)


def test_many_go_in_the_order_in_which_they_asked() -> None:
    entry = Entry()
    go(entry, A, delay=2.0)
    booked = {who: entry.ask(NOW, who, 2.0, 0.0, None) for who in "bcd"}
    assert [wait for wait, _ in booked.values()] == [2.0, 4.0, 6.0]
    for number, (who, (_, moment)) in enumerate(booked.items(), 1):
        assert entry.ask(NOW + 2 * number, who, 2.0, 0.0, moment) == (0.0, None)


def test_the_longer_of_two_delays_lies_between_two_requests() -> None:
    entry = Entry()
    go(entry, A)
    wait, moment = entry.ask(NOW + 1, B, 3.0, 0.0, None)
    assert wait == 2.0
    assert entry.ask(NOW + 3, B, 3.0, 0.0, moment) == (0.0, None)
    wait, moment = entry.ask(NOW + 6, A, 1.0, 0.0, None)
    assert wait == 0.0
    moment = entry.ask(NOW + 6.5, B, 3.0, 0.0, None)[1]
    assert entry.ask(NOW + 8, B, 3.0, 0.0, moment)[0] == 1.0


def test_the_requests_of_one_crawl_do_not_wait_for_each_other() -> None:
    entry = Entry()
    for _ in range(3):
        go(entry, A, patience=15.0)


def test_a_crawl_alone_goes_when_it_thinks_fit() -> None:
    """It knows best when its own requests have left; the book adds no time of its own."""
    entry, now = Entry(), NOW
    for _ in range(5):
        go(entry, A, now)
        entry.left(now + 0.3, A, 0.0, 1.0)
        now += 1.15


def test_a_request_under_way_counts_as_sent_when_its_patience_ends() -> None:
    entry = Entry()
    go(entry, A, patience=15.0)
    wait, moment = entry.ask(NOW, B, 1.0, 0.0, None)
    assert wait == 1.0  # most are fast
    assert entry.ask(NOW + 1, B, 1.0, 0.0, moment)[0] == pytest.approx(0.1)  # slow: look again
    assert entry.ask(NOW + 15.99, B, 1.0, 0.0, moment)[0] == pytest.approx(0.01)
    assert entry.ask(NOW + 16, B, 1.0, 0.0, moment) == (0.0, None)


def test_only_the_next_one_looks_often_for_who_is_slow() -> None:
    entry = Entry()
    go(entry, A, patience=15.0)
    moments = [entry.ask(NOW, who, 1.0, 0.0, None)[1] for who in "bcd"]
    waits = [
        entry.ask(NOW + 5, who, 1.0, 0.0, at)[0] for who, at in zip("bcd", moments, strict=True)
    ]
    assert waits == pytest.approx([0.1, 1.1, 1.1])


def test_all_that_is_booked_moves_with_who_is_late() -> None:
    entry = Entry()
    go(entry, A)
    b, c = (entry.ask(NOW, who, 1.0, 0.0, None)[1] for who in "bc")
    assert entry.ask(NOW + 1.6, B, 1.0, 0.0, b) == (0.0, None)
    assert entry.ask(NOW + 2.0, C, 1.0, 0.0, c)[0] == pytest.approx(0.6)


def test_who_comes_long_after_its_moment_costs_one_delay() -> None:
    entry, now = Entry(), NOW
    go(entry, A)
    late = entry.ask(NOW, B, 1.0, 0.0, None)[1]
    other = None
    for _ in range(20):
        now += 1.0
        c = entry.ask(now, C, 1.0, 0.0, other)
        other = entry.ask(now, A, 1.0, 0.0, None)[1] if c[0] == 0.0 else c[1]
    now += 1.0
    assert entry.ask(now, B, 1.0, 0.0, late)[0] <= 1.0
    assert entry.ask(now + 1.0, B, 1.0, 0.0, late) == (0.0, None)
    assert 0.0 < entry.ask(now + 1.0, C, 1.0, 0.0, None)[0] <= 3.0


def test_who_came_late_is_the_first_from_then_on() -> None:
    """Else it would come too late each time, if others are faster."""
    entry = Entry()
    go(entry, A)
    b, c = (entry.ask(NOW, who, 1.0, 0.0, None)[1] for who in "bc")
    go_at = NOW + 2.0
    assert entry.ask(go_at, C, 1.0, 0.0, c) == (0.0, None)
    assert entry.ask(go_at + 0.25, B, 1.0, 0.0, b) == (0.75, b)
    c = entry.ask(go_at + 0.5, C, 1.0, 0.0, None)[1]
    assert entry.ask(go_at + 1.25, C, 1.0, 0.0, c)[0] == 1.0
    assert entry.ask(go_at + 2.9, B, 1.0, 0.0, b) == (0.0, None)
    assert entry.ask(go_at + 2.9, C, 1.0, 0.0, c)[0] == pytest.approx(1.0)


def test_the_first_one_is_waited_for_a_little_if_it_may_be_gone() -> None:
    entry = Entry()
    go(entry, A, patience=3.0)
    b, c = (entry.ask(NOW, who, 1.0, 0.0, None)[1] for who in "bc")
    assert entry.ask(NOW + 3.5, B, 1.0, 0.0, b) == (0.5, b)
    assert entry.ask(NOW + 4, C, 1.0, 0.0, c)[0] == 1.0
    assert entry.ask(NOW + 5.5, C, 1.0, 0.0, c)[0] == 0.5
    assert entry.ask(NOW + 6, C, 1.0, 0.0, c) == (0.0, None)
    entry.unused(NOW + 6, B, inf, 1.0, b)
    assert entry.ask(NOW + 7, A, 1.0, 0.0, None) == (0.0, None)


def test_the_first_one_that_gives_up_is_not_waited_for() -> None:
    entry = Entry()
    go(entry, A, patience=3.0)
    b, c = (entry.ask(NOW, who, 1.0, 0.0, None)[1] for who in "bc")
    entry.ask(NOW + 3.5, B, 1.0, 0.0, b)
    entry.unused(NOW + 3.6, B, inf, 1.0, b)
    assert entry.ask(NOW + 4, C, 1.0, 0.0, c) == (0.0, None)


def test_who_never_comes_costs_one_delay() -> None:
    entry = Entry()
    go(entry, A)
    entry.ask(NOW, B, 1.0, 0.0, None)
    wait, moment = entry.ask(NOW, C, 1.0, 0.0, None)
    assert wait == 2.0
    assert entry.ask(NOW + 2, C, 1.0, 0.0, moment) == (0.0, None)


def test_the_delay_counts_from_when_it_left() -> None:
    entry = Entry()
    go(entry, A, patience=15.0)
    entry.left(NOW + 2, A, 0.5, 1.0)
    wait, moment = entry.ask(NOW + 2, B, 1.0, 0.0, None)
    assert wait == 0.5
    assert entry.ask(NOW + 2.5, B, 1.0, 0.0, moment) == (0.0, None)


def test_a_request_that_went_without_asking_counts_too() -> None:
    entry = Entry()
    entry.left(NOW, A, 0.0, 1.0)
    assert entry.ask(NOW, B, 1.0, 0.0, None)[0] == 1.0


def test_a_request_that_may_still_leave_counts_as_late_as_it_may() -> None:
    entry = Entry()
    entry.left(NOW, A, -4.0, 1.0)
    wait, moment = entry.ask(NOW, B, 1.0, 0.0, None)
    assert wait > 0
    assert entry.ask(NOW + 4.9, B, 1.0, 0.0, moment)[0] > 0
    assert entry.ask(NOW + 5, B, 1.0, 0.0, moment) == (0.0, None)


def test_and_no_later_once_that_is_known() -> None:
    entry = Entry()
    go(entry, C, NOW - 1)
    entry.left(NOW, A, -14.0, 1.0)
    entry.left(NOW + 1, A, 1.0, 1.0)
    assert entry.ask(NOW + 1, B, 1.0, 0.0, None) == (0.0, None)


def test_a_request_that_took_longer_than_its_patience_counts_once_that_is_known() -> None:
    entry = Entry()
    go(entry, A, patience=2.0)
    go(entry, B, NOW + 3)
    entry.left(NOW + 3.5, A, 0.25, 1.0)
    assert entry.ask(NOW + 4, C, 1.0, 0.0, None)[0] == 0.25
    assert entry.ask(NOW + 4.25, B, 1.0, 0.0, None)[0] > 0.0  # after c


def test_a_message_about_the_request_before_does_not_count_for_this_one() -> None:
    entry = Entry()
    go(entry, A)
    go(entry, A, NOW + 1, patience=5.0)
    entry.left(NOW + 1.1, A, 1.1, 1.0)
    moment = entry.ask(NOW + 1.1, B, 1.0, 0.0, None)[1]
    assert entry.ask(NOW + 2.5, B, 1.0, 0.0, moment)[0] > 0
    entry.left(NOW + 2.6, A, 1.5, 1.0)
    assert entry.ask(NOW + 2.6, B, 1.0, 0.0, moment) == (0.0, None)


def test_a_moment_that_is_not_used_is_given_back() -> None:
    entry = Entry()
    go(entry, A)
    _, moment = entry.ask(NOW, B, 1.0, 0.0, None)
    entry.unused(NOW, B, inf, 1.0, moment)
    assert entry.ask(NOW, C, 1.0, 0.0, None)[0] == 1.0


def test_those_booked_after_one_that_is_given_back_come_sooner() -> None:
    entry = Entry()
    go(entry, A)
    b, c = (entry.ask(NOW, who, 1.0, 0.0, None)[1] for who in "bc")
    entry.unused(NOW, B, inf, 1.0, b)
    assert entry.ask(NOW + 0.5, C, 1.0, 0.0, c)[0] == 0.5
    assert entry.ask(NOW + 1, C, 1.0, 0.0, c) == (0.0, None)


def test_what_is_told_after_a_long_time_makes_nobody_wait_for_more_than_a_delay() -> None:
    entry = Entry()
    entry.left(NOW, A, 0.0, 1.0)
    assert entry.ask(NOW, B, 1.0, 0.0, None)[0] == 1.0
    entry = Entry()
    go(entry, A)
    b = entry.ask(NOW, B, 1.0, 0.0, None)[1]
    assert entry.ask(NOW + 100, B, 1.0, 0.0, b) == (0.0, None)
    entry.ask(NOW + 200, C, 1.0, 9.0, None)
    moment = entry.ask(NOW + 200, A, 1.0, 0.0, None)[1]
    entry.left(NOW + 201, B, 0.0, 1.0)
    entry.left(NOW + 202, C, 0.0, 1.0)
    assert entry.ask(NOW + 202, A, 1.0, 0.0, moment)[0] <= 1.0


def test_who_may_go_and_does_not_leaves_the_host_as_it_was() -> None:
    entry = Entry()
    entry.left(NOW, A, 0.5, 1.0)
    go(entry, A, NOW + 1, patience=15.0)
    _, moment = entry.ask(NOW + 1, B, 1.0, 0.0, None)
    entry.unused(NOW + 1.25, A, 1.75, 1.0, None)
    assert entry.ask(NOW + 1.25, B, 1.0, 0.0, moment) == (0.0, None)


def test_who_no_longer_is_the_last_gives_nothing_back() -> None:
    entry = Entry()
    go(entry, A)
    go(entry, B, NOW + 1)
    entry.unused(NOW + 1, A, inf, 1.0, None)
    assert entry.ask(NOW + 1, C, 1.0, 0.0, None)[0] == 1.0


def test_nobody_goes_while_a_host_is_left_alone() -> None:
    entry = Entry()
    entry.leave_alone(NOW, 30.0)
    entry.leave_alone(NOW, 10.0)
    wait, moment = entry.ask(NOW + 1, A, 1.0, 0.0, None)
    assert wait == 29.0
    assert entry.ask(NOW + 30, A, 1.0, 0.0, moment) == (0.0, None)


def test_a_moment_of_a_book_that_was_lost_is_booked_anew() -> None:
    entry = Entry()
    assert entry.ask(NOW, A, 1.0, 0.0, NOW + 10_000) == (0.0, None)
    wait, moment = entry.ask(NOW, B, 1.0, 0.0, NOW + 10_000)
    assert (wait, moment) == (1.0, NOW + 1)


def test_after_a_loss_each_host_is_left_alone_for_its_delay() -> None:
    entry = Entry()
    entry.lost_at = NOW
    wait, moment = entry.ask(NOW + 1, A, 30.0, 0.0, None)
    assert wait == 29.0
    assert Entry(*entry.values).ask(NOW + 2, A, 30.0, 0.0, moment)[0] == 28.0
    entry = Entry()
    entry.lost_at = NOW
    assert entry.ask(NOW, A, 0.1, 0.0, None)[0] == book.LEAST_SILENCE


def test_a_wait_is_never_none() -> None:
    entry = Entry()
    go(entry, A)
    assert entry.ask(NOW + 0.9999, B, 1.0, 0.0, None)[0] == book.LEAST_WAIT
    entry.leave_alone(NOW, 2.0)
    assert entry.ask(NOW + 1.9999, A, 1.0, 0.0, None)[0] == book.LEAST_WAIT


def test_an_entry_is_of_use_as_long_as_it_may_make_somebody_wait() -> None:
    entry = Entry()
    assert entry.useful_until == 0.0
    go(entry, A, patience=5.0)
    assert entry.useful_until == NOW + 5 + book.REMEMBERED
    go(entry, A, NOW + 6, delay=500.0)
    assert entry.useful_until == NOW + 506
    entry.leave_alone(NOW, 9_000.0)
    assert entry.useful_until == NOW + 9_000
    entry = Entry()
    entry.leave_alone(NOW, 1.0)
    entry.ask(NOW, A, 70.0, 0.0, None)
    assert entry.useful_until == NOW + 70


# Many hosts, in memory


def test_a_host_keeps_its_entry() -> None:
    kept = BookInMemory(lambda: NOW)
    assert kept.change("a.example", "ask", A, 1.0, 0.0, None) == (0.0, None)
    assert kept.change("b.example", "ask", B, 1.0, 0.0, None) == (0.0, None)
    assert kept.change("a.example", "ask", B, 1.0, 0.0, None)[0] == 1.0


def test_hosts_that_nobody_asks_any_more_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BookInMemory, "LEAST", 4)
    now = [NOW]
    kept = BookInMemory(lambda: now[0])
    for number in range(100):
        now[0] += 100
        kept.change(f"{number}.example", "ask", A, 1.0, 0.0, None)
    assert len(kept) <= 4


def test_hosts_that_are_asked_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BookInMemory, "LEAST", 4)
    kept = BookInMemory(lambda: NOW)
    for number in range(100):
        kept.change(f"{number}.example", "ask", A, 1.0, 0.0, None)
    assert len(kept) == 100
    assert kept.change("0.example", "ask", B, 1.0, 0.0, None)[0] == 1.0


# Crawls that go by them

EXACT = 1e-6


class Kept:
    """An entry that is written and read again between two events, by a file's clock."""

    def __init__(self) -> None:
        self._values = Entry().values

    def __getattr__(self, event: str) -> object:
        def happen(*arguments: object) -> object:
            entry = Entry(*json.loads(json.dumps(self._values)))
            answer = getattr(entry, event)(*arguments)
            self._values = entry.values
            return answer

        return happen


def run(
    seed: int, *workers: dict[str, float], most: int = 20_000, kept: bool = False
) -> tuple[World, list[Worker]]:
    world = World(Kept() if kept else Entry(), Random(seed))  # type: ignore[arg-type]
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
        "repeats": st.sampled_from([0.0, 0.0, 0.5]),
        "pauses": st.sampled_from([0.0, 0.0, 0.2]),
    }
)


@tried(
    3_000,
    st.integers(0, 2**32),
    st.sampled_from([0.1, 1.0, 7.0]),
    st.lists(WORKERS, min_size=2, max_size=6),
    st.booleans(),
)
def test_whatever_happens_no_gap_is_too_short_and_everybody_comes_to_an_end(
    seed: int, delay: float, workers: list[dict[str, float]], kept: bool
) -> None:
    world, made = run(seed, *({**each, "delay": delay} for each in workers), kept=kept)
    assert min(world.gaps(), default=delay) >= delay - EXACT
    for each in made:
        assert each.sent == (each.requests if each.lives else each.dies_after)


@tried(
    1_000,
    st.integers(0, 2**32),
    st.lists(st.sampled_from([0.5, 1.0, 4.0]), min_size=2, max_size=5),
)
def test_different_delays_are_all_kept(seed: int, delays: list[float]) -> None:
    world, _ = run(seed, *({"requests": 5, "delay": delay, "lag": 0.02} for delay in delays))
    delay_of = {f"w{number}": delay for number, delay in enumerate(delays)}
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
    turns: dict[str, list[int]] = {each.who: [] for each in made}
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
    last = max(at for at, who in world.departures if who == made[2].who)
    assert last - world.departures[0][0] < 50
