"""The most frequent keys, in bounded memory: what is said of them is true."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from scrapy_robots_plus.audit.rows import Row, Top

CAPACITY = 4
many_keys = st.lists(st.integers(0, 30) | st.sampled_from([1, 2]), max_size=300)


def top_of(keys: list[int], capacity: int = CAPACITY) -> Top[int, Row]:
    top: Top[int, Row] = Top(capacity, Row)
    for key in keys:
        top.seen(key)
    return top


@given(many_keys)
def test_no_count_is_higher_than_the_true_one_nor_lower_than_it_says(keys: list[int]) -> None:
    true = Counter(keys)
    for key, row in top_of(keys).ranked(lambda row: row.count):
        assert row.count <= true[key] <= row.most


@given(many_keys)
def test_what_is_frequent_is_there(keys: list[int]) -> None:
    shown = dict(top_of(keys).ranked(lambda row: row.count))
    frequent = [key for key, count in Counter(keys).items() if count > len(keys) / CAPACITY]
    assert set(frequent) <= set(shown)


@given(many_keys)
def test_there_are_never_more_rows_than_twice_the_capacity(keys: list[int]) -> None:
    assert len(top_of(keys)) <= 2 * CAPACITY


@given(many_keys)
def test_as_long_as_there_are_few_keys_all_counts_are_exact(keys: list[int]) -> None:
    top = top_of(keys, capacity=31)
    counts = {key: row.count for key, row in top.ranked(lambda row: row.count)}
    assert top.is_complete
    assert counts == Counter(keys)
    assert all(row.missed == 0 for _, row in top.ranked(lambda row: row.count))


def test_the_most_frequent_comes_first_and_of_equals_the_earliest() -> None:
    ranked = top_of([5, 7, 7, 6]).ranked(lambda row: row.count)
    assert [key for key, _ in ranked] == [7, 5, 6]


def test_that_keys_were_dropped_is_said() -> None:
    top = top_of(list(range(9)))
    assert not top.is_complete
    assert len(top) == CAPACITY + 1
    assert dict(top.ranked(lambda row: row.count))[8].missed == 1
