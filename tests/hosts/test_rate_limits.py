"""Hosts that say what is left of a limit are not asked for more."""

from __future__ import annotations

import time
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted

from tests.crawl_process import MODES, crawl_in_process
from tests.crawling import ProbeSpider, crawl, make_crawler, run, stat
from tests.limiters import TELLS, WRONG, Window, saying, telling, x_fields
from tests.waiting import close_when, until

if TYPE_CHECKING:
    from asyncio import StreamWriter
    from collections.abc import AsyncIterator

    from scrapy import Request
    from scrapy.http import Response

    from tests.sites import Hit, Host, Reply, Sites

REFUSED = "downloader/response_status_count/429"
USED_UP = "robotstxt/ratelimit/used_up"
FOUR: dict[str, Any] = {"CONCURRENT_REQUESTS": 4, "RETRY_ENABLED": True}
"""Of those per domain, Scrapy with asyncio sends more while many wait in a slot."""
QUEUES = pytest.mark.parametrize(
    "queue", [{}, {"SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.ScrapyPriorityQueue"}]
)


def pages(host: Host, number: int, reply: Reply) -> list[str]:
    host.pages["/page"] = reply
    return [host.url(f"/page?{each}") for each in range(number)]


class OneFirst(ProbeSpider):
    """Asks for the others when the first page has come."""

    async def start(self) -> AsyncIterator[Request]:
        yield self.request(self.urls[0])

    def parse(self, response: Response) -> Any:
        super().parse(response)
        if response.url == self.urls[0]:
            return map(self.request, self.urls[1:])
        return None


@QUEUES
@pytest.mark.parametrize("tells", TELLS)
@pytest_twisted.ensureDeferred
async def test_no_more_is_asked_than_is_left(
    sites: Sites, tells: str, queue: dict[str, str]
) -> None:
    host = sites.host()
    urls = pages(host, 25, telling(Window(10, 1.0), TELLS[tells]))
    crawler = await crawl(*urls, spider=OneFirst, **FOUR, **queue)
    assert sorted(crawler.spider.got) == sorted(urls)
    assert stat(crawler, REFUSED) <= 2  # of 15 and more without it
    assert stat(crawler, USED_UP) >= 1


@pytest_twisted.ensureDeferred
async def test_slow_answers_that_others_overtake_raise_no_hope(sites: Sites) -> None:
    host, window, numbers = sites.host(), Window(10, 1.0), count()

    async def reply(hit: Hit, writer: StreamWriter) -> None:
        says = telling(window, TELLS["X-RateLimit"], slowly=0.4 * (next(numbers) % 4 == 2))
        await says(hit, writer)

    urls = pages(host, 25, reply)
    crawler = await crawl(*urls, spider=OneFirst, **FOUR)
    assert sorted(crawler.spider.got) == sorted(urls)
    assert stat(crawler, REFUSED) <= 1


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "asyncio"])
def test_in_other_reactor_modes(sites: Sites, mode: str) -> None:
    host = sites.host()
    urls = pages(host, 50, telling(Window(20, 1.0), TELLS["RateLimit"]))
    done = crawl_in_process(mode, *urls, **FOUR)
    assert done["stats"].get(REFUSED, 0) <= 4  # what went before the first answers
    assert done["stats"][USED_UP] >= 1


class OthersMeanwhile(ProbeSpider):
    """Asks for the last 40 pages when nothing is left of the limit of the first host."""

    async def start(self) -> AsyncIterator[Request]:
        for url in self.urls[:-40]:
            yield self.request(url)
        await until(lambda: stat(self.crawler, USED_UP))
        for url in self.urls[-40:]:
            yield self.request(url)


@pytest_twisted.ensureDeferred
async def test_other_hosts_go_on_meanwhile(sites: Sites) -> None:
    host, other = sites.host(), sites.host()
    urls = pages(host, 60, saying(lambda number: x_fields(max(0, 20 - number), 60)))
    others = [other.url(f"/{each}") for each in range(40)]
    crawler = make_crawler(OthersMeanwhile, **FOUR)
    close_when(lambda: len(other.fetched) == 40, crawler)
    await run(crawler, urls=[*urls, *others])
    assert len(other.fetched) == 40
    assert 20 <= len(host.fetched) <= 24  # it waits still


@pytest.mark.parametrize("kind", WRONG)
@pytest_twisted.ensureDeferred
async def test_what_is_wrong_holds_nothing_up(sites: Sites, kind: str) -> None:
    host = sites.host()
    urls = pages(host, 60, saying(WRONG[kind]))
    began = time.monotonic()
    crawler = await crawl(*urls, **FOUR)
    assert time.monotonic() - began < 7
    assert len(crawler.spider.got) == 60


@pytest_twisted.ensureDeferred
async def test_a_count_that_stays_at_nothing_costs_some_seconds_once(sites: Sites) -> None:
    host = sites.host()
    urls = pages(host, 60, saying(lambda number: x_fields(max(0, 20 - number), 60)))
    crawler = await crawl(*urls, **FOUR)
    assert len(crawler.spider.got) == 60
    assert max(host.gaps) == pytest.approx(8.0, abs=0.5)
    assert sum(host.gaps) < 12


@pytest_twisted.ensureDeferred
async def test_such_a_site_is_limited(sites: Sites) -> None:
    """Two different pages have said that nothing is left."""
    host = sites.host()
    urls = pages(host, 8, saying(lambda number: x_fields(2 - number % 3, 1)))
    crawler = await crawl(*urls, CONCURRENT_REQUESTS=1)
    assert stat(crawler, USED_UP) == 2
    assert stat(crawler, "robotstxt/standing/limited") == 1
    assert max(host.gaps) > 0.9


@pytest_twisted.ensureDeferred
async def test_switched_off(sites: Sites) -> None:
    host = sites.host()
    urls = pages(host, 25, telling(Window(10, 1.0), TELLS["RateLimit"]))
    crawler = await crawl(*urls, ROBOTS_BACKOFF_MAX=0, CONCURRENT_REQUESTS=4)
    assert stat(crawler, REFUSED) > 0
    assert stat(crawler, USED_UP) == 0


@pytest_twisted.ensureDeferred
async def test_a_crawl_that_is_stopped_does_not_wait(sites: Sites) -> None:
    host = sites.host()
    urls = pages(host, 60, saying(lambda number: x_fields(max(0, 20 - number), 60)))

    crawler = make_crawler(ProbeSpider, **FOUR)
    close_when(lambda: stat(crawler, USED_UP), crawler)
    began = time.monotonic()
    await run(crawler, urls=urls)
    assert time.monotonic() - began < 7
    assert len(crawler.spider.got) < 60
