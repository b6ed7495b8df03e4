"""Lanes that wait for one host: one at a time tries it, and none is forgotten."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, NamedTuple

import pytest

from scrapy_robots_plus.crawl.lanes.lane import LaneState
from scrapy_robots_plus.crawl.scheduling.hosts import Hosts, Outlook

from .hand_clock import HandClock
from .lanes import Lanes

if TYPE_CHECKING:
    from scrapy import Request

    from scrapy_robots_plus.crawl.lanes.lane import Lane


class State(NamedTuple):
    """Of a host: seconds until it is due, seconds to wait after a request, and its places."""

    due_in: float
    delay: float
    capacity: float


FREE = State(due_in=0.0, delay=0.0, capacity=8)
SINGLE = State(due_in=0.0, delay=0.0, capacity=1)


class Desk(HandClock):
    """Lanes, the state of the slots that they share, and what happens to their requests."""

    def __init__(self) -> None:
        super().__init__()
        self.lanes = Lanes()
        self.state = {"x": FREE, "y": FREE}
        self.rung: list[float] = []
        ring = self.rung.append
        self.hosts = Hosts(
            self, self.lanes.states, lambda: ring(self.now), self.clock, self.call_later
        )

    def host_of(self, lane: Lane) -> str:
        return lane.address.slot

    def outlook(self, lane: Lane) -> Outlook:
        state = self.state[lane.address.slot]
        return Outlook(self.now + state.due_in, state.delay, state.capacity)

    def lane(self, name: str, priority: int = 0, slot: str = "x") -> Lane:
        lane = self.lanes.new(name, slot=slot, priority=priority, requests=9)
        self.lanes.states.make_ready(lane)
        self.lanes.made_ready()
        return lane

    def admits(self, lane: Lane) -> bool:
        return self.hosts.admits(lane)

    def go(self, lane: Lane, *, refused: bool = False) -> Request:
        request = lane.requests.pop()
        assert request is not None
        self.hosts.hand_out(lane, request, refused=refused)
        return request

    def due(self) -> list[str]:
        """The names of the hosts that are due now; the next lane of each tries."""
        waiting = [host for host in self.hosts._hosts.values() if host.due_at is not None]
        self.hosts.process_due()
        return [host.name for host in waiting if host.due_at is None]

    def made_ready(self) -> list[str]:
        return [lane.address.origin.host for lane in self.lanes.made_ready() if lane.address.origin]


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_a_slot_that_is_due_and_has_room_admits(desk: Desk) -> None:
    assert desk.admits(desk.lane("a"))
    assert desk.hosts.alarm.at is None


def test_a_lane_waits_for_the_delay_of_its_slot(desk: Desk) -> None:
    desk.state["x"] = State(due_in=2.0, delay=5.0, capacity=8)
    lane = desk.lane("a")
    assert not desk.admits(lane)
    assert lane.state is LaneState.DELAY
    desk.now += 1.9
    assert desk.due() == []
    desk.now += 0.1
    assert desk.due() == ["x"]
    assert desk.made_ready() == ["a"]
    desk.state["x"] = State(due_in=0.0, delay=5.0, capacity=8)
    assert desk.admits(lane)


def test_a_lane_waits_until_a_request_of_a_full_slot_has_come_back(desk: Desk) -> None:
    desk.state["x"] = SINGLE
    a, b = desk.lane("a"), desk.lane("b")
    assert desk.admits(a)
    request = desk.go(a)
    assert not desk.admits(b)
    assert b.state is LaneState.FULL
    assert desk.made_ready() == []
    desk.hosts.came_back(request)
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
    desk.state["x"] = State(due_in=0.0, delay=1.0, capacity=1)
    lane = desk.lane("a")
    assert desk.admits(lane)
    desk.go(lane)
    assert not desk.admits(lane)
    assert lane.state is LaneState.FULL


def test_requests_that_are_under_way_take_as_much_of_a_slot_as_it_has(desk: Desk) -> None:
    desk.state["x"] = State(due_in=0.0, delay=0.0, capacity=3)
    lane, _ = desk.lane("a"), desk.lane("b")
    out = []
    while desk.admits(lane):
        out.append(desk.go(lane))
    assert len(out) == 3
    desk.hosts.came_back(out[1])
    assert desk.admits(lane)


def test_after_a_request_its_gap_is_kept(desk: Desk) -> None:
    desk.state["x"] = State(due_in=0.0, delay=3.0, capacity=8)
    a, b = desk.lane("a"), desk.lane("b")
    assert desk.admits(a)
    desk.go(a)
    assert not desk.admits(b)
    desk.now += 2.9
    assert desk.due() == []
    desk.now += 0.1
    assert desk.due() == ["x"]


def test_when_the_door_has_let_it_go_the_door_knows_best(desk: Desk) -> None:
    desk.state["x"] = State(due_in=0.0, delay=3.0, capacity=8)
    a, b = desk.lane("a"), desk.lane("b")
    assert desk.admits(a)
    request = desk.go(a)
    desk.state["x"] = State(due_in=inf, delay=3.0, capacity=8)  # it stands there
    desk.now += 4.0
    assert not desk.admits(b)
    assert desk.due() == []
    desk.state["x"] = State(due_in=2.0, delay=3.0, capacity=8)
    desk.hosts.handed_over("x", request)
    assert desk.hosts.alarm.at == 1006.0
    assert desk.made_ready() == []
    desk.now += 2.0
    assert desk.due() == ["x"]
    assert desk.made_ready() == ["b"]


def test_a_host_that_is_due_sooner_than_it_was_is_tried_sooner(desk: Desk) -> None:
    desk.state["x"] = State(due_in=15.0, delay=1.0, capacity=8)
    assert not desk.admits(desk.lane("a"))
    desk.hosts.set_alarm()
    desk.state["x"] = State(due_in=1.0, delay=1.0, capacity=8)
    desk.hosts.changed("x")
    assert desk.hosts.alarm.at == 1001.0
    desk.state["x"] = FREE
    desk.hosts.changed("x")
    assert desk.made_ready() == ["a"]
    desk.hosts.changed("x")  # nothing waits any more
    desk.hosts.changed("unknown")


def test_when_a_request_has_come_back_its_slot_knows_best(desk: Desk) -> None:
    desk.state["x"] = State(due_in=0.0, delay=3.0, capacity=8)
    a, b = desk.lane("a"), desk.lane("b")
    assert desk.admits(a)
    request = desk.go(a)
    assert not desk.admits(b)
    desk.hosts.came_back(request)
    assert desk.made_ready() == ["b"]
    assert desk.admits(b)


def test_a_request_that_is_not_the_last_says_nothing_about_the_delay(desk: Desk) -> None:
    desk.state["x"] = State(due_in=0.0, delay=3.0, capacity=8)
    lane = desk.lane("a")
    assert desk.admits(lane)
    first = desk.go(lane)
    desk.now += 3.0
    assert desk.admits(lane)
    desk.go(lane)
    desk.hosts.came_back(first)
    assert not desk.admits(lane)


def test_a_request_that_is_refused_delays_nobody(desk: Desk) -> None:
    desk.state["x"] = State(due_in=0.0, delay=3.0, capacity=8)
    refused, waits = desk.lane("refused"), desk.lane("waits")
    request = desk.go(refused, refused=True)
    assert request in desk.hosts
    assert desk.admits(waits)


def test_of_many_lanes_one_tries_at_a_time_the_most_urgent_first(desk: Desk) -> None:
    desk.state["x"] = State(due_in=1.0, delay=1.0, capacity=8)
    for name, priority in (("low", -1), ("a", 0), ("b", 0), ("urgent", 5)):
        assert not desk.admits(desk.lane(name, priority))
    by_name = {lane.address.origin.host: lane for lane in desk.lanes.open if lane.address.origin}
    order = []
    for _ in range(4):
        desk.now += 1.0
        desk.state["x"] = State(due_in=0.0, delay=1.0, capacity=8)
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
    desk.hosts.came_back(request)
    assert desk.made_ready() == ["tries"]
    return tries, waits


def test_a_lane_that_does_not_try_lets_the_next_one(desk: Desk) -> None:
    tries, waits = waiting_behind(desk)
    desk.hosts.skip(tries)
    assert desk.made_ready() == ["waits"]
    assert waits.state is LaneState.READY


def test_a_lane_that_tries_lets_nobody_else_until_it_goes(desk: Desk) -> None:
    tries, _ = waiting_behind(desk)
    assert desk.admits(tries)
    assert desk.made_ready() == []
    desk.hosts.skip(tries)  # it has tried: this is another matter
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
    desk.hosts.had_no_request(tries)
    assert desk.made_ready() == ["waits"]


def test_a_lane_that_has_moved_on_is_passed_over(desk: Desk) -> None:
    desk.state["x"] = SINGLE
    out, gone, waits = (desk.lane(name) for name in ("out", "gone", "waits"))
    assert desk.admits(out)
    request = desk.go(out)
    assert not desk.admits(gone)
    assert not desk.admits(waits)
    desk.lanes.states.move(gone, LaneState.HELD)
    desk.hosts.came_back(request)
    assert desk.made_ready() == ["waits"]


def test_the_soonest_moment_is_known(desk: Desk) -> None:
    for name, due_in in (("a", 5.0), ("b", 2.0), ("c", 9.0)):
        desk.state["x"] = State(due_in, 1.0, 8)
        assert not desk.admits(desk.lane(name))
    desk.hosts.set_alarm()
    assert desk.hosts.alarm.at == 1002.0
    desk.now += 2.0
    assert desk.due() == ["x"]
    desk.now += 60.0
    assert desk.due() == []


def test_a_moment_that_has_come_otherwise_is_forgotten(desk: Desk) -> None:
    desk.state["x"] = State(2.0, 2.0, 8)
    out = desk.lane("out")
    request = desk.go(out)
    assert not desk.admits(desk.lane("waits"))
    desk.hosts.came_back(request)
    assert desk.made_ready() == ["waits"]
    desk.now += 60.0
    assert desk.due() == []


def test_what_is_out(desk: Desk) -> None:
    lane = desk.lane("a")
    request, other = desk.go(lane), desk.go(lane)
    assert set(desk.hosts.out) == {request, other}
    assert request in desk.hosts
    desk.hosts.came_back(request)
    assert request not in desk.hosts
    desk.hosts.came_back(request)  # it is told twice, or of one that was never handed out
    desk.hosts.came_back(desk.lanes.request("x"))
    assert set(desk.hosts.out) == {other}
    desk.hosts.came_back(other)
    assert not desk.hosts.out


def test_nothing_is_kept_of_a_slot_that_nobody_uses(desk: Desk) -> None:
    desk.state["x"] = SINGLE
    a, b = desk.lane("a"), desk.lane("b")
    assert desk.admits(a)
    request = desk.go(a)
    assert not desk.admits(b)
    desk.hosts.came_back(request)
    assert desk.hosts._hosts
    assert desk.admits(b)
    desk.hosts.came_back(desk.go(b))
    assert not desk.hosts._hosts
    assert not desk.hosts._trying


def test_a_request_that_went_to_another_slot_lets_a_lane_try_that_one(desk: Desk) -> None:
    desk.state["y"] = State(due_in=9.0, delay=9.0, capacity=8)
    here, there = desk.lane("a"), desk.lane("b", slot="y")
    assert desk.admits(here)
    request = desk.go(here)
    assert not desk.admits(there)
    desk.made_ready()
    request.meta["download_slot"] = "y"
    desk.hosts.came_back(request)
    assert desk.made_ready() == ["b"]


# Lanes that wait for a moment


def test_lanes_are_ready_when_their_moments_have_come_the_earliest_first(desk: Desk) -> None:
    for name, moment in (("b", 1002.0), ("a", 1001.0), ("c", 1003.0)):
        desk.hosts.hold(desk.lane(name), moment)
    desk.made_ready()
    desk.now += 2.0
    desk.hosts.process_due()
    assert desk.made_ready() == ["a", "b"]
    desk.hosts.process_due()
    assert desk.made_ready() == []


def test_a_lane_that_went_elsewhere_is_not_brought_back(desk: Desk) -> None:
    lane = desk.lane("a")
    desk.hosts.hold(lane, 1001.0)
    desk.hosts.hold(lane, 1005.0)
    desk.made_ready()
    desk.now += 2.0
    desk.hosts.process_due()
    assert desk.made_ready() == []
    desk.now += 3.0
    desk.hosts.process_due()
    assert desk.made_ready() == ["a"]


@pytest.mark.parametrize(("other", "at"), [(None, 1002.0), (1001.0, 1001.0), (1009.0, 1002.0)])
def test_the_alarm_rings_for_the_earliest_of_all(
    desk: Desk, other: float | None, at: float
) -> None:
    desk.hosts.hold(desk.lane("a"), 1005.0)
    desk.hosts.hold(desk.lane("b"), 1002.0)
    desk.hosts.set_alarm(other)
    assert desk.hosts.alarm.at == at
    desk.pass_time(60)
    assert desk.rung == [pytest.approx(at)]


def test_without_anything_to_wait_for_there_is_no_alarm(desk: Desk) -> None:
    desk.hosts.set_alarm()
    assert desk.hosts.alarm.at is None
