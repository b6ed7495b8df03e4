"""In which order robots.txt files are fetched."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_robots_plus.hosts.discovery import FetchOrder
from tests.crawl.lanes import Lanes

if TYPE_CHECKING:
    from scrapy_robots_plus.hosts.host import Lane


class Fetched(Lanes):
    """Names lanes as ``Discovery`` does: what was fetched for has another ticket."""

    def __init__(self) -> None:
        super().__init__()
        self.fetch_order = FetchOrder()

    def known(self, name: str, requests: int = 1, priority: int = 0) -> Lane:
        lane = self.new(name, requests=requests, priority=priority)
        self.fetch_order.add(lane)
        return lane

    def order(self) -> list[str]:
        names: list[str] = []
        while (lane := self.fetch_order.pop()) is not None:
            lane.ticket = -len(names) - 1  # another one
            names.append(lane.address.slot)
        return names


def test_the_largest_goes_first_and_every_fourth_is_the_oldest() -> None:
    lanes = Fetched()
    for name, requests in (("old", 1), ("older", 1), ("8", 8), ("64", 64), ("16", 16), ("32", 32)):
        lanes.known(name, requests)
    assert lanes.order() == ["64", "32", "16", "old", "8", "older"]


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
    for name in ("a", "b", "c", "d"):
        lanes.known(name, 10)
    lanes.known("urgent one", priority=1)
    assert lanes.fetch_order.pop().address.slot == "urgent one"


def test_the_fourth_is_the_oldest_of_the_most_urgent() -> None:
    lanes = Fetched()
    lanes.known("oldest")
    for name in ("small", "1", "2", "3"):
        lanes.known(name, 1 if name == "small" else 9, priority=1)
    assert lanes.order()[:5] == ["1", "2", "3", "small", "oldest"]


def test_a_lane_that_has_grown_goes_by_its_new_size() -> None:
    lanes = Fetched()
    lanes.known("large", 5)
    grows = lanes.known("grows", 1)
    lanes.add(grows, 20)
    lanes.fetch_order.grow(grows)
    assert lanes.order() == ["grows", "large"]


def test_a_lane_that_waits_no_longer_is_not_named() -> None:
    lanes = Fetched()
    gone = lanes.known("gone", 9)
    lanes.known("stays")
    gone.ticket = -1
    assert lanes.order() == ["stays"]


def test_whether_there_are_any() -> None:
    lanes = Fetched()
    assert not lanes.fetch_order
    lanes.known("one")
    assert lanes.fetch_order
    lanes.order()
    lanes.order()
    assert not lanes.fetch_order
