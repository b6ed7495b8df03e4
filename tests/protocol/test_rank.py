"""A rank says of two rules which one decides."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from scrapy_robots_plus.protocol.matcher import NO_RANK, line_of, rank_of

weights = st.integers(-1_000_000, 2**40)  # the first rule decides: the weight is minus the line
lines = st.integers(0, 2**32 - 1)


@given(weights, lines, st.booleans())
def test_it_holds_the_line_and_whether_the_rule_allows(weight: int, line: int, allow: bool) -> None:
    rank = rank_of(weight, line, allow)
    assert line_of(rank) == line
    assert rank & 1 == allow
    assert rank > NO_RANK


@given(weights, lines, lines, st.booleans(), st.booleans())
def test_the_heavier_rule_is_greater_whatever_its_line(
    weight: int, line: int, other: int, allow: bool, denies: bool
) -> None:
    assert rank_of(weight + 1, line, allow) > rank_of(weight, other, not denies)


@given(weights, lines.filter(bool), st.booleans(), st.booleans())
def test_of_the_same_weight_the_first_in_the_file_is_greater(
    weight: int, line: int, allow: bool, other: bool
) -> None:
    assert rank_of(weight, line - 1, allow) > rank_of(weight, line, other)


@given(weights, lines, st.booleans())
def test_it_grows_evenly(weight: int, line: int, allow: bool) -> None:
    grown = rank_of(0, 0, allow) + weight * rank_of(1, 0, False) - line * 2
    assert grown == rank_of(weight, line, allow)


def test_where_no_rule_matches_it_is_allowed() -> None:
    assert NO_RANK & 1
