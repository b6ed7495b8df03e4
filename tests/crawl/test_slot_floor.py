"""What a floor does to a downloader slot, at a clock that the test sets. Nothing waits."""

from __future__ import annotations

from typing import Any

import pytest
from scrapy import Request
from scrapy.core.downloader import Slot

from scrapy_robots_plus.crawl import compat
from scrapy_robots_plus.crawl.pacing.slot_delay import SlotDelay
from scrapy_robots_plus.crawl.pacing.slot_floor import SlotFloor
from scrapy_robots_plus.policy.origin import Origin

from .sharing import alone

ORIGIN = Origin("http", "a.example", 80)
OTHER = Origin("http", "b.example", 80)
DRAWS = 300


class Held:
    """A slot with its floor, and the time."""

    def __init__(self, delay: float = 0.0, jitter: float = 0.0, **delays: float) -> None:
        self.now = 1000.0
        self.floor = SlotFloor(alone(lambda: self.now))
        for name, value in delays.items():
            self.floor.keep(Origin("http", f"{name}.example", 80), value)
        self.slot = Slot(8, delay, jitter)
        self.floor.apply(self.slot)

    def send(self, url: str = "http://a.example/") -> Request:
        """As the downloader does it."""
        request = Request(url)
        self.slot.lastseen = self.now
        self.slot.transferring.add(request)
        return request

    def answer(self, request: Request) -> None:
        self.floor.answered(request)
        self.slot.transferring.remove(request)

    @property
    def due(self) -> float:
        """The earliest moment at which the downloader may send the next request."""
        return self.slot.lastseen + min(self.slot.download_delay() for _ in range(DRAWS))


JITTERS = [0.0, 0.5]
if hasattr(Slot(1, 1, 0.5), "jitter"):  # Scrapy 2.19
    JITTERS += [0.9, 1.0, 3.0]


@pytest.mark.parametrize("jitter", JITTERS)
@pytest.mark.parametrize("delay", [0.0, 0.01, 2.0, 60.0])
@pytest.mark.parametrize("asked", [0.0, 1.0])
def test_no_delay_and_no_jitter_cuts_a_wait_short(
    delay: float, jitter: float, asked: float
) -> None:
    held = Held(delay, jitter, a=asked)
    request = held.send()
    held.now += 0.1
    held.floor.leave_alone(3.0)
    held.floor.apply(held.slot)
    held.answer(request)
    assert held.due >= 1003.1 - 1e-6
    assert held.due < 1003.1 + 2 * max(delay, asked, 0.3)


def test_the_shortest_gap_between_two_requests_is_known() -> None:
    held = Held(a=2.0)
    assert held.floor.shortest_gap is None
    for seconds in (0, 5, 2.5, 3):
        held.now += seconds
        held.answer(held.send())
    assert held.floor.shortest_gap == 2.5


def test_gaps_from_before_a_longer_delay_do_not_count() -> None:
    held = Held(a=2.0)
    for delay, seconds in ((2.0, 2.5), (9.0, 9.5), (1.0, 10)):
        held.floor.keep(ORIGIN, delay)
        held.send()
        held.now += seconds
        held.send()
        held.now += 20
    assert held.floor.shortest_gap == 9.5


@pytest.mark.parametrize("delay", [0.2, 30.0])
def test_a_wait_outlasts_what_auto_throttle_does_to_the_delay(delay: float) -> None:
    held = Held(2.0, 0.5)
    held.floor.leave_alone(3.0)
    held.floor.apply(held.slot)
    held.slot.delay = delay
    held.floor.apply(held.slot)
    assert held.due >= 1003 - 1e-6


def test_an_answer_to_what_was_under_way_does_not_end_a_wait() -> None:
    held = Held(a=1.0)
    first, second = held.send(), held.send()
    held.floor.leave_alone(10.0)
    held.answer(first)
    held.now += 2
    held.answer(second)
    assert held.due >= 1010 - 1e-6


@pytest.mark.parametrize("jitter", JITTERS)
@pytest.mark.parametrize("delay", [0.0, 0.9, 1.0, 1.2])
def test_no_jitter_goes_below_the_floor(delay: float, jitter: float) -> None:
    held = Held(delay, jitter, a=1.0)
    held.answer(held.send())
    assert held.due >= 1001 - 1e-6


def test_a_jitter_that_stays_above_the_floor_stays() -> None:
    held = Held(4.0, 0.5, a=1.0)
    assert compat.slot_jitter(held.slot) == 0.5
    held.floor.keep(OTHER, 3.0)
    held.floor.apply(held.slot)
    assert (held.slot.delay, compat.slot_jitter(held.slot)) == (4.0, 0.0)


def test_the_longest_delay_of_several_origins_holds_and_goes_with_its_origin() -> None:
    held = Held(0.1, 0.5, a=1.0)
    held.floor.keep(OTHER, 3.0)
    held.floor.apply(held.slot)
    assert held.slot.delay == 3.0
    held.floor.release(OTHER)
    held.floor.apply(held.slot)
    assert held.slot.delay == 1.0
    held.floor.release(ORIGIN)
    held.floor.apply(held.slot)
    assert held.floor.is_idle
    assert (held.slot.delay, compat.slot_jitter(held.slot)) == (0.1, 0.5)


def test_a_delay_that_auto_throttle_found_is_what_it_goes_back_to() -> None:
    held = Held(0.1, a=1.0)
    held.slot.delay = 5.0
    held.floor.apply(held.slot)
    assert held.slot.delay == 5.0
    held.slot.delay = 0.3
    held.floor.apply(held.slot)
    assert held.slot.delay == 1.0
    held.floor.release(ORIGIN)
    held.floor.apply(held.slot)
    assert held.slot.delay == 0.3


def test_the_delay_counts_from_the_answer_where_connecting_may_have_taken_that_long() -> None:
    held = Held(a=2.0)
    request = held.send()
    assert held.due > 1002 + 10
    held.now += 3
    held.answer(request)
    assert held.due == 1005


def test_the_head_of_an_answer_is_enough() -> None:
    held = Held(a=2.0)
    request = held.send()
    held.now += 0.5
    held.floor.answered(request)  # headers_received
    assert held.due == 1002.5
    held.now += 60
    held.answer(request)
    assert held.due == 1002.5


def test_a_request_that_fails_has_left_by_then() -> None:
    held = Held(a=2.0)
    request = held.send()
    held.now += 3
    held.slot.transferring.remove(request)
    assert held.due == 1005


def test_the_slot_forgets_its_timer_when_an_answer_lets_the_next_one_go_sooner() -> None:
    held = Held(a=2.0)
    request = held.send()
    timer: Any = Timer()
    held.slot.latercall = timer
    held.now += 1
    held.answer(request)
    assert timer.cancelled
    assert held.slot.latercall is None


class Timer:
    cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


def test_a_slot_without_a_delay_from_robots_txt_counts_as_scrapy_does() -> None:
    held = Held(1.0)
    request = held.send()
    held.now += 0.7
    held.answer(request)
    assert held.due == 1001


def test_a_slot_that_is_made_anew_is_held_from_its_first_request_on() -> None:
    held = Held(a=2.0)
    held.answer(held.send())
    held.slot = Slot(8, 0.0, 0.0)
    held.floor.apply(held.slot)
    held.now += 1
    held.answer(held.send())
    assert held.slot.delay == 2.0
    assert held.due >= 1003


@pytest.mark.parametrize(
    ("pace", "floor", "raised"),
    [
        ((0.0, 0.5), 0.0, (0.0, 0.5)),
        ((4.0, 0.5), 2.0, (4.0, 0.5)),
        ((4.0, 0.5), 2.1, (4.0, 0.0)),
        ((1.0, 0.5), 2.0, (2.0, 0.0)),
        ((1.0, 0.0), 1.0, (1.0, 0.0)),
    ],
)
def test_a_pace_changes_only_where_it_would_go_below_the_floor(
    pace: tuple[float, float], floor: float, raised: tuple[float, float]
) -> None:
    assert SlotDelay(*pace).at_least(floor) == raised


def test_outside_of_its_hours_a_host_is_left_alone_and_then_asked_as_before() -> None:
    held = Held()
    held.floor.shut_for(60)
    held.floor.apply(held.slot)
    assert held.floor.backs_off
    assert held.due == pytest.approx(1060)
    held.now += 60
    held.floor.apply(held.slot)
    assert held.floor.is_idle
    assert held.slot.delay == 0


def test_a_backoff_that_is_ended_leaves_nothing_behind() -> None:
    held = Held(0.2)
    held.floor.leave_alone(50)
    held.floor.apply(held.slot)
    held.now += 50
    held.floor.apply(held.slot)
    assert held.slot.delay == 5
    held.floor.end_backoff()
    held.floor.apply(held.slot)
    assert held.floor.is_idle
    assert held.slot.delay == 0.2


@pytest.mark.parametrize(
    ("seconds", "is_needed"), [(0, True), (SlotFloor.ON_THE_WAY_SECONDS - 0.1, True), (60, False)]
)
def test_a_floor_is_needed_while_a_request_is_on_its_way_to_the_slot(
    seconds: float, is_needed: bool
) -> None:
    held = Held(a=1.0)
    held.floor.expect()
    held.now += seconds
    assert held.floor.is_needed(None) is is_needed


def test_a_floor_is_needed_until_its_slot_has_nothing_to_wait_for() -> None:
    held = Held(a=2.0)
    request = held.send()
    held.slot.active.add(request)
    held.now += 10
    assert held.floor.is_needed(held.slot)
    held.slot.active.remove(request)
    held.answer(request)
    assert held.due == 1012
    assert held.floor.is_needed(held.slot)
    held.now = 1012
    assert not held.floor.is_needed(held.slot)


@pytest.mark.parametrize("requests", ["active", "queue"])
def test_a_floor_is_needed_while_its_slot_has_a_request(requests: str) -> None:
    held = Held()
    held.now += 60
    assert not held.floor.is_needed(held.slot)
    waiting: Any = Request("http://a.example/")
    if requests == "active":
        held.slot.active.add(waiting)
    else:
        held.slot.queue.append(waiting)
    assert held.floor.is_needed(held.slot)


def test_a_floor_is_needed_while_its_host_is_left_alone() -> None:
    held = Held()
    held.floor.leave_alone(100)
    held.now += 99
    assert held.floor.is_needed(None)
    held.now += 1
    assert not held.floor.is_needed(None)


def test_a_slot_that_was_never_seen_can_be_answered_for() -> None:
    """Its floor was made by a Retry-After, before the downloader made the slot."""
    floor = SlotFloor(alone(lambda: 1000.0))
    floor.leave_alone(5)
    floor.answered(Request("http://a.example/"))
    slot = Slot(8, 0.0, 0.0)
    floor.apply(slot)
    assert slot.lastseen + slot.delay == 1005
