"""Since when hosts that requests wait for cannot be read."""

from __future__ import annotations

from scrapy_robots_plus.hosts.discovery import OutageStarts
from scrapy_robots_plus.protocol.origin import Origin
from tests.crawl.world import origin


def test_an_outage_counts_from_when_it_was_first_seen_until_it_is_over() -> None:
    outages = OutageStarts(set)
    assert outages.since(origin(1), 10.0) == 10.0
    assert outages.since(origin(1), 25.0) == 10.0
    assert outages.since(origin(2), 30.0) == 30.0
    outages.over(origin(1))
    assert outages.since(origin(1), 40.0) == 40.0
    assert outages.since(origin(2), 40.0) == 30.0


def test_what_was_not_out_may_be_over() -> None:
    outages = OutageStarts(set)
    outages.over(origin(1))
    outages.since(origin(1), 10.0)
    outages.over(origin(2))
    assert len(outages) == 1


def test_outages_that_nobody_waits_for_are_forgotten() -> None:
    waiting = {origin(number) for number in range(5)}
    outages = OutageStarts(lambda: waiting)
    for number in range(10 * OutageStarts.LEAST):
        assert outages.since(origin(number), float(number)) == number
    assert len(outages) <= OutageStarts.LEAST
    assert [outages.since(origin(number), 1e9) for number in range(5)] == [0, 1, 2, 3, 4]


def test_those_that_requests_wait_for_are_all_kept_and_not_looked_through_each_time() -> None:
    looked = 0
    many = {origin(number) for number in range(5 * OutageStarts.LEAST)}

    def waiting() -> set[Origin]:
        nonlocal looked
        looked += 1
        return many

    outages = OutageStarts(waiting)
    for number in range(len(many)):
        outages.since(origin(number), float(number))
    assert len(outages) == len(many)
    assert looked == 3  # at 1,000, 2,000 and 4,000


def test_up_to_a_number_nothing_is_forgotten() -> None:
    outages = OutageStarts(set)
    for number in range(OutageStarts.LEAST):
        outages.since(origin(number), float(number))
    assert len(outages) == OutageStarts.LEAST
    outages.since(origin(0), 1e9)
    assert len(outages) == OutageStarts.LEAST
    outages.since(origin(-1), 1e9)
    assert len(outages) == 1


def test_those_whose_requests_are_asleep_are_kept_until_they_wake() -> None:
    outages = OutageStarts(set)
    for number in range(OutageStarts.LEAST):
        outages.since(origin(number), float(number))
    for number in range(3):
        outages.sleeps(origin(number))
    outages.has_lanes(None)
    outages.has_lanes(origin(2))
    assert outages.since(origin(-1), 1e9) == 1e9
    assert [outages.since(origin(number), 2e9) for number in range(3)] == [0, 1, 2e9]


def test_what_is_not_out_does_not_sleep() -> None:
    outages = OutageStarts(set)
    outages.sleeps(origin(-2))
    for number in range(-2, OutageStarts.LEAST):
        outages.since(origin(number), 5.0)
    outages.since(origin(-3), 9.0)
    assert outages.since(origin(-2), 7.0) == 7.0
