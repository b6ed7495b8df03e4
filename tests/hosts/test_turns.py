"""All hosts of a queue: which may be asked, and which event brings back the others."""

from __future__ import annotations

from math import inf
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from scrapy import Request
from scrapy.http import Response

from scrapy_robots_plus.hosts.discovery import Discovery
from scrapy_robots_plus.hosts.host import Address, State
from scrapy_robots_plus.hosts.known import Outlook
from scrapy_robots_plus.hosts.origin_states import FAILING, OPEN, UNKNOWN, OriginState
from scrapy_robots_plus.hosts.turns import Hosts
from scrapy_robots_plus.origins.fetch_budget import FetchBudget
from scrapy_robots_plus.protocol.origin import Origin
from tests.crawl.hand_clock import HandClock
from tests.crawl.lanes import Lanes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from scrapy_robots_plus.hosts.host import Lane

ANSWERED: Any = SimpleNamespace(denies_as_unreachable=False)


class Slot(NamedTuple):
    """Seconds until it is due, and after a request; its places."""

    due_in: float
    delay: float
    places: float


FREE = Slot(0.0, 0.0, 8)
SINGLE = Slot(0.0, 0.0, 1)


class Around(HandClock):
    """What is known of origins and slots, by their names, and what the queue does with it."""

    def __init__(self) -> None:
        super().__init__()
        self.queue = Lanes()
        self.budget = FetchBudget(10, 10, self.clock, self.call_later)
        self.origins: dict[str, OriginState] = {}
        self.slots: dict[str, Slot] = {}
        self.homes: dict[str, str] = {}
        """The host that a lane belongs to, by its slot."""
        self.fetched: list[str] = []
        self.came: list[Any] = []
        self.forgotten: list[str] = []
        self.under_way: set[str] = set()
        self.deferred: set[str] = set()
        self.back: list[Request] = []
        self.asked_about: list[Request | None] = []
        self.wakes = 0
        self.with_room: set[str] = set()
        """Slots that have room, whatever was handed out."""
        around: Any = self
        self.enough = inf
        self.hosts = Hosts(around)
        self.hosts.queues.append(self.queue)

    # What the queue asks

    def put_in_force(self, origin: Origin | None) -> OriginState:
        if origin is None:
            return OPEN
        known = self.origins.get(origin.host, OPEN if origin.host in self.slots else UNKNOWN)
        is_over = known.state is State.HELD and known.until <= self.now
        return OPEN if is_over else known

    def defers(self, origin: Origin) -> bool:
        return origin.host in self.deferred

    def just_fetched(self, policy: Any) -> None:
        self.came.append(policy)

    def policy_was_used(self, origin: Origin) -> None:
        self.forgotten.append(origin.host)

    def may_fetch(self) -> bool:
        return True

    def is_fetching(self, origin: Origin) -> bool:
        return origin.host in self.under_way

    def fetch(self, origin: Origin) -> None:
        self.fetched.append(origin.host)

    def host_of(self, lane: Lane) -> str:
        return self.homes.get(lane.address.slot, lane.address.slot)

    def outlook(self, lane: Lane) -> Outlook:
        """A delay of robots.txt is one of the host."""
        due_in, gap, places = self.slots.get(lane.address.slot, FREE)
        state = self.origins.get(lane.address.origin.host) if lane.address.origin else None
        gap = max(gap, state.delay if state else 0.0)
        return Outlook(self.now + due_in, gap, places)

    def has_room(self, lane: Lane) -> bool:
        return lane.address.slot in self.with_room

    def ended(self, out: Iterable[Request], last: Request | None) -> Iterable[Request]:
        self.asked_about.append(last)
        return [request for request in self.back if request in out]

    def watch_arrivals(self, arrived: Callable[[Request], None]) -> None:
        self.arrived = arrived

    def wake(self) -> None:
        self.wakes += 1

    # What a queue does

    def entered(
        self,
        name: str,
        state: OriginState | None = None,
        *,
        priority: int = 0,
        slot: str = "",
        requests: int = 5,
    ) -> Lane:
        if state is not None:
            self.origins[name] = state
        lane = self.queue.new(name, priority=priority, requests=requests, slot=slot)
        self.hosts.discovery.request_came_in()
        self.hosts.enter(lane)
        return lane

    def pop(self) -> Request | None:
        self.hosts.asked = self.queue
        self.hosts.begin(self.queue)
        request = self.hosts.pop(self.queue)
        self.hosts.asked = None
        return request

    def popped(self, requests: int = 99) -> list[str]:
        """The hosts of the next requests, as many as may go."""
        names: list[str] = []
        while len(names) < requests and (request := self.pop()) is not None:
            names.append(request.url.split("/")[2])
        return names

    def one(self) -> Request:
        request = self.pop()
        assert request is not None
        return request

    def rest(self) -> None:
        """As when the engine has nothing else to do."""
        for _ in range(Discovery.QUIET_ROUNDS):
            assert self.pop() is None


@pytest.fixture
def around() -> Around:
    return Around()


def origin_of(lane: Lane) -> Origin:
    assert lane.address.origin is not None
    return lane.address.origin


def state_of(lane: Lane) -> State:
    return lane.state


# When a host is due


def test_a_host_that_is_due_and_has_room_is_asked(around: Around) -> None:
    around.slots["a"] = FREE
    around.entered("a", requests=1)
    assert around.popped() == ["a"]
    assert around.hosts.alarm.at is None


def test_a_host_waits_for_the_delay_of_its_slot(around: Around) -> None:
    around.slots["a"] = Slot(2.0, 5.0, 8)
    lane = around.entered("a")
    assert around.pop() is None
    assert state_of(lane) is State.LATER
    assert around.hosts.alarm.at == 1002.0
    around.slots["a"] = Slot(0.0, 5.0, 8)
    around.now += 1.9
    assert around.pop() is None
    around.now += 0.1
    assert around.popped() == ["a"]


def test_a_host_waits_until_a_request_of_its_full_slot_has_come_back(around: Around) -> None:
    around.slots["x"] = SINGLE
    around.entered("a", OPEN, slot="x")
    lane = around.entered("b", OPEN, slot="x")
    request = around.one()
    assert around.pop() is None  # Scrapy's slot would send both at once
    around.now += Hosts.ARRIVES_SECONDS
    assert around.popped() == ["x"]  # it waits in the slot
    assert state_of(lane) is State.FULL
    around.hosts.came_back(request)
    assert around.pop() is None
    around.now += Hosts.ARRIVES_SECONDS
    assert around.popped() == ["x"]


def test_no_request_waits_in_a_full_slot_while_another_host_is_ready(around: Around) -> None:
    around.slots["a"] = SINGLE
    around.slots["b"] = FREE
    around.entered("a")
    around.entered("b", requests=5)
    around.entered("unknown")
    assert around.popped(1) == ["a"]
    around.now += Hosts.ARRIVES_SECONDS
    assert around.popped(5) == [*"b" * 5]
    assert around.popped() == ["a"]


def test_a_host_goes_on_while_middlewares_keep_its_answers(around: Around) -> None:
    around.slots["a"] = SINGLE
    around.entered("a")
    around.entered("unknown")
    kept = [around.one()]
    for _ in range(3):
        around.now += Hosts.ARRIVES_SECONDS
        waits = around.one()
        assert around.pop() is None
        around.hosts.answered(kept[-1], Response("http://x/"))
        around.hosts.answered(kept[-1], Response("http://x/"))
        kept.append(waits)
    for request in kept:
        around.hosts.came_back(request)
    assert not around.hosts._out


def test_a_host_that_is_alone_may_fill_the_downloader(around: Around) -> None:
    around.slots["a"] = SINGLE
    around.entered("a")
    assert around.popped(3) == ["a"] * 3
    around.entered("b")
    assert around.pop() is None


def test_a_host_that_is_alone_may_not_where_its_slot_has_a_delay(around: Around) -> None:
    around.slots["a"] = Slot(0.0, 1.0, 1)
    lane = around.entered("a")
    assert around.popped() == ["a"]
    assert state_of(lane) is State.FULL
    around.now += Hosts.ARRIVES_SECONDS
    assert around.pop() is None
    assert state_of(lane) is State.LATER
    around.now += 1.0
    assert around.popped() == ["a"]
    assert state_of(lane) is State.FULL


def test_requests_that_are_under_way_take_as_much_of_a_slot_as_it_has(around: Around) -> None:
    around.slots["a"] = Slot(0.0, 0.0, 3)
    around.entered("a")
    around.entered("unknown")
    out = [around.one() for _ in range(3)]
    assert around.pop() is None
    around.now += Hosts.ARRIVES_SECONDS
    assert around.popped() == ["a"]  # it waits in the slot
    around.hosts.came_back(out[1])
    around.hosts.came_back(out[2])
    assert around.popped() == ["a"]


def test_after_a_request_its_gap_is_kept(around: Around) -> None:
    around.entered("a", OriginState(State.READY, delay=3.0))
    assert around.popped() == ["a"]
    around.now += 2.9
    assert around.pop() is None
    around.now += 0.1
    assert around.popped() == ["a"]


def test_hosts_that_are_due_at_the_same_time_come_in_the_order_in_which_they_went(
    around: Around,
) -> None:
    names = [str(number) for number in range(9)]
    for name in names:
        around.entered(name, OriginState(State.READY, delay=5.0))
    assert around.popped() == names
    around.now += 5.0
    assert around.popped() == names


def test_hosts_take_turns_and_one_that_has_waited_is_before_those_that_went_meanwhile(
    around: Around,
) -> None:
    around.entered("slow", OriginState(State.READY, delay=5.0))
    for name in "ab":
        around.slots[name] = FREE
        around.entered(name, requests=20)
    assert around.popped(5) == ["slow", "a", "b", "a", "b"]
    around.now += 5.0
    assert around.popped(3) == ["slow", "a", "b"]


def test_the_door_says_when_a_host_is_due(around: Around) -> None:
    around.slots["a"] = Slot(0.0, 3.0, 8)
    lane = around.entered("a")
    request = around.one()
    around.slots["a"] = Slot(inf, 3.0, 8)  # it stands there
    around.now += 4.0
    assert around.pop() is None
    assert state_of(lane) is State.AT_DOOR
    assert around.hosts.alarm.at is None
    around.slots["a"] = Slot(2.0, 3.0, 8)
    around.hosts.changed("a", request)
    assert state_of(lane) is State.LATER
    assert around.hosts.alarm.at == 1006.0
    around.slots["a"] = Slot(0.0, 3.0, 8)
    around.pass_time(2.0)
    assert around.wakes > 0
    assert around.popped() == ["a"]


def test_a_host_that_is_due_sooner_than_it_was_is_asked_sooner(around: Around) -> None:
    around.slots["a"] = Slot(15.0, 1.0, 8)
    lane = around.entered("a")
    assert around.pop() is None
    around.slots["a"] = Slot(1.0, 1.0, 8)
    around.hosts.changed("a")
    assert around.hosts.alarm.at == 1001.0
    around.slots["a"] = FREE
    around.hosts.changed("a")
    assert state_of(lane) is State.READY
    around.hosts.changed("a")  # nothing waits any more
    around.hosts.changed("unknown")


def test_a_host_that_is_due_later_than_it_was_is_asked_later(around: Around) -> None:
    around.slots["a"] = Slot(1.0, 1.0, 8)
    lane = around.entered("a")
    assert around.pop() is None
    around.slots["a"] = Slot(9.0, 1.0, 8)
    around.hosts.changed("a")
    around.slots["a"] = Slot(8.0, 1.0, 8)
    around.now += 1.0
    assert around.pop() is None
    assert state_of(lane) is State.LATER


def test_a_request_that_has_come_back_unsent_delays_nothing(around: Around) -> None:
    around.slots["a"] = Slot(0.0, 3.0, 8)
    around.entered("a")
    request = around.one()
    assert around.pop() is None
    around.hosts.came_back(request)
    assert around.popped() == ["a"]


def test_a_request_that_is_not_the_last_says_nothing_about_the_delay(around: Around) -> None:
    around.slots["a"] = Slot(0.0, 3.0, 8)
    around.entered("a")
    first = around.one()
    around.now += 3.0
    around.one()
    around.hosts.came_back(first)
    assert around.pop() is None


def test_of_the_lanes_of_a_slot_the_most_urgent_goes_first(around: Around) -> None:
    around.slots["x"] = Slot(0.0, 1.0, 8)
    order: list[Lane] = []
    lanes = [
        around.entered(name, OPEN, priority=priority, slot="x", requests=1)
        for name, priority in (("low", -1), ("a", 0), ("b", 0), ("urgent", 5))
    ]
    for _ in lanes:
        held = [lane for lane in lanes if len(lane)]
        around.one()
        order += [lane for lane in held if not len(lane)]
        assert around.pop() is None
        around.now += 1.0
    assert [origin_of(lane).host for lane in order] == ["urgent", "a", "b", "low"]


def test_a_lane_moves_to_the_host_that_it_belongs_to_now(around: Around) -> None:
    around.slots["x"] = FREE
    around.entered("a", OPEN, slot="x", requests=1)
    lane = around.entered("b", OPEN, slot="x", requests=1)
    assert lane.host is not None
    assert lane.host.name == "x"
    around.homes["x"] = "b"
    assert len(around.popped()) == 2
    assert set(around.hosts._hosts) == {"b"}


def test_a_host_whose_next_lane_belongs_elsewhere_does_not_wait_for_its_door(
    around: Around,
) -> None:
    around.slots["x"] = Slot(5.0, 5.0, 8)
    lane = around.entered("a", OPEN, slot="x")
    assert around.pop() is None
    around.homes["x"] = "a"
    around.slots["x"] = Slot(inf, 5.0, 8)
    around.hosts.changed("x")
    assert around.pop() is None
    assert lane.host is not None
    assert (lane.host.name, lane.state) == ("a", State.AT_DOOR)
    around.hosts.changed("a")
    assert state_of(lane) is State.AT_DOOR
    around.slots["x"] = FREE
    around.hosts.changed("a")
    assert around.popped(1) == ["x"]


def test_a_request_that_went_to_another_slot_lets_that_one_go_on(around: Around) -> None:
    around.slots["y"] = Slot(9.0, 9.0, 8)
    around.entered("a", OPEN)
    waits = around.entered("b", OPEN, slot="y")
    request = around.one()
    around.popped()
    around.slots["y"] = FREE
    request.meta["download_slot"] = "y"
    around.hosts.came_back(request)
    assert waits.state is State.READY


def test_a_full_host_goes_on_if_its_slot_has_room_when_the_others_should_be_there(
    around: Around,
) -> None:
    """A middleware keeps them, or sends them through other slots."""
    around.slots["x"] = SINGLE
    around.entered("a", OPEN, slot="x")
    lane = around.entered("b", OPEN, slot="x")
    begun = around.now
    around.with_room.add("x")
    assert around.popped() == ["x"]  # it may be on its way
    assert state_of(lane) is State.FULL
    assert around.hosts.alarm.at == begun + Hosts.ARRIVES_SECONDS
    around.now += Hosts.ARRIVES_SECONDS
    assert around.popped(3) == ["x"] * 3  # from now on, the slot alone is asked
    around.with_room.clear()
    assert around.pop() is None
    around.with_room.add("x")
    around.now += Hosts.LOOKS_AGAIN_SECONDS / 2
    assert around.pop() is None
    around.now += Hosts.LOOKS_AGAIN_SECONDS / 2
    assert around.popped(1) == ["x"]
    for request in list(around.hosts._out):
        around.hosts.came_back(request)
    assert around.popped(3) == ["x"]  # none is under way, so it is found out anew


def test_after_a_request_that_went_to_another_slot_the_delay_of_its_own_holds_up_none(
    around: Around,
) -> None:
    around.slots["x"] = Slot(0.0, 5.0, 8)
    around.entered("a", OPEN, slot="x")
    request = around.one()
    assert around.pop() is None
    request.meta["download_slot"] = "proxy"
    around.hosts.came_back(request)
    assert around.popped(3) == ["x"] * 3


def test_the_lead_of_a_host_follows_what_its_requests_take_to_their_slot(around: Around) -> None:
    around.slots["x"] = Slot(0.0, 5.0, 8)
    around.entered("x", OPEN)
    for seconds, lead in ((2.0, 2.0), (1.0, 1.7), (1.7, 1.7)):
        request = around.one()
        around.now += seconds
        around.arrived(request)
        (host,) = around.hosts._hosts.values()
        assert host.lead == pytest.approx(lead)
        around.now += 5.0


@pytest.mark.parametrize(("due_in", "handed_out"), [(1.9, ["x"]), (2.1, [])])
def test_a_request_is_handed_out_earlier_by_the_lead_of_its_host(
    around: Around, due_in: float, handed_out: list[str]
) -> None:
    around.slots["x"] = Slot(0.0, 5.0, 8)
    around.entered("x", OPEN)
    request = around.one()
    around.now += 2.0
    around.arrived(request)
    around.slots["x"] = Slot(due_in, 5.0, 8)
    around.hosts.changed("x", request)
    assert around.popped(1) == handed_out


def test_what_a_middleware_keeps_and_answers_itself_holds_up_no_other(around: Around) -> None:
    around.slots["x"] = Slot(0.0, 5.0, 8)
    around.entered("x", OPEN)
    kept = around.one()
    assert around.pop() is None
    around.now += 0.3
    around.hosts.came_back(kept)
    assert around.popped(3) == ["x"] * 3


@pytest.mark.parametrize(("arrives", "seconds"), [(True, 0.3), (False, 0.0)])
def test_after_one_that_was_sent_or_denied_the_next_keeps_its_distance(
    around: Around, arrives: bool, seconds: float
) -> None:
    around.slots["x"] = Slot(0.0, 5.0, 8)
    around.entered("x", OPEN)
    request = around.one()
    if arrives:
        around.arrived(request)
    around.now += seconds
    around.hosts.came_back(request)
    assert around.popped(3) == ["x"]


def test_where_nothing_delays_a_host_arrivals_do_not_matter(around: Around) -> None:
    around.slots["x"] = FREE
    around.entered("x", OPEN)
    request = around.one()
    assert not hasattr(around, "arrived")
    around.now += 2.0
    around.hosts._arrived(request)
    around.hosts._arrived(Request("http://x/from-elsewhere"))
    (host,) = around.hosts._hosts.values()
    assert not host.lead


def test_an_object_that_is_handed_out_twice_is_out_once(
    around: Around, monkeypatch: pytest.MonkeyPatch
) -> None:
    around.slots["a"] = FREE
    around.entered("a", requests=2)
    request = around.one()
    take = around.queue.take
    monkeypatch.setattr(around.queue, "take", lambda lane: take(lane) and request)
    assert around.one() is request
    around.hosts.came_back(request)
    assert not around.hosts._out
    assert not around.hosts._hosts


def test_what_is_out(around: Around) -> None:
    around.slots["a"] = FREE
    around.entered("a", requests=2)
    request, other = around.one(), around.one()
    assert set(around.hosts._out) == {request, other}
    assert request in around.hosts._out
    around.hosts.came_back(request)
    assert request not in around.hosts._out
    around.hosts.came_back(request)  # it is told twice, or of one that was never handed out
    around.hosts.came_back(Request("http://x/"))
    assert set(around.hosts._out) == {other}
    assert around.hosts._hosts
    around.hosts.came_back(other)
    assert not around.hosts._out
    assert not around.hosts._hosts


def test_a_lane_without_a_request_after_all_lets_the_next_one_go(
    around: Around, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its file is damaged."""
    around.slots["x"] = SINGLE
    damaged = around.entered("a", OPEN, slot="x")
    around.entered("b", OPEN, slot="x", requests=1)
    take = around.queue.take

    def take_or_not(lane: Lane) -> Request | None:
        if lane is damaged:
            while damaged.pop() is not None:
                pass
            return None
        return take(lane)

    monkeypatch.setattr(around.queue, "take", take_or_not)
    assert len(around.popped()) == 1
    assert damaged.state is State.EMPTY
    assert around.hosts.lanes == 0


def test_what_has_come_back_untold_is_looked_for_with_what_went_last(around: Around) -> None:
    around.entered("a", OPEN, requests=1)
    request = around.one()
    around.back.append(request)
    assert around.pop() is None
    assert around.pop() is None
    assert around.asked_about == [None, request, None]
    assert request not in around.hosts._out


# What robots.txt says


def test_a_lane_whose_policy_is_not_known_waits_until_it_is(around: Around) -> None:
    lane = around.entered("a")
    assert state_of(lane) is State.POLICY
    assert origin_of(lane) in around.hosts._awaiting
    around.rest()
    assert around.fetched == ["a"]
    wakes, around.origins["a"] = around.wakes, OPEN
    around.hosts.fetch_ended(origin_of(lane), ANSWERED)
    assert around.wakes > wakes
    assert origin_of(lane) not in around.hosts._awaiting
    assert around.came == [ANSWERED]
    assert around.popped(1) == ["a"]
    assert around.forgotten == ["a"]


def test_what_is_being_fetched_is_not_fetched_again(around: Around) -> None:
    around.under_way.add("a")
    lane = around.entered("a", requests=1)
    around.rest()
    assert around.fetched == []
    around.origins["a"] = OPEN
    around.hosts.fetch_ended(origin_of(lane), ANSWERED)
    assert around.popped() == ["a"]


def test_a_policy_that_expires_while_a_lane_is_in_its_host_is_asked_for_again(
    around: Around,
) -> None:
    around.slots["x"] = SINGLE
    out, expires, waits = (around.entered(name, OPEN, slot="x") for name in ("a", "b", "c"))
    around.one()
    around.now += Hosts.ARRIVES_SECONDS
    del around.origins["b"]
    assert len(around.popped()) == 1
    assert (len(out), len(expires), len(waits)) == (4, 5, 4)
    assert expires.state is State.POLICY
    assert out.state is waits.state is State.FULL


def test_a_lane_that_falls_asleep_waits_for_no_policy_and_the_others_of_its_origin_do(
    around: Around,
) -> None:
    lanes = [around.entered("a", slot=slot) for slot in ("x", "y", "z")]
    origin = origin_of(lanes[0])
    around.hosts.falls_asleep(lanes[0])
    assert lanes[0].state is State.EMPTY
    assert around.forgotten == ["a"]
    assert origin in around.hosts._awaiting
    around.hosts.fetch_ended(origin, ANSWERED)
    assert [lane.state for lane in lanes] == [State.EMPTY, State.POLICY, State.POLICY]
    for lane in lanes[1:]:
        around.hosts.falls_asleep(lane)
    assert origin not in around.hosts._awaiting
    assert around.hosts.lanes == 0


@pytest.mark.parametrize("slot", [FREE, Slot(9.0, 9.0, 8)], ids=["ready", "later"])
def test_a_lane_that_falls_asleep_leaves_its_host_to_the_others(around: Around, slot: Slot) -> None:
    around.slots["x"] = slot
    sleeps, stays = (around.entered(name, OPEN, slot="x") for name in ("a", "b"))
    if slot.delay:
        assert around.pop() is None
    around.hosts.falls_asleep(sleeps)
    around.slots["x"] = FREE
    around.now += 9.0
    assert around.popped(2) == ["x", "x"]
    assert (len(sleeps), len(stays)) == (5, 3)
    around.hosts.falls_asleep(stays)
    assert around.hosts.ready == 0


def test_a_lane_without_an_origin_asks_for_no_policy(around: Around) -> None:
    lane = around.queue.new("a", requests=2)
    lane.address = Address(None, "a")
    around.slots["a"] = Slot(0.0, 2.0, 8)
    around.hosts.enter(lane)
    assert around.popped() == ["a"]
    assert around.forgotten == []
    assert state_of(lane) is State.LATER


def test_a_policy_that_no_lane_waits_for_wakes_the_engine_all_the_same(around: Around) -> None:
    around.hosts.fetch_ended(Origin("http", "a", 80), ANSWERED)
    assert around.wakes == 1
    assert around.came == []


def test_requests_to_an_unreachable_origin_are_refused_and_delay_no_other(around: Around) -> None:
    lane = around.entered("a", FAILING)
    assert state_of(lane) is State.REFUSED
    assert around.popped(2) == ["a", "a"]
    around.origins["a"] = OriginState(State.READY, delay=5.0)
    assert around.popped() == ["a"]
    assert state_of(lane) is State.LATER


def test_refusals_drip_in_while_others_are_ready(around: Around) -> None:
    around.slots["b"] = Slot(0.0, 0.0, 999)
    around.entered("b", requests=200)
    around.entered("a", FAILING)
    names = around.popped(100)
    assert names.count("a") == 3
    assert names[31] == names[63] == names[95] == "a"


def test_requests_that_are_held_back_wait_for_their_moment_and_are_looked_at_again(
    around: Around,
) -> None:
    lane = around.entered("a", OriginState(State.HELD, 1060.0))
    assert state_of(lane) is State.HELD
    assert around.hosts.alarm.at == 1060.0
    del around.origins["a"]
    around.now = 1059.9
    assert around.pop() is None
    assert state_of(lane) is State.HELD
    around.now = 1060.0
    assert around.pop() is None
    assert state_of(lane) is State.POLICY


def test_a_lane_may_sleep_unless_a_fetch_or_a_refusal_is_about_to_end_its_wait(
    around: Around,
) -> None:
    lane, other = around.entered("a"), around.entered("b")
    assert around.hosts.may_sleep(lane)
    around.under_way.add("a")
    assert not around.hosts.may_sleep(lane)
    assert around.hosts.may_sleep(other)
    assert not around.hosts.may_sleep(around.entered("c", FAILING))


def test_only_what_was_handed_out_is_taken_back_and_only_while_it_would_be_kept(
    around: Around,
) -> None:
    lane = around.entered("a", OPEN)
    request = around.one()
    takes_back = around.hosts.takes_back
    assert not takes_back(request, origin_of(lane))
    around.deferred.add("a")
    assert takes_back(request, origin_of(lane))
    assert not takes_back(Request("http://a/"), origin_of(lane))


def test_a_lane_waits_for_its_visiting_hours(around: Around) -> None:
    lane = around.entered("a", OriginState(State.HELD, 1600.0))
    assert state_of(lane) is State.HELD
    around.queue.add(lane, 1, priority=5)
    around.hosts.grew(lane, is_urgent=True)  # changes nothing
    assert state_of(lane) is State.HELD
    around.pass_time(599)
    assert around.wakes == 0
    around.pass_time(1)
    assert around.wakes > 0
    assert around.popped(1) == ["a"]


def test_lanes_that_are_held_back_go_on_if_a_new_robots_txt_lets_them(around: Around) -> None:
    lanes = [around.entered("a", OriginState(State.HELD, 1600.0), slot=slot) for slot in "xy"]
    other = around.entered("b", OriginState(State.HELD, 1600.0))
    around.origins["a"] = OPEN
    around.hosts.fetch_ended(origin_of(lanes[0]), ANSWERED)
    assert [state_of(lane) for lane in lanes] == [State.READY] * 2
    assert state_of(other) is State.HELD
    assert not around.hosts._also_awaiting


@pytest.mark.parametrize("later", [1001.0, 1005.0])
def test_the_alarm_rings_for_the_earliest_of_all(around: Around, later: float) -> None:
    around.entered("a", OriginState(State.HELD, 1003.0), requests=1)
    around.entered("b", OriginState(State.HELD, later), requests=1)
    for at, name in sorted([(1003.0, "a"), (later, "b")]):
        assert around.hosts.alarm.at == at
        around.pass_time(at - around.now)
        assert around.wakes > 0
        assert around.popped() == [name]
    assert around.hosts.alarm.at is None
    assert around.rings == 2


def test_a_more_urgent_request_puts_its_lane_among_the_first_to_be_fetched(
    around: Around,
) -> None:
    lanes = [around.entered(str(number)) for number in range(12)]
    around.queue.add(lanes[-1], 1, priority=5)
    around.hosts.grew(lanes[-1], is_urgent=True)
    around.rest()
    assert around.fetched[0] == "11"


# The two queues of a job


def two_queues(around: Around) -> Lanes:
    """Another queue, the first to be asked."""
    first, second = Lanes(), around.queue
    second.number = 1
    around.hosts.queues.insert(0, first)
    return first


def test_each_queue_hands_out_its_own_requests_those_in_memory_first(around: Around) -> None:
    memory = two_queues(around)
    around.slots["a"] = Slot(0.0, 0.0, 2)
    around.entered("a", requests=2)
    around.hosts.enter(memory.new("a", priority=-9, requests=2))
    around.entered("unknown")
    pop = around.hosts.pop
    assert pop(around.queue) is None  # those in memory are first
    assert pop(memory) is not None
    assert pop(memory) is not None
    assert pop(memory) is pop(around.queue) is None
    around.now += Hosts.ARRIVES_SECONDS
    around.hosts.begin(around.queue)
    assert pop(memory) is None
    assert pop(around.queue) is not None  # it waits in the slot
    assert pop(around.queue) is None
    for request in list(around.hosts._out):
        around.hosts.came_back(request)
    assert pop(memory) is None
    assert pop(around.queue) is not None


def test_what_becomes_ready_for_the_queue_that_is_not_asked_wakes_the_engine(
    around: Around,
) -> None:
    memory = two_queues(around)
    around.hosts.asked = around.queue
    around.slots["a"] = around.slots["b"] = FREE
    around.entered("a")
    assert around.wakes == 0
    around.hosts.enter(memory.new("b"))
    assert around.wakes == 1


def test_an_empty_queue_leaves_what_is_due_to_the_next(around: Around) -> None:
    memory = two_queues(around)
    around.entered("a", OPEN)
    around.hosts.begin(memory)
    assert around.asked_about == []
    around.hosts.begin(around.queue)
    assert len(around.asked_about) == 1


def test_the_last_queue_looks_at_what_is_due_even_if_it_is_empty(around: Around) -> None:
    two_queues(around)
    around.hosts.begin(around.queue)
    assert len(around.asked_about) == 1


def test_only_the_first_queue_begins_a_round(around: Around) -> None:
    memory = two_queues(around)
    for number in range(3):
        around.entered(str(number))
    around.hosts.begin(around.queue)
    assert around.fetched == []
    around.hosts.begin(memory)
    assert len(around.fetched) == 1


def test_while_the_other_queue_has_something_ready_no_more_is_fetched(around: Around) -> None:
    memory = two_queues(around)
    around.entered("unknown")
    around.slots["a"] = FREE
    ready = memory.new("a")
    around.hosts.enter(ready)
    around.hosts.discovery._rounds_without_request = Discovery.QUIET_ROUNDS
    assert around.hosts.pop(around.queue) is None
    assert around.fetched == []
    assert around.hosts.pop(memory) is not None
    assert around.hosts.pop(around.queue) is None
    assert around.fetched == ["unknown"]
