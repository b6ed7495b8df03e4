"""Which failures may be those of the crawl's own network."""

from __future__ import annotations

import pytest
from scrapy import Request
from scrapy.http import Response

from scrapy_robots_plus.crawl.clock import Clock
from scrapy_robots_plus.crawl.crawl import Crawl
from scrapy_robots_plus.origins.network_away import NetworkAway
from scrapy_robots_plus.protocol.access import Failure
from tests.crawl.hand_clock import HandClock
from tests.crawl.scripted import make_crawler

NETWORK = [Failure.DNS, Failure.CONNECTION, Failure.TIMEOUT]
OTHERS = [each for each in Failure if each not in (*NETWORK, Failure.ERROR)]


class World(HandClock):
    def __init__(self) -> None:
        super().__init__()
        self.crawler = make_crawler()
        self.network = NetworkAway(Crawl.of(self.crawler, Clock(monotonic=self.clock)))

    def answer(self) -> None:
        request = Request("http://site.example/")
        self.network.answered(request, Response(request.url, 503))


@pytest.mark.parametrize("failure", NETWORK)
def test_as_long_as_no_site_answers_the_network_may_be_down(failure: Failure) -> None:
    world = World()
    assert world.network.may_be_why(failure)
    world.answer()
    assert not world.network.may_be_why(failure)
    world.pass_time(NetworkAway.LONGEST)
    assert not world.network.may_be_why(failure)
    world.pass_time(1)
    assert world.network.may_be_why(failure)
    world.answer()
    assert not world.network.may_be_why(failure)


@pytest.mark.parametrize("failure", [503, 429, *OTHERS])
def test_what_a_site_has_sent_is_its_own(failure: Failure | int) -> None:
    assert not World().network.may_be_why(failure)


def test_what_is_raised_in_the_crawl_is_never_the_fault_of_the_site() -> None:
    world = World()
    world.answer()
    assert world.network.may_be_why(Failure.ERROR)
