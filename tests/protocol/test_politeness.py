"""How long politeness alone takes."""

from __future__ import annotations

from datetime import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_robots_plus.protocol.crawl_delay import VisitTime, seconds_for

DAY = 86_400
MIDNIGHT = 20_000 * DAY
MORNING = VisitTime(time(6), time(7, 59))
NIGHT = VisitTime(time(22), time(1, 59))


def at(hour: float) -> float:
    return MIDNIGHT + hour * 3_600


@pytest.mark.parametrize(
    ("requests", "seconds"), [(0, 0), (1, 0), (2, 2.5), (11, 25), (1_000_001, 2_500_000)]
)
def test_n_requests_take_n_minus_1_delays(requests: int, seconds: float) -> None:
    assert seconds_for(requests, at(0), 2.5, None) == seconds


def test_without_a_delay_they_take_no_time() -> None:
    assert seconds_for(1_000_000, at(0), 0, None) == 0


def test_hours_open_once_a_day() -> None:
    assert [MORNING.begins_in(at(hour)) for hour in (4, 6, 7.9, 8)] == [7_200, 0, 0, 22 * 3_600]


def test_visiting_hours_are_waited_for() -> None:
    assert seconds_for(0, at(4), 600, MORNING) == 0
    assert seconds_for(1, at(4), 600, MORNING) == 7_200
    assert seconds_for(12, at(6), 600, MORNING) == 6_600
    # Twelve fit into the first morning; the next one is a day later.
    assert seconds_for(13, at(6), 600, MORNING) == DAY
    assert seconds_for(1_000, at(4), 0, MORNING) == 7_200


def test_hours_over_midnight() -> None:
    # At 23, 0 and 1 o'clock, and again from 22 o'clock.
    seconds = [seconds_for(number, at(23), 3_600, NIGHT) for number in (3, 4, 5)]
    assert seconds == [2 * 3_600, 23 * 3_600, 24 * 3_600]


MINUTES = st.builds(time, st.integers(0, 23), st.integers(0, 59))
HOURS = st.builds(VisitTime, MINUTES, MINUTES)


@given(
    st.integers(0, 60),
    st.integers(0, 5_000),
    st.none() | HOURS,
    st.integers(0, DAY - 1),
)
def test_it_is_what_sending_one_after_the_other_takes(
    requests: int,
    delay: int,
    visits: VisitTime | None,
    second: int,
) -> None:
    start = now = float(MIDNIGHT + second)
    for number in range(requests):
        if number:
            now += delay
        if visits is not None:
            now += visits.begins_in(now)
    assert seconds_for(requests, start, delay, visits) == now - start
