"""Visit-time as a value: when the hours of a host begin."""

from __future__ import annotations

from datetime import time

import pytest

from scrapy_robots_plus.protocol import VisitTime

DAY = 86_400
MORNING = VisitTime(time(6), time(8, 45))
NIGHT = VisitTime(time(22), time(4))
MINUTE = VisitTime(time(6), time(6))


@pytest.mark.parametrize(
    ("window", "clock", "begins_in"),
    [
        (MORNING, "06:00", 0),
        (MORNING, "08:45", 0),
        (MORNING, "05:00", 3600),
        (MORNING, "09:00", 21 * 3600),
        (NIGHT, "23:30", 0),
        (NIGHT, "03:59", 0),
        (NIGHT, "04:30", 17.5 * 3600),
        (MINUTE, "06:00", 0),
        (MINUTE, "06:01", DAY - 60),
    ],
)
def test_when_the_hours_begin(window: VisitTime, clock: str, begins_in: float) -> None:
    hour, minute = map(int, clock.split(":"))
    assert window.begins_in(1000 * DAY + hour * 3600 + minute * 60) == begins_in


@pytest.mark.parametrize("window", [MORNING, NIGHT, MINUTE])
def test_a_moment_is_in_the_hours_if_its_time_of_day_is(window: VisitTime) -> None:
    for second in range(0, DAY, 15):
        moment = time(second // 3600, second // 60 % 60, second % 60)
        assert window.includes(1000 * DAY + second) is (moment in window), moment


def test_fractions_of_a_second_count() -> None:
    assert time(5, 59, 59, 999_999) not in MORNING
    assert time(6, 0, 0, 1) in MORNING
    assert time(8, 45, 59, 999_999) in MORNING
    assert time(8, 46, 0, 1) not in MORNING
