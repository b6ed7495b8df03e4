"""The delay that a host sees where a request takes its time to get there, in each reactor mode.

Measured where requests arrive: only there it shows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.certificates import self_signed
from tests.crawl_process import MODES, crawl_in_process
from tests.crawling import parts_of_seconds
from tests.sites import after, answer

if TYPE_CHECKING:
    from tests.sites import Sites

DELAY = 0.8
ROBOTS = f"User-agent: *\nDisallow: /never\nCrawl-delay: {DELAY}\n"
LEAST = DELAY / 2
"""Arrivals are noted when the machine has time for it. Without the promise it would be 0.1 s."""

pytestmark = [parts_of_seconds, pytest.mark.parametrize("mode", MODES)]


def test_the_delay_holds_where_connecting_takes_long(sites: Sites, mode: str) -> None:
    hosts = {
        "less than the delay": (sites.host(ROBOTS), 0.7),
        "longer than the delay": (sites.host(ROBOTS), 1.2),
    }
    if "no reactor" in MODES:  # TLS of Scrapy 2.14 warns, which is an error in these processes
        hosts["TLS"] = (sites.host(ROBOTS, self_signed()), 0.7)
    roads = [sites.slow_road_to(host, seconds) for host, seconds in hosts.values()]
    crawl_in_process(mode, *(f"{road}/{number}" for road in roads for number in range(3)))
    least = {name: min(host.gaps) for name, (host, _) in hosts.items() if len(host.fetched) == 3}
    assert len(least) == len(hosts)
    assert {name: gap for name, gap in least.items() if gap < LEAST} == {}


@pytest.mark.stress
def test_a_host_that_is_slow_to_answer_is_still_asked_at_its_delay(sites: Sites, mode: str) -> None:
    """But for the first two requests, which may be under way for all that is known."""
    host = sites.host(ROBOTS)
    count, answering = 15, 3.0
    host.pages |= {f"/{number}": after(answering, answer()) for number in range(count)}
    urls = [host.url(f"/{number}") for number in range(count)]
    crawl_in_process(mode, *urls, CONCURRENT_REQUESTS_PER_DOMAIN=16)
    assert len(host.fetched) == count
    assert min(host.gaps) >= LEAST
    assert max(host.gaps[2:]) < answering / 2
