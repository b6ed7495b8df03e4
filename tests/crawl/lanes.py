"""Lanes in memory, for tests of what chooses among them."""

from __future__ import annotations

from itertools import count
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.squeues import LifoMemoryQueue

from scrapy_robots_plus.crawl.lanes.files import LaneFiles
from scrapy_robots_plus.crawl.lanes.losses import Losses
from scrapy_robots_plus.crawl.lanes.open_lanes import OpenLanes
from scrapy_robots_plus.hosts.host import Address, State
from scrapy_robots_plus.policy.origin import Origin

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_robots_plus.hosts.host import Lane


class Lanes:
    """A queue of lanes, with the numbers that they get."""

    number = 0

    def __init__(self) -> None:
        crawler: Any = SimpleNamespace(spider=None, stats=None)
        losses = Losses(crawler, "")
        files = LaneFiles(crawler, LifoMemoryQueue, None, "", losses)
        self.open = OpenLanes(self, self._resumed, files, losses)
        self._numbers = count(1)

    def __len__(self) -> int:
        return sum(map(len, self.open))

    def __iter__(self) -> Iterator[Lane]:
        return iter(self.open)

    def take(self, lane: Lane) -> Request | None:
        """As a queue does for those who choose."""
        request = lane.requests.pop()
        if not len(lane):
            self.open.remove(lane)
        return request

    def _resumed(self, lane: Lane) -> None:
        raise AssertionError("there was no former crawl")

    def new(self, name: str, *, requests: int = 1, priority: int = 0, slot: str = "") -> Lane:
        """A lane of *requests* to ``http://name``, the last in the order."""
        origin = Origin("http", name, 80)
        lane = self.open.new(Address(origin, slot or name), self.request(name, priority))
        lane.order = next(self._numbers)
        lane.waits(State.POLICY, next(self._numbers))
        self.add(lane, requests - 1, priority)
        return lane

    def add(self, lane: Lane, requests: int, priority: int = 0) -> None:
        for _ in range(requests):
            lane.requests.push(self.request(lane.address.slot, priority))

    @staticmethod
    def request(name: str, priority: int = 0) -> Request:
        return Request(f"http://{name}/", priority=priority)
