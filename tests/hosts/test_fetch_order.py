"""In which order robots.txt files are fetched."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

from scrapy_robots_plus.hosts.discovery import Discovery
from tests.crawl.lanes import Lanes

if TYPE_CHECKING:
    from scrapy_robots_plus.hosts.host import Lane


class Fetched(Lanes):
    """Fetches for one lane after the other; what was fetched for has another ticket."""

    def __init__(self) -> None:
        super().__init__()
        self.enough = 0
        around: Any = self
        self.discovery = Discovery(around, count(1_000_000))

    def known(self, name: str, requests: int = 1, priority: int = 0, order: int = 0) -> Lane:
        lane = self.new(name, requests=requests, priority=priority)
        lane.order += order
        self.discovery.add(lane)
        return lane

    def order(self) -> list[str]:
        names: list[str] = []
        while (lane := self.discovery._lanes.pop()) is not None:
            lane.ticket = -len(names) - 1  # another one
            names.append(lane.address.slot)
        return names


def test_the_largest_goes_first() -> None:
    lanes = Fetched()
    for name, requests in (("old", 1), ("older", 1), ("8", 8), ("64", 64), ("16", 16), ("32", 32)):
        lanes.known(name, requests)
    assert lanes.order() == ["64", "32", "16", "8", "old", "older"]


def test_of_about_the_same_size_the_oldest_goes_first() -> None:
    lanes = Fetched()
    for name, requests in (("a", 4), ("b", 7), ("c", 5)):
        lanes.known(name, requests)
    assert lanes.order() == ["a", "b", "c"]


def test_priority_goes_before_size_and_age() -> None:
    lanes = Fetched()
    lanes.known("large", 100)
    lanes.known("urgent", priority=1)
    assert lanes.order() == ["urgent", "large"]


def test_a_small_one_does_not_wait_for_all_large_ones_that_come_later() -> None:
    lanes = Fetched()
    lanes.known("small")
    doublings = 5  # from 1 request to 32
    lanes.known("soon", 32, order=doublings * Discovery.NUMBERS_PER_DOUBLING - 100)
    lanes.known("later", 32, order=doublings * Discovery.NUMBERS_PER_DOUBLING)
    assert lanes.order() == ["soon", "small", "later"]


def test_a_lane_that_has_grown_goes_by_its_new_size() -> None:
    lanes = Fetched()
    lanes.known("large", 5)
    grows = lanes.known("grows", 1)
    for _ in range(31):
        lanes.add(grows, 1)
        lanes.discovery.grow(grows)
    assert lanes.order() == ["grows", "large"]


def test_a_lane_that_waits_no_longer_is_not_named() -> None:
    lanes = Fetched()
    gone = lanes.known("gone", 9)
    lanes.known("stays")
    gone.ticket = -1
    assert lanes.order() == ["stays"]
