"""The queue under random hosts, delays and policies, by a clock that the test turns."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import strategies as st

from scrapy_robots_plus.crawl.scheduling.outage_starts import OutageStarts
from scrapy_robots_plus.crawl.scheduling.ticket_heap import TicketHeap
from tests.examples import tried

from .world import REFUSED, Both, Host, Slot, World, host_number

if TYPE_CHECKING:
    from scrapy import Request

    from scrapy_robots_plus.crawl.lanes.lane import Lane

HOSTS = 5
EPSILON = 0.002
"""Seconds that a timer may be late: alarms are not set closer than a millisecond."""

HOST = st.builds(
    Host,
    delay=st.sampled_from([0.0, 0.0, 1.0, 10.0]),
    capacity=st.integers(1, 3),
    slot=st.sampled_from(["", "shared"]),
)
STEP = st.one_of(
    st.tuples(
        st.just("push"), st.integers(0, HOSTS - 1), st.sampled_from([0, 0, 0, 5, -5, REFUSED])
    ),
    st.tuples(st.just("push start"), st.integers(0, HOSTS - 1), st.sampled_from([0, 5])),
    st.tuples(st.just("push many"), st.integers(0, HOSTS - 1), st.sampled_from([0, 5, REFUSED])),
    st.tuples(st.just("readable"), st.integers(0, HOSTS - 1), st.sampled_from([3, 1e9])),
    st.tuples(st.just("unreachable"), st.integers(0, HOSTS - 1), st.sampled_from([0, 3, 60])),
    st.tuples(st.just("time"), st.sampled_from([0.01, 0.3, 1.0, 7.0]), st.none()),
)


class Watched(World):
    """Looks at every request that is handed out, and at what is left when the engine rests."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.asks_two = isinstance(self.queue, Both)
        """The queue in memory comes first, whatever the priority."""
        self.first_unreachable: dict[int, float] = {}
        self.refused: list[Request] = []
        self.moved = False
        """Whether slots have changed, and the lanes that wait do not know yet."""
        self.delay_then: dict[Request, float] = {}

    def land(self, number: int, *, unreachable: bool = False, lifetime: float = 1e9) -> None:
        if self.hosts[number].fetching and not unreachable:
            self.first_unreachable.pop(number, None)
        super().land(number, unreachable=unreachable, lifetime=lifetime)

    def _download(self, request: Request) -> None:
        number = host_number(request)
        host = self.hosts[number]
        assert host.known_until > self.now, "its robots.txt is not known"
        if host.unreachable:
            self.refused.append(request)
        else:
            self.assert_not_early(number)
            urgent = [] if self.asks_two else [lane.priority for lane in self.ready_lanes()]
            assert self.moved or -request.priority <= min(urgent, default=99), "others come first"
        self.delay_then[request] = self.slot_state(self.slot_name(number)).delay
        super()._download(request)

    def assert_not_early(self, number: int) -> None:
        host, key = self.hosts[number], self.slot_name(number)
        state, slot = self.slot_state(key), self.slots[key]
        others = [lane for lane in self.queue if self.host_of(lane.address.origin) is not host]
        alone = not others and not state.delay
        assert len(slot.out) < state.capacity or alone
        if state.delay:
            assert state.due_in <= EPSILON
            assert self.travel > state.delay or not self.on_the_way(slot)

    def on_the_way(self, slot: Slot) -> list[Request]:
        """What will be sent, so that the delay will count from then.

        Not what was handed out when the slot had no delay.
        """
        return [
            request
            for request in slot.on_the_way
            if not self.will_be_refused(request) and self.delay_then[request]
        ]

    def ready_lanes(self) -> list[Lane]:
        """Found by looking at every lane, as the queue does not."""
        return [lane for lane in self.queue if self.is_ready(lane)]

    def is_ready(self, lane: Lane) -> bool:
        assert lane.address.origin is not None
        host = self.host_of(lane.address.origin)
        if host.known_until <= self.now or host.unreachable:
            return False
        state, slot = self.slot_state(self.slot_key(lane)), self.slots[self.slot_key(lane)]
        if len(slot.out) >= state.capacity:
            return False
        return state.due_in <= -EPSILON and not (state.delay and slot.on_the_way)

    def settle(self) -> None:
        super().settle()
        if self.active < self.total and len(self.queue):
            assert self.moved or not self.ready_lanes(), (
                "the engine sleeps although a host is ready"
            )
            asleep = not self.active and not any(host.fetching for host in self.hosts)
            assert not asleep or self.readiness.agenda.alarm.at is not None, "no wake-up is set"


def run(world: Watched, steps: list[Any]) -> Counter[str]:
    pushed: Counter[str] = Counter()
    for step, first, second in steps:
        if step.startswith("push"):
            for _ in range(6 if step == "push many" else 1):
                pushed[world.push(first, second, start=step == "push start").url] += 1
        elif step == "moves":
            # As when a Crawl-delay brings all requests of a host into one slot.
            world.hosts[first].slot = "" if world.hosts[first].slot else "shared"
            world.moved = True
        elif step in ("readable", "unreachable"):
            fetching = [number for number, host in enumerate(world.hosts) if host.fetching]
            if fetching:
                number = fetching[first % len(fetching)]
                world.land(number, unreachable=step == "unreachable", lifetime=second)
        else:
            world.pass_time(first)
        world.settle()
    return pushed


def finish(world: Watched) -> None:
    """Every host can be read in the end, and everything is handed out."""
    for _ in range(2_000):
        if not len(world.queue) and not world.active:
            return
        for number in range(HOSTS):
            world.land(number)
        world.pass_time(5.0)
    raise AssertionError(f"{len(world.queue)} requests starve")


def assert_nothing_is_left(world: World) -> None:
    """Of hosts that are done with; entries out of date are few."""
    readiness = world.readiness
    assert not readiness.slots._slots
    assert not readiness.slots._out
    assert not readiness.slots._trying
    assert not readiness._awaiting
    assert readiness.states.ready == readiness.states.lanes == 0
    heaps: list[Any] = [readiness.agenda._heap]
    heaps += [readiness.discovery._fetch_order._by_size, readiness.discovery._fetch_order._by_order]
    queues: Any = readiness.queues
    for queue in queues:
        heaps += [queue._ready, queue._refused]
    assert all(len(heap) <= 2 * TicketHeap.LEAST for heap in heaps)


MOVES = st.tuples(st.just("moves"), st.integers(0, HOSTS - 1), st.none())


@tried(
    300,
    1500,
    hosts=st.lists(HOST, min_size=HOSTS, max_size=HOSTS),
    steps=st.lists(STEP, max_size=80)
    | st.lists(STEP, min_size=40, max_size=80)
    | st.lists(STEP | MOVES, max_size=80),
    total=st.sampled_from([2, 16]),
    travel=st.sampled_from([0.0, 0.01]),
    transfer=st.sampled_from([0.1, 5.0]),
    defer=st.sampled_from([None, 20.0]),
    job=st.booleans(),
)
def test_no_host_goes_early_none_starves_nothing_is_lost_and_a_wake_up_is_always_set(
    hosts: list[Host],
    steps: list[Any],
    total: int,
    travel: float,
    transfer: float,
    defer: float | None,
    job: bool,
) -> None:
    options = {"travel": travel, "transfer": transfer, "job": job}
    world = Watched(hosts, defer=defer, total=total, fetches=3, **options)
    pushed = run(world, steps)
    finish(world)
    assert Counter(request.url for request in world.handed_out) == pushed
    assert_nothing_is_left(world)
    if defer is None:
        return
    # Deferred requests are refused only after as long as the setting says.
    assert all(world.now - 1000 >= defer for _ in world.refused[:1])


def test_hosts_take_turns() -> None:
    world = World([Host(capacity=1) for _ in range(4)], total=1, fetches=4)
    for number in range(4):
        for _ in range(5):
            world.push(number)
    world.settle()
    for number in range(4):
        world.land(number)
    world.pass_time(100)
    order = [host_number(request) for request in world.handed_out]
    assert Counter(order) == dict.fromkeys(range(4), 5)
    for turn in range(1, 4):
        assert sorted(order[4 * turn : 4 * turn + 4]) == [0, 1, 2, 3]


def test_a_thousand_lanes_of_one_slot_cost_no_scan() -> None:
    lanes = 1000
    world = World([Host(capacity=1, slot="proxy") for _ in range(lanes)], total=1, fetches=lanes)
    for number in range(lanes):
        world.push(number)
    world.settle()
    for number in range(lanes):
        world.land(number)
    answers = 0
    original = world.readiness.permission_for

    def counted(lane: Lane) -> Any:
        nonlocal answers
        answers += 1
        return original(lane)

    world.readiness.permission_for = counted  # type: ignore[method-assign]
    world.pass_time(lanes)
    assert len(world.handed_out) == lanes
    assert answers < 5 * lanes


def test_a_lane_waits_no_longer_than_the_delay_where_another_one_has_run_empty() -> None:
    world = World([Host(delay=1.0, slot="shared") for _ in range(3)], fetches=3, transfer=60.0)
    for number in range(3):
        world.push(number)
    world.settle()
    for number in range(3):
        world.land(number)
    world.pass_time(2.1)
    assert len(world.handed_out) == 3


def test_nothing_is_asked_in_vain_while_hosts_wait() -> None:
    world = World([Host(delay=10.0)])
    for _ in range(3):
        world.push(0)
    world.settle()
    world.land(0)
    world.pass_time(30)
    assert len(world.handed_out) == 3
    assert world.ticks < 12


def test_a_request_in_memory_does_not_sleep_on_when_the_one_on_disk_makes_way_for_it() -> None:
    expires, stays = Host(1.0, slot="shared", known_until=1001.5), Host(1.0, slot="shared")
    stays.known_until = 1e9
    world = World([expires, stays], job=True, transfer=0.1)
    for number in (0, 0, 1, 0, 0, 1):  # each third is in memory
        world.push(number, priority=5 * (number == 0))
    world.pass_time(2.1)
    assert expires.fetching
    assert [host_number(request) for request in world.handed_out] == [1, 0, 1]


def test_a_crawl_that_is_paused_sleeps_while_servers_are_silent() -> None:
    world = World([Host() for _ in range(5)], fetches=2)
    for number in range(5):
        world.push(number)
    world.settle()
    world.paused = True
    world.pass_time(30)
    assert world.rings < 5
    world.paused, world.woken = False, True
    for number in [*range(5)] * 3:
        world.pass_time(1)
        world.land(number)
    world.pass_time(30)
    assert len(world.handed_out) == 5


def test_a_crawl_of_many_hosts_holds_no_more_than_one_of_few(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One after the other they are unreachable and held back, slow, and gone."""
    monkeypatch.setattr(OutageStarts, "LEAST", 20)
    delays = [float(number % 2) for number in range(400)]
    world = World([Host(delay) for delay in delays], defer=50.0, total=64, fetches=9, transfer=0.1)
    for number in range(len(delays)):
        for priority in range(3):  # each more urgent than the last
            world.push(number, priority)
        world.settle()
        world.land(number, unreachable=number % 3 == 0, lifetime=3.0)
        world.pass_time(0.2)
        if number >= 20:
            world.land(number - 20)
    for _ in range(20):
        for number in range(len(delays)):
            world.land(number)
        world.pass_time(5.0)
    assert len(world.handed_out) == 3 * len(delays)
    assert_nothing_is_left(world)
    assert len(world.readiness._outages) <= OutageStarts.LEAST
