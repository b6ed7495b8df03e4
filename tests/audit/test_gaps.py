"""Gaps against a delay: counts and extremes are exact."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from scrapy_robots_plus.audit.report import sentence
from scrapy_robots_plus.audit.summary import Summary

from .sample_log import SLOW, allowed, begin, denied


def gaps_of(delay: float, moments: list[float]) -> Any:
    """What is said of the site to which requests were sent at *moments*."""
    summary = Summary()
    summary.add(begin())
    for moment in moments:
        summary.add(allowed(SLOW, "/", sent=moment, delay=delay))
    (site,) = summary.rows("sites")
    return site


@given(
    st.floats(1e-300, 1e300),
    st.lists(st.integers(0, 2**40).map(lambda each: each / 32), min_size=1, max_size=50),
)
def test_what_is_said_of_them_is_true(delay: float, seconds: list[float]) -> None:
    site = gaps_of(delay, list(accumulate(seconds, initial=0.0)))
    assert (site.gaps, site.smallest_gap) == (len(seconds), round(min(seconds), 6))
    assert site.gaps_too_short == sum(each < delay - 0.01 for each in seconds)


def test_those_that_are_shorter_than_the_delay_are_counted() -> None:
    moments = list(accumulate([1.98, 1.995, 2.0, 2.01, 0.5, 300.0], initial=0.0))
    assert gaps_of(2.0, moments).gaps_too_short == 2


def test_of_several_delays_the_one_that_was_kept_worst_is_shown() -> None:
    summary = Summary()
    summary.add(begin())
    for moment, delay in [(0, 1.0), (1, 1.0), (2, 1.0), (3, 5.0), (9, 3.0)]:
        summary.add(allowed(SLOW, "/", sent=float(moment), delay=delay))
    (site,) = summary.rows("sites")
    assert (site.delay_kept, site.smallest_gap) == (5.0, 1.0)
    assert (site.gaps, site.gaps_too_short) == (4, 1)


def test_a_page_that_was_skipped_has_two_lines_and_was_one_request() -> None:
    """Also if another request was sent before the page came."""
    summary = Summary()
    summary.add(begin())
    skipped: dict[str, Any] = {"reason": "ai_preference", "source": "X-Robots-Tag", "delay": 2.0}
    for moment in (0.0, 2.0):
        summary.add(allowed(SLOW, "/", sent=moment, delay=2.0))
    for moment in (0.0, 2.0):
        summary.add(denied(SLOW, "/", moment, **skipped))
    summary.add(allowed(SLOW, "/", sent=4.0, delay=2.0))
    (site,) = summary.rows("sites")
    assert (site.gaps, site.smallest_gap, site.gaps_too_short) == (2, 2.0, 0)
    assert sentence(summary.totals) == "2 of 3 requests denied, on 1 site; every delay was kept."
