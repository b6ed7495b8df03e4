"""ROBOTS_DEFER: requests wait in the queue until the robots.txt can be read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
from scrapy import Request, signals
from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import deferred_from_coro
from twisted.internet.defer import Deferred

from scrapy_robots_plus import RobotsUnreachable
from tests.crawl.jobs import JobSpider, all_pages, fetched
from tests.crawling import ProbeSpider, crawl, make_crawler, resumes_jobs, run, stat
from tests.sites import after, answer, hang_up, in_turn
from tests.waiting import close_when

if TYPE_CHECKING:
    from pathlib import Path

    from tests.sites import Sites

pytestmark = resumes_jobs


DEFER: dict[str, Any] = {
    "ROBOTS_DEFER": 3600,
    "ROBOTS_RETRY_INTERVAL": (0.2, 3600),
    "ROBOTS_FETCH_RETRIES": 0,
}


@pytest_twisted.ensureDeferred
async def test_a_server_that_is_down_for_a_while_gets_every_held_page_afterwards(
    sites: Sites,
) -> None:
    down = answer("", 503)
    host = sites.host(in_turn(down, hang_up, down, answer("User-agent: *\nDisallow: /closed\n")))
    paths = [f"/{number}" for number in range(5)]
    crawler = await crawl(*(host.url(path) for path in [*paths, "/closed"]), **DEFER)
    assert sorted(host.fetched) == paths
    assert list(crawler.spider.failures) == [host.url("/closed")]
    assert host.robots_hits == 4


@pytest_twisted.ensureDeferred
async def test_after_the_maximum_they_fail_with_the_reason(sites: Sites) -> None:
    dead, other = sites.host(answer("", 503)), sites.host()
    crawler = await crawl(
        dead.url("/a"), dead.url("/b"), other.url("/c"),
        **{**DEFER, "ROBOTS_DEFER": 1}, CLOSESPIDER_TIMEOUT=60,
    )  # fmt: skip
    assert dead.fetched == []
    assert other.fetched == ["/c"]
    assert {type(error) for error in crawler.spider.failures.values()} == {RobotsUnreachable}
    assert len(crawler.spider.failures) == 2
    assert stat(crawler, "finish_reason") == "finished"


@pytest_twisted.ensureDeferred
async def test_without_our_queue_they_fail(sites: Sites) -> None:
    dead = sites.host(answer("", 503))
    crawler = await crawl(
        dead.url("/a"), **DEFER, SCHEDULER_PRIORITY_QUEUE="scrapy.pqueues.ScrapyPriorityQueue"
    )
    assert list(crawler.spider.failures) == [dead.url("/a")]


class LinkSpider(ProbeSpider):
    """Follows a link without an errback."""

    def parse(self, response: Any) -> Any:
        super().parse(response)
        if response.meta.get("link"):
            yield Request(response.meta["link"])


@pytest_twisted.ensureDeferred
async def test_a_link_found_while_its_robots_txt_is_known_to_fail_waits_too(sites: Sites) -> None:
    down = answer("", 503)
    host = sites.host(in_turn(down, down, down, answer("User-agent: *\nDisallow: /closed\n")))
    other = sites.host()
    other.pages["/"] = after(0.3, answer("<p>", content_type="text/html"))
    settings = {**DEFER, "ROBOTS_RETRY_INTERVAL": (0.5, 3600)}
    link = Request(other.url("/"), meta={"link": host.url("/linked")})
    await crawl(host.url("/"), link, spider=LinkSpider, **settings)
    assert sorted(host.fetched) == ["/", "/linked"]


@pytest_twisted.ensureDeferred
async def test_requests_from_code_fail(sites: Sites) -> None:
    """``engine.download_async()`` is not the scheduler's, so there is no queue to wait in."""
    dead, host = sites.host(answer("", 503)), sites.host()
    crawler = make_crawler(**DEFER)
    errors: list[BaseException] = []

    def ask_soon() -> None:
        call_later(0.2, ask)

    def note(failure: Any) -> None:
        errors.append(failure.value)

    def ask() -> None:
        request = Request(dead.url("/a"))
        asked: Deferred[Any] = deferred_from_coro(crawler.engine.download_async(request))
        asked.addErrback(note)

    crawler.signals.connect(ask_soon, signals.spider_opened)
    host.pages["/slow"] = after(1, answer("<p>"))
    await run(crawler, urls=[host.url("/slow")])
    assert [type(error) for error in errors] == [RobotsUnreachable]


@pytest.mark.parametrize("stopped_in", ["the first crawl", "no crawl"])
@pytest_twisted.ensureDeferred
async def test_in_another_crawl_too_when_stopped_in_between(
    sites: Sites, tmp_path: Path, stopped_in: str
) -> None:
    host = sites.host(answer("", 503))
    settings = {**DEFER, "JOBDIR": str(tmp_path)}
    if stopped_in == "the first crawl":
        crawler = make_crawler(JobSpider, **settings)
        close_when(lambda: host.robots_hits > 1, crawler)
        await run(crawler, urls=[host.url("/0")])
        assert crawler.spider.failed == []
    host.robots("User-agent: *\nAllow: /\n")
    crawler = make_crawler(JobSpider, **settings)
    await run(crawler, urls=[host.url("/0")])
    assert fetched([host]) == all_pages([host])


@pytest_twisted.ensureDeferred
async def test_a_lifetime_of_nothing_is_no_busy_loop(sites: Sites) -> None:
    dead = sites.host(answer("", 503))
    settings = {**DEFER, "ROBOTS_RETRY_INTERVAL": (0, 3600), "ROBOTS_DEFER": 1}
    await crawl(dead.url("/a"), **settings)
    assert 2 <= dead.robots_hits <= 12
