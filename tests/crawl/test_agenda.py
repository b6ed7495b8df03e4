"""What is due when, and the one timer for it."""

from __future__ import annotations

import pytest

from scrapy_robots_plus.crawl.clock import Alarm
from scrapy_robots_plus.crawl.scheduling.agenda import Agenda
from scrapy_robots_plus.crawl.scheduling.slots import SharedSlot

from .hand_clock import HandClock


class Diary(HandClock):
    """An agenda that notes when it rings."""

    def __init__(self) -> None:
        super().__init__()
        self.rung: list[float] = []
        self.agenda: Agenda[SharedSlot] = Agenda(
            lambda: self.rung.append(self.now), self.clock, self.call_later
        )
        self.a, self.b, self.c = (SharedSlot(key, ticket) for ticket, key in enumerate("abc"))

    def ring(self) -> None:
        self.rung.append(self.now)

    def due(self) -> list[str]:
        return [slot.key for slot in self.agenda.due()]


@pytest.fixture
def diary() -> Diary:
    return Diary()


def test_what_is_due_is_told_once_the_earliest_first(diary: Diary) -> None:
    diary.agenda.put(1002.0, diary.b)
    diary.agenda.put(1001.0, diary.a)
    diary.agenda.put(1003.0, diary.c)
    assert diary.due() == []
    diary.now = 1002.0
    assert diary.due() == ["a", "b"]
    assert diary.due() == []
    diary.now = 1003.0
    assert diary.due() == ["c"]


def test_what_has_another_ticket_is_not_due(diary: Diary) -> None:
    diary.agenda.put(1001.0, diary.a)
    diary.a.ticket = 77
    diary.agenda.put(1005.0, diary.a)
    diary.now = 1002.0
    assert diary.due() == []
    diary.now = 1005.0
    assert diary.due() == ["a"]


def test_the_alarm_rings_when_the_first_is_due(diary: Diary) -> None:
    diary.agenda.put(1005.0, diary.b)
    diary.agenda.put(1002.0, diary.a)
    diary.agenda.set_alarm()
    diary.pass_time(60)
    assert diary.rung == [1002.0]


@pytest.mark.parametrize(("other", "rings_at"), [(1001.0, 1001.0), (1009.0, 1002.0)])
def test_the_alarm_rings_for_the_sooner_of_both(
    diary: Diary, other: float, rings_at: float
) -> None:
    diary.agenda.put(1002.0, diary.a)
    diary.agenda.set_alarm(other)
    diary.pass_time(60)
    assert diary.rung == [rings_at]


def test_the_alarm_rings_for_the_other_alone(diary: Diary) -> None:
    diary.agenda.set_alarm(1004.0)
    diary.pass_time(60)
    assert diary.rung == [1004.0]


def test_without_anything_to_wait_for_no_alarm_is_set(diary: Diary) -> None:
    diary.agenda.set_alarm()
    assert diary.agenda.alarm.at is None
    diary.pass_time(60)
    assert diary.rung == []


def test_no_alarm_is_set_for_what_has_another_ticket(diary: Diary) -> None:
    diary.agenda.put(1002.0, diary.a)
    diary.a.ticket = 77
    diary.agenda.set_alarm()
    assert diary.agenda.alarm.at is None


def test_an_alarm_that_is_set_again_rings_once_at_the_sooner_moment(diary: Diary) -> None:
    diary.agenda.set_alarm(1008.0)
    diary.agenda.set_alarm(1003.0)
    diary.agenda.set_alarm(1005.0)
    assert diary.agenda.alarm.at == 1003.0
    diary.pass_time(60)
    assert diary.rung == [1003.0]


def test_a_moment_that_has_passed_is_no_busy_loop(diary: Diary) -> None:
    diary.agenda.set_alarm(900.0)
    diary.pass_time(0)
    assert diary.rung == []
    diary.pass_time(1)
    assert diary.rung == [1000.0 + Alarm.LEAST]


def test_after_it_has_rung_it_can_be_set_to_a_later_moment(diary: Diary) -> None:
    diary.agenda.set_alarm(1001.0)
    diary.pass_time(1)
    diary.agenda.set_alarm(1005.0)
    diary.pass_time(60)
    assert diary.rung == [1001.0, 1005.0]


def test_an_alarm_that_is_cancelled_does_not_ring_and_can_be_set_again(diary: Diary) -> None:
    diary.agenda.set_alarm(1001.0)
    diary.agenda.alarm.cancel()
    diary.pass_time(5)
    assert diary.rung == []
    diary.agenda.set_alarm(1007.0)
    diary.pass_time(5)
    assert diary.rung == [1007.0]
