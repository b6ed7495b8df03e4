"""Counts over time: none is lost, and there are never too many buckets."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from scrapy_robots_plus.audit.rows import Timeline

MOMENTS = st.floats(-62e9, 250e9, allow_nan=False)  # of the years 1 to 9999
NEAR = st.floats(0, 400).map(lambda seconds: 1_795_201_080 + seconds)


@given(st.lists(st.tuples(MOMENTS | NEAR, st.sampled_from("ab")), max_size=60))
def test_every_event_is_in_the_bucket_of_its_time(events: list[tuple[float, str]]) -> None:
    timeline = Timeline(most=10)
    for moment, what in events:
        timeline.add(moment, what)
    buckets = timeline.buckets()
    assert len(buckets) <= 10
    for start, counts in buckets:
        inside = [what for moment, what in events if start <= moment < start + timeline.width]
        assert {what: inside.count(what) for what in "ab"} == {what: counts[what] for what in "ab"}
    assert sum(sum(counts.values()) for _, counts in buckets) == len(events)


def test_buckets_are_as_narrow_as_they_can_be() -> None:
    timeline = Timeline(most=60)
    for second in range(60):
        timeline.add(second, "a")
    assert (timeline.width, len(timeline.buckets())) == (1, 60)
    timeline.add(60, "a")
    assert (timeline.width, len(timeline.buckets())) == (5, 13)
    timeline.add(86_400 * 400, "a")
    assert timeline.width == 7 * 86_400


def test_a_time_in_which_nothing_happened_has_buckets_too() -> None:
    timeline = Timeline()
    timeline.add(10, "a")
    timeline.add(14, "a")
    assert [sum(counts.values()) for _, counts in timeline.buckets()] == [1, 0, 0, 0, 1]


def test_nothing_happened() -> None:
    assert Timeline().buckets() == []
