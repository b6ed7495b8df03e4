"""The pace that is found at limits of all kinds, by simulation: nothing waits."""

from __future__ import annotations

import random
from heapq import heappop, heappush
from itertools import count
from math import inf
from typing import TYPE_CHECKING, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_robots_plus.crawl.pacing.throttle import Throttle
from tests.limiters import LIMITERS, Bucket, Interval, SlidingWindow, Window

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.limiters import Limiter

LONGEST_WAIT = 300.0


class Unlimited:
    rate = inf

    def allows(self, now: float) -> bool:
        return True


class Refuses:
    """Refuses some requests at random, however few there are."""

    rate = inf

    def __init__(self, share: float) -> None:
        self._share = share
        self._dice = random.Random(1)

    def allows(self, now: float) -> bool:
        return self._dice.random() >= self._share


class Changes:
    """Allows another rate from a moment on."""

    def __init__(self, before: Limiter, after: Limiter, at: float) -> None:
        self.rate = after.rate
        self._limiters = before, after
        self._at = at

    def allows(self, now: float) -> bool:
        return self._limiters[now >= self._at].allows(now)


class Done(NamedTuple):
    """What became of a crawl."""

    seconds: float
    sent: int
    refused: int
    throttle: Throttle
    burst: int
    """Of the refused, those that were under way when the first of them was refused."""

    @property
    def share(self) -> float:
        return self.refused / self.sent


def crawl(
    limiter: Limiter,
    pages: int,
    *,
    seed: int = 0,
    at_once: int = 8,
    seconds: tuple[float, float] = (0.05, 0.15),
    retry_after: float = 0.0,
) -> Done:
    """As a downloader slot does it: *at_once* requests, each of which takes so many *seconds*."""
    dice = random.Random(seed)
    throttle = Throttle(LONGEST_WAIT, dice.random)
    start = now = 100 * dice.random()
    left, sent, refused, under_way, burst = pages, 0, 0, 0, 0
    last, not_before = -inf, 0.0
    events: list[tuple[float, int, bool, int, float, bool]] = []
    numbers = count()
    while left or under_way:
        due = max(now, last + throttle.gap, throttle.until, not_before)
        if left and under_way < at_once and (not events or due <= events[0][0]):
            now = last = due
            left, under_way, sent = left - 1, under_way + 1, sent + 1
            there = dice.uniform(*seconds) / 2
            heappush(events, (now + there, next(numbers), False, throttle.phase, there, False))
            continue
        now, _, is_answer, sent_in, back, allowed = heappop(events)
        if not is_answer:
            allowed = limiter.allows(now)
            heappush(events, (now + back, next(numbers), True, sent_in, back, allowed))
            continue
        under_way -= 1
        if allowed:
            throttle.answered(sent_in, now)
        else:
            left, refused = left + 1, refused + 1
            burst += sent_in == 0
            throttle.refused(sent_in, now)
            not_before = now + retry_after
    return Done(now - start, sent, refused, throttle, burst)


@pytest.mark.parametrize("retry_after", [0.0, 1.0])
@pytest.mark.parametrize("limiter", LIMITERS.values(), ids=LIMITERS)
def test_a_limit_of_two_a_second_is_found(
    limiter: Callable[[], Limiter], retry_after: float
) -> None:
    """At most 1.5 times the ideal time, at most 5 % refused."""
    for seed in range(20):
        done = crawl(limiter(), 300, seed=seed, retry_after=retry_after)
        assert done.seconds <= 1.5 * 300 / 2
        assert done.share <= 0.05


@pytest.mark.parametrize("pages", [40, 100, 1000])
@pytest.mark.parametrize("at_once", [1, 4, 16])
@pytest.mark.parametrize("limiter", LIMITERS.values(), ids=LIMITERS)
def test_what_was_not_under_way_at_the_first_refusal_is_hardly_refused(
    limiter: Callable[[], Limiter], pages: int, at_once: int
) -> None:
    for seed in range(5):
        done = crawl(limiter(), pages, seed=seed, at_once=at_once)
        assert done.burst <= at_once
        assert done.refused - done.burst <= 5 + 0.02 * pages
        assert done.seconds <= 2 * pages / 2


@pytest.mark.parametrize(
    ("limiter", "slower", "share"),
    [
        (lambda: Interval(20.0), 2.3, 0.02),
        (lambda: Interval(0.1), 1.3, 0.06),
        (lambda: Bucket(2.0, 60), 1.1, 0.02),
        (lambda: Window(20, 10.0), 1.3, 0.06),
        (lambda: Window(120, 60.0), 1.7, 0.05),
        (lambda: SlidingWindow(20, 10.0), 1.3, 0.05),
        (lambda: SlidingWindow(20, 10.0, counts_refused=True), 1.4, 0.05),
        (lambda: Changes(Interval(2.0), Interval(1.0), 200.0), 1.6, 0.04),
        (lambda: Changes(Interval(2.0), Interval(0.5), 200.0), 2.0, 0.1),
    ],
)
def test_other_limits_are_found_too(
    limiter: Callable[[], Limiter], slower: float, share: float
) -> None:
    for seed in range(5):
        done = crawl(limiter(), 1000, seed=seed)
        assert done.seconds <= slower * 1000 / limiter().rate
        assert done.share <= share


def test_without_a_refusal_nothing_is_slower() -> None:
    done = crawl(Unlimited(), 1000, seconds=(0.1, 0.1))
    assert done.seconds == pytest.approx(1000 / 8 * 0.1, rel=0.01)
    assert not done.throttle.is_on


def test_one_refusal_in_a_thousand_costs_little() -> None:
    done = crawl(Refuses(0.001), 20_000, seconds=(0.1, 0.1))
    assert done.seconds < 2 * 20_000 / 8 * 0.1


def test_refusals_that_slowness_does_not_make_rarer_are_not_answered_with_more_of_it() -> None:
    done = crawl(Refuses(0.05), 3000)
    assert done.throttle.gap < 10
    assert done.seconds < 3000 * 5


def test_a_limit_that_is_lifted_is_forgotten() -> None:
    done = crawl(Changes(Interval(2.0), Unlimited(), 200.0), 3000)
    assert not done.throttle.is_on
    assert done.seconds < 500


def test_requests_under_way_together_are_refused_as_one() -> None:
    throttle = Throttle(LONGEST_WAIT, lambda: 0.0)
    news = [throttle.refused(None, now / 100) for now in range(16)]
    assert news == [True] + [False] * 15
    assert (throttle.until, throttle.phase) == (1.0, 1)
    throttle.answered(None, 0.5)
    throttle.answered(0, 0.5)  # so are those that are answered late: they say nothing
    assert throttle.gap == 0.5


@pytest.mark.parametrize("jitter", [0.0, 1.0])
def test_waits_double_up_to_the_longest_and_are_not_shortened_at_random(jitter: float) -> None:
    throttle = Throttle(10.0, lambda: jitter)
    now, waits = 1000.0, []
    for _ in range(7):
        throttle.refused(throttle.phase, now)
        waits.append(throttle.until - now)
        now = throttle.until
    expected = [1, 2, 4, 8, 10, 10, 10] if not jitter else [1.1, 2.2, 4.4, 8.8, 10, 10, 10]
    assert waits == pytest.approx(expected)


events = st.lists(
    st.tuples(
        st.sampled_from(["refused", "answered", "late"]),
        st.floats(0, 1e4, allow_nan=False),
    ),
    max_size=200,
)


@given(events, st.floats(0.1, 1e5), st.floats(0, 1))
def test_whatever_happens_waits_and_gaps_are_within_bounds(
    happens: list[tuple[str, float]], longest: float, jitter: float
) -> None:
    throttle = Throttle(longest, lambda: jitter)
    now = 0.0
    for event, passed in happens:
        now += passed
        before = throttle.gap
        if event == "refused":
            assert throttle.refused(throttle.phase, now)
            assert 0 < throttle.until - now <= longest + 1e-6
        else:
            throttle.answered(throttle.phase - (event == "late"), now)
            assert throttle.gap <= before
        assert 0 <= throttle.gap <= min(Throttle.LONGEST_GAP, longest)


@given(events, st.floats(0.1, 1e5))
def test_whatever_happened_a_host_that_refuses_no_more_is_asked_as_before(
    happens: list[tuple[str, float]], longest: float
) -> None:
    throttle = Throttle(longest, lambda: 0.5)
    now = 0.0
    for event, passed in happens:
        now += passed
        if event == "refused":
            throttle.refused(throttle.phase, now)
        else:
            throttle.answered(throttle.phase, now)
    for _ in range(5_000):
        now = max(now + 0.05 + throttle.gap, throttle.until)
        throttle.answered(throttle.phase, now)
    now += 10 * longest
    throttle.answered(throttle.phase, now)
    assert not throttle.is_on
    assert throttle.gap == 0
