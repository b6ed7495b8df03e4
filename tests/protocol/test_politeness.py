"""How long politeness alone takes."""

from __future__ import annotations

from datetime import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_robots_plus.protocol import pace
from scrapy_robots_plus.protocol.pace import Timetable, VisitTime

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
    assert Timetable(2.5).seconds_for(requests, at(0)) == seconds


def test_without_a_delay_they_take_no_time() -> None:
    assert Timetable().delay_at(at(0)) == 0
    assert Timetable().seconds_for(1_000_000, at(0)) == 0


def test_a_delay_of_some_hours_holds_in_these_hours() -> None:
    table = Timetable(60, ((MORNING, 3_600),))
    assert table.delay_at(at(5.99)) == table.delay_at(at(8)) == 60
    assert table.delay_at(at(6)) == table.delay_at(at(7.999)) == 3_600
    assert table.seconds_for(3, at(4)) == 120
    # 60 until 6, then at 7 and 8, then again each minute.
    assert table.seconds_for(60 + 1 + 2 + 5, at(5)) == 3_600 + 7_200 + 300


def test_the_longest_of_several_delays_holds() -> None:
    table = Timetable(100, ((MORNING, 50), (VisitTime(time(7), time(9, 59)), 200)))
    assert [table.delay_at(at(hour)) for hour in (6.5, 7.5, 9.5, 10)] == [100, 200, 200, 100]


@pytest.mark.parametrize(
    ("table", "longest"),
    [
        (Timetable(), None),
        (Timetable(60), 60),
        (Timetable(60, ((MORNING, 50), (NIGHT, 20))), 60),
        (Timetable(60, ((MORNING, 70), (NIGHT, 80))), 80),
        (Timetable(0, ((MORNING, 70),)), 70),
        (Timetable(visits=MORNING), 0),
    ],
)
def test_it_is_true_if_a_request_may_have_to_wait(table: Timetable, longest: float | None) -> None:
    assert bool(table) is (longest is not None)
    assert table.longest_delay == (longest or 0)


def test_hours_open_once_a_day() -> None:
    table = Timetable(visits=MORNING)
    assert [table.opens_in(at(hour)) for hour in (4, 6, 7.9, 8)] == [7_200, 0, 0, 22 * 3_600]
    assert Timetable(60).opens_in(at(4)) == 0


def test_without_a_delay_after_its_hours_the_rest_goes_at_once() -> None:
    table = Timetable(0, ((MORNING, 600),))
    assert table.seconds_for(1_000, at(7)) == 3_600
    assert table.seconds_for(1_000, at(9)) == 0


def test_visiting_hours_are_waited_for() -> None:
    table = Timetable(600, visits=MORNING)
    assert table.seconds_for(0, at(4)) == 0
    assert table.seconds_for(1, at(4)) == 7_200
    assert table.seconds_for(12, at(6)) == 6_600
    # Twelve fit into the first morning; the next one is a day later.
    assert table.seconds_for(13, at(6)) == DAY
    assert Timetable(visits=MORNING).seconds_for(1_000, at(4)) == 7_200


def test_hours_over_midnight() -> None:
    # At 23, 0 and 1 o'clock, and again from 22 o'clock.
    table = Timetable(3_600, visits=NIGHT)
    assert [table.seconds_for(number, at(23)) / 3_600 for number in (3, 4, 5)] == [2, 23, 24]


def test_years_are_averaged(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Timetable(600, visits=MORNING)
    exact = table.seconds_for(12 * 500, at(6))
    monkeypatch.setattr(pace, "MOST_STEPS", 100)
    assert table.seconds_for(12 * 500, at(6)) == pytest.approx(exact, rel=0.05)


MINUTES = st.builds(time, st.integers(0, 23), st.integers(0, 59))
HOURS = st.builds(VisitTime, MINUTES, MINUTES)


@given(
    st.integers(0, 60),
    st.integers(0, 5_000),
    st.lists(st.tuples(HOURS, st.integers(1, 5_000)), max_size=2),
    st.none() | HOURS,
    st.integers(0, DAY - 1),
)
def test_it_is_what_sending_one_after_the_other_takes(
    requests: int,
    delay: int,
    hourly: list[tuple[VisitTime, int]],
    visits: VisitTime | None,
    second: int,
) -> None:
    table = Timetable(delay, tuple(hourly), visits)
    start = now = float(MIDNIGHT + second)
    for number in range(requests):
        if number:
            now += table.delay_at(now)
        if visits is not None:
            now += visits.begins_in(now)
    assert table.seconds_for(requests, start) == now - start
