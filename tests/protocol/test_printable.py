"""Numbers and moments as text."""

from __future__ import annotations

import pytest

from scrapy_robots_plus.protocol.printable import counted, duration, moment_of, picked, rfc3339


def test_they_are_in_utc_with_microseconds() -> None:
    assert rfc3339(1_795_201_080.123456) == "2026-11-20T18:58:00.123456Z"
    assert rfc3339(0) == "1970-01-01T00:00:00.000000Z"
    assert moment_of("2026-11-20T18:58:00.123456Z") == 1_795_201_080.123456


@pytest.mark.parametrize("year", ["0001-01-01T00:00:00", "9999-12-31T23:59:59"])
@pytest.mark.parametrize("part", ["", ".000001", ".999999"])
def test_the_first_and_the_last_moment_can_be_written_again(year: str, part: str) -> None:
    day = len("2026-11-20")
    assert rfc3339(moment_of(f"{year}{part}Z"))[:day] == year[:day]


@pytest.mark.parametrize(
    "text", ["1970-01-01T00:00:00+01:00", "1970-01-01T00:00:00", "", "soonZ", "1970-01-01Z"]
)
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"time in UTC|isoformat"):
        moment_of(text)


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 lines"), (1, "1 line"), (2, "2 lines"), (1_200, "1,200 lines")]
)
def test_a_number_with_what_it_counts(number: int, text: str) -> None:
    assert counted(number, "line") == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "1 s"), (59, "59 s"), (200, "3 min 20 s"), (3600, "1 h"), (90_000, "1 d 1 h")],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_attributes_are_picked_in_the_order_asked_for() -> None:
    assert list(picked(3j, "imag", "real").items()) == [("imag", 3.0), ("real", 0.0)]
