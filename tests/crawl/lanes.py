"""Lanes in memory, for tests of what chooses among them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.squeues import LifoMemoryQueue

from scrapy_robots_plus.crawl.lanes.files import LaneFiles
from scrapy_robots_plus.crawl.lanes.lane import Address, LaneStates
from scrapy_robots_plus.crawl.lanes.losses import Losses
from scrapy_robots_plus.crawl.lanes.open_lanes import OpenLanes
from scrapy_robots_plus.policy.origin import Origin

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_robots_plus.crawl.lanes.lane import Lane


class Lanes:
    """A queue that lists the lanes it is told are ready."""

    def __init__(self) -> None:
        crawler: Any = SimpleNamespace(spider=None, stats=None)
        losses = Losses(crawler, "")
        self.open = OpenLanes(self, LaneFiles(crawler, LifoMemoryQueue, None, "", losses), losses)
        self.states = LaneStates()
        self.ready: list[Lane] = []

    def __len__(self) -> int:
        return sum(map(len, self.open))

    def __iter__(self) -> Iterator[Lane]:
        return iter(self.open)

    def add_ready(self, lane: Lane) -> None:
        self.ready.append(lane)

    def add_resumed(self, lane: Lane) -> None:
        raise AssertionError("there was no former crawl")

    def new(self, name: str, *, requests: int = 1, priority: int = 0, slot: str = "") -> Lane:
        """A lane of *requests* to ``http://name``, the last in the order."""
        origin = Origin("http", name, 80)
        lane = self.open.new(Address(origin, slot or name), self.request(name, priority))
        lane.order = self.states.number()
        lane.ticket = self.states.number()
        self.add(lane, requests - 1, priority)
        return lane

    def add(self, lane: Lane, requests: int, priority: int = 0) -> None:
        for _ in range(requests):
            lane.requests.push(self.request(lane.address.slot, priority))

    @staticmethod
    def request(name: str, priority: int = 0) -> Request:
        return Request(f"http://{name}/", priority=priority)

    def made_ready(self) -> list[Lane]:
        """Those since it was last asked."""
        ready, self.ready = self.ready, []
        return ready
