"""A job that is stopped loses nothing and fetches nothing twice, wherever its requests wait."""

from __future__ import annotations

import random
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
import scrapy
from scrapy import signals
from scrapy.core.scheduler import Scheduler
from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import deferred_from_coro
from scrapy.utils.test import get_crawler

from scrapy_robots_plus.job import FILE_NAME, overview
from tests.crawl.jobs import (
    MAIN,
    PAGES,
    SCRAPYS_QUEUE,
    JobSpider,
    all_pages,
    fetched,
    make_hosts,
    run_to_the_end,
    run_until_so,
)
from tests.crawling import (
    BASE_SETTINGS,
    HAS_THROTTLER,
    IN_FILES,
    make_crawler,
    parts_of_seconds,
    resumes_jobs,
    run,
    stat,
)
from tests.programs import Program
from tests.sites import hang
from tests.waiting import close_when

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from tests.sites import Host, Sites

pytestmark = resumes_jobs


async def run_until(moment: float, hosts: list[Host], **settings: Any) -> Crawler:
    """Runs the job until it ends or until *moment*, in seconds."""
    crawler = make_crawler(JobSpider, **settings)

    def stop_then() -> None:
        def stop() -> None:
            if crawler.crawling and crawler.engine.spider:
                deferred_from_coro(crawler.engine.close_spider_async(reason="stopped"))

        call_later(moment, stop)

    crawler.signals.connect(stop_then, signals.spider_opened)
    await run(crawler, urls=[host.url("/0") for host in hosts])
    return crawler


async def run_job(moments: Iterator[float], hosts: list[Host], **settings: Any) -> list[Crawler]:
    """Stops at one moment after the other, and resumes, until the job is done."""
    crawlers = []
    for moment in moments:
        crawlers.append(await run_until(moment, hosts, **settings))
        if stat(crawlers[-1], "finish_reason") == "finished":
            return crawlers
    raise AssertionError("the job does not end")


def random_moments(seed: int) -> Iterator[float]:
    generator = random.Random(seed)
    while True:
        yield generator.uniform(0.0, 0.6)


async def check_random_moments(sites: Sites, jobs: Path, seed: int, **settings: Any) -> int:
    hosts = make_hosts(sites)
    settings = {"JOBDIR": str(jobs / str(seed)), "CONCURRENT_REQUESTS": 4, **settings}
    crawlers = await run_job(random_moments(seed), hosts, **settings)
    assert fetched(hosts) == all_pages(hosts)
    assert [url for crawler in crawlers for url in crawler.spider.failed] == []
    return len(crawlers) - 1


@pytest_twisted.ensureDeferred
async def test_stopped_at_random_every_page_is_fetched_once(sites: Sites, tmp_path: Path) -> None:
    assert await check_random_moments(sites, tmp_path, seed=16) > 1


class NumbersSlots(JobSpider):
    async def start(self) -> AsyncIterator[scrapy.Request]:
        for number, url in enumerate(self.urls):
            yield scrapy.Request(url, meta={"download_slot": number % 3})


@pytest.mark.parametrize("obey", [True, False])
@pytest_twisted.ensureDeferred
async def test_a_slot_need_not_be_text(sites: Sites, tmp_path: Path, obey: bool) -> None:
    host = sites.host("User-agent: *\nAllow: /\n")
    crawler = make_crawler(NumbersSlots, JOBDIR=str(tmp_path), ROBOTSTXT_OBEY=obey)
    await run(crawler, urls=[host.url(f"/{number}") for number in range(1, 6)])
    assert sorted(host.fetched) == [f"/{number}" for number in range(1, 6)]
    assert stat(crawler, "robotstxt/queue/kept_in_memory") == 0
    assert overview(tmp_path / FILE_NAME, 0).stored == 0


@pytest.mark.stress
@pytest.mark.parametrize("kept", [{}, IN_FILES], ids=["one file", "files"])
@pytest_twisted.ensureDeferred
async def test_stopped_at_50_random_moments(
    sites: Sites, tmp_path: Path, kept: dict[str, str]
) -> None:
    stops, seed = 0, 100
    while stops < 50:
        seed += 1
        stops += await check_random_moments(sites, tmp_path, seed, **kept)


@pytest.mark.parametrize("queue", [SCRAPYS_QUEUE, "scrapy.pqueues.ScrapyPriorityQueue", None])
@pytest_twisted.ensureDeferred
async def test_what_waits_for_robots_txt_goes_back_to_the_queue(
    sites: Sites, tmp_path: Path, queue: str | None
) -> None:
    """In the middleware too, where requests wait with other queues."""
    host = sites.host(hang)
    settings: dict[str, Any] = {"JOBDIR": str(tmp_path), "ROBOTS_FETCH_TIMEOUT": 30}
    if queue:
        settings["SCHEDULER_PRIORITY_QUEUE"] = queue
    stopped = await run_until_so(lambda: host.robots_hits, [host], **settings)
    assert stopped.spider.failed == []
    assert stat(stopped, "robotstxt/put_back") == (1 if queue else 0)
    if not queue:
        held = overview(tmp_path / FILE_NAME, 1)
        assert (held.waiting, held.under_way) == (1, 0)
    host.robots("User-agent: *\nAllow: /\n")
    for _ in range(2):  # the second time it comes again, it is to be like any other
        await run_to_the_end([host], **settings)
    assert fetched([host]) == all_pages([host])


@parts_of_seconds
@pytest.mark.parametrize(
    ("first", "kept"), [("ours", IN_FILES), ("Scrapy's", IN_FILES), ("Scrapy's", {})]
)
@pytest_twisted.ensureDeferred
async def test_a_job_can_be_resumed_by_either_queue(
    sites: Sites, tmp_path: Path, first: str, kept: dict[str, str]
) -> None:
    hosts = [sites.host("User-agent: *\nDisallow: /never\nCrawl-delay: 0.1\n"), sites.host()]
    ours: dict[str, Any] = {"JOBDIR": str(tmp_path), "CONCURRENT_REQUESTS": 2, **kept}
    theirs = {**ours, "SCHEDULER_PRIORITY_QUEUE": SCRAPYS_QUEUE}
    order = [ours, theirs] if first == "ours" else [theirs, ours]
    await run_until_so(lambda: len(hosts[0].fetched) > 2, hosts, **order[0])
    # A throttler may have taken all from the queue by then; the end of the crawl waits for those.
    assert HAS_THROTTLER or fetched(hosts) != all_pages(hosts)
    await run_to_the_end(hosts, **order[1])
    assert fetched(hosts) == all_pages(hosts)


class CannotBeKept(JobSpider):
    """Its errback is no method of its own, so that its requests cannot be put on disk."""

    async def start(self) -> AsyncIterator[scrapy.Request]:
        for url in self.urls:
            yield scrapy.Request(url, errback=lambda failure: self.count_failure(failure))


@pytest_twisted.ensureDeferred
async def test_what_waits_and_cannot_be_put_on_disk_fails(sites: Sites, tmp_path: Path) -> None:
    host = sites.host(hang)
    settings = {"JOBDIR": str(tmp_path), "SCHEDULER_PRIORITY_QUEUE": SCRAPYS_QUEUE}
    crawler = make_crawler(CannotBeKept, **settings)
    close_when(lambda: host.robots_hits, crawler)
    await run(crawler, urls=[host.url("/0")])
    assert crawler.spider.failed == [host.url("/0")]


class Scored(JobSpider):
    """Its priorities are no whole numbers, which only ``Request()`` refuses."""

    def parse(self, response: Response) -> Iterator[scrapy.Request]:
        for request in super().parse(response):
            request.priority *= 0.5  # type: ignore[assignment]
            yield request


@pytest.mark.parametrize("kept", ["in memory", "in a file"])
@pytest_twisted.ensureDeferred
async def test_a_priority_may_be_set_to_any_number(sites: Sites, tmp_path: Path, kept: str) -> None:
    host = sites.host("User-agent: *\nDisallow: /never\n")
    settings = {"JOBDIR": str(tmp_path)} if kept == "in a file" else {}
    crawler = make_crawler(Scored, **settings)
    await run(crawler, urls=[host.url("/0")])
    assert fetched([host]) == all_pages([host])
    assert stat(crawler, "robotstxt/queue/lost") == 0


class Renamed(scrapy.Spider):
    """The same spider after its author renamed a callback, and nothing new to begin with."""

    name = JobSpider.name

    async def start(self) -> AsyncIterator[scrapy.Request]:
        return
        yield

    def parse(self, response: Response) -> None:
        pass

    count_failure = parse


class ToBeRenamed(JobSpider):
    """Leaves three requests in its queue, of which one has a callback that will be gone."""

    def parse(self, response: Response) -> Iterator[scrapy.Request]:
        self.crawler.engine.pause()
        for number in (1, 2):
            yield scrapy.Request(response.urljoin(f"/{number}"), priority=1)
        yield scrapy.Request(response.urljoin("/renamed"), callback=self.old_name, priority=5)

    def old_name(self, response: Response) -> None:
        pass


@pytest.mark.stress
@pytest.mark.parametrize("queue", [SCRAPYS_QUEUE, None])
@pytest_twisted.ensureDeferred
async def test_a_request_that_cannot_be_read_from_disk_keeps_no_other_from_being_sent(
    sites: Sites, tmp_path: Path, queue: str | None
) -> None:
    host = sites.host("User-agent: *\nDisallow: /never\n")
    settings: dict[str, Any] = {"JOBDIR": str(tmp_path)}
    if queue:
        settings["SCHEDULER_PRIORITY_QUEUE"] = queue
    first = make_crawler(ToBeRenamed, **settings)
    close_when(lambda: stat(first, "scheduler/enqueued/disk") == 4, first)
    await run(first, urls=[host.url("/0")])
    assert host.fetched == ["/0"]
    second = make_crawler(Renamed, **settings, CLOSESPIDER_TIMEOUT=60)
    await run(second)
    assert sorted(host.fetched) == ["/0", "/1", "/2"]
    assert stat(second, "finish_reason") == "finished"


def killed(sites: Sites, job: Path, settings: str, pages: int = 10, of_each: int = 0) -> int:
    """Requests that were lost when a job was killed that had got *pages*, and resumed.

    The first page of a host has the links to all others: without it, one request was lost. With
    two pages *of_each* host, no kill comes while links of a first page are added to the queue.
    """
    hosts = [sites.host("User-agent: *\nDisallow: /never\nCrawl-delay: 0.1\n") for _ in range(3)]
    arguments = [str(job), settings, *(host.url("/0") for host in hosts)]
    program = Program(MAIN, *arguments)
    while program.poll() is None:
        got = [len(host.fetched) for host in hosts]
        if sum(got) >= pages and min(got) >= of_each:
            break
        time.sleep(0.01)
    program.kill()
    program.communicate()
    Program(MAIN, *arguments).succeed(60)
    missing = Counter(address for address, _ in (all_pages(hosts) - fetched(hosts)).elements())
    return sum(1 if lost >= PAGES - 1 else lost for lost in missing.values())


def test_killed_a_job_in_files_is_no_worse_than_scrapys_own(sites: Sites, tmp_path: Path) -> None:
    ours = killed(sites, tmp_path / "ours", "", of_each=2)
    theirs = killed(sites, tmp_path / "theirs", SCRAPYS_QUEUE, of_each=2)
    # Each may have any of its requests under way when it is killed.
    assert ours <= theirs + 3


@pytest.mark.stress
def test_killed_at_all_kinds_of_moments(sites: Sites, tmp_path: Path) -> None:
    ours = theirs = 0
    moments = range(1, 3 * PAGES, 3)
    for pages in moments:
        ours += killed(sites, tmp_path / f"ours-{pages}", "", pages)
        theirs += killed(sites, tmp_path / f"theirs-{pages}", SCRAPYS_QUEUE, pages)
    print(f"{len(moments)} kills each: {ours} requests lost, with Scrapy's queue {theirs}")
    assert ours <= theirs + 3 * len(moments)


def test_a_crawler_that_does_not_crawl_leaves_the_job_alone(tmp_path: Path) -> None:
    """As the tests of a project make one."""
    crawler = get_crawler(settings_dict={**BASE_SETTINGS, "JOBDIR": str(tmp_path)})
    scheduler = Scheduler.from_crawler(crawler)
    seen = [scheduler.df.request_seen(scrapy.Request("http://a.example/")) for _ in range(2)]
    scheduler.df.close("done")
    assert seen == [False, True]
    assert not (tmp_path / FILE_NAME).exists()
