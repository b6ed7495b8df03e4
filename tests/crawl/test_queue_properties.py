"""The queue under random hosts, delays and policies, by a clock that the test turns."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import strategies as st

from scrapy_robots_plus.hosts.host import State, TicketHeap
from tests.examples import tried

from .world import QUIET, REFUSED, Both, Host, Slot, World, host_number

if TYPE_CHECKING:
    from scrapy import Request

    from scrapy_robots_plus.hosts.host import Lane

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


def among(heap: Any, item: Any) -> bool:
    return any(each is item and ticket == each.ticket for *_, ticket, each in heap)


def lanes_in(host: Any) -> list[Lane]:
    """Those that it would find."""
    if host._lanes is None:
        return [] if host._lane is None else [host._lane]
    return [lane for *_, ticket, lane in host._lanes if ticket == lane.ticket]


class Watched(World):
    """Looks at every request that is handed out, and at what is left when the engine rests."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.asks_two = isinstance(self.queue, Both)
        """The queue in memory comes first, whatever the priority."""
        self.first_unreachable: dict[int, float] = {}
        self.refused: list[Request] = []
        self.moved = False
        """Whether delays have changed, and the lanes that wait do not know yet."""
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
        self.delay_then[request] = self.outlook_of(self.name_of(number)).gap
        super()._download(request)

    def assert_not_early(self, number: int) -> None:
        host, name = self.hosts[number], self.name_of(number)
        known = self.queue_hosts._hosts[name]
        outlook, slot = self.outlook_of(name), self.slots[name]
        others = [lane for lane in self.queue if self.host_at(lane.address.origin) is not host]
        alone = not others and not outlook.gap
        none_is_ready = self.moved or not self.ready_lanes()
        waits_in_slot = len(slot.out) == outlook.most and none_is_ready
        assert len(slot.out) < outlook.most or alone or waits_in_slot
        if outlook.gap:
            assert outlook.due_at - known.lead <= self.now + EPSILON
            # A middleware that keeps requests may drop them, too: so none waits for the others.
            is_slow = self.travel > outlook.gap or known.is_slow_to_arrive
            assert is_slow or not self.on_the_way(slot)

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
        host = self.host_at(lane.address.origin)
        if host.known_until <= self.now or host.unreachable:
            return False
        outlook, slot = self.outlook(lane), self.slots[self.host_of(lane)]
        if len(slot.out) >= outlook.most:
            return False
        return outlook.due_at <= self.now - EPSILON and not (outlook.gap and slot.on_the_way)

    def find_host(self, name: str) -> set[State]:
        """The places in which the queue would find the host: where it is, and nowhere else."""
        all_hosts = self.queue_hosts
        host = all_hosts._hosts[name]
        places = set()
        if among(all_hosts._ready, host):
            places.add(State.READY)
        if among(all_hosts._later, host):
            places.add(State.FULL if host.state is State.FULL and host.out else State.LATER)
        if host.state is State.AT_DOOR and self.slots[name].standing:
            places.add(State.AT_DOOR)
        if host.state is State.IDLE and host.next_lane() is None and host.out:
            places.add(State.IDLE)
        return places

    def find(self, lane: Lane) -> set[State]:
        """The same of a lane that is in no host."""
        all_hosts, origin = self.queue_hosts, lane.address.origin
        assert origin is not None
        places = set()
        if among(all_hosts._refused, lane):
            places.add(State.REFUSED)
        if among(all_hosts._later, lane):
            places.add(State.HELD)
        also = all_hosts._also_awaiting.get(origin, ())
        if lane not in (all_hosts._awaiting.get(origin), *also):
            return places - {State.HELD}  # a new robots.txt may let it go
        order = all_hosts.discovery._lanes
        if not places and (self.host_at(origin).fetching or among(order, lane)):
            places.add(State.POLICY)
        return places

    def assert_each_is_in_one_place(self) -> None:
        for name, host in self.queue_hosts._hosts.items():
            assert self.find_host(name) == {host.state}, name
        lanes = list(self.queue)
        for lane in lanes:
            if lane.host is None:
                assert self.find(lane) == {lane.state}
                continue
            assert self.queue_hosts._hosts[lane.host.name] is lane.host
            assert lane in lanes_in(lane.host)
        held = [lane for host in self.queue_hosts._hosts.values() for lane in lanes_in(host)]
        assert len(held) == len(set(held))
        assert set(held) <= set(lanes)

    def settle(self) -> None:
        super().settle()
        if self.active < self.total and len(self.queue):
            assert self.moved or not self.ready_lanes(), (
                "the engine sleeps although a host is ready"
            )
            asleep = not self.active and not any(host.fetching for host in self.hosts)
            assert not asleep or self.queue_hosts.alarm.at is not None, "no wake-up is set"
        self.assert_each_is_in_one_place()


def run(world: Watched, steps: list[Any]) -> Counter[str]:
    pushed: Counter[str] = Counter()
    for step, first, second in steps:
        if step.startswith("push"):
            for _ in range(6 if step == "push many" else 1):
                pushed[world.push(first, second, start=step == "push start").url] += 1
        elif step == "moves":
            # As when another robots.txt comes: the host has a pace of its own, or none any more.
            before = world.name_of(first)
            world.hosts[first].delay = 0.0 if world.hosts[first].delay else 1.0
            world.moved = True
            world.queue_hosts.changed(before)
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
    hosts = world.queue_hosts
    assert not hosts._hosts
    assert not hosts._out
    assert not hosts._awaiting
    assert not hosts._also_awaiting
    assert hosts.ready == hosts.lanes == 0
    heaps = [hosts._later, hosts._ready, hosts._refused, hosts._full, hosts.discovery._lanes]
    assert all(len(heap) <= 2 * TicketHeap.LEAST for heap in heaps)


MOVES = st.tuples(st.just("moves"), st.integers(0, HOSTS - 1), st.none())


@tried(
    1500,
    hosts=st.lists(HOST, min_size=HOSTS, max_size=HOSTS),
    steps=st.lists(STEP, max_size=80)
    | st.lists(STEP, min_size=40, max_size=80)
    | st.lists(STEP | MOVES, max_size=80),
    total=st.sampled_from([2, 16]),
    travel=st.sampled_from([0.0, 0.01, 3.0]),
    door=st.sampled_from([0.0, 0.0, 0.5, 3.0]),
    transfer=st.sampled_from([0.1, 5.0]),
    keeps=st.sampled_from([0.0, 0.0, 2.0]),
    defer=st.sampled_from([None, 20.0]),
    job=st.booleans(),
)
def test_no_host_goes_early_none_starves_nothing_is_lost_and_a_wake_up_is_always_set(
    hosts: list[Host],
    steps: list[Any],
    total: int,
    travel: float,
    door: float,
    transfer: float,
    keeps: float,
    defer: float | None,
    job: bool,
) -> None:
    options = {"travel": travel, "door": door, "transfer": transfer, "keeps": keeps, "job": job}
    world = Watched(hosts, defer=defer, total=total, fetches=3, **options)
    pushed = run(world, steps)
    finish(world)
    assert Counter(request.url for request in world.handed_out) == pushed
    assert_nothing_is_left(world)
    if defer is None:
        return
    # Deferred requests are refused only after as long as the setting says.
    assert all(world.now - 1000 >= defer for _ in world.refused[:1])


def test_before_a_request_waits_in_a_full_slot_those_of_both_queues_go_that_may() -> None:
    """One that seems to be refused may be ready: its robots.txt was fetched again."""
    world = World([Host(capacity=1), Host(capacity=1)], total=2, job=True)
    for number in (0, *[1] * 8):
        world.push(number)
    world.settle()
    world.land(1)
    world.pass_time(0.1)
    assert [host_number(request) for request in world.handed_out] == [1, 1]
    world.land(0, unreachable=True)
    world.hosts[0].unreachable = False  # another lane has had it fetched again
    world.pass_time(world.transfer - 0.1)
    assert [host_number(request) for request in world.handed_out] == [1, 1, 0]


def test_hosts_take_turns() -> None:
    world = World([Host(capacity=1) for _ in range(4)], total=1, fetches=4)
    for number in range(4):
        for _ in range(5):
            world.push(number)
    world.pass_time(QUIET)
    for number in range(4):
        world.land(number)
    world.pass_time(100)
    order = [host_number(request) for request in world.handed_out]
    assert Counter(order) == dict.fromkeys(range(4), 5)
    for turn in range(1, 4):
        assert sorted(order[4 * turn : 4 * turn + 4]) == [0, 1, 2, 3]


@pytest.mark.parametrize("lanes", [250, pytest.param(1_000, marks=pytest.mark.stress)])
def test_many_lanes_of_one_slot_cost_no_scan(lanes: int) -> None:
    world = World([Host(capacity=1, slot="proxy") for _ in range(lanes)], total=1, fetches=lanes)
    for number in range(lanes):
        world.push(number)
    world.pass_time(QUIET)
    for number in range(lanes):
        world.land(number)
    asked = 0
    original = world.outlook

    def counted(lane: Lane) -> Any:
        nonlocal asked
        asked += 1
        return original(lane)

    world.outlook = counted  # type: ignore[method-assign]
    world.pass_time(lanes)
    assert len(world.handed_out) == lanes
    assert asked < 5 * lanes


def test_hosts_of_one_slot_wait_for_none_of_the_others() -> None:
    world = World([Host(delay=1.0, slot="shared") for _ in range(3)], fetches=3, transfer=60.0)
    for number in range(3):
        world.push(number)
    world.pass_time(QUIET)
    for number in range(3):
        world.land(number)
    world.pass_time(0.1)
    assert len(world.handed_out) == 3


def test_a_delay_counts_from_the_moment_at_which_the_door_lets_a_request_go() -> None:
    world = World([Host(delay=1.0)], door=3.0, transfer=60.0)
    for _ in range(3):
        world.push(0)
    world.settle()
    world.land(0)
    for seconds, handed_out in ((0.1, 1), (3.8, 1), (0.2, 2), (3.8, 2), (0.3, 3)):
        world.pass_time(seconds)
        assert len(world.handed_out) == handed_out


def test_what_takes_long_to_its_slot_is_handed_out_early() -> None:
    """A middleware may await something for each request: a host is not slower by that."""
    world = World([Host(delay=10.0), Host(delay=1.0)], travel=3.0, transfer=60.0, total=16)
    for number in (0, 1) * 4:
        world.push(number)
    world.pass_time(QUIET)
    for number in (0, 1):
        world.land(number)
    sent: dict[int, list[float]] = {0: [], 1: []}
    for _ in range(2_000):
        world.pass_time(0.05)
        for number, times in sent.items():
            at = world.slots[world.name_of(number)].sent_at
            if at > 0 and at not in times:
                times.append(at)
    for (number, times), delay in zip(sent.items(), (10.0, 1.0), strict=True):
        gaps = [after - before for before, after in pairwise(times)]
        assert gaps == pytest.approx([delay] * 3, abs=0.1), number


def test_nothing_is_asked_in_vain_while_hosts_wait() -> None:
    world = World([Host(delay=10.0)])
    for _ in range(3):
        world.push(0)
    world.settle()
    world.land(0)
    world.pass_time(30)
    assert len(world.handed_out) == 3
    assert world.ticks < 12


def test_of_one_host_requests_in_memory_go_before_those_on_disk() -> None:
    one_at_a_time: dict[str, Any] = {"capacity": 1, "slot": "shared", "known_until": 1e9}
    world = World([Host(**one_at_a_time) for _ in range(2)], job=True, transfer=1.0)
    for number in (0, 0, 1, 0, 0, 1):  # each third is in memory
        world.push(number, priority=5 * (number == 0))
    world.pass_time(0.5)
    assert [host_number(request) for request in world.handed_out[:2]] == [1, 1]
    world.pass_time(10)
    assert [host_number(request) for request in world.handed_out] == [1, 1, 0, 0, 0, 0]


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


def test_a_crawl_of_many_hosts_holds_no_more_than_one_of_few() -> None:
    """One after the other they are unreachable and held back, slow, and gone."""
    delays = [float(number % 2) for number in range(120)]
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
    assert not world.states._unreachable_since
