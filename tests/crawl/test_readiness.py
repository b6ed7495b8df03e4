"""Which lanes may go, and which event brings back those that may not."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest

from scrapy_robots_plus.crawl.fetching.budget import FetchBudget
from scrapy_robots_plus.crawl.lanes.lane import Address, LaneState
from scrapy_robots_plus.crawl.policies.cache import LEAST_PAUSE
from scrapy_robots_plus.crawl.scheduling.discovery import Discovery
from scrapy_robots_plus.crawl.scheduling.hosts import Outlook
from scrapy_robots_plus.crawl.scheduling.outage_starts import OutageStarts
from scrapy_robots_plus.crawl.scheduling.readiness import OriginState, Permission, Readiness
from scrapy_robots_plus.policy.origin import Origin

from .hand_clock import HandClock
from .lanes import Lanes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy import Request

    from scrapy_robots_plus.crawl.lanes.lane import Lane

OPEN = OriginState()


class Slot(NamedTuple):
    """Seconds until it is due, and after a request; its places."""

    due_in: float
    delay: float
    places: float
    likely: float = 0.0


DEFER = 100.0


class Around(HandClock):
    """What is known of origins and slots, by their names, and what readiness does with it."""

    def __init__(self, defer: float | None = None) -> None:
        super().__init__()
        self.lanes = Lanes()
        self.budget = FetchBudget(10, 10, self.clock, self.call_later)
        self.origins: dict[str, OriginState] = {}
        self.slots: dict[str, Slot] = {}
        self.fetched: list[str] = []
        self.forgotten: list[str] = []
        self.under_way: set[str] = set()
        self.back: list[Request] = []
        self.asked_about: list[Request | None] = []
        self.wakes = 0
        self.readiness = Readiness(self, self.call_later, defer=defer)
        self.readiness.queues.append(self.lanes)
        self.lanes.states = self.readiness.states

    # What readiness asks

    def address(self, request: Request) -> Address:
        raise AssertionError("that is for queues to ask")

    def origin_state(self, origin: Origin) -> OriginState | None:
        return self.origins.get(origin.host)

    def policy_was_used(self, origin: Origin) -> None:
        self.forgotten.append(origin.host)

    def may_fetch(self) -> bool:
        return True

    def is_fetching(self, origin: Origin) -> bool:
        return origin.host in self.under_way

    def fetch(self, origin: Origin, lane: Lane) -> None:
        assert lane.address.origin == origin
        self.fetched.append(origin.host)

    def host_of(self, lane: Lane) -> str:
        return lane.address.slot

    def outlook(self, lane: Lane) -> Outlook:
        """A delay of robots.txt is one of the host."""
        due_in, gap, places, likely = self.slots.get(lane.address.slot, Slot(0.0, 0.0, 8))
        state = self.origins.get(lane.address.origin.host) if lane.address.origin else None
        gap = max(gap, state.delay if state else 0.0)
        return Outlook(self.now + due_in, gap, places, likely)

    def ended(self, out: Iterable[Request], last: Request | None) -> Iterable[Request]:
        self.asked_about.append(last)
        return [request for request in self.back if request in out]

    def wake(self) -> None:
        self.wakes += 1

    # What a queue does

    def entered(self, name: str, state: OriginState | None = None, priority: int = 0) -> Lane:
        if state is not None:
            self.origins[name] = state
        lane = self.lanes.new(name, priority=priority, requests=5)
        self.readiness.enter(lane)
        assert self.lanes.made_ready() == [lane]
        return lane

    def permission_for(self, lane: Lane) -> Permission:
        return self.readiness.permission_for(lane)

    def go(self, lane: Lane) -> Request:
        assert self.permission_for(lane) is Permission.GO
        request = lane.requests.pop()
        assert request is not None
        self.readiness.hand_out(lane, request, refused=False)
        return request

    def rest(self) -> None:
        """As when the engine has nothing else to do."""
        for _ in range(Discovery.QUIET_ROUNDS):
            self.readiness.advance(self.lanes)
            self.readiness.arrange_wake_up()


def origin_of(lane: Lane) -> Origin:
    assert lane.address.origin is not None
    return lane.address.origin


def test_a_lane_whose_policy_is_not_known_waits_until_it_is() -> None:
    around = Around()
    lane = around.entered("a")
    assert around.permission_for(lane) is Permission.WAIT
    assert lane.state is LaneState.POLICY
    assert around.readiness.awaits(origin_of(lane))
    around.rest()
    assert around.fetched == ["a"]
    wakes, around.origins["a"] = around.wakes, OPEN
    around.readiness.fetch_ended(origin_of(lane))
    assert around.lanes.made_ready() == [lane]
    assert around.wakes == wakes + 1
    assert not around.readiness.awaits(origin_of(lane))
    assert around.permission_for(lane) is Permission.GO


def test_what_is_being_fetched_is_not_fetched_again() -> None:
    around = Around()
    around.under_way.add("a")
    lane = around.entered("a")
    assert around.permission_for(lane) is Permission.WAIT
    around.rest()
    assert around.fetched == []
    around.readiness.fetch_ended(origin_of(lane))
    assert around.lanes.made_ready() == [lane]


def test_a_lane_that_has_gone_elsewhere_is_not_brought_back_by_a_policy() -> None:
    around = Around()
    lane = around.entered("a")
    around.permission_for(lane)
    around.readiness.states.move(lane, LaneState.EMPTY)
    around.readiness.fetch_ended(origin_of(lane))
    assert around.lanes.made_ready() == []


def test_a_lane_that_falls_asleep_waits_for_no_policy_and_the_others_of_its_origin_do() -> None:
    around = Around()
    lanes = [around.lanes.new("a", slot=slot) for slot in ("x", "y", "z")]
    for lane in lanes:
        assert around.permission_for(lane) is Permission.WAIT
    origin = origin_of(lanes[0])
    around.readiness.falls_asleep(lanes[0])
    assert lanes[0].state is LaneState.EMPTY
    assert around.forgotten == ["a"]
    assert around.readiness.awaits(origin)
    around.readiness.fetch_ended(origin)
    assert around.lanes.made_ready() == lanes[1:]
    for lane in lanes[1:]:
        assert around.permission_for(lane) is Permission.WAIT
        around.readiness.falls_asleep(lane)
    assert not around.readiness.awaits(origin)


def test_a_lane_without_an_origin_asks_for_no_policy() -> None:
    around = Around()
    lane = around.entered("a")
    lane.address = Address(None, "a")
    around.go(lane)
    assert around.forgotten == []
    around.slots["a"] = Slot(2.0, 2.0, 8)
    assert around.permission_for(lane) is Permission.WAIT
    assert lane.state is LaneState.DELAY


def test_what_robots_txt_asks_for_is_kept_between_two_requests() -> None:
    around = Around()
    lane = around.entered("a", OriginState(delay=5.0))
    around.go(lane)
    assert around.permission_for(lane) is Permission.WAIT
    around.now += 4.9
    around.readiness.advance()
    assert around.lanes.made_ready() == []
    around.now += 0.1
    around.readiness.advance()
    assert around.lanes.made_ready() == [lane]


def test_hosts_that_are_due_at_the_same_time_come_in_the_order_in_which_they_went() -> None:
    around = Around()
    lanes = [around.entered(str(number), OriginState(delay=5.0)) for number in range(9)]
    for lane in lanes:
        around.go(lane)
        assert around.permission_for(lane) is Permission.WAIT
    around.now += 5.0
    around.readiness.advance()
    assert around.lanes.made_ready() == lanes


def test_a_request_that_goes_uses_a_policy_up_and_puts_its_lane_behind_the_others() -> None:
    around = Around()
    a, b = around.entered("a", OPEN), around.entered("b", OPEN)
    assert a.order < b.order
    around.go(a)
    assert a.order > b.order
    assert around.forgotten == ["a"]


def test_an_origin_that_asks_for_nothing_is_asked_without_a_delay() -> None:
    around = Around()
    lane = around.entered("a", OriginState())
    for _ in range(3):
        around.go(lane)


def test_a_request_that_is_refused_delays_no_other() -> None:
    around = Around()
    lane = around.entered("a", OriginState(delay=5.0))
    for refused in (True, False):
        assert around.permission_for(lane) is Permission.GO
        request = lane.requests.pop()
        assert request is not None
        around.readiness.hand_out(lane, request, refused=refused)
    assert around.permission_for(lane) is Permission.WAIT


def test_a_policy_that_no_lane_waits_for_wakes_the_engine_all_the_same() -> None:
    around = Around()
    around.readiness.fetch_ended(Origin("http", "a", 80))
    assert around.wakes == 1


def test_requests_to_an_unreachable_origin_are_refused() -> None:
    around = Around()
    lane = around.entered("a", OriginState(unreachable=True, again_at=1060.0))
    assert around.permission_for(lane) is Permission.REFUSE
    assert not around.readiness.defers(origin_of(lane))


def test_deferred_requests_wait_until_the_file_is_asked_for_again() -> None:
    around = Around(DEFER)
    lane = around.entered("a", OriginState(unreachable=True, again_at=1060.0))
    assert around.permission_for(lane) is Permission.WAIT
    assert lane.state is LaneState.HELD
    assert around.forgotten == ["a"]
    around.now = 1059.9
    around.readiness.advance()
    assert around.lanes.made_ready() == []
    around.now = 1060.0
    around.readiness.advance()
    assert around.lanes.made_ready() == [lane]


def test_deferred_requests_wait_no_longer_than_the_setting_says() -> None:
    around = Around(DEFER)
    lane = around.entered("a", OriginState(unreachable=True, again_at=1e9))
    assert around.permission_for(lane) is Permission.WAIT
    around.now = 1000.0 + DEFER
    assert not around.readiness.defers(origin_of(lane))
    around.readiness.advance()
    assert around.lanes.made_ready() == [lane]
    assert around.permission_for(lane) is Permission.REFUSE


def test_each_outage_has_its_own_beginning() -> None:
    around = Around(DEFER)
    dead = OriginState(unreachable=True, again_at=1e9)
    first = around.entered("first", dead)
    around.permission_for(first)
    around.now += 60
    second = around.entered("second", dead)
    around.permission_for(second)
    for moment, lane in ((1000.0 + DEFER, first), (1060.0 + DEFER, second)):
        around.now = moment - 0.1
        around.readiness.advance()
        assert around.lanes.made_ready() == []
        around.now = moment
        around.readiness.advance()
        assert around.lanes.made_ready() == [lane]


def test_a_lane_may_sleep_unless_a_fetch_or_a_refusal_is_about_to_end_its_wait() -> None:
    around = Around()
    lane, other = around.entered("a"), around.entered("b")
    assert around.readiness.may_sleep(lane)
    around.under_way.add("a")
    assert not around.readiness.may_sleep(lane)
    assert around.readiness.may_sleep(other)
    around.readiness.states.move(other, LaneState.REFUSED)
    assert not around.readiness.may_sleep(other)


def test_only_what_was_handed_out_is_taken_back_and_only_while_it_would_be_kept() -> None:
    around = Around(DEFER)
    lane = around.entered("a", OPEN)
    request = around.go(lane)
    other = around.lanes.request("a")
    takes_back = around.readiness.takes_back
    assert takes_back(request, origin_of(lane))
    assert not takes_back(other, origin_of(lane))
    around.now += DEFER
    assert not takes_back(request, origin_of(lane))


def test_of_very_many_outages_those_that_requests_wait_for_keep_their_beginning() -> None:
    around = Around(DEFER)
    lane = around.entered("a", OriginState(unreachable=True, again_at=1e9))
    around.permission_for(lane)
    for number in range(OutageStarts.LEAST):
        assert around.readiness.defers(Origin("http", str(number), 80))
    around.now += DEFER
    assert not around.readiness.defers(origin_of(lane))
    assert around.readiness.defers(Origin("http", "0", 80))  # nobody waits for it


def test_an_outage_that_was_over_begins_anew() -> None:
    around = Around(DEFER)
    dead = OriginState(unreachable=True, again_at=1e9)
    lane = around.entered("a", dead)
    around.permission_for(lane)
    around.now += 60
    around.origins["a"] = OPEN
    assert around.permission_for(lane) is Permission.GO
    around.origins["a"] = dead
    around.now += 60
    assert around.permission_for(lane) is Permission.WAIT
    assert around.readiness.defers(origin_of(lane))


def test_a_file_that_may_be_asked_for_at_once_is_asked_for_after_a_pause() -> None:
    around = Around(DEFER)
    lane = around.entered("a", OriginState(unreachable=True, again_at=0.0))
    assert around.permission_for(lane) is Permission.WAIT
    around.readiness.arrange_wake_up()
    assert around.readiness.hosts.alarm.at == 1000.0 + LEAST_PAUSE


def test_a_lane_waits_for_its_visiting_hours() -> None:
    around = Around()
    lane = around.entered("a", OriginState(opens_at=1600.0))
    assert around.permission_for(lane) is Permission.WAIT
    assert lane.state is LaneState.HELD
    around.readiness.enter(lane)  # a request that is more urgent changes nothing
    assert around.lanes.made_ready() == []
    around.readiness.arrange_wake_up()
    around.pass_time(599)
    assert around.wakes == 0
    around.pass_time(1)
    assert around.wakes == 1
    assert around.lanes.made_ready() == [lane]
    assert around.permission_for(lane) is Permission.GO


def test_a_lane_that_does_not_go_lets_another_one_try_its_slot() -> None:
    around = Around()
    around.slots["x"] = Slot(0.0, 1.0, 1)
    lanes = [around.entered(name, OPEN) for name in ("out", "expires", "waits")]
    for lane in lanes:
        lane.address = lane.address._replace(slot="x")
    out, expires, waits = lanes
    request = around.go(out)
    assert around.permission_for(expires) is around.permission_for(waits) is Permission.WAIT
    around.readiness.hosts.came_back(request)
    assert around.lanes.made_ready() == [expires]
    del around.origins["expires"]
    assert around.permission_for(expires) is Permission.WAIT
    assert around.lanes.made_ready() == [waits]


def test_a_more_urgent_request_puts_its_lane_among_the_first_to_be_fetched() -> None:
    around = Around()
    lanes = [around.entered(str(number)) for number in range(12)]
    for lane in lanes:
        around.permission_for(lane)
    around.lanes.add(lanes[-1], 1, priority=5)
    around.readiness.enter(lanes[-1])
    around.rest()
    assert around.fetched[0] == "11"


def test_what_has_come_back_untold_is_looked_for_with_what_went_last() -> None:
    around = Around()
    lane = around.entered("a", OPEN)
    request = around.go(lane)
    around.back.append(request)
    around.readiness.advance()
    around.readiness.advance()
    assert around.asked_about == [request, None]
    assert request not in around.readiness.hosts


def test_an_empty_queue_leaves_what_is_due_to_the_next() -> None:
    around = Around()
    empty: list[Lane] = []
    around.readiness.queues.insert(0, empty)
    around.back.append(around.go(around.entered("a", OPEN)))
    around.readiness.advance(empty)
    assert around.asked_about == []
    around.readiness.advance(around.lanes)
    assert len(around.asked_about) == 1


def test_the_last_queue_looks_at_what_is_due_even_if_it_is_empty() -> None:
    around = Around()
    empty: list[Lane] = []
    around.readiness.queues.append(empty)
    around.readiness.advance(empty)
    assert len(around.asked_about) == 1


def test_only_the_first_queue_begins_a_round() -> None:
    around = Around()
    around.readiness.queues.append([])
    for number in range(3):
        around.permission_for(around.entered(str(number)))
    around.readiness.advance(around.readiness.queues[1])
    assert around.fetched == []
    around.readiness.advance(around.readiness.queues[0])
    assert len(around.fetched) == 1
    around.readiness.advance()
    assert len(around.fetched) == 2


def test_while_the_other_queue_has_something_ready_no_more_is_fetched() -> None:
    around = Around()
    around.rest()
    around.permission_for(around.entered("unknown"))
    around.readiness.discovery._rounds_without_request = Discovery.QUIET_ROUNDS
    ready = around.entered("ready", OPEN)
    around.readiness.discovery._rounds_without_request = Discovery.QUIET_ROUNDS
    around.readiness.arrange_wake_up()
    assert around.fetched == []
    around.readiness.states.move(ready, LaneState.DELAY)
    around.readiness.arrange_wake_up()
    assert around.fetched == ["unknown"]


@pytest.mark.parametrize(
    ("state", "slot", "delay"),
    [
        (None, Slot(0.0, 2.0, 8, 0.0), 2.0),
        (OriginState(delay=5.0), Slot(0.0, 2.0, 8, 3.0), 5.0),
        (OriginState(delay=1.0), Slot(0.0, 2.0, 8, 3.0), 3.0),
    ],
)
def test_the_delay_of_a_lane_is_the_longest_that_is_known(
    state: OriginState | None, slot: Slot, delay: float
) -> None:
    around = Around()
    around.slots["a"] = slot
    assert around.readiness.delay_of(around.entered("a", state)) == delay
