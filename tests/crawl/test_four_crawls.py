"""Four crawls keep one Crawl-delay: in one process, with a file, with a server.

One is killed, one always needs a while to connect, the clock of one is wrong. Measured where the
site sees requests arrive.
"""

from __future__ import annotations

import signal
import time
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
from scrapy.utils.defer import deferred_from_coro
from twisted.internet.defer import gatherResults

from scrapy_robots_plus.crawl.clock import Clock
from scrapy_robots_plus.crawl.crawl import Crawl
from tests.crawling import make_crawler, parts_of_seconds
from tests.redis_server import RedisServer
from tests.sending import HICCUP, TimedSpider
from tests.waiting import until

from .pace_process import ended, slow_to_connect, start

if TYPE_CHECKING:
    from pathlib import Path

    from tests.sites import Host, Sites

DELAY, SLOW, AHEAD = 0.5, 0.05, 600.0
KILLED, CONNECTS_SLOWLY, HAS_A_WRONG_CLOCK = 1, 2, 3
IN_FULL = 40
PAGES = [2, pytest.param(IN_FULL, marks=pytest.mark.stress)]


def paced(sites: Sites) -> Host:
    return sites.host(f"User-agent: *\nDisallow: /never\nCrawl-delay: {DELAY}\n")


def urls(host: Host, crawl: int, pages: int) -> list[str]:
    return [host.url(f"/{crawl}/{page}") for page in range(pages)]


def of_the_killed(host: Host) -> int:
    return sum(path.startswith(f"/{KILLED}/") for path in host.fetched)


def pages_before_the_kill(pages: int) -> int:
    return max(1, pages // 4)


def check(host: Host, pages: int) -> None:
    arrivals = [(hit.at, hit.path.split("/")[1]) for hit in host.hits if hit.path != "/robots.txt"]
    gaps = [later - at for (at, _), (later, _) in pairwise(arrivals)]
    shares = Counter(crawl for _, crawl in arrivals)
    for crawl in set(range(4)) - {KILLED}:
        assert shares[str(crawl)] == pages
    # A busy machine lets some arrive late, so that the next seems early: no two in a row do.
    assert all(one + other >= 2 * (DELAY - 0.01) - HICCUP for one, other in pairwise(gaps))
    assert min(gaps) >= DELAY - HICCUP
    if pages == IN_FULL:
        print(f"smallest {min(gaps):.3f} s, mean {sum(gaps) / len(gaps):.3f} s, of {len(gaps)}")
        assert min(gaps) >= 0.49
        assert sum(gaps) / len(gaps) <= 0.56
        while_all_run = Counter(crawl for _, crawl in arrivals[8 : pages - 4])
        assert max(while_all_run.values()) - min(while_all_run.values()) <= 2


@parts_of_seconds
@pytest.mark.parametrize("pages", PAGES)
@pytest_twisted.ensureDeferred
async def test_in_one_process(sites: Sites, pages: int) -> None:
    host = paced(sites)
    spiders = [TimedSpider] * 4
    spiders[CONNECTS_SLOWLY] = slow_to_connect(TimedSpider, SLOW)
    crawlers = [make_crawler(spider) for spider in spiders]
    wrong = Clock(lambda: time.time() + AHEAD, lambda: time.monotonic() + 7 * AHEAD)
    crawl = Crawl.of(crawlers[HAS_A_WRONG_CLOCK], wrong)
    running: list[Any] = [
        crawler.crawl(urls=urls(host, number, pages)) for number, crawler in enumerate(crawlers)
    ]
    await deferred_from_coro(until(lambda: of_the_killed(host) >= pages_before_the_kill(pages)))
    await deferred_from_coro(crawlers[KILLED].stop_async())  # nobody can kill it alone
    await gatherResults(running)
    assert crawl.clock.wall is wrong.wall
    check(host, pages)


@parts_of_seconds
@pytest.mark.parametrize("pages", PAGES)
@pytest.mark.parametrize("kept", ["in a file", "on a server"])
def test_in_four_processes(sites: Sites, tmp_path: Path, kept: str, pages: int) -> None:
    host = paced(sites)
    with RedisServer() as server:
        shared = f"sqlite:{tmp_path / 'pace.db'}" if kept == "in a file" else server.url
        settings: Any = {"longest": 60 + 4 * pages, "ROBOTS_SHARED_PACE": shared}
        forks = [
            start(
                tmp_path,
                *urls(host, number, pages),
                ahead=AHEAD * (number == HAS_A_WRONG_CLOCK),
                slow=SLOW * (number == CONNECTS_SLOWLY),
                **settings,
            )
            for number in range(4)
        ]
        give_up_at = time.monotonic() + 60
        while of_the_killed(host) < pages_before_the_kill(pages):
            assert time.monotonic() < give_up_at
            time.sleep(0.01)
        forks[KILLED].send(signal.SIGKILL)
        _, ends = ended(forks, longest=settings["longest"])
    assert len(ends) == 3, (tmp_path / "log").read_text()
    check(host, pages)
