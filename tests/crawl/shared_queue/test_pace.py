"""All workers together ask a host as one crawler would."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
import scrapy

from tests.crawling import far_from_now, make_crawler, parts_of_seconds, reads_paces, stat
from tests.redis_server import scrapy_redis_may_warn
from tests.sending import HICCUP, gaps
from tests.sites import answer, in_turn, when

from .crews import CrewSpider, failures, run_workers, sent

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.sites import Host, Sites

pytestmark = scrapy_redis_may_warn

DELAY = 0.3
PACED = f"User-agent: *\nDisallow: /never\nCrawl-delay: {DELAY}\n"
RULES = "User-agent: *\nDisallow: /never\n"


def pages(host: Host, number: int) -> list[str]:
    return [host.url(f"/{each}") for each in range(number)]


@parts_of_seconds
@pytest_twisted.ensureDeferred
async def test_a_crawl_delay_is_kept(sites: Sites, shared: dict[str, Any]) -> None:
    host = sites.host(PACED)
    crawlers = await run_workers(3, *pages(host, 6), **shared)
    kept = gaps(sent(crawlers), host)
    assert len(kept) == 5
    assert min(kept) >= DELAY - HICCUP / 5
    assert sum(kept) < 5 * DELAY * 1.6
    assert len(host.fetched) == 6


@parts_of_seconds
@pytest_twisted.ensureDeferred
async def test_a_slow_page_does_not_hold_up_the_next(sites: Sites, shared: dict[str, Any]) -> None:
    host = sites.host(PACED)
    page = answer("<p>A page</p>", content_type="text/html")
    host.pages["/3"] = when(lambda: len(host.fetched) == 6, page)
    crawlers = await run_workers(1, *pages(host, 6), **shared, DOWNLOAD_TIMEOUT=20)
    assert failures(crawlers) == {}
    assert min(gaps(sent(crawlers), host)) >= DELAY - HICCUP / 5


@pytest.mark.parametrize(
    "own",
    [
        {"DOWNLOAD_DELAY": 2 * DELAY},  # of which half is left to chance
        {"DOWNLOAD_DELAY": 2 * DELAY, "ROBOTSTXT_OBEY": False},
        {"ROBOTS_DEFAULT_DELAY": DELAY},
    ],
    ids=["DOWNLOAD_DELAY", "without robots.txt", "ROBOTS_DEFAULT_DELAY"],
)
@pytest_twisted.ensureDeferred
async def test_the_users_delay_is_kept(
    sites: Sites, shared: dict[str, Any], own: dict[str, Any]
) -> None:
    host = sites.host(RULES)
    crawlers = await run_workers(2, *pages(host, 4), **shared, **own)
    assert min(gaps(sent(crawlers), host)) >= DELAY - HICCUP / 2
    assert len(host.fetched) == 4


@pytest_twisted.ensureDeferred
async def test_the_delay_of_a_slot_is_kept(sites: Sites, shared: dict[str, Any]) -> None:
    host = sites.host(RULES)
    slots = {host.address: {"delay": 2 * DELAY}}
    crawlers = await run_workers(2, *pages(host, 4), **shared, DOWNLOAD_SLOTS=slots)
    assert min(gaps(sent(crawlers), host)) >= DELAY - HICCUP / 2


@parts_of_seconds
@pytest_twisted.ensureDeferred
async def test_a_retry_after_is_kept_by_all(sites: Sites, shared: dict[str, Any]) -> None:
    host = sites.host(PACED)
    page = answer("<p>A page</p>", content_type="text/html")
    host.pages["/"] = page
    refuse = answer("busy", 503, retry_after="2")
    for each in range(6):
        host.pages[f"/{each}"] = page
    host.pages["/0"] = in_turn(refuse, page)
    crawlers = await run_workers(2, *pages(host, 4), **shared)
    kept = gaps(sent(crawlers), host)
    assert max(kept) >= 2 - HICCUP


@pytest_twisted.ensureDeferred
async def test_a_dead_host_holds_nobody_up(sites: Sites, shared: dict[str, Any]) -> None:
    """Its requests fail as with any queue."""
    host, dead = sites.host(RULES), sites.closed_host()
    urls = [f"{dead}/{each}" for each in range(5)]
    crawlers = await run_workers(2, *urls, *pages(host, 5), **shared, ROBOTS_FETCH_RETRIES=0)
    assert len(host.fetched) == 5
    assert set(failures(crawlers)) == set(urls)


@pytest_twisted.ensureDeferred
async def test_requests_wait_for_a_robots_txt_that_cannot_be_read(
    sites: Sites, shared: dict[str, Any]
) -> None:
    host = sites.host(in_turn(answer(status=503), answer(RULES)))
    patient = {
        "ROBOTS_DEFER": 3600,
        "ROBOTS_RETRY_INTERVAL": (0.3, 3600),
        "ROBOTS_FETCH_RETRIES": 0,
    }
    crawlers = await run_workers(1, *pages(host, 5), **shared, **patient)
    assert len(host.fetched) == 5
    assert failures(crawlers) == {}


@reads_paces
@pytest_twisted.ensureDeferred
async def test_outside_visiting_hours_requests_wait_at_the_server(
    sites: Sites, shared: dict[str, Any]
) -> None:
    """They take no place in the downloader, and nobody is asked to wait for them."""
    shut = sites.host(f"{RULES}Visit-time: {far_from_now()}\n")
    host = sites.host(RULES)
    crawlers = await run_workers(
        1,
        *pages(shut, 5),
        *pages(host, 5),
        **shared,
        ROBOTS_VISIT_TIME="obey",
        CONCURRENT_REQUESTS=1,
        CLOSESPIDER_TIMEOUT=2,
    )
    assert len(host.fetched) == 5
    assert shut.fetched == []
    assert failures(crawlers) == {}
    assert stat(crawlers[0], "robotstxt/put_back") == 0


@reads_paces
@pytest_twisted.ensureDeferred
async def test_hours_that_a_site_takes_back_hold_nothing_at_the_server(
    sites: Sites, shared: dict[str, Any]
) -> None:
    shut = f"{RULES}Visit-time: {far_from_now()}\n"
    host = sites.host(in_turn(answer(shut), answer(RULES)))
    settings = {"ROBOTS_VISIT_TIME": "obey", "ROBOTS_TTL": (1, 1), "CLOSESPIDER_TIMEOUT": 20}
    crawlers = await run_workers(1, *pages(host, 5), **shared, **settings)
    assert len(host.fetched) == 5
    assert stat(crawlers[0], "finish_reason") == "finished"


class AnotherSpider(CrewSpider):
    name = "another"


@parts_of_seconds
@pytest_twisted.ensureDeferred
async def test_two_spiders_keep_the_pace_that_was_chosen(
    sites: Sites, shared: dict[str, Any]
) -> None:
    host = sites.host(PACED)
    own = {**shared, "ROBOTS_SHARED_PACE": shared["REDIS_URL"]}
    crawlers = [make_crawler(spider, **own) for spider in (CrewSpider, AnotherSpider)]
    urls = [host.url(f"/one{each}") for each in range(3)], pages(host, 3)
    running = [each.crawl(urls=own) for each, own in zip(crawlers, urls, strict=True)]
    for each in running:
        await each
    kept = gaps(sent(crawlers), host)
    assert len(kept) == 5
    assert min(kept) >= DELAY - HICCUP / 2


@parts_of_seconds
@pytest_twisted.ensureDeferred
async def test_requests_from_elsewhere_have_their_turns(
    sites: Sites, shared: dict[str, Any]
) -> None:
    """Those that a callback sends without the scheduler."""
    host, begin = sites.host(PACED), sites.host(RULES)
    direct = make_crawler(DirectSpider, **shared)
    other = make_crawler(CrewSpider, **shared)
    running = direct.crawl(urls=[begin.url(f"/?{host.url('/direct')}")])
    await other.crawl(urls=pages(host, 4))
    await running
    kept = gaps(sent([direct, other]), host)
    assert len(kept) == 6
    assert min(kept) >= DELAY - HICCUP / 2


class DirectSpider(CrewSpider):
    async def parse(self, response: scrapy.http.Response) -> None:
        url = response.url.partition("?")[2]
        for each in range(3):
            await self.crawler.engine.download_async(scrapy.Request(f"{url}{each}"))


class HalfWritten(CrewSpider):
    """Every second request has a callback that no serializer can write."""

    async def start(self) -> AsyncIterator[scrapy.Request]:
        for number, url in enumerate(self.urls):
            own = {"callback": lambda _: None} if number % 2 else {}
            yield self.request(url, **own)


class ManySlots(CrewSpider):
    """Its requests to a host go to several slots, and some to none."""

    async def start(self) -> AsyncIterator[scrapy.Request]:
        for number, url in enumerate(self.urls):
            slot = {"download_slot": f"slot {number % 4}"} if number % 2 else {}
            yield self.request(url, meta=slot)


@parts_of_seconds
@pytest.mark.parametrize("spider", [HalfWritten, ManySlots])
@pytest_twisted.ensureDeferred
async def test_requests_of_all_kinds_have_their_turns_in_one_slot(
    sites: Sites, shared: dict[str, Any], spider: type[CrewSpider]
) -> None:
    """One that has the host's turn may wait behind one that has not."""
    host = sites.host(PACED)
    crawler = make_crawler(spider, **shared, CLOSESPIDER_TIMEOUT=10)
    other = make_crawler(CrewSpider, **shared, CLOSESPIDER_TIMEOUT=10)
    running = other.crawl()
    await crawler.crawl(urls=pages(host, 9))
    await running
    kept = gaps(sent([crawler, other]), host)
    assert len(kept) == 8
    assert min(kept) >= DELAY - HICCUP / 2
