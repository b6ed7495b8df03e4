"""Several crawls in one process keep one pace together."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
from scrapy import Request
from twisted.internet.defer import DeferredList

from scrapy_robots_plus.crawl import stats
from scrapy_robots_plus.hosts.door import HeldAtClosing
from scrapy_robots_plus.hosts.gap_search import FIRST_WAIT
from tests.crawling import make_crawler, parts_of_seconds, stat
from tests.sending import HICCUP, TimedSpider, gaps
from tests.sites import answer
from tests.waiting import close_when, until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy.crawler import Crawler

    from tests.sites import Host, Sites

DELAY = 0.3
SLACK = 0.01


def paced(sites: Sites, delay: float = DELAY) -> Host:
    return sites.host(f"User-agent: *\nDisallow: /never\nCrawl-delay: {delay}\n")


def pages(host: Host, crawl: object, number: int) -> list[Any]:
    return [host.url(f"/{crawl}/{page}") for page in range(number)]


async def run_all(*crawls: tuple[Crawler, list[Any]]) -> list[tuple[float, str]]:
    """What they sent, in order."""
    await DeferredList([crawler.crawl(urls=urls) for crawler, urls in crawls])
    return sorted(itertools.chain.from_iterable(each.spider.sent for each, _ in crawls))


@parts_of_seconds
@pytest.mark.parametrize("crawls", [2, pytest.param(5, marks=pytest.mark.stress)])
@pytest_twisted.ensureDeferred
async def test_crawls_in_one_process_keep_one_pace(sites: Sites, crawls: int) -> None:
    host = paced(sites)
    sent = await run_all(
        *((make_crawler(TimedSpider), pages(host, number, 3)) for number in range(crawls))
    )
    found = gaps(sent, host)
    assert len(found) == crawls * 3 - 1
    assert min(found) >= DELAY - SLACK
    assert sum(found) < len(found) * (DELAY + HICCUP)


@parts_of_seconds
@pytest_twisted.ensureDeferred
async def test_so_do_crawls_after_each_other(sites: Sites) -> None:
    host = paced(sites)
    sent: list[tuple[float, str]] = []
    for number in range(3):
        sent += await run_all((make_crawler(TimedSpider), pages(host, number, 2)))
    found = gaps(sent, host)
    assert len(found) == 3 * 2 - 1
    assert min(found) >= DELAY - SLACK
    assert sum(found) < len(found) * (DELAY + HICCUP)


@parts_of_seconds
@pytest_twisted.ensureDeferred
async def test_a_pause_outlives_the_crawl_that_was_asked_for_it(sites: Sites) -> None:
    host = sites.host("User-agent: *\nDisallow: /never\nCrawl-delay: 0.01\n")
    host.pages["/busy"] = answer(status=503, retry_after="1")
    for path in "/busy", "/other":
        await make_crawler(TimedSpider, RETRY_ENABLED=False).crawl(urls=[host.url(path)])
    *_, busy, _, other = sites.hits
    assert (busy.path, other.path) == ("/busy", "/other")
    assert other.at - busy.at >= 1 - SLACK


@parts_of_seconds
@pytest_twisted.ensureDeferred
async def test_without_our_queue_they_wait_in_the_downloader(sites: Sites) -> None:
    host = paced(sites)
    settings = {"SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.ScrapyPriorityQueue"}
    sent = await run_all(
        *((make_crawler(TimedSpider, **settings), pages(host, number, 3)) for number in range(2))
    )
    assert min(gaps(sent, host)) >= DELAY - SLACK


@parts_of_seconds
@pytest.mark.parametrize(
    "settings",
    [
        {"DOWNLOAD_DELAY": 0.5},
        pytest.param({"DOWNLOAD_DELAY": 0.2}, marks=pytest.mark.stress),
        {"AUTOTHROTTLE_ENABLED": True, "AUTOTHROTTLE_START_DELAY": 0.5},
    ],
    ids=str,
)
@pytest_twisted.ensureDeferred
async def test_each_may_have_a_delay_of_its_own_too(sites: Sites, settings: dict[str, Any]) -> None:
    host = paced(sites)
    sent = await run_all(
        *((make_crawler(TimedSpider, **settings), pages(host, number, 3)) for number in range(2))
    )
    assert min(gaps(sent, host)) >= DELAY - SLACK


@parts_of_seconds
@pytest_twisted.ensureDeferred
async def test_between_different_delays_the_longer_one_counts(sites: Sites) -> None:
    host = paced(sites, 0.1)
    slow = make_crawler(TimedSpider, ROBOTS_OVERRIDES={host.address: {"crawl_delay": 0.5}})
    sent = await run_all((make_crawler(TimedSpider), pages(host, 0, 6)), (slow, pages(host, 1, 3)))
    ordered = [(at, "/1/" in url) for at, url in sent if "robots.txt" not in url]
    for (at, is_slow), (later, is_slow_too) in itertools.pairwise(ordered):
        assert later - at >= (0.5 if is_slow or is_slow_too else 0.1) - SLACK


@parts_of_seconds
@pytest_twisted.ensureDeferred
async def test_slots_that_a_user_chose_do_not_matter(sites: Sites) -> None:
    host = paced(sites)
    sent = await run_all(
        *(
            (
                make_crawler(TimedSpider),
                [Request(url, meta={"download_slot": slot}) for url in pages(host, slot, 3)],
            )
            for slot in ("one", "two")
        )
    )
    assert min(gaps(sent, host)) >= DELAY - SLACK


@parts_of_seconds
@pytest_twisted.ensureDeferred
async def test_a_slot_that_several_hosts_share_waits_for_the_host_of_its_next_request(
    sites: Sites,
) -> None:
    first, second = paced(sites), paced(sites)
    mixed = [
        Request(url, meta={"download_slot": "proxy"})
        for pair in zip(pages(first, 0, 3), pages(second, 0, 3), strict=True)
        for url in pair
    ]
    sent = await run_all(
        (make_crawler(TimedSpider), mixed),
        (make_crawler(TimedSpider), pages(first, 1, 3) + pages(second, 1, 3)),
    )
    for host in (first, second):
        assert min(gaps(sent, host)) >= DELAY - SLACK


@pytest_twisted.ensureDeferred
async def test_hosts_without_a_delay_are_not_held(sites: Sites) -> None:
    host = sites.host("User-agent: *\nDisallow: /never\n")
    crawlers = [make_crawler(TimedSpider) for _ in range(2)]
    sent = await run_all(*((each, pages(host, n, 20)) for n, each in enumerate(crawlers)))
    assert sum(gaps(sent, host)) < 39 * 0.1
    for each in crawlers:
        assert stat(each, stats.SHARED_PACE_WAITS) == 0


@parts_of_seconds
@pytest_twisted.ensureDeferred
async def test_a_retry_after_that_one_was_told_holds_for_the_others(sites: Sites) -> None:
    host = paced(sites)
    host.pages["/0/1"] = answer(status=429, retry_after="2")
    sent = await run_all(
        (make_crawler(TimedSpider), pages(host, 0, 2)),
        (make_crawler(TimedSpider), pages(host, 1, 4)),
    )
    asked = next(at for at, url in sent if url.endswith("/0/1"))
    after = [at for at, url in sent if at > asked and "robots.txt" not in url]
    assert after
    assert min(after) >= asked + 2 - SLACK


@parts_of_seconds
@pytest_twisted.ensureDeferred
async def test_a_refusal_that_one_got_holds_for_the_others(sites: Sites) -> None:
    host = paced(sites)
    host.pages["/0/1"] = answer(status=429)
    sent = await run_all(
        (make_crawler(TimedSpider), pages(host, 0, 2)),
        (make_crawler(TimedSpider), pages(host, 1, 4)),
    )
    asked = next(at for at, url in sent if url.endswith("/0/1"))
    after = [at for at, url in sent if at > asked and "robots.txt" not in url]
    assert after
    assert min(after) >= asked + FIRST_WAIT - SLACK


@pytest_twisted.ensureDeferred
async def test_a_crawl_that_closes_does_not_wait_for_its_turn(sites: Sites) -> None:
    host = paced(sites, 20)

    class SecondSpider(TimedSpider):
        async def start(self) -> AsyncIterator[Request]:
            await until(lambda: host.fetched)
            async for request in super().start():
                yield request

    first, second = make_crawler(TimedSpider), make_crawler(SecondSpider)
    close_when(lambda: stat(second, stats.SHARED_PACE_WAITS), second)
    close_when(lambda: host.fetched and not second.crawling, first)
    await run_all((first, pages(host, 0, 2)), (second, pages(host, 1, 2)))
    assert {type(each) for each in second.spider.failures.values()} == {HeldAtClosing}
    assert host.fetched == ["/0/0"]


@pytest_twisted.ensureDeferred
async def test_crawls_of_different_crawlers_have_paces_of_their_own(sites: Sites) -> None:
    host = sites.host("User-agent: *\nCrawl-delay: 50\n")
    crawlers = [make_crawler(TimedSpider, USER_AGENT=name) for name in ("foobot", "barbot")]
    await DeferredList([each.crawl(urls=[host.url()]) for each in crawlers])
    assert len(host.fetched) == 2


@pytest_twisted.ensureDeferred
async def test_crawls_may_each_keep_a_pace_alone(sites: Sites) -> None:
    host = sites.host("User-agent: *\nCrawl-delay: 50\n")
    crawlers = [make_crawler(TimedSpider, ROBOTS_SHARED_PACE="off") for _ in range(2)]
    await DeferredList([each.crawl(urls=[host.url()]) for each in crawlers])
    assert len(host.fetched) == 2
