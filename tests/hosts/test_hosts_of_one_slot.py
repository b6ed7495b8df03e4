"""Hosts that go through one downloader slot, that of a proxy for example, keep their own paces."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
from scrapy import Request
from scrapy.utils.reactor import is_asyncio_reactor_installed

from tests.crawling import crawl, parts_of_seconds
from tests.sending import HICCUP, TimedSpider, gaps
from tests.sites import after, answer, when
from tests.waiting import pause

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncIterator
    from pathlib import Path

    from scrapy.crawler import Crawler

    from tests.sites import Hit, Host, Sites

QUEUES: list[dict[str, Any]] = [
    {},
    {"SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.ScrapyPriorityQueue"},
    {"SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.DownloaderAwarePriorityQueue"},
]
NAMES = ["ours", "Scrapy's", "downloader-aware"]
PAGES = 5
FREE = "User-agent: *\nDisallow: /never\n"
SLOW = f"{FREE}Crawl-delay: 1\n"


def through_proxy(hosts: list[Host], pages: int = PAGES) -> list[Any]:
    """The hosts in turn."""
    return [
        Request(host.url(f"/{number}"), meta={"download_slot": "proxy"})
        for number in range(pages)
        for host in hosts
    ]


def sent_to(crawler: Crawler, hosts: list[Host]) -> list[float]:
    addresses = [f"//{host.address}:" for host in hosts]
    return [at for at, url in crawler.spider.sent if any(each in url for each in addresses)]


@parts_of_seconds
@pytest.mark.parametrize("queue", QUEUES, ids=NAMES)
@pytest_twisted.ensureDeferred
async def test_a_slow_host_holds_up_no_other(sites: Sites, queue: dict[str, Any]) -> None:
    hosts = [sites.host(SLOW if number % 4 == 0 else FREE) for number in range(16)]
    slow, free = hosts[::4], [host for number, host in enumerate(hosts) if number % 4]
    requests = [*through_proxy(hosts, 2), *through_proxy(slow)[2 * len(slow) :]]
    crawler = await crawl(*requests, spider=TimedSpider, **queue)
    assert [len(host.fetched) for host in hosts] == [PAGES, 2, 2, 2] * 4
    for host in slow:
        assert min(gaps(crawler.spider.sent, host)) >= 1 - HICCUP
        assert max(sent_to(crawler, free)) < max(sent_to(crawler, [host]))  # some 4 s later
    took = max(sent_to(crawler, slow)) - min(sent_to(crawler, hosts))
    assert took < 3 * PAGES  # nor do they wait for each other


@parts_of_seconds
@pytest_twisted.ensureDeferred
async def test_with_a_pace_that_others_share_every_page_comes(sites: Sites, tmp_path: Path) -> None:
    hosts = [sites.host(SLOW.replace("1", "0.2")) for _ in range(4)]
    pace = f"sqlite:{tmp_path}/pace.db"
    crawler = await crawl(*through_proxy(hosts, 3), spider=TimedSpider, ROBOTS_SHARED_PACE=pace)
    assert len(crawler.spider.got) == 3 * 4


@parts_of_seconds
@pytest.mark.parametrize("queue", QUEUES[1:], ids=NAMES[1:])
@pytest_twisted.ensureDeferred
async def test_no_more_than_the_slot_allows_are_under_way(
    sites: Sites, queue: dict[str, Any]
) -> None:
    if is_asyncio_reactor_installed():
        pytest.skip("Scrapy itself (2.14 to 2.19) sends more than a slot allows")
    hosts = [sites.host(FREE + "Crawl-delay: 0.2\n") for _ in range(8)]
    hosts += [sites.host(FREE) for _ in range(2)]
    under_way, most = 0, 0

    async def page(hit: Any, writer: Any) -> None:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await after(0.1, answer("A page"))(hit, writer)
        under_way -= 1

    for host in hosts:
        host.pages |= {f"/{number}": page for number in range(PAGES)}
    slots = {"proxy": {"concurrency": 2, "delay": 0}}
    crawler = await crawl(*through_proxy(hosts), spider=TimedSpider, DOWNLOAD_SLOTS=slots, **queue)
    assert [len(host.fetched) for host in hosts] == [PAGES] * 10
    assert most == 2
    for host in hosts[:8]:
        assert min(gaps(crawler.spider.sent, host)) >= 0.2 - HICCUP


@pytest_twisted.ensureDeferred
async def test_pauses_that_end_together_let_no_more_go_either(sites: Sites) -> None:
    """A proxy answers in place of all its hosts."""
    refused, under_way, most = 0, 0, 0

    async def page(hit: Any, writer: Any) -> None:
        nonlocal refused, under_way, most
        if refused < 2 * len(hosts):
            refused += 1
            await answer("", 503, retry_after="1")(hit, writer)
            return
        under_way += 1
        most = max(most, under_way)
        await after(0.2, answer("A page"))(hit, writer)
        under_way -= 1

    hosts = [sites.host(FREE) for _ in range(12)]
    for host in hosts:
        host.pages |= {"/0": page, "/1": page}
    crawler = await crawl(
        *through_proxy(hosts, 2),
        CONCURRENT_REQUESTS_PER_DOMAIN=4,
        RETRY_ENABLED=True,
        **QUEUES[2],
    )
    assert len(crawler.spider.got) == 2 * len(hosts)
    assert most <= 5


@parts_of_seconds
@pytest.mark.parametrize("queue", QUEUES, ids=NAMES)
@pytest_twisted.ensureDeferred
async def test_the_delay_of_the_slot_holds_for_all_in_it(
    sites: Sites, queue: dict[str, Any]
) -> None:
    hosts = [sites.host(FREE + f"Crawl-delay: {delay}\n") for delay in (0.9, 1.1)]
    hosts.append(sites.host(FREE))
    no_jitter = {"jitter": 0, "randomize_delay": False}  # from 2.19, up to 2.18
    slots = {"proxy": {"delay": 0.3, **no_jitter}}
    requests = [each for each in through_proxy(hosts) if not each.url.endswith("/4")]
    crawler = await crawl(*requests, spider=TimedSpider, DOWNLOAD_SLOTS=slots, **queue)
    times = sorted(at for at, url in crawler.spider.sent if not url.endswith("robots.txt"))
    assert len(times) == 12
    assert min(later - at for at, later in pairwise(times)) >= 0.3 - HICCUP
    for host, delay in zip(hosts, (0.9, 1.1), strict=False):
        assert min(gaps(crawler.spider.sent, host)) >= delay - HICCUP


@parts_of_seconds
@pytest_twisted.ensureDeferred
async def test_a_pause_that_comes_while_a_request_waits_for_the_slot_holds_it(
    sites: Sites,
) -> None:
    """Its host has no delay, so that it waits at the door for nothing but the slot's own."""
    slow, free = sites.host(FREE + "Crawl-delay: 3\n"), sites.host(FREE)
    refused_at: list[float] = []

    async def noted(hit: Hit, writer: asyncio.StreamWriter) -> None:
        refused_at.append(time.monotonic())
        await answer("", 429, Retry_After="3")(hit, writer)

    free.pages["/refused"] = when(lambda: "/2" in slow.fetched, after(1.2, noted))

    class InTurn(TimedSpider):
        async def start(self) -> AsyncIterator[Request]:
            in_turn = (free, "/refused"), (slow, "/1"), (slow, "/2"), (free, "/3")
            for host, path in in_turn:
                yield self.request(host.url(path), meta={"download_slot": "proxy"})
                await pause(0.1)

    await crawl(
        spider=InTurn,
        DOWNLOAD_SLOTS={"proxy": {"concurrency": 8, "delay": 2, "jitter": 0}},
        SCHEDULER_PRIORITY_QUEUE="scrapy.pqueues.ScrapyPriorityQueue",
    )
    assert free.fetched == ["/refused", "/3"]
    (sent_at,) = (hit.at for hit in free.hits if hit.path == "/3")
    assert sent_at - refused_at[0] > 3 - HICCUP
