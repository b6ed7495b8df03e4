"""Requests of a lane in memory: in the order of Scrapy's own queue, in less memory."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy import Request
from scrapy.pqueues import ScrapyPriorityQueue
from scrapy.squeues import (
    FifoMemoryQueue,
    LifoMemoryQueue,
    MarshalFifoDiskQueue,
    PickleLifoDiskQueue,
)

from scrapy_robots_plus.hosts.host import Address
from scrapy_robots_plus.hosts.lanes import LaneInMemory, Order
from scrapy_robots_plus.hosts.queue import RobotsPriorityQueue

from .world import World

CRAWLER: Any = SimpleNamespace(spider=None, stats=None)
KINDS: list[Any] = [FifoMemoryQueue, LifoMemoryQueue]


def opened(kind: Any, start_kind: Any = None) -> Any:
    order = Order.of(kind, start_kind)
    assert order is not None
    return LaneInMemory(Address(None, ""), CRAWLER, order)


def request(number: int, priority: int = 0, *, start: bool = False) -> Request:
    return Request(
        f"http://a.example/{number}", priority=priority, meta={"is_start_request": start}
    )


PUSHES = st.tuples(st.integers(-2, 2), st.booleans())
STEPS = st.lists(st.one_of(st.none(), PUSHES, st.lists(PUSHES, min_size=20, max_size=20)))


@given(st.sampled_from(KINDS), st.sampled_from([None, *KINDS]), STEPS)
def test_the_order_is_that_of_scrapys_queue(kind: Any, start_kind: Any, steps: list[Any]) -> None:
    ours = opened(kind, start_kind)
    theirs: Any = ScrapyPriorityQueue.from_crawler(CRAWLER, kind, "", start_queue_cls=start_kind)
    assert isinstance(ours, LaneInMemory)
    pushed = 0
    for step in [*steps, *[None] * 20 * (len(steps) + 1)]:
        for priority, start in [] if step is None else step if isinstance(step, list) else [step]:
            pushed += 1
            new = request(pushed, priority, start=start)
            ours.push(new)
            theirs.push(new)
        if step is None:
            priority = ours.priority
            found = ours.pop()
            assert found is theirs.pop()
            assert found is None or priority == -found.priority
        assert len(ours) == len(theirs)


@pytest.mark.parametrize("kind", KINDS)
def test_it_takes_the_same_time_however_many_wait(kind: Any) -> None:
    lane = opened(kind)
    for number in range(5_000):
        lane.push(request(number))
    order = [lane.pop().url for _ in range(5_000)]  # many seconds, if each moved all behind it
    assert len(set(order)) == 5_000
    assert not len(lane)


class Largest(FifoMemoryQueue):  # type: ignore[misc, valid-type]
    """A project's own."""


@pytest.mark.parametrize(("kind", "start_kind"), [(Largest, None), (FifoMemoryQueue, Largest)])
def test_a_queue_class_of_the_project_is_refused(kind: Any, start_kind: Any) -> None:
    with pytest.raises(ValueError, match=r"those of scrapy\.squeues only") as caught:
        RobotsPriorityQueue(
            CRAWLER, kind, "", start_queue_cls=start_kind, hosts=World([]).queue_hosts
        )
    assert f"SCHEDULER_MEMORY_QUEUE is {kind}" in str(caught.value)
    assert f"SCHEDULER_START_MEMORY_QUEUE is {start_kind}" in str(caught.value)


def test_what_is_none_of_scrapys_own_has_no_order_that_is_known() -> None:
    assert Order.of(Largest, None) is None
    assert Order.of(FifoMemoryQueue, Largest) is None
    assert Order.of(LifoMemoryQueue, None) == (True, None)
    assert Order.of(FifoMemoryQueue, LifoMemoryQueue) == (False, True)
    assert Order.of(PickleLifoDiskQueue, MarshalFifoDiskQueue) == (True, False)


@pytest.mark.parametrize("kind", KINDS)
def test_a_priority_that_was_set_to_another_number_counts_as_the_whole_one_below(
    kind: Any,
) -> None:
    requests = opened(kind, kind)
    for number, priority in enumerate([0.5, 2.0, -0.5, 1.5]):
        new = request(number, start=number % 2 == 0)
        new.priority = priority  # type: ignore[assignment]
        requests.push(new)
    assert [requests.pop().priority for _ in range(4)] == [2.0, 1.5, 0.5, -0.5]
