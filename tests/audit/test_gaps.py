"""Gaps against a delay: counts and extremes are exact, the median is that of a fair sample."""

from __future__ import annotations

from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_robots_plus.audit.summary.gaps import BINS_PER_DELAY, Gaps


def gaps_of(delay: float, seconds: list[float]) -> Gaps:
    gaps = Gaps(delay)
    for each in seconds:
        gaps.add(each)
    return gaps


@given(
    st.floats(1e-300, 1e300),
    st.lists(st.floats(0, 1e300), min_size=1, max_size=50),
)
def test_what_is_said_of_them_is_true(delay: float, seconds: list[float]) -> None:
    gaps = gaps_of(delay, seconds)
    assert (gaps.count, sum(gaps.histogram)) == (len(seconds), len(seconds))
    assert (gaps.shortest, gaps.longest) == (min(seconds), max(seconds))
    assert (gaps.median, gaps.is_sampled) == (median(seconds), False)


def test_those_that_are_shorter_than_the_delay_are_counted() -> None:
    gaps = gaps_of(2.0, [1.98, 1.995, 2.0, 2.01, 0.5, 300.0])
    assert gaps.too_short == 2
    assert sum(gaps.histogram[BINS_PER_DELAY:]) == 4
    assert gaps.histogram[-1] == 1


def test_with_many_the_median_is_near_the_true_one() -> None:
    gaps = gaps_of(1.0, [number / 10_000 for number in range(20_000)])
    assert gaps.is_sampled
    assert gaps.median == pytest.approx(1.0, abs=0.2)
    assert len(gaps._sample) == 500
