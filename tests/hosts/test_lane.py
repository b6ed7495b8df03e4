"""A lane: its name in the state of a job, its requests."""

from __future__ import annotations

import pytest

from scrapy_robots_plus.hosts.host import Address
from scrapy_robots_plus.protocol.origin import Origin
from tests.crawl.lanes import Lanes

HERE = Origin("http", "a.example", 80)
SECURE = Origin("https", "a.example", 8443)


@pytest.mark.parametrize(
    ("address", "name"),
    [
        (Address(HERE, "a.example"), "http://a.example"),
        (Address(HERE, "proxy"), "http://a.example proxy"),
        (Address(HERE, "two words"), "http://a.example two words"),
        (Address(SECURE, "a.example"), "https://a.example:8443"),
        (Address(None, "a.example"), "a.example"),
        (Address(None, "two words"), "two words"),
        (Address(None, "http://proxy"), " http://proxy"),
        (Address(None, " indented"), "  indented"),
        (Address(None, ""), ""),
    ],
)
def test_an_address_is_found_again_by_its_name(address: Address, name: str) -> None:
    assert address.name == name
    assert Address.named(name) == address


@pytest.mark.parametrize("name", ["http://", "://", "http://a.example:port x", "//"])
def test_a_name_that_is_not_of_an_origin_is_that_of_a_slot(name: str) -> None:
    assert Address.named(name) == Address(None, name)


def test_the_most_urgent_request_of_a_lane_is_the_next() -> None:
    lanes = Lanes()
    lane = lanes.new("a", priority=1)
    lanes.add(lane, 1, priority=7)
    assert (len(lane), lane.priority) == (2, -7)
    request = lane.pop()
    assert request is not None
    assert request.priority == 7
    assert (len(lane), lane.priority) == (1, -1)
