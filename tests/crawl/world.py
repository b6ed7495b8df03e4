"""A crawl without a network and without a clock of its own, for tests of the queue.

Time passes when the test says so. Timers ring then, requests end, fetches end as the test says,
and the engine asks for requests only when it was woken or has reason to.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from itertools import chain, count
from math import inf
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from scrapy import Request, Spider, signals
from scrapy.http import Response
from scrapy.settings import Settings
from scrapy.signalmanager import SignalManager
from scrapy.squeues import (
    FifoMemoryQueue,
    LifoMemoryQueue,
    PickleFifoDiskQueue,
    PickleLifoDiskQueue,
)

from scrapy_robots_plus.hosts.discovery import Discovery
from scrapy_robots_plus.hosts.given_up import GivenUp
from scrapy_robots_plus.hosts.host import Address
from scrapy_robots_plus.hosts.known import Outlook
from scrapy_robots_plus.hosts.origin_states import UNKNOWN, OriginState, OriginStates
from scrapy_robots_plus.hosts.queue import RobotsPriorityQueue
from scrapy_robots_plus.hosts.turns import Hosts
from scrapy_robots_plus.origins.agents import Agents
from scrapy_robots_plus.origins.fetch_budget import FetchBudget
from scrapy_robots_plus.protocol.origin import Origin
from scrapy_robots_plus.settings.robots_settings import RobotsSettings

from .hand_clock import HandClock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from scrapy_robots_plus.hosts.host import Lane

QUIET = Discovery.QUIET_ROUNDS * Discovery.LOOKS_AGAIN_SECONDS
"""Seconds without a new request after which the queue expects no more."""


class Stats(dict[str, int]):
    """As much of Scrapy's stats as a queue uses."""

    def inc_value(self, key: str, count: int = 1) -> None:
        self[key] = self.get(key, 0) + count

    def set_value(self, key: str, value: int) -> None:
        self[key] = value


@dataclass(eq=False)
class Host:
    """What is true of one host, whatever the queue knows of it."""

    delay: float = 0.0
    """The pace is the host's, whatever its slot."""
    capacity: int = 8
    slot: str = ""
    """One that it shares with others, as far as nothing delays it."""
    known_until: float = -1.0
    unreachable: bool = False
    fetching: bool = False


@dataclass
class Slot:
    """What the downloader and the door know of a slot, or of a host with a pace."""

    sent_at: float = -1e9
    standing: int = 0
    """How many requests stand at the door."""
    on_the_way: set[Request] = field(default_factory=set)
    out: set[Request] = field(default_factory=set)


def host_number(request: Request) -> int:
    return int(request.url.split("/")[2].removeprefix("host").partition(".")[0])


def origin(number: int) -> Origin:
    return Origin("http", f"host{number}.example", 80)


def policy(
    of: Origin,
    unreachable: bool = False,
    lasts: float = 0.0,
    delay: float = 0.0,
    opens_in: float = 0.0,
) -> Any:
    """As much of a policy as a queue looks at; *lasts*: seconds."""
    return SimpleNamespace(
        origin=of,
        settings=None,
        enforce=lambda agent: None,
        denies_as_unreachable=unreachable,
        fresh_for=lasts,
        is_paced=bool(delay or opens_in),
        delay=delay,
        opens_in=opens_in,
        paces=SimpleNamespace(visits=None),
    )


def states_of(clock: HandClock, defer: float) -> OriginStates:
    """Those of a crawl at this *clock*, in which no origin is given up."""
    settings = RobotsSettings.from_settings(
        Settings({"ROBOTSTXT_OBEY": True, "ROBOTS_DEFER": defer})
    )
    parts: dict[type, Any] = {Agents: SimpleNamespace(default_under=lambda settings: None)}
    crawl: Any = SimpleNamespace(
        get=parts.__getitem__,
        settings=settings,
        clock=SimpleNamespace(monotonic=clock.clock),
    )
    parts[GivenUp] = GivenUp(crawl)
    return OriginStates(crawl)


class Both:
    """A queue in memory and one on disk, asked as Scrapy's scheduler asks those of a job."""

    def __init__(self, memory: RobotsPriorityQueue, disk: RobotsPriorityQueue) -> None:
        self.memory = memory
        self.disk = disk
        self._pushed = 0

    def push(self, request: Request) -> None:
        """Each third request cannot be put on disk."""
        self._pushed += 1
        (self.disk if self._pushed % 3 else self.memory).push(request)

    def pop(self) -> Request | None:
        request = self.memory.pop()
        return self.disk.pop() if request is None else request

    def __len__(self) -> int:
        return len(self.memory) + len(self.disk)

    def __iter__(self) -> Iterator[Lane]:
        return chain(self.memory, self.disk)

    def close(self) -> None:
        self.memory.close()
        self.disk.close()


class Crawler(SimpleNamespace):
    """One that stays itself whatever its attributes are."""

    def __hash__(self) -> int:  # type: ignore[override]
        return id(self)


class _Active:
    """What the engine is at work on."""

    def __init__(self, world: World) -> None:
        self._world = world

    def __contains__(self, request: object) -> bool:
        return any(request in slot.out for slot in self._world.slots.values())


class World(HandClock):
    """What a queue asks of a crawl, and the engine and the downloader that use it."""

    def __init__(
        self,
        hosts: list[Host],
        *,
        defer: float | None = None,
        total: int = 4,
        fetches: int = 2,
        travel: float = 0.0,
        door: float = 0.0,
        transfer: float = 0.5,
        keeps: float = 0.0,
        job: bool = False,
        folder: Path | None = None,
    ) -> None:
        """*door*: seconds for which each request of a host with a delay stands there, as if other
        crawls had their turns; *job*: with a second queue, as if on disk; *folder*: with one job
        file there instead.
        """
        super().__init__()
        self.hosts = hosts
        self.total = total
        self.travel = travel
        self.door = door
        self.transfer = transfer
        self.keeps = keeps
        """Seconds for which a middleware keeps each answer."""
        self.kept = 0
        self.tell_arrived: Callable[[Request], None] = lambda _: None
        self.states = states_of(self, defer or 0.0)
        self.budget = FetchBudget(fetches, fetches, self.clock, self.call_later)
        around: Any = self
        self.enough = 2 * total
        self.queue_hosts = Hosts(around)
        self.woken = False
        self.paused = False
        self.folder = folder
        only = self._make_queue() if folder is None else self._make_stored_queue(folder)
        self.queue = Both(only, self._make_queue()) if job else only
        self.ticks = 0
        self.handed_out: list[Request] = []
        self.slots: defaultdict[str, Slot] = defaultdict(Slot)
        self._requests = count()

    def _make_queue(self) -> RobotsPriorityQueue:
        crawler: Any = SimpleNamespace(spider=None, stats=None)
        return RobotsPriorityQueue(
            crawler,
            LifoMemoryQueue,
            "",
            start_queue_cls=FifoMemoryQueue,
            hosts=self.queue_hosts,
        )

    def _make_stored_queue(self, folder: Path) -> RobotsPriorityQueue:
        under_way = SimpleNamespace(inprogress=_Active(self), closing=None)
        crawler: Any = Crawler(
            spider=Spider("spider"),
            stats=None,
            settings=Settings({"JOBDIR": str(folder)}),
            signals=SignalManager(self),
            engine=SimpleNamespace(
                _slot=under_way,
                scraper=SimpleNamespace(slot=None),
                downloader=SimpleNamespace(active=()),
            ),
        )
        self.crawler = crawler
        return RobotsPriorityQueue(
            crawler,
            PickleLifoDiskQueue,
            str(folder / "requests.queue"),
            start_queue_cls=PickleFifoDiskQueue,
            hosts=self.queue_hosts,
        )

    def stop(self) -> None:
        """The job's file is closed."""
        self.queue.close()
        self.crawler.signals.send_catch_log(signals.spider_closed)

    # What the queue asks

    def address(self, request: Request) -> Address:
        number = host_number(request)
        return Address(origin(number), origin(number).host)

    def name_of(self, number: int) -> str:
        """What requests to a host wait for: the host itself, or a slot."""
        host = self.hosts[number]
        return origin(number).host if host.delay else host.slot or origin(number).host

    def host_at(self, asked: Origin | None) -> Host:
        assert asked is not None
        return self.hosts[int(asked.host.removeprefix("host").partition(".")[0])]

    def put_in_force(self, asked: Origin) -> OriginState:
        host = self.host_at(asked)
        if host.known_until <= self.now:
            return UNKNOWN
        lasts = host.known_until - self.now
        return self.states.under(policy(asked, host.unreachable, lasts, host.delay))

    def defers(self, asked: Origin) -> bool:
        return self.states.defers(asked)

    def just_fetched(self, policy: Any) -> None:
        pass

    def policy_was_used(self, asked: Origin) -> None:
        assert self.host_at(asked)

    def may_fetch(self) -> bool:
        return not self.paused

    def is_fetching(self, asked: Origin) -> bool:
        return self.host_at(asked).fetching

    def fetch(self, asked: Origin) -> None:
        host = self.host_at(asked)
        assert not host.fetching
        host.fetching = True
        self.budget.take(asked)

    def host_of(self, lane: Lane) -> str:
        return self.name_of(self.hosts.index(self.host_at(lane.address.origin)))

    def outlook(self, lane: Lane) -> Outlook:
        return self.outlook_of(self.host_of(lane))

    def outlook_of(self, name: str) -> Outlook:
        hosts = [host for number, host in enumerate(self.hosts) if self.name_of(number) == name]
        slot, delay = self.slots[name], max(host.delay for host in hosts)
        due_at = inf if delay and slot.standing else slot.sent_at + delay
        return Outlook(due_at, delay, min(host.capacity for host in hosts))

    def has_room(self, lane: Lane) -> bool:
        """Whatever was handed out is in its slot at once."""
        return False

    def delay_of(self, lane: Lane) -> float:
        return self.outlook(lane).gap

    def due_in(self, lane: Lane) -> float:
        return self.outlook(lane).due_at - self.now

    def ended(self, out: Iterable[Request], last: Request | None) -> Iterable[Request]:
        return ()

    def watch_arrivals(self, arrived: Callable[[Request], None]) -> None:
        self.tell_arrived = arrived

    def wake(self) -> None:
        self.woken = True

    # What the test does

    def push(self, number: int, priority: int = 0, *, start: bool = False) -> Request:
        """As ``engine.crawl()``: the engine asks afterwards."""
        url = f"http://host{number}.example/{next(self._requests)}"
        request = Request(url, priority=priority, meta={"is_start_request": start})
        self.queue.push(request)
        self.woken = True
        return request

    def land(self, number: int, *, unreachable: bool = False, lifetime: float = 1e9) -> None:
        """The fetch of a host's robots.txt ends."""
        host = self.hosts[number]
        if not host.fetching:
            return
        host.fetching = False
        host.unreachable = unreachable
        host.known_until = self.now + lifetime
        if not unreachable:
            self.budget.answered(origin(number))
        self.budget.give_back(origin(number))
        policy: Any = SimpleNamespace(denies_as_unreachable=unreachable)
        self.queue_hosts.fetch_ended(origin(number), policy)

    def settle(self) -> None:
        """The engine asks as long as it is woken."""
        for _ in range(10_000):
            if not self.woken:
                return
            self.woken = False
            self.tick()
        raise AssertionError("a busy loop")

    def tick(self) -> None:
        self.ticks += 1
        if self.paused:
            return
        while self.active < self.total:
            request = self.queue.pop()
            if request is None:
                return
            self._download(request)

    @property
    def active(self) -> int:
        return self.kept + sum(len(slot.out) for slot in self.slots.values())

    def _download(self, request: Request) -> None:
        self.handed_out.append(request)
        name = self.name_of(host_number(request))
        slot = self.slots[name]
        slot.out.add(request)
        slot.on_the_way.add(request)
        self.call_later(self.travel, lambda: self._reaches_door(request, name))

    def _reaches_door(self, request: Request, name: str) -> None:
        slot, delay = self.slots[name], self.hosts[host_number(request)].delay
        if self.will_be_refused(request):
            slot.on_the_way.discard(request)
            self.end(request, slot)
            return
        if delay:
            self.tell_arrived(request)
        stands = max(self.door, slot.sent_at + delay - self.now) if delay else 0.0
        if stands > 0:
            slot.standing += 1
            self.call_later(stands, lambda: self._leaves_door(request, name))
        else:
            self._hand_over(request, name)

    def _leaves_door(self, request: Request, name: str) -> None:
        slot = self.slots[name]
        early = slot.sent_at + self.hosts[host_number(request)].delay - self.now
        if early > 0:  # another one has left meanwhile
            self.call_later(early, lambda: self._leaves_door(request, name))
            return
        slot.standing -= 1
        self._hand_over(request, name)

    def _hand_over(self, request: Request, name: str) -> None:
        slot = self.slots[name]
        slot.on_the_way.discard(request)
        slot.sent_at = self.now
        if self.hosts[host_number(request)].delay:
            self.queue_hosts.changed(name, request)
        self.call_later(self.transfer, lambda: self._answer(request, slot))

    def _answer(self, request: Request, slot: Slot) -> None:
        if not self.keeps:
            self.end(request, slot)
            return
        slot.out.discard(request)
        self.kept += 1
        self.queue_hosts.answered(request, Response(request.url))
        self.call_later(self.keeps, lambda: self._goes_on(request, slot))

    def _goes_on(self, request: Request, slot: Slot) -> None:
        self.kept -= 1
        self.end(request, slot)

    def will_be_refused(self, request: Request) -> bool:
        return self.hosts[host_number(request)].unreachable or request.priority == REFUSED

    def end(self, request: Request, slot: Slot) -> None:
        slot.out.discard(request)
        self.queue_hosts.came_back(request)
        self.woken = True


REFUSED = -7
"""Requests of this priority are refused by the rules: they never reach their slot."""
