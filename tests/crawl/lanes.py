"""Lanes in memory, for tests of what chooses among them."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from scrapy import Request

from scrapy_robots_plus.hosts.host import Address, State
from scrapy_robots_plus.hosts.lanes import Lanes as LanesOfAQueue
from scrapy_robots_plus.hosts.lanes import Order
from scrapy_robots_plus.protocol.origin import Origin

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_robots_plus.hosts.host import Lane


LIFO = Order(newest_first=True, newest_start_first=None)


class Lanes:
    """A queue of lanes, with the numbers that they get."""

    number = 0
    lanes_asleep = 0

    def __init__(self) -> None:
        self.open = LanesOfAQueue(self, LIFO)
        self._numbers = count(1)

    def __len__(self) -> int:
        return sum(map(len, self.open))

    def __iter__(self) -> Iterator[Lane]:
        return iter(self.open)

    def take(self, lane: Lane) -> Request | None:
        """As a queue does for those who choose."""
        request = lane.pop()
        if not len(lane):
            self.open.remove(lane)
        return request

    def new(self, name: str, *, requests: int = 1, priority: int = 0, slot: str = "") -> Lane:
        """A lane of *requests* to ``http://name``, the last in the order."""
        origin = Origin("http", name, 80)
        lane = self.open.new(Address(origin, slot or name), self.request(name, priority))
        assert lane is not None
        lane.order = next(self._numbers)
        lane.put_in(State.POLICY, next(self._numbers))
        self.add(lane, requests - 1, priority)
        return lane

    def add(self, lane: Lane, requests: int, priority: int = 0) -> None:
        for _ in range(requests):
            lane.push(self.request(lane.address.slot, priority))

    @staticmethod
    def request(name: str, priority: int = 0) -> Request:
        return Request(f"http://{name}/", priority=priority)
