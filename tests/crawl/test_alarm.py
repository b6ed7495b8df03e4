"""One timer, for the earliest of many moments."""

from __future__ import annotations

import pytest

from scrapy_robots_plus.crawl.clock import Alarm

from .hand_clock import HandClock


class Ringing(HandClock):
    """An alarm, and when it has rung."""

    def __init__(self) -> None:
        super().__init__()
        self.rung: list[float] = []
        self.alarm = Alarm(lambda: self.rung.append(self.now), self.clock, self.call_later)


@pytest.fixture
def ringing() -> Ringing:
    return Ringing()


def test_it_rings_once_at_its_moment(ringing: Ringing) -> None:
    ringing.alarm.set(1004.0)
    ringing.pass_time(60)
    assert ringing.rung == [1004.0]
    assert ringing.alarm.at is None


def test_one_that_is_set_again_rings_once_at_the_sooner_moment(ringing: Ringing) -> None:
    for moment in (1008.0, 1003.0, 1005.0):
        ringing.alarm.set(moment)
    assert ringing.alarm.at == 1003.0
    ringing.pass_time(60)
    assert ringing.rung == [1003.0]


def test_a_moment_that_has_passed_is_no_busy_loop(ringing: Ringing) -> None:
    ringing.alarm.set(900.0)
    ringing.pass_time(0)
    assert ringing.rung == []
    ringing.pass_time(1)
    assert ringing.rung == [1000.0 + Alarm.LEAST]


def test_after_it_has_rung_it_can_be_set_to_a_later_moment(ringing: Ringing) -> None:
    ringing.alarm.set(1001.0)
    ringing.pass_time(1)
    ringing.alarm.set(1005.0)
    ringing.pass_time(60)
    assert ringing.rung == [1001.0, 1005.0]


def test_one_that_is_cancelled_does_not_ring_and_can_be_set_again(ringing: Ringing) -> None:
    ringing.alarm.set(1001.0)
    ringing.alarm.cancel()
    ringing.pass_time(5)
    assert ringing.rung == []
    ringing.alarm.set(1007.0)
    ringing.pass_time(5)
    assert ringing.rung == [1007.0]
