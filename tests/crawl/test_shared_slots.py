"""Lanes that share a downloader slot: one at a time tries it, and none is forgotten."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from scrapy_robots_plus.crawl.lanes.lane import LaneState
from scrapy_robots_plus.crawl.scheduling.agenda import Agenda
from scrapy_robots_plus.crawl.scheduling.slots import SharedSlot, SharedSlots
from scrapy_robots_plus.crawl.scheduling.surroundings import SlotState

from .hand_clock import HandClock
from .lanes import Lanes

if TYPE_CHECKING:
    from scrapy import Request

    from scrapy_robots_plus.crawl.lanes.lane import Lane

FREE = SlotState(due_in=0.0, delay=0.0, capacity=8)
SINGLE = SlotState(due_in=0.0, delay=0.0, capacity=1)


class Desk(HandClock):
    """Lanes, the state of the slots that they share, and what happens to their requests."""

    def __init__(self) -> None:
        super().__init__()
        self.lanes = Lanes()
        self.state = {"x": FREE, "y": FREE}
        self.agenda: Agenda[Lane | SharedSlot] = Agenda(lambda: None, self.clock, self.call_later)
        self.slots = SharedSlots(self, self.lanes.states, self.agenda, self.clock)

    def slot_key(self, lane: Lane) -> str:
        return lane.address.slot

    def turn_in(self, key: str, lane: Lane) -> float:
        return 0.0

    def slot_state(self, key: str) -> SlotState:
        return self.state[key]

    def lane(self, name: str, priority: int = 0, slot: str = "x") -> Lane:
        lane = self.lanes.new(name, slot=slot, priority=priority, requests=9)
        self.lanes.states.make_ready(lane)
        self.lanes.made_ready()
        return lane

    def admits(self, lane: Lane, delay: float = 0.0) -> bool:
        return self.slots.admits(lane, delay)

    def go(self, lane: Lane, *, refused: bool = False) -> Request:
        request = lane.requests.pop()
        assert request is not None
        self.slots.hand_out(lane, request, refused=refused)
        return request

    def due(self) -> list[str]:
        """The keys of the slots that the agenda names now; the next lane of each tries."""
        slots = [item for item in self.agenda.due() if isinstance(item, SharedSlot)]
        for slot in slots:
            self.slots.try_next(slot)
        return [slot.key for slot in slots]

    def made_ready(self) -> list[str]:
        return [lane.address.origin.host for lane in self.lanes.made_ready() if lane.address.origin]


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_a_slot_that_is_due_and_has_room_admits(desk: Desk) -> None:
    assert desk.admits(desk.lane("a"))
    assert desk.agenda.alarm.at is None


def test_a_lane_waits_for_the_delay_of_its_slot(desk: Desk) -> None:
    desk.state["x"] = SlotState(due_in=2.0, delay=5.0, capacity=8)
    lane = desk.lane("a")
    assert not desk.admits(lane)
    assert lane.state is LaneState.DELAY
    desk.now += 1.9
    assert desk.due() == []
    desk.now += 0.1
    assert desk.due() == ["x"]
    assert desk.made_ready() == ["a"]
    desk.state["x"] = SlotState(due_in=0.0, delay=5.0, capacity=8)
    assert desk.admits(lane)


def test_a_lane_waits_until_a_request_of_a_full_slot_has_come_back(desk: Desk) -> None:
    desk.state["x"] = SINGLE
    a, b = desk.lane("a"), desk.lane("b")
    assert desk.admits(a)
    request = desk.go(a)
    assert not desk.admits(b)
    assert b.state is LaneState.FULL
    assert desk.made_ready() == []
    desk.slots.came_back(request)
    assert desk.made_ready() == ["b"]
    assert desk.admits(b)


def test_a_host_that_is_alone_may_fill_the_downloader(desk: Desk) -> None:
    desk.state["x"] = SINGLE
    lane = desk.lane("a")
    for _ in range(3):
        assert desk.admits(lane)
        desk.go(lane)
    desk.lane("b", slot="y")
    assert not desk.admits(lane)


def test_a_host_that_is_alone_may_not_where_its_slot_has_a_delay(desk: Desk) -> None:
    desk.state["x"] = SlotState(due_in=0.0, delay=1.0, capacity=1)
    lane = desk.lane("a")
    assert desk.admits(lane)
    desk.go(lane)
    assert not desk.admits(lane)
    assert lane.state is LaneState.FULL


def test_requests_that_are_under_way_take_as_much_of_a_slot_as_it_has(desk: Desk) -> None:
    desk.state["x"] = SlotState(due_in=0.0, delay=0.0, capacity=3)
    lane, _ = desk.lane("a"), desk.lane("b")
    out = []
    while desk.admits(lane):
        out.append(desk.go(lane))
    assert len(out) == 3
    desk.slots.came_back(out[1])
    assert desk.admits(lane)


@pytest.mark.parametrize(("asked", "own"), [(3.0, 1.0), (1.0, 3.0)])
def test_after_a_request_the_larger_of_both_delays_is_kept(
    desk: Desk, asked: float, own: float
) -> None:
    desk.state["x"] = SlotState(due_in=0.0, delay=own, capacity=8)
    a, b = desk.lane("a"), desk.lane("b")
    assert desk.admits(a, asked)
    desk.go(a)
    assert not desk.admits(b, asked)
    desk.now += 2.9
    assert desk.due() == []
    desk.now += 0.1
    assert desk.due() == ["x"]


def test_when_a_request_has_come_back_its_slot_knows_best(desk: Desk) -> None:
    desk.state["x"] = SlotState(due_in=0.0, delay=3.0, capacity=8)
    a, b = desk.lane("a"), desk.lane("b")
    assert desk.admits(a)
    request = desk.go(a)
    assert not desk.admits(b)
    desk.slots.came_back(request)
    assert desk.made_ready() == ["b"]
    assert desk.admits(b)


def test_a_request_that_is_not_the_last_says_nothing_about_the_delay(desk: Desk) -> None:
    desk.state["x"] = SlotState(due_in=0.0, delay=3.0, capacity=8)
    lane = desk.lane("a")
    assert desk.admits(lane)
    first = desk.go(lane)
    desk.now += 3.0
    assert desk.admits(lane)
    desk.go(lane)
    desk.slots.came_back(first)
    assert not desk.admits(lane)


def test_a_request_that_is_refused_delays_nobody(desk: Desk) -> None:
    desk.state["x"] = SlotState(due_in=0.0, delay=3.0, capacity=8)
    refused, waits = desk.lane("refused"), desk.lane("waits")
    request = desk.go(refused, refused=True)
    assert request in desk.slots
    assert desk.admits(waits)


def test_of_many_lanes_one_tries_at_a_time_the_most_urgent_first(desk: Desk) -> None:
    desk.state["x"] = SlotState(due_in=1.0, delay=1.0, capacity=8)
    for name, priority in (("low", -1), ("a", 0), ("b", 0), ("urgent", 5)):
        assert not desk.admits(desk.lane(name, priority))
    by_name = {lane.address.origin.host: lane for lane in desk.lanes.open if lane.address.origin}
    order = []
    for _ in range(4):
        desk.now += 1.0
        desk.state["x"] = SlotState(due_in=0.0, delay=1.0, capacity=8)
        desk.due()
        ready = desk.made_ready()
        order += ready
        assert len(ready) == 1
        assert desk.admits(by_name[ready[0]])
        desk.go(by_name[ready[0]])
        for name in desk.made_ready():  # the next one tries at once, and waits
            assert not desk.admits(by_name[name])
    assert order == ["urgent", "a", "b", "low"]


def waiting_behind(desk: Desk) -> tuple[Lane, Lane]:
    """A lane that is to try a slot, and one that waits behind it."""
    desk.state["x"] = SINGLE
    out, tries, waits = (desk.lane(name) for name in ("out", "tries", "waits"))
    assert desk.admits(out)
    request = desk.go(out)
    assert not desk.admits(tries)
    assert not desk.admits(waits)
    desk.slots.came_back(request)
    assert desk.made_ready() == ["tries"]
    return tries, waits


def test_a_lane_that_does_not_try_lets_the_next_one(desk: Desk) -> None:
    tries, waits = waiting_behind(desk)
    desk.slots.skip(tries)
    assert desk.made_ready() == ["waits"]
    assert waits.state is LaneState.READY


def test_a_lane_that_tries_lets_nobody_else_until_it_goes(desk: Desk) -> None:
    tries, _ = waiting_behind(desk)
    assert desk.admits(tries)
    assert desk.made_ready() == []
    desk.slots.skip(tries)  # it has tried: this is another matter
    assert desk.made_ready() == []
    desk.go(tries)
    assert desk.made_ready() == ["waits"]


def test_a_lane_that_tries_another_slot_lets_the_next_one(desk: Desk) -> None:
    tries, _ = waiting_behind(desk)
    tries.address = tries.address._replace(slot="y")
    assert desk.admits(tries)
    assert desk.made_ready() == ["waits"]


def test_a_lane_without_a_request_after_all_lets_the_next_one(desk: Desk) -> None:
    tries, _ = waiting_behind(desk)
    assert desk.admits(tries)
    desk.slots.had_no_request(tries)
    assert desk.made_ready() == ["waits"]


def test_a_lane_that_has_moved_on_is_passed_over(desk: Desk) -> None:
    desk.state["x"] = SINGLE
    out, gone, waits = (desk.lane(name) for name in ("out", "gone", "waits"))
    assert desk.admits(out)
    request = desk.go(out)
    assert not desk.admits(gone)
    assert not desk.admits(waits)
    desk.lanes.states.move(gone, LaneState.HELD)
    desk.slots.came_back(request)
    assert desk.made_ready() == ["waits"]


def test_the_agenda_knows_the_soonest_moment(desk: Desk) -> None:
    for name, due_in in (("a", 5.0), ("b", 2.0), ("c", 9.0)):
        desk.state["x"] = SlotState(due_in, 1.0, 8)
        assert not desk.admits(desk.lane(name))
    desk.agenda.set_alarm()
    assert desk.agenda.alarm.at == 1002.0
    desk.now += 2.0
    assert desk.due() == ["x"]
    desk.now += 60.0
    assert desk.due() == []


def test_a_moment_that_has_come_otherwise_is_forgotten(desk: Desk) -> None:
    desk.state["x"] = SlotState(2.0, 2.0, 8)
    out = desk.lane("out")
    request = desk.go(out)
    assert not desk.admits(desk.lane("waits"))
    desk.slots.came_back(request)
    assert desk.made_ready() == ["waits"]
    desk.now += 60.0
    assert desk.due() == []


def test_what_is_out(desk: Desk) -> None:
    lane = desk.lane("a")
    request, other = desk.go(lane), desk.go(lane)
    assert set(desk.slots.out) == {request, other}
    assert request in desk.slots
    desk.slots.came_back(request)
    assert request not in desk.slots
    desk.slots.came_back(request)  # it is told twice, or of one that was never handed out
    desk.slots.came_back(desk.lanes.request("x"))
    assert set(desk.slots.out) == {other}
    desk.slots.came_back(other)
    assert not desk.slots.out


def test_nothing_is_kept_of_a_slot_that_nobody_uses(desk: Desk) -> None:
    desk.state["x"] = SINGLE
    a, b = desk.lane("a"), desk.lane("b")
    assert desk.admits(a)
    request = desk.go(a)
    assert not desk.admits(b)
    desk.slots.came_back(request)
    assert desk.slots._slots
    assert desk.admits(b)
    desk.slots.came_back(desk.go(b))
    assert not desk.slots._slots
    assert not desk.slots._trying


def test_a_request_that_went_to_another_slot_lets_a_lane_try_that_one(desk: Desk) -> None:
    desk.state["y"] = SlotState(due_in=9.0, delay=9.0, capacity=8)
    here, there = desk.lane("a"), desk.lane("b", slot="y")
    assert desk.admits(here)
    request = desk.go(here)
    assert not desk.admits(there)
    desk.made_ready()
    request.meta["download_slot"] = "y"
    desk.slots.came_back(request)
    assert desk.made_ready() == ["b"]
