"""Gaps against a delay: counts and extremes are exact."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from scrapy_robots_plus.audit.rows import Gaps


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
    assert (gaps.count, gaps.shortest) == (len(seconds), min(seconds))
    assert gaps.too_short == sum(each < delay - 0.01 for each in seconds)


def test_those_that_are_shorter_than_the_delay_are_counted() -> None:
    assert gaps_of(2.0, [1.98, 1.995, 2.0, 2.01, 0.5, 300.0]).too_short == 2
