"""A lane: its name in the state of a job, its state, its requests."""

from __future__ import annotations

import pytest

from scrapy_robots_plus.crawl.lanes.lane import Address, LaneState
from scrapy_robots_plus.policy.origin import Origin

from .lanes import Lanes

HERE = Origin("http", "a.example", 80)
SECURE = Origin("https", "a.example", 8443)


@pytest.mark.parametrize(
    ("address", "name"),
    [
        (Address(HERE, "a.example"), "http://a.example"),
        (Address(HERE, "proxy"), "http://a.example proxy"),
        (Address(HERE, "two words"), "http://a.example two words"),
        (Address(SECURE, "a.example"), "https://a.example:8443"),
        (Address(None, "a.example"), "a.example"),
        (Address(None, "two words"), "two words"),
        (Address(None, "http://proxy"), " http://proxy"),
        (Address(None, " indented"), "  indented"),
        (Address(None, ""), ""),
    ],
)
def test_an_address_is_found_again_by_its_name(address: Address, name: str) -> None:
    assert address.name == name
    assert Address.named(name) == address


@pytest.mark.parametrize("name", ["http://", "://", "http://a.example:port x", "//"])
def test_a_name_that_is_not_of_an_origin_is_that_of_a_slot(name: str) -> None:
    assert Address.named(name) == Address(None, name)


def test_lanes_are_counted_by_their_state() -> None:
    lanes = Lanes()
    a, b = lanes.new("a"), lanes.new("b")
    states = lanes.states
    assert (states.ready, states.lanes) == (0, 0)
    states.make_ready(a)
    states.make_ready(b)
    assert (states.ready, states.lanes) == (2, 2)
    states.make_ready(a)
    assert (states.ready, states.lanes) == (2, 2)
    states.move(a, LaneState.DELAY)
    states.move(b, LaneState.EMPTY)
    assert (states.ready, states.lanes) == (0, 1)
    states.move(a, LaneState.EMPTY)
    assert (states.ready, states.lanes) == (0, 0)


def test_each_move_gives_another_ticket_and_only_ready_lanes_are_told_to_their_queue() -> None:
    lanes = Lanes()
    lane = lanes.new("a")
    tickets = {lane.ticket}
    for state in LaneState:
        lanes.states.move(lane, state)
        assert lane.state is state
        tickets.add(lane.ticket)
    assert lanes.made_ready() == []
    lanes.states.make_ready(lane)
    assert lanes.made_ready() == [lane]
    assert len(tickets | {lane.ticket}) == len(LaneState) + 2


def test_the_most_urgent_request_of_a_lane_is_the_next() -> None:
    lanes = Lanes()
    lane = lanes.new("a", priority=1)
    lanes.add(lane, 1, priority=7)
    assert (len(lane), lane.priority) == (2, -7)
    shown = lane.next_request()
    assert shown is not None
    assert shown.priority == 7
    assert lane.requests.pop() is shown
    assert (len(lane), lane.priority) == (1, -1)
