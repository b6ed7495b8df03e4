"""Whatever scheduler keeps requests: what waits for a robots.txt when a crawl stops goes back."""

from __future__ import annotations

import json
import random
import signal
import sys
import time
import warnings
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
from scrapy.core.scheduler import Scheduler
from scrapy.exceptions import ScrapyDeprecationWarning

from tests.crawl.jobs import JobSpider, all_pages, fetched, run_to_the_end, run_until_so
from tests.crawling import BASE_SETTINGS, OwnSettings, crawl, stat
from tests.programs import Program
from tests.redis_server import redis_server, scrapy_redis_may_warn
from tests.sites import after, answer, hang

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request

    from tests.sites import Host, Sites

pytestmark = scrapy_redis_may_warn

PATIENT = {"ROBOTS_FETCH_TIMEOUT": 30, "ROBOTS_FETCH_RETRIES": 0}
SCRAPYS_OWN = {"ADDONS": {}, "ROBOTSTXT_OBEY": True}
"""Scrapy's robots.txt middleware in place of ours."""
SCRAPYS_QUEUE = {"SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.ScrapyPriorityQueue"}
"""With it, requests wait in the middleware."""


@pytest.fixture
def redis() -> Iterator[dict[str, Any]]:
    with redis_server() as settings:
        yield settings


@pytest_twisted.ensureDeferred
async def test_stopped_and_resumed_with_scrapy_redis_no_page_is_lost(
    sites: Sites, redis: dict[str, Any]
) -> None:
    host = sites.host(hang)
    settings = {**redis, **PATIENT}
    stopped = await run_until_so(partial(asked, host), [host], **settings)
    assert stopped.spider.failed == []
    assert stat(stopped, "robotstxt/put_back") == 1
    host.robots("User-agent: *\nAllow: /\n")
    await run_to_the_end([host], **settings)
    assert fetched([host]) == all_pages([host])


def asked(host: Host) -> int:
    return host.robots_hits


@pytest_twisted.ensureDeferred
async def test_a_scheduler_that_forgets_is_given_nothing(
    sites: Sites, redis: dict[str, Any]
) -> None:
    """So the errback is called, as for any request that is dropped."""
    for settings in (SCRAPYS_QUEUE, {**redis, "SCHEDULER_PERSIST": False}):
        host = sites.host(hang)
        stopped = await run_until_so(partial(asked, host), [host], **PATIENT, **settings)
        assert stopped.spider.failed == [host.url("/0")]
        assert stat(stopped, "robotstxt/put_back") == 0


class OwnScheduler(Scheduler):
    """One of a project, that keeps requests where only it knows."""

    kept: list[str] = []  # noqa: RUF012 - outlives the crawl, as a data base does

    def enqueue_request(self, request: Request) -> bool:
        if "robots_put_back" in request.meta:
            self.kept.append(request.url)
        return super().enqueue_request(request)


@pytest_twisted.ensureDeferred
async def test_a_scheduler_that_nobody_knows_is_taken_to_keep_its_requests(sites: Sites) -> None:
    host = sites.host(hang)
    OwnScheduler.kept.clear()
    await run_until_so(
        partial(asked, host), [host], SCHEDULER=OwnScheduler, **PATIENT, **SCRAPYS_QUEUE
    )
    assert OwnScheduler.kept == [host.url("/0")]


def interrupted(hosts: list[Host], stops: list[float], **settings: Any) -> int:
    """Pages missing after SIGINT at each of the moments, in seconds from the first request on."""
    arguments = [json.dumps(settings), *(host.url("/0") for host in hosts)]
    for moment in stops:
        hits = len(hosts[0].sites.hits)
        program = Program(MAIN, *arguments)
        while len(hosts[0].sites.hits) == hits and program.poll() is None:
            time.sleep(0.01)
        time.sleep(moment)
        program.send_signal(signal.SIGINT)
        program.communicate(timeout=60)
    Program(MAIN, *arguments).succeed(120)
    return (all_pages(hosts) - fetched(hosts)).total()


def slow_hosts(sites: Sites, number: int) -> list[Host]:
    """Each takes its time for its robots.txt, and some ask for a delay."""
    rules = "User-agent: *\nDisallow: /never\n"
    delays = ["", "Crawl-delay: 0.1\n"]
    return [
        sites.host(after(0.2 + 0.15 * turn, answer(rules + delays[turn % 2])))
        for turn in range(number)
    ]


def test_interrupted_with_scrapy_redis_no_page_is_lost(sites: Sites, redis: dict[str, Any]) -> None:
    assert interrupted(slow_hosts(sites, 6), [0.4], **redis) == 0


@pytest.mark.stress
def test_interrupted_ten_times_with_scrapy_redis_no_page_is_lost(
    sites: Sites, redis: dict[str, Any]
) -> None:
    generator = random.Random(1)
    stops = [generator.uniform(0, 1.5) for _ in range(10)]
    ours = interrupted(slow_hosts(sites, 25), stops, **redis)
    with redis_server() as another:
        theirs = interrupted(slow_hosts(sites, 25), stops, **another, **SCRAPYS_OWN)
    print(f"10 interrupts, 300 pages: {ours} lost; with Scrapy's own middleware {theirs}")
    assert ours == 0


class Discards(Scheduler):
    """Drops what has become stale, as schedulers of projects do."""

    def next_request(self) -> Request | None:
        while (request := super().next_request()) is not None and "stale" in request.url:
            pass
        return request


@pytest.mark.parametrize("queue", [SCRAPYS_QUEUE, {}], ids=["scrapys", "robots"])
@pytest_twisted.ensureDeferred
async def test_a_scheduler_that_discards_requests_loses_no_others(
    sites: Sites, queue: dict[str, Any]
) -> None:
    host = sites.host("User-agent: *\nDisallow: /never\n")
    urls = [host.url(f"/stale{number}") for number in range(8)] + [host.url("/good")]
    crawler = await crawl(*urls, SCHEDULER=Discards, CLOSESPIDER_TIMEOUT=60, **queue)
    assert (host.fetched, stat(crawler, "finish_reason")) == (["/good"], "finished")


MAIN = f"{__name__}:main"


def main() -> None:
    from scrapy.crawler import AsyncCrawlerProcess

    warnings.simplefilter("default", ScrapyDeprecationWarning)  # what scrapy-redis does
    own, *urls = sys.argv[1:]
    process = AsyncCrawlerProcess(
        OwnSettings({**BASE_SETTINGS, "LOG_LEVEL": "ERROR", **json.loads(own)})
    )
    process.crawl(JobSpider, urls=urls)
    process.start()
