"""The queue by itself, in memory and in one file, at a clock that the test sets.

Nothing waits.
"""

from __future__ import annotations

from decimal import Decimal
from math import inf, nan
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from scrapy import Request, Spider, signals
from scrapy.settings import Settings
from scrapy.signalmanager import SignalManager
from scrapy.squeues import (
    FifoMemoryQueue,
    LifoMemoryQueue,
    PickleFifoDiskQueue,
    PickleLifoDiskQueue,
)

from scrapy_robots_plus.hosts.host import State
from scrapy_robots_plus.hosts.queue import RobotsPriorityQueue
from scrapy_robots_plus.job import FILE_NAME, QUEUE_FOLDER
from tests.crawl.scripted import Sender
from tests.crawl.world import Crawler, Host, Stats, World

if TYPE_CHECKING:
    from collections.abc import Iterator


open_queues: list[Alone] = []


@pytest.fixture(autouse=True)
def _queues_are_closed() -> Iterator[None]:
    yield
    while open_queues:
        open_queues[0].stop()


class Kinds(NamedTuple):
    """Queue classes that keep requests in the same place."""

    lifo: Any
    fifo: Any
    folder: str
    """Empty for memory."""


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return str(tmp_path)


@pytest.fixture
def on_disk(folder: str) -> Kinds:
    return Kinds(PickleLifoDiskQueue, PickleFifoDiskQueue, folder)


@pytest.fixture(params=["memory", "one file"])
def kinds(request: pytest.FixtureRequest, on_disk: Kinds) -> Kinds:
    in_memory = Kinds(LifoMemoryQueue, FifoMemoryQueue, "")
    return in_memory if request.param == "memory" else on_disk


class Alone:
    """A queue for two hosts that are known, without delays."""

    def __init__(
        self,
        folder: str = "",
        state: Any = None,
        kind: Any = PickleLifoDiskQueue,
        start_kind: Any = None,
    ) -> None:
        """*folder*: that of a job."""
        self.world = World([Host(capacity=1000, known_until=1e9) for _ in range(2)], total=1000)
        self.stats = Stats()
        self.signals = SignalManager(Sender())
        crawler: Any = Crawler(
            spider=Spider("spider"),
            signals=self.signals,
            stats=self.stats,
            settings=Settings({"JOBDIR": folder}),
            engine=SimpleNamespace(_slot=None, scraper=SimpleNamespace(slot=None)),
        )
        hosts = self.world.queue_hosts
        hosts.queues.clear()
        if folder:  # as Scrapy's scheduler makes it
            Path(folder, QUEUE_FOLDER).mkdir(exist_ok=True)
        self.queue = RobotsPriorityQueue(
            crawler,
            kind,
            folder and f"{folder}/{QUEUE_FOLDER}",
            state,
            start_queue_cls=start_kind,
            hosts=hosts,
        )
        open_queues.append(self)

    def push(self, *paths: str, host: int = 0, priority: int = 0) -> list[str]:
        urls = [f"http://host{host}.example/{path}" for path in paths]
        for url in urls:
            self.queue.push(Request(url, priority=priority))
        return urls

    def pop(self) -> str | None:
        request = self.queue.pop()
        return None if request is None else request.url

    def pop_all(self) -> Iterator[str]:
        while (url := self.pop()) is not None:
            yield url

    def stop(self) -> dict[str, list[int]]:
        """As when a job is stopped; the state."""
        open_queues.remove(self)
        state = self.queue.close()
        self.signals.send_catch_log(signals.spider_closed)
        return state


def test_it_counts_what_it_holds(kinds: Kinds) -> None:
    alone = Alone(kinds.folder, kind=kinds.lifo)
    assert len(alone.queue) == 0
    alone.push("a", "b")
    alone.push("c", host=1)
    assert len(alone.queue) == 3
    assert alone.queue.lanes_asleep == 0
    assert len(list(alone.pop_all())) == 3
    assert len(alone.queue) == 0


def test_it_names_the_hosts_that_have_requests(kinds: Kinds) -> None:
    alone = Alone(kinds.folder, kind=kinds.lifo)
    alone.push("a")
    assert [lane.address.name for lane in alone.queue] == ["http://host0.example"]
    assert alone.world.queue_hosts.lanes == 1
    alone.pop()
    assert list(alone.queue) == []
    assert alone.world.queue_hosts.lanes == 0


def test_a_request_is_in_the_lane_that_is_named_for_it(kinds: Kinds) -> None:
    alone = Alone(kinds.folder, kind=kinds.lifo)
    name = alone.world.address(Request("http://host1.example/a?b")).name
    assert name == "http://host1.example"
    alone.push("a?b", host=1)
    assert [lane.address.name for lane in alone.queue] == [name]


def test_the_state_of_a_job_can_be_asked_for_while_it_runs(on_disk: Kinds) -> None:
    """It is what a stop would leave, and each change of it has a version of its own."""
    alone = Alone(on_disk.folder, kind=on_disk.lifo)
    seen: dict[int, Any] = {}

    def look() -> None:
        state = {name: sorted(priorities) for name, priorities in alone.queue.state().items()}
        assert seen.setdefault(alone.queue.state_version, state) == state

    look()
    for host, priority in ((0, 0), (1, 0), (0, 5), (0, 5), (1, -3)):
        alone.push(f"{host}/{priority}", host=host, priority=priority)
        look()
    for _ in range(3):
        assert alone.pop() is not None
        look()
    state = alone.queue.state()
    assert alone.stop() == state


def test_the_most_urgent_request_goes_first(kinds: Kinds) -> None:
    alone = Alone(kinds.folder, kind=kinds.fifo)
    normal = alone.push("a", host=0) + alone.push("b", host=1)
    urgent = alone.push("c", host=1, priority=5)
    assert list(alone.pop_all()) == [*urgent, *normal]


@pytest.mark.parametrize("key", ["", "one file"])
def test_a_priority_may_be_anything_and_what_is_no_number_goes_last(key: str, folder: str) -> None:
    odd: Any = {"high": inf, "half": 1.5, "none": None, "nan": nan, "text": "3", "low": -inf}
    odd["decimal"] = Decimal("nan")
    alone = Alone(key and folder, kind=PickleFifoDiskQueue if key else FifoMemoryQueue)
    for path, priority in odd.items():
        request = Request(f"http://host0.example/{path}")
        request.priority = priority
        alone.queue.push(request)
    assert [url.rpartition("/")[2] for url in alone.pop_all()] == list(odd)


def test_start_requests_have_a_queue_of_their_own_kind(kinds: Kinds) -> None:
    alone = Alone(kinds.folder, kind=kinds.lifo, start_kind=kinds.fifo)
    others = alone.push("a", "b")
    for path in "cd":
        meta = {"is_start_request": True}
        alone.queue.push(Request(f"http://host0.example/{path}", meta=meta))
    found = list(alone.pop_all())
    assert [url for url in found if url in others] == others[::-1]
    assert [url[-1] for url in found if url not in others] == ["c", "d"]


def test_what_will_be_refused_goes_behind_the_others_and_now_and_then_between(kinds: Kinds) -> None:
    alone = Alone(kinds.folder, kind=kinds.fifo)
    alone.world.hosts[0].unreachable = True
    refused = alone.push("a", "b", "c")
    others = alone.push(*map(str, range(40)), host=1)
    found = list(alone.pop_all())
    assert [url for url in found if url in others] == others
    assert [found.index(url) for url in refused] == [31, 41, 42]


def test_a_more_urgent_request_goes_first_when_its_host_is_due(kinds: Kinds) -> None:
    alone = Alone(kinds.folder, kind=kinds.lifo)
    alone.world.hosts[0].delay = 5.0
    alone.push("a", "b")
    assert alone.pop() is not None
    assert alone.pop() is None
    (lane,) = alone.queue
    for priority in (0, -1, 1):
        (last,) = alone.push("c", priority=priority)
        assert lane.state is State.LATER
    assert alone.pop() is None
    alone.world.now += 5.0
    assert alone.pop() == last


def test_what_is_refused_delays_no_other_request_of_its_host(kinds: Kinds) -> None:
    alone = Alone(kinds.folder, kind=kinds.lifo)
    host = alone.world.hosts[0]
    host.delay = 5.0
    alone.push("a", "b", "c")
    assert alone.pop() is not None
    alone.world.now += 5.0
    host.unreachable = True
    assert alone.pop() is not None
    host.unreachable = False
    assert alone.pop() is not None


def test_a_host_whose_last_request_is_refused_is_forgotten(kinds: Kinds) -> None:
    alone = Alone(kinds.folder, kind=kinds.lifo)
    alone.world.hosts[0].unreachable = True
    alone.push("a")
    assert alone.pop() is not None
    assert alone.world.queue_hosts.lanes == 0
    assert list(alone.queue) == []


def test_it_wakes_the_engine_unless_that_is_asking_it(kinds: Kinds) -> None:
    alone = Alone(kinds.folder, kind=kinds.lifo)
    alone.push("a", "b")
    assert alone.world.woken
    alone.world.woken = False
    alone.pop()
    assert not alone.world.woken
    alone.push("c", host=1)
    assert alone.world.woken


def test_a_job_goes_on_with_what_it_held(on_disk: Kinds) -> None:
    first = Alone(on_disk.folder, kind=on_disk.lifo)
    urls = first.push("a", "b") + first.push("c", host=1) + first.push("d", priority=3)
    state = first.stop()
    assert state == {FILE_NAME: []}
    second = Alone(on_disk.folder, state, kind=on_disk.lifo)
    assert len(second.queue) == 4
    found = list(second.pop_all())
    assert found[0] == urls[-1]
    assert sorted(found) == sorted(urls)
    assert second.stop() == state


def test_a_queue_that_is_closed_hands_out_nothing(kinds: Kinds) -> None:
    alone = Alone(kinds.folder, kind=kinds.lifo)
    alone.push("a", "b")
    alone.queue.close()
    assert list(alone.queue) == []
    assert alone.pop() is None


def test_a_queue_that_is_closed_sets_no_alarm(on_disk: Kinds) -> None:
    alone = Alone(on_disk.folder, kind=on_disk.lifo)
    alone.world.queue_hosts.alarm.set(alone.world.now + 9)
    alone.stop()
    assert alone.world.queue_hosts.alarm.at is None


@pytest.mark.parametrize("state", [[0, 1], {"a.example": [0]}, [[0]]])
def test_the_state_of_another_queue_is_refused(on_disk: Kinds, state: Any) -> None:
    with pytest.raises(ValueError, match="of the job was written by another queue") as caught:
        Alone(on_disk.folder, state, kind=on_disk.lifo)
    assert repr(state) in str(caught.value)


@pytest.mark.parametrize("state", [None, {}, []])
def test_a_job_that_begins_has_no_state(on_disk: Kinds, state: Any) -> None:
    assert len(Alone(on_disk.folder, state, kind=on_disk.lifo).queue) == 0


def test_in_memory_there_is_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Alone(kind=LifoMemoryQueue).push("a")
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_written_is_not_held(on_disk: Kinds) -> None:
    alone = Alone(on_disk.folder, kind=on_disk.lifo)
    with pytest.raises(ValueError, match=r"pickle|serializ"):
        alone.queue.push(Request("http://host0.example/", meta={"x": lambda: None}))
    assert len(alone.queue) == 0


class Noted(RobotsPriorityQueue):
    def __init__(self, *arguments: Any, **options: Any) -> None:
        self.made_of = (arguments, options)


def test_it_is_made_as_scrapy_makes_queues() -> None:
    made: Any = Noted.from_crawler("crawler", "kind", "key", "state", start_queue_cls="start")  # type: ignore[arg-type]
    assert made.made_of == (("crawler", "kind", "key", "state"), {"start_queue_cls": "start"})
