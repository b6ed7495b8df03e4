"""A robots.txt that is refreshed while requests wait for their moment: what it says holds for them.

They passed under a file that had just expired, and may wait long: for other crawls, or for a pause.
"""

from __future__ import annotations

import time
from collections import defaultdict
from datetime import datetime, timezone
from math import inf
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
from twisted.internet.defer import gatherResults

from scrapy_robots_plus import RobotsDisallowed
from scrapy_robots_plus.crawl import stats
from scrapy_robots_plus.crawl.clock import Clock
from scrapy_robots_plus.crawl.crawl import Crawl
from tests.crawling import (
    ProbeSpider,
    crawl,
    far_from_now,
    make_crawler,
    parts_of_seconds,
    reads_paces,
    run,
    stat,
)
from tests.sites import A_PAGE, after, answer, in_turn, when
from tests.waiting import pause, until

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncIterator
    from pathlib import Path

    import scrapy

    from tests.sites import Hit, Host, Sites

CRAWLS, PAGES, DELAY = 3, 6, 0.5
OLD = f"User-agent: *\nDisallow: /never\nCrawl-delay: {DELAY}\n"
CLOSED = f"User-agent: *\nDisallow: /\nCrawl-delay: {DELAY}\n"
SLOWER = f"User-agent: *\nDisallow: /never\nCrawl-delay: {3 * DELAY}\n"


def changing(sites: Sites, new: str) -> Host:
    """A host whose robots.txt each crawl reads once as it was."""
    known: set[str] = set()

    async def reply(hit: Hit, writer: asyncio.StreamWriter) -> None:
        agent = hit.headers["user-agent"]
        text = new if agent in known else OLD
        known.add(agent)
        await answer(text)(hit, writer)

    return sites.host(reply)


async def crawled(host: Host, pages: int, **settings: Any) -> dict[str, Any]:
    """Crawls at the same time, by the agent of each."""
    agents = [f"foobot/{number}" for number in range(CRAWLS)]
    urls = [host.url(f"/{page}") for page in range(pages)]
    crawlers: dict[str, Any] = {
        agent: make_crawler(ProbeSpider, USER_AGENT=agent, ROBOTS_TTL=(1, 1), **settings)
        for agent in agents
    }
    await gatherResults(crawler.crawl(urls=urls) for crawler in crawlers.values())
    return crawlers


@parts_of_seconds
@pytest_twisted.ensureDeferred
async def test_what_waits_for_other_crawls_is_denied_by_new_rules(sites: Sites) -> None:
    host = changing(sites, CLOSED)
    for agent, crawler in (await crawled(host, PAGES)).items():
        hits = [hit for hit in host.hits if hit.headers["user-agent"] == agent]
        _, changed_at, *_ = [hit.at for hit in hits if hit.path == "/robots.txt"]
        late = {hit.path for hit in hits if hit.at > changed_at + DELAY / 2}
        assert late <= {"/robots.txt"}
        denied = crawler.spider.failures.values()
        assert {type(each) for each in denied} == {RobotsDisallowed}
        assert len(denied) + len(crawler.spider.got) == PAGES
        assert stat(crawler, stats.FORBIDDEN) == len(denied)


@parts_of_seconds
@pytest.mark.parametrize("place", ["process", "sqlite:{}/pace.db"], ids=["memory", "file"])
@pytest_twisted.ensureDeferred
async def test_what_waits_for_other_crawls_keeps_a_longer_delay(
    sites: Sites, tmp_path: Path, place: str
) -> None:
    host = changing(sites, SLOWER)
    await crawled(host, 3, ROBOTS_SHARED_PACE=place.format(tmp_path))
    read: dict[str, list[float]] = defaultdict(list)
    gaps, sent_at = [], -inf
    for hit in host.hits:
        times = read[hit.headers["user-agent"]]
        if hit.path == "/robots.txt":
            times.append(hit.at)
            continue
        if len(times) > 1 and hit.at > times[1] + DELAY / 2:
            gaps.append(hit.at - sent_at)
        sent_at = hit.at
    assert len(gaps) >= CRAWLS
    assert min(gaps) > 2.5 * DELAY


@pytest_twisted.ensureDeferred
async def test_what_waits_for_a_download_delay_is_denied_by_new_rules(sites: Sites) -> None:
    rules = (f"User-agent: *\nDisallow: {path}\n" for path in ("/never", "/"))
    host = sites.host(in_turn(*map(answer, rules)))

    class WithOneLater(ProbeSpider):
        async def start(self) -> AsyncIterator[scrapy.Request]:
            for page in range(PAGES):
                yield self.request(host.url(f"/{page}"))
            await pause(1.5)  # then the rules have expired
            yield self.request(host.url("/later"))

    queue = {"SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.ScrapyPriorityQueue"}
    crawler = await crawl(spider=WithOneLater, ROBOTS_TTL=(1, 1), DOWNLOAD_DELAY=1, **queue)
    _, changed_at, *_ = [hit.at for hit in host.hits if hit.path == "/robots.txt"]
    assert {hit.path for hit in host.hits if hit.at > changed_at + 0.3} <= {"/robots.txt"}
    assert 1 <= len(host.fetched) < PAGES
    assert len(crawler.spider.failures) == PAGES + 1 - len(host.fetched)


@parts_of_seconds
@pytest_twisted.ensureDeferred
async def test_what_waits_in_a_slot_with_others_is_denied_by_new_rules(sites: Sites) -> None:
    """Its only place is taken by another host, until the rules of this one have changed."""
    host, other = changing(sites, CLOSED), sites.host()
    other.pages["/"] = when(lambda: host.robots_hits > 1, after(DELAY, A_PAGE))

    class InOneSlot(ProbeSpider):
        async def start(self) -> AsyncIterator[scrapy.Request]:
            yield self.request(host.url("/first"))
            await until(lambda: self.got)
            yield self.request(other.url("/"), meta={"download_slot": "one"})
            await until(lambda: other.fetched)
            yield self.request(host.url("/second"), meta={"download_slot": "one"})
            await pause(1.0)  # then the rules have expired
            yield self.request(host.url("/third"))

    crawler = await crawl(
        spider=InOneSlot,
        ROBOTS_TTL=(1, 1),
        CONCURRENT_REQUESTS_PER_DOMAIN=1,
        SCHEDULER_PRIORITY_QUEUE="scrapy.pqueues.ScrapyPriorityQueue",
    )
    assert host.fetched == ["/first", "/third"]
    assert list(crawler.spider.failures) == [host.url("/second")]
    assert stat(crawler, stats.FORBIDDEN) == 1


OPEN = "User-agent: *\nDisallow: /never\n"
SCRAPYS = ["scrapy.pqueues.ScrapyPriorityQueue", "scrapy.pqueues.DownloaderAwarePriorityQueue"]


class WithOneLater(ProbeSpider):
    """Asks for one more page once the robots.txt of the others has expired."""

    async def start(self) -> AsyncIterator[scrapy.Request]:
        for url in self.urls[:-1]:
            yield self.request(url)
        await pause(1.5)
        yield self.request(self.urls[-1])


async def crawled_in_spite_of_hours(host: Host, spider: type[ProbeSpider], **settings: Any) -> None:
    settings.update(ROBOTS_VISIT_TIME="obey", ROBOTS_TTL=(1, 1), CLOSESPIDER_TIMEOUT=20)
    urls = [host.url(f"/{page}") for page in range(PAGES)]
    crawler = await crawl(*urls, spider=spider, **settings)
    assert sorted(crawler.spider.got) == urls
    assert stat(crawler, "finish_reason") == "finished"


def with_hours_at_first(sites: Sites) -> Host:
    return sites.host(in_turn(answer(f"{OPEN}Visit-time: {far_from_now()}\n"), answer(OPEN)))


@reads_paces
@pytest.mark.parametrize("queue", SCRAPYS)
@pytest_twisted.ensureDeferred
async def test_hours_that_a_site_takes_back_hold_nothing_at_the_door(
    sites: Sites, queue: str
) -> None:
    host = with_hours_at_first(sites)
    await crawled_in_spite_of_hours(host, WithOneLater, SCHEDULER_PRIORITY_QUEUE=queue)


@reads_paces
@pytest.mark.parametrize("has_job", [False, True], ids=["memory", "job"])
@pytest_twisted.ensureDeferred
async def test_hours_that_a_site_takes_back_hold_nothing_in_the_queue(
    sites: Sites, tmp_path: Path, has_job: bool
) -> None:
    """The file is fetched again when it has expired, even if nothing else asks for it."""
    settings = {"JOBDIR": str(tmp_path)} if has_job else {}
    await crawled_in_spite_of_hours(with_hours_at_first(sites), ProbeSpider, **settings)


@pytest.mark.parametrize("queue", SCRAPYS)
@pytest_twisted.ensureDeferred
async def test_what_waits_keeps_the_delay_of_its_own_override_under_a_new_file(
    sites: Sites, queue: str
) -> None:
    host = sites.host(OPEN)
    slowly = {"robots_override": {"crawl_delay": 2, "reason": "agreed"}}

    class SlowAtFirst(ProbeSpider):
        async def start(self) -> AsyncIterator[scrapy.Request]:
            for page in range(3):
                yield self.request(host.url(f"/{page}"), meta=slowly)
            await pause(1.5)
            yield self.request(host.url("/later"))

    await crawl(spider=SlowAtFirst, ROBOTS_TTL=(1, 1), SCHEDULER_PRIORITY_QUEUE=queue)
    assert host.robots_hits == 2
    assert min(host.gaps) >= 1.99


@reads_paces
@pytest.mark.parametrize("queue", ["scrapy_robots_plus.RobotsPriorityQueue", SCRAPYS[0]])
@pytest_twisted.ensureDeferred
async def test_what_waits_for_the_hours_of_its_own_override_is_not_sent_when_the_file_comes(
    sites: Sites, queue: str
) -> None:
    host = sites.host(OPEN)
    text = f"User-agent: *\nDisallow: /x\nVisit-time: {far_from_now()}\n"

    class ClosedAtFirst(ProbeSpider):
        async def start(self) -> AsyncIterator[scrapy.Request]:
            meta = {"robots_override": {"robots_txt": text}}
            yield self.request(host.url("/with-hours"), meta=meta)
            await pause(0.5)
            yield self.request(host.url("/plain"))

    await crawl(
        spider=ClosedAtFirst,
        ROBOTS_VISIT_TIME="obey",
        SCHEDULER_PRIORITY_QUEUE=queue,
        CLOSESPIDER_TIMEOUT=2,
    )
    assert host.robots_hits == 1
    assert "/with-hours" not in host.fetched


@pytest_twisted.ensureDeferred
async def test_what_waits_under_an_override_that_has_ended_is_denied_by_the_rules_of_the_site(
    sites: Sites,
) -> None:
    host, now = sites.host(CLOSED), [time.time()]
    end = datetime.fromtimestamp(now[0] + 60, timezone.utc)
    override = {"obey": False, "reason": "agreed", "crawl_delay": 5, "until": end}

    class EndsIt(ProbeSpider):
        async def start(self) -> AsyncIterator[scrapy.Request]:
            for page in range(PAGES):
                yield self.request(host.url(f"/{page}"))
            await until(lambda: self.got)
            now[0] += 61
            yield self.request(host.url("/later"))

    crawler = make_crawler(
        EndsIt, ROBOTS_OVERRIDES={host.address: override}, SCHEDULER_PRIORITY_QUEUE=SCRAPYS[0]
    )
    Crawl.of(crawler, Clock(wall=lambda: now[0]))
    await run(crawler)
    assert len(host.fetched) == 1
    assert len(crawler.spider.failures) == PAGES
    assert {type(each) for each in crawler.spider.failures.values()} == {RobotsDisallowed}
