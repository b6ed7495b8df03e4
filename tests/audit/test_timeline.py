"""Counts over time: none is lost, and there are never too many bars."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from scrapy_robots_plus.audit.summary import Summary

from .sample_log import SHOP, allowed, denied

MOMENTS = st.floats(-62e9, 250e9, allow_nan=False)  # of the years 1 to 9999
NEAR = st.floats(0, 400).map(lambda seconds: 1_795_201_080 + seconds)


def summary_of(*events: tuple[float, str]) -> Summary:
    summary = Summary()
    for moment, what in events:
        make = allowed if what == "allowed" else denied
        summary.add(make(SHOP, "/", time=moment, sent=None))
    return summary


@given(st.lists(st.tuples(MOMENTS | NEAR, st.sampled_from(["allowed", "denied"])), max_size=60))
def test_every_event_is_in_the_bar_of_its_time(events: list[tuple[float, str]]) -> None:
    start, width, bars = summary_of(*events).timeline(most=10)
    assert len(bars) <= 10
    for number, counts in enumerate(bars):
        begin = start + number * width
        inside = [what for moment, what in events if begin <= moment < begin + width]
        for what in ("allowed", "denied"):
            assert counts[what] == inside.count(what)
    assert sum(sum(counts.values()) for counts in bars) == len(events)


def test_bars_are_as_narrow_as_they_can_be() -> None:
    summary = summary_of(*((float(second), "denied") for second in range(60)))
    start, width, bars = summary.timeline(most=60)
    assert (start, width, len(bars)) == (0, 1, 60)
    summary.add(denied(SHOP, "/", time=60.0))
    _, width, bars = summary.timeline(most=60)
    assert (width, len(bars)) == (5, 13)
    summary.add(denied(SHOP, "/", time=86_400.0 * 400))
    assert summary.timeline(most=60).width == 7 * 86_400


def test_a_time_in_which_nothing_happened_has_bars_too() -> None:
    bars = summary_of((10, "denied"), (14, "denied")).timeline().bars
    assert [sum(counts.values()) for counts in bars] == [1, 0, 0, 0, 1]


def test_nothing_happened() -> None:
    assert Summary().timeline().bars == []
