"""Backing off never costs a crawl more than it saves: in virtual time, nothing waits."""

from __future__ import annotations

import random
from copy import deepcopy
from dataclasses import dataclass
from math import inf
from statistics import median
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_robots_plus.hosts.gap_search import LONGEST_GAP
from scrapy_robots_plus.hosts.throttle import Refusal, Throttle
from tests.broken_sites import AtRandom, Dead, EveryNth, GrowingBan, Limited, Outages
from tests.examples import seeds
from tests.limiters import LIMITERS, Bucket, Interval, SlidingWindow, Window
from tests.virtual_crawl import LONGEST_WAIT, virtual_crawl

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.broken_sites import Site
    from tests.limiters import Limiter
    from tests.virtual_crawl import Done

MOST_LONGER = 10.0
"""Seconds that a crawl of a broken site may take longer than without backing off."""


class Unlimited:
    rate = inf

    def allows(self, now: float) -> bool:
        return True


class Changes:
    """Allows another rate from a moment on."""

    def __init__(self, before: Limiter, after: Limiter, at: float) -> None:
        self.rate = after.rate
        self._limiters = before, after
        self._at = at

    def allows(self, now: float) -> bool:
        return self._limiters[now >= self._at].allows(now)


def compare(
    make: Callable[[int], Site], pages: int, seeds: int = 20, *, at_once: int = 8
) -> list[Done]:
    """Crawls with backing off; asserts of each that it gets no fewer pages, and is in time."""
    made = []
    for seed in range(seeds):
        ours = virtual_crawl(make(seed), pages, seed=seed, at_once=at_once)
        own = virtual_crawl(make(seed), pages, seed=seed, at_once=at_once, own=True)
        assert len(ours.got) >= len(own.got)
        assert ours.seconds <= own.seconds + MOST_LONGER
        made.append(ours)
    return made


# Broken sites


@pytest.mark.parametrize("where", ["scattered", "in a row", "at the start", "at the end"])
@pytest.mark.parametrize("count", [1, 2, 5, 20])
@pytest.mark.parametrize("at_once", [1, 8, 16])
def test_pages_that_are_always_503_cost_seconds_and_no_other_page(
    at_once: int, count: int, where: str
) -> None:
    dead = {
        "scattered": range(3, 100, 100 // count),
        "in a row": range(40, 40 + count),
        "at the start": range(count),
        "at the end": range(100 - count, 100),
    }[where]
    for done in compare(lambda _: Dead(dead), 100, seeds=2, at_once=at_once):
        assert len(done.got) == 100 - len(dead)
        assert max(done.tries.values()) <= 3 + Throttle.FORGIVEN
        if count <= 2:
            assert done.pauses == 0


@pytest.mark.parametrize("at_once", [1, 4, 16])
def test_dead_pages_that_answer_slowly_are_no_limit_found_by_luck(at_once: int) -> None:
    slow = 0.3, 2.0
    for seed in range(30):
        ours, own = (
            virtual_crawl(
                Dead(range(50, 70)), 100, seed=seed, own=own, at_once=at_once, seconds=slow
            )
            for own in (False, True)
        )
        assert len(ours.got) == len(own.got) == 80
        assert ours.seconds <= 1.15 * own.seconds + MOST_LONGER + slow[1]


@pytest.mark.parametrize("at_once", [1, 8])
@pytest.mark.parametrize("status", [429, 503])
def test_dead_pages_cost_a_number_of_further_tries_that_does_not_grow(
    status: int, at_once: int
) -> None:
    for seed in range(2):
        ours, own = (
            virtual_crawl(Dead(range(50, 550), status), 600, seed=seed, at_once=at_once, own=own)
            for own in (False, True)
        )
        assert ours.sent <= own.sent + 40


@pytest.mark.parametrize("at_once", [1, pytest.param(8, marks=pytest.mark.stress)])
@pytest.mark.parametrize("share", [0.75, 0.9])
@pytest.mark.parametrize("status", [429, 503])
@seeds(1, 5)
def test_a_site_most_of_whose_pages_are_dead_is_waited_for_minutes_however_many_they_are(
    status: int, share: float, at_once: int, seeds: range
) -> None:
    """With few answers among the refusals, luck looks like a limit again and again."""
    for seed in seeds:
        dice = random.Random(seed)
        dead = {page for page in range(2_000) if dice.random() < share}
        done = virtual_crawl(Dead(dead, status), 2_000, seed=seed, at_once=at_once)
        assert len(done.got) == 2_000 - len(dead)
        assert done.throttle is not None
        assert done.throttle.waited <= 720


@pytest.mark.parametrize("at_once", [1, 8])
@pytest.mark.parametrize("number", [7, 10])
@seeds(15, 50)
def test_pages_that_are_refused_now_and_then_are_got(
    number: int, at_once: int, seeds: range
) -> None:
    for seed in seeds:
        for pages in (100, 240):
            assert (
                len(virtual_crawl(EveryNth(number), pages, seed=seed, at_once=at_once).got) == pages
            )


@pytest.mark.parametrize("pages", [12, 100])
def test_pages_that_are_503_twice_are_got(pages: int) -> None:
    for done in compare(lambda _: Dead(range(12), 503, 2), pages, seeds=5):
        assert len(done.got) == pages


@pytest.mark.parametrize("at_once", [1, 8])
@pytest.mark.parametrize("urgent", [None, 0, 15])
def test_one_page_that_is_always_429_costs_no_other(at_once: int, urgent: int | None) -> None:
    page = 15 if urgent is None else urgent
    for seed in range(5):
        done = virtual_crawl(Dead({page}, 429), 31, seed=seed, at_once=at_once, urgent=urgent)
        assert done.got == set(range(31)) - {page}
        assert done.pauses <= MOST_LONGER
        assert done.throttle is not None
        assert done.throttle.in_a_row < 10


def every(number: int) -> Callable[[int], Site]:
    return lambda _: EveryNth(number)


def at_random(share: float) -> Callable[[int], Site]:
    return lambda seed: AtRandom(share, random.Random(seed))


PATTERNS = {
    **{f"every {number}": every(number) for number in (3, 5, 10, 33)},
    **{f"{share} at random": at_random(share) for share in (0.01, 0.03, 0.1)},
}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_refusals_that_slowness_does_not_make_rarer_are_not_answered_with_it(pattern: str) -> None:
    compare(PATTERNS[pattern], 100, seeds=3)
    (done,) = compare(PATTERNS[pattern], 2_500, seeds=1)
    assert done.pauses <= MOST_LONGER


@pytest.mark.stress
@pytest.mark.parametrize("pattern", PATTERNS)
def test_nor_in_long_crawls_with_many_seeds(pattern: str) -> None:
    compare(PATTERNS[pattern], 5_000)


def test_it_is_known_for_a_good_while_that_a_pace_does_not_help() -> None:
    throttle = Throttle(LONGEST_WAIT, lambda: 0.0)
    now = 0.0
    for _ in range(20_000):
        now += 0.02 + throttle.gap
        now = max(now, throttle.until)
        if random.Random(now).random() < 0.33:
            throttle.refused(throttle.phase, now, is_first=True, is_429=True, asked=0.0)
        else:
            throttle.answered(throttle.phase, now)
    assert now < 20_000 * 0.02 + 3 * MOST_LONGER


# Limited sites


@pytest.mark.parametrize("at_once", [1, pytest.param(8, marks=pytest.mark.stress), 16])
@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("retry_after", [0.0, 1.0])
@pytest.mark.parametrize("limiter", LIMITERS.values(), ids=LIMITERS)
@seeds(1, 10)
def test_a_limit_of_two_a_second_is_found(
    limiter: Callable[[], Limiter], retry_after: float, status: int, at_once: int, seeds: range
) -> None:
    """At most 1.5 times the ideal time, at most 10 % refused, no page lost."""
    for seed in seeds:
        site = Limited(limiter(), status)
        done = virtual_crawl(site, 240, seed=seed, at_once=at_once, retry_after=retry_after)
        assert len(done.got) == 240
        assert done.seconds <= 1.5 * 240 / 2
        assert done.share <= 0.1


@pytest.mark.parametrize("pages", [100, 1000])
@pytest.mark.parametrize("at_once", [1, pytest.param(4, marks=pytest.mark.stress), 16])
@pytest.mark.parametrize("limiter", LIMITERS.values(), ids=LIMITERS)
@seeds(1, 10)
def test_what_was_not_under_way_at_the_first_refusal_is_hardly_refused(
    limiter: Callable[[], Limiter], pages: int, at_once: int, seeds: range
) -> None:
    for seed in seeds:
        done = virtual_crawl(Limited(limiter()), pages, seed=seed, at_once=at_once)
        assert len(done.got) == pages
        assert done.burst <= at_once
        assert done.refused - done.burst <= 20 + 0.01 * pages
        assert done.seconds <= 1.5 * pages / 2


@pytest.mark.parametrize(
    ("limiter", "slower", "share"),
    [
        (lambda: Interval(20.0), 2.3, 0.02),
        (lambda: Interval(0.5), 1.3, 0.04),
        (lambda: Interval(0.1), 1.3, 0.07),
        (lambda: Bucket(2.0, 60), 1.1, 0.03),
        (lambda: Bucket(3.0, 6), 1.1, 0.03),
        (lambda: Window(20, 10.0), 1.3, 0.06),
        (lambda: Window(120, 60.0), 1.2, 0.1),
        (lambda: SlidingWindow(20, 10.0), 1.3, 0.05),
        (lambda: SlidingWindow(20, 10.0, counts_refused=True), 1.3, 0.05),
        (lambda: SlidingWindow(120, 60.0), 1.3, 0.05),
        (lambda: Changes(Interval(2.0), Interval(1.0), 200.0), 1.3, 0.04),
        (lambda: Changes(Interval(2.0), Interval(0.5), 200.0), 1.3, 0.04),
    ],
)
@seeds(1, 10)
def test_other_limits_are_found_too(
    limiter: Callable[[], Limiter], slower: float, share: float, seeds: range
) -> None:
    for seed in seeds:
        done = virtual_crawl(Limited(limiter()), 1000, seed=seed)
        assert len(done.got) == 1000
        assert done.seconds <= slower * 1000 / limiter().rate
        assert done.share <= share


@dataclass
class InTurn:
    """Two limits, each for so many seconds."""

    limits: tuple[Limiter, Limiter]
    every: float

    def status(self, page: int, now: float) -> int:
        limiter = self.limits[int(now // self.every) % 2]
        return 200 if limiter.allows(now) else 429


@pytest.mark.parametrize(
    ("limits", "every", "at_once", "share"),
    [
        ((Bucket(20.0, 10), Bucket(0.5, 1)), 15.0, 8, 0.1),
        ((SlidingWindow(40, 1.0, counts_refused=True), Window(1, 1.0)), 7.0, 32, 0.2),
        ((Bucket(10.0, 5), Bucket(3.0, 2)), 7.0, 2, 0.1),
    ],
)
@seeds(2, 5)
def test_a_limit_that_changes_all_the_time_loses_no_page(
    limits: tuple[Limiter, Limiter], every: float, at_once: int, share: float, seeds: range
) -> None:
    """A probe may fall into the better time. Then more is refused at full speed, for longer."""
    for seed in seeds:
        site = InTurn(deepcopy(limits), every)
        done = virtual_crawl(site, 2000, seed=seed, at_once=at_once, seconds=(0.02, 0.1))
        assert len(done.got) == 2000
        assert done.share <= share


def test_a_ban_that_grows_gets_no_fewer_pages() -> None:
    for seed in range(10):
        ours = virtual_crawl(GrowingBan(), 300, seed=seed)
        own = virtual_crawl(GrowingBan(), 300, seed=seed, own=True)
        assert len(ours.got) >= len(own.got)


@pytest.mark.parametrize("most", range(8, 62, 3))
def test_a_limit_that_few_requests_have_met_when_the_pace_is_taken_back_loses_no_page(
    most: int,
) -> None:
    """Six different ones tell that all is refused; until then, pauses end after six seconds."""
    for seed in range(3):
        done = virtual_crawl(Limited(SlidingWindow(most, 10.0)), 200, seed=seed)
        assert len(done.got) == 200


@pytest.mark.parametrize("pages", [240, 400, 1000])
def test_the_longer_a_ban_lasts_the_less_often_its_limit_is_tried(pages: int) -> None:
    for seed in range(5):
        done = virtual_crawl(GrowingBan(2), pages, seed=seed)
        assert len(done.got) == pages
        assert done.seconds <= 1.45 * pages / 2
        assert done.share <= 0.07


# No limit


@pytest.mark.parametrize("refusal", [429, 503])
@pytest.mark.parametrize(("every", "seconds"), [(1.0, 0.1), (3.0, 0.3), (2.0, 0.4), (3.0, 1.0)])
@seeds(3, 15)
def test_short_outages_are_not_taken_for_a_limit_for_long(
    every: float, seconds: float, refusal: int, seeds: range
) -> None:
    """All that is under way in an outage is refused together: it looks as if only slowness helps.
    But the host goes on refusing, and a probe at full speed is refused no more than that."""
    crawls = [virtual_crawl(Outages(every, seconds, refusal), 2000, seed=seed) for seed in seeds]
    assert median(done.seconds for done in crawls) <= 100
    assert max(done.seconds for done in crawls) <= 1000


@pytest.mark.parametrize("seed", range(8))
def test_a_pace_that_seems_to_help_while_the_host_goes_on_refusing_ends(seed: int) -> None:
    done = virtual_crawl(Outages(2.0, 0.4), 2000, seed=seed)
    assert done.seconds <= 400


def test_without_a_refusal_nothing_is_slower() -> None:
    done = virtual_crawl(Limited(Unlimited()), 1000, seconds=(0.1, 0.1))
    assert done.seconds == pytest.approx(1000 / 8 * 0.1, rel=0.01)
    assert done.pauses == 0


def test_one_refusal_in_a_thousand_costs_little() -> None:
    site = AtRandom(0.001, random.Random(1))
    done = virtual_crawl(site, 20_000, seconds=(0.1, 0.1))
    assert done.seconds < 1.1 * 20_000 / 8 * 0.1


def test_a_limit_that_is_lifted_is_forgotten() -> None:
    done = virtual_crawl(Limited(Changes(Interval(2.0), Unlimited(), 200.0)), 3000)
    assert done.throttle is not None
    assert not done.throttle.is_on
    assert done.seconds < 500


# One event after the other


def refuse(
    throttle: Throttle,
    now: float,
    *,
    is_first: bool = True,
    status: int = 429,
    sent_in: int = -1,
    asked: float = 0.0,
) -> Refusal:
    return throttle.refused(
        throttle.phase if sent_in == -1 else sent_in,
        now,
        is_first=is_first,
        is_429=status == 429,
        asked=asked,
    )


@pytest.mark.parametrize(
    ("statuses", "news"),
    [
        ((200, 429), [1]),
        ((503, 503, 200, 200), []),
        ((503, 503, 503), [2]),
        ((503, 200, 503, 200, 200, 503), [5]),
        ((503, 200, 200, 503, 200, 200, 200, 200, 200, 503), []),
    ],
)
def test_what_slows_a_host_down(statuses: tuple[int, ...], news: list[int]) -> None:
    throttle = Throttle(LONGEST_WAIT, lambda: 0.0)
    found = []
    for number, status in enumerate(statuses):
        if status == 200:
            throttle.answered(None, number / 100)
        elif refuse(throttle, number / 100, status=status) is Refusal.NEW:
            found.append(number)
    assert found == news


def test_a_page_that_is_refused_again_says_nothing_new_of_its_host() -> None:
    throttle = Throttle(LONGEST_WAIT, lambda: 0.0)
    assert refuse(throttle, 0.0) is Refusal.NEW
    throttle.answered(throttle.phase, 1.0)
    until = throttle.until
    for now in range(2, 20):
        assert refuse(throttle, now, is_first=False) is Refusal.OF_PAGE
    assert throttle.until == until


def test_requests_under_way_together_are_refused_as_one() -> None:
    throttle = Throttle(LONGEST_WAIT, lambda: 0.0)
    phase = throttle.phase
    told = [refuse(throttle, now / 100, sent_in=phase) for now in range(16)]
    assert told == [Refusal.NEW] + [Refusal.KNOWN] * 15
    assert (throttle.until, throttle.gap) == (1.0, 0.5)
    throttle.answered(phase, 0.5)  # so are those that are answered late: they say nothing
    assert throttle.gap == 0.5


@pytest.mark.parametrize("jitter", [0.0, 1.0])
def test_pauses_double_up_to_the_longest_and_end_after_a_minute(jitter: float) -> None:
    throttle = Throttle(10.0, lambda: jitter)
    now, waits = 1000.0, []
    refuse(throttle, now)
    for _ in range(6):
        refuse(throttle, now, sent_in=0)  # they were under way
    while throttle.is_on:
        waits.append(throttle.until - now)
        now = throttle.until
        refuse(throttle, now)
    expected = [1.0, 2, 4, 8, 10, 10, 10, 10, 5]
    if jitter:
        expected = [1.1, 2.2, 4.4, 8.8, 10, 10, 10, 10, 5.5]
    assert waits == pytest.approx(expected)
    for _ in range(100):
        now += 0.1
        assert refuse(throttle, now) is Refusal.KNOWN
    assert not throttle.is_on


def test_errors_that_name_no_reason_are_waited_for_no_longer_than_some_seconds() -> None:
    throttle = Throttle(LONGEST_WAIT, lambda: 0.0)
    now = 0.0
    for _ in range(100):
        now = max(now + 0.01, throttle.until)
        refuse(throttle, now, status=503)
    assert throttle.waited <= Throttle.ON_TRIAL
    assert not throttle.is_on


def test_a_burst_of_refusals_after_many_answers_is_no_limit() -> None:
    """All that is under way when a block of dead pages begins is refused."""
    throttle = Throttle(LONGEST_WAIT, lambda: 0.0)
    for _ in range(6):
        refuse(throttle, 0.0, sent_in=0, status=503)
    throttle.answered(throttle.phase, throttle.until)
    refuse(throttle, throttle.until + throttle.gap, is_first=False, status=503)
    for _ in range(30):
        throttle.answered(throttle.phase, throttle.until)
    assert not throttle.is_on
    assert throttle.waited <= MOST_LONGER


def test_what_is_forgiven() -> None:
    throttle = Throttle(LONGEST_WAIT, lambda: 0.0)
    assert not any(throttle.forgives(Refusal.OF_PAGE, before) for before in range(3))
    refuse(throttle, 0.0)
    forgiven = [throttle.forgives(Refusal.KNOWN, before) for before in range(10)]
    assert forgiven == [True] * Throttle.FORGIVEN + [False] * (10 - Throttle.FORGIVEN)


def test_what_is_forgiven_after_a_pace_that_did_not_help() -> None:
    throttle = Throttle(LONGEST_WAIT, lambda: 0.0)
    refuse(throttle, 0.0, status=503)
    while not throttle.was_in_vain:
        refuse(throttle, max(throttle.until, 0.0), status=503)
    assert [throttle.forgives(Refusal.KNOWN, before) for before in range(3)] == [False, True, False]
    for _ in range(Throttle.SEVERAL + 1):
        assert throttle.forgives(Refusal.OF_PAGE, 1)
        refuse(throttle, throttle.until, status=503, is_first=False)
    assert not throttle.forgives(Refusal.OF_PAGE, 1)
    throttle.answered(throttle.phase, throttle.until, is_first=False)
    assert throttle.forgives(Refusal.OF_PAGE, 1)


def test_how_often_in_a_row_counts_pauses_and_then_different_requests() -> None:
    throttle = Throttle(LONGEST_WAIT, lambda: 0.0)
    now, counts = 0.0, []
    for number in range(100):
        now = max(now + 0.01, throttle.until)
        refuse(throttle, now, asked=1.0)
        counts.append(throttle.in_a_row)
        if number == 90:
            assert not throttle.is_on
    assert counts == sorted(counts)
    assert counts[0] == 1
    assert counts[-1] >= 10
    refuse(throttle, now, asked=1.0, is_first=False)
    assert throttle.in_a_row == counts[-1]
    throttle.answered(None, now)
    assert throttle.in_a_row == 0


def test_a_429_that_asks_for_no_wait_is_never_a_reason_to_give_up() -> None:
    throttle = Throttle(LONGEST_WAIT, lambda: 0.0)
    now = 0.0
    for _ in range(1000):
        now = max(now + 0.01, throttle.until)
        refuse(throttle, now)
    assert throttle.in_a_row == 0


events = st.lists(
    st.tuples(
        st.sampled_from(["refused", "again", "503", "answered", "late"]),
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
        if event in ("answered", "late"):
            throttle.answered(throttle.phase - (event == "late"), now)
            assert throttle.gap <= max(before, 0.5)
        else:
            status = 503 if event == "503" else 429
            if refuse(throttle, now, is_first=event != "again", status=status) is Refusal.NEW:
                assert 0 < throttle.until - now <= longest + 1e-6
        assert 0 <= throttle.gap <= min(LONGEST_GAP, longest)


@given(events, st.floats(0.1, 1e5))
def test_whatever_happened_a_host_that_refuses_no_more_is_asked_as_before(
    happens: list[tuple[str, float]], longest: float
) -> None:
    throttle = Throttle(longest, lambda: 0.5)
    now = 0.0
    for event, passed in happens:
        now += passed
        if event in ("refused", "again"):
            refuse(throttle, now, is_first=event == "refused")
        else:
            throttle.answered(throttle.phase, now)
    for _ in range(5_000):
        now = max(now + 0.05 + throttle.gap, throttle.until)
        throttle.answered(throttle.phase, now)
    assert not throttle.is_on
    assert throttle.gap == 0
