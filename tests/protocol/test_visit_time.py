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


@pytest.mark.parametrize(("window", "minutes"), [(MORNING, 166), (NIGHT, 361), (MINUTE, 1)])
def test_the_last_minute_is_one_of_the_hours(window: VisitTime, minutes: int) -> None:
    there = [window.includes(1000 * DAY + second) for second in range(0, DAY, 15)]
    assert sum(there) == 4 * minutes


def test_fractions_of_a_second_count() -> None:
    begins, ends = 1000 * DAY + 6 * 3600, 1000 * DAY + 8 * 3600 + 46 * 60
    assert [MORNING.includes(begins + each) for each in (-0.001, 0, 0.001)] == [False, True, True]
    assert [MORNING.includes(ends + each) for each in (-0.001, 0, 0.001)] == [True, False, False]
