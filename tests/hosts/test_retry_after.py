"""Retry-After as a value, and the pause that it asks for, at a clock that the test sets."""

from __future__ import annotations

import pytest
from scrapy.http import Response

from scrapy_robots_plus.hosts.pace import Pace
from scrapy_robots_plus.hosts.refusals import wait_in
from scrapy_robots_plus.hosts.throttle import Throttle


@pytest.mark.parametrize(
    ("status", "value", "wait"),
    [
        (429, "30", 30),
        (503, " 30 ", 30),
        (200, "30", 0),
        (404, "30", 0),
        (429, "-5", 0),
        (429, "soon", 0),
        (429, "1e9", 0),
        (429, "Thu, 01 Jan 1970 00:01:40 GMT", 90),
        (429, "Thu, 01 Jan 1970 00:00:05 GMT", 0),
        (429, "", 0),
        (429, "1.5", 0),
        (429, "1 2 3", 0),
        (429, ", ,", 0),
        (429, "a b c d e f", 0),
        (429, "Wed", 0),
        (429, "Mon, 32 Foo", 0),
        (429, "Wed, 21 Oct 99999 07:28:00 GMT", 0),
        (429, "0 Jan 0 0:0:0 +99999", 0),
        (429, "Wed, 21 Oct 2015 07:28:00 +9999999999999", 0),
        (429, "31536000", 31_536_000),
        (429, "31622400", 31_622_400),
        (429, "31968000", 0),  # more than a year
        (429, "9" * 400, 0),
    ],
)
def test_how_long_a_host_wants_to_be_left_alone(status: int, value: str, wait: float) -> None:
    response = Response("http://a.example/", status=status, headers={"Retry-After": value})
    assert wait_in(response, now=10) == wait


def test_a_host_that_names_a_moment_uses_its_own_clock() -> None:
    moments = {
        "Retry-After": "Thu, 01 Jan 1970 02:00:30 GMT",
        "Date": "Thu, 01 Jan 1970 02:00:00 GMT",
    }
    response = Response("http://a.example/", status=429, headers=moments)
    assert wait_in(response, now=10) == 30


def test_after_a_pause_there_is_nothing() -> None:
    pace = Pace()
    pace.shut_for(8.0, now=100)
    assert (pace.pause_until, pace.delay) == (108, 0)
    assert [pace.has_effect(now) for now in (100, 107.9, 108)] == [True, True, False]


def refuse(throttle: Throttle) -> None:
    """Seven requests that were under way are refused."""
    sent_in = throttle.phase
    for _ in range(7):
        throttle.refused(sent_in, 100.0, is_first=True, is_429=True, asked=0.0)


def test_a_throttle_that_no_longer_slows_down_holds_nothing() -> None:
    pace = Pace()
    throttle = pace.throttle = Throttle(300.0, lambda: 0.0)
    refuse(throttle)
    assert (pace.pause_until, pace.delay) == (101, 0.5)
    assert (pace.is_held(100.5), pace.is_held(102), pace.has_effect(102)) == (True, True, True)
    for _ in range(30):
        throttle.answered(throttle.phase, 102.0)
    assert (pace.delay, pace.is_held(102), pace.has_effect(102)) == (0, False, False)


def test_the_longer_of_retry_after_and_throttle_holds() -> None:
    pace = Pace()
    pace.throttle = Throttle(300.0, lambda: 0.0)
    refuse(pace.throttle)
    pace.shut_for(8.0, now=100)
    assert (pace.pause_until, pace.delay) == (108, 0.5)
    pace.end_pauses()
    assert (pace.pause_until, pace.delay) == (0, 0)


def test_a_wait_is_never_made_shorter_by_another() -> None:
    pace = Pace()
    pace.shut_for(100.0, now=0)
    pace.shut_for(1.0, now=50)
    assert pace.pause_until == 100
