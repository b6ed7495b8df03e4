"""Counts over time: none is lost, and there are never too many bars."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from scrapy_robots_plus.audit.summary import Summary
from scrapy_robots_plus.audit.timeline import Timeline

from .sample_log import SHOP, allowed, denied, read

MOMENTS = st.floats(-62e9, 250e9, allow_nan=False)  # of the years 1 to 9999
NEAR = st.floats(0, 400).map(lambda seconds: 1_795_201_080 + seconds)


def timeline_of(*events: tuple[float, str], most: int = 120) -> Timeline:
    timeline = Timeline(most)
    for moment, what in events:
        timeline.add(what, moment)
    return timeline


def test_a_summary_has_what_is_shown_over_time() -> None:
    summary = Summary()
    summary.add(allowed(SHOP, "/", time=10.0))
    summary.add(denied(SHOP, "/", time=10.9))
    summary.add(read(SHOP, time=12.0, changed=True))
    summary.add(read(SHOP, time=13.0, failure="503"))
    found = [dict(counts) for counts in summary.timeline.bars]
    assert found == [{"allowed": 1, "denied": 1}, {}, {"change": 1}, {"failure": 1}]


@given(st.lists(st.tuples(MOMENTS | NEAR, st.sampled_from(["allowed", "denied"])), max_size=60))
def test_every_event_is_in_the_bar_of_its_time(events: list[tuple[float, str]]) -> None:
    timeline = timeline_of(*events, most=10)
    assert len(timeline.bars) <= 10
    for number, counts in enumerate(timeline.bars):
        begin = timeline.start + number * timeline.width
        inside = [what for moment, what in events if begin <= moment < begin + timeline.width]
        for what in ("allowed", "denied"):
            assert counts[what] == inside.count(what)
    assert sum(sum(counts.values()) for counts in timeline.bars) == len(events)


def test_bars_are_as_narrow_as_they_can_be() -> None:
    timeline = timeline_of(*((float(second), "denied") for second in range(60)), most=60)
    assert (timeline.start, timeline.width, len(timeline.bars)) == (0, 1, 60)
    timeline.add("denied", 60.0)
    assert (timeline.width, len(timeline.bars)) == (5, 13)
    timeline.add("denied", 86_400.0 * 400)
    assert timeline.width == 7 * 86_400


def test_a_time_in_which_nothing_happened_has_bars_too() -> None:
    bars = timeline_of((10, "denied"), (14, "denied")).bars
    assert [sum(counts.values()) for counts in bars] == [1, 0, 0, 0, 1]


def test_nothing_happened() -> None:
    assert Timeline().bars == []
