"""Hosts that refuse requests are asked less often, and given up if they refuse all."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any, ClassVar

import pytest
import pytest_twisted
from scrapy import Request
from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import deferred_from_coro
from twisted.internet.defer import gatherResults

from scrapy_robots_plus import Reason, RobotsGivenUp, RobotsMiddleware
from scrapy_robots_plus.hosts.door import Door
from scrapy_robots_plus.hosts.refusal_shares import FEW
from scrapy_robots_plus.hosts.refusals import Refusals
from scrapy_robots_plus.hosts.throttle import Throttle
from tests.broken_sites import Dead, EveryNth, served
from tests.crawl_process import MODES, crawl_in_process
from tests.crawling import ProbeSpider, crawl, make_crawler, run, stat
from tests.limiters import LIMITERS, Bucket, Interval, limited
from tests.limiting_nginx import LimitingNginx, has_nginx
from tests.sending import TimedSpider
from tests.sites import after, answer, in_turn, redirect, when
from tests.waiting import close_when, until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from scrapy.http import Response

    from tests.sites import Host, Sites

RETRY: dict[str, Any] = {"RETRY_ENABLED": True}
SCRAPYS_QUEUE = {"SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.ScrapyPriorityQueue"}
QUEUES = pytest.mark.parametrize("queue", [{}, SCRAPYS_QUEUE], ids=["ours", "Scrapy's"])
REFUSED, SLOWED = "robotstxt/backoff/refused", "robotstxt/backoff/slowed_down"
GIVEN_UP = "robotstxt/backoff/given_up"


def pages(host: Host, count: int) -> list[str]:
    return [host.url(f"/page?{number}") for number in range(count)]


def throttle_of(crawler: Any, host: Host) -> Throttle:
    answers = crawler.get_downloader_middleware(RobotsMiddleware).crawl.get(Refusals)
    throttle = answers.throttles[host.address]
    assert isinstance(throttle, Throttle)
    return throttle


@QUEUES
@pytest_twisted.ensureDeferred
async def test_no_page_of_a_host_with_a_limit_is_lost(sites: Sites, queue: dict[str, Any]) -> None:
    host = sites.host()
    host.pages["/page"] = limited(Interval(20.0))
    crawler = await crawl(*pages(host, 20), **RETRY, **queue)
    assert sorted(crawler.spider.got) == sorted(pages(host, 20))
    # A page that is refused twice in a row may say nothing more about its host.
    assert 0 < stat(crawler, REFUSED) <= stat(crawler, "retry/count") == len(host.fetched) - 20
    assert stat(crawler, SLOWED) < stat(crawler, REFUSED)
    assert crawler.spider.failures == {}


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "asyncio"])
def test_in_other_reactor_modes(sites: Sites, mode: str) -> None:
    host = sites.host()
    host.pages["/page"] = limited(Bucket(20.0, 3))
    done = crawl_in_process(mode, *pages(host, 20), **RETRY)
    assert done["stats"][SLOWED] >= 1
    assert done["stats"]["downloader/response_status_count/200"] >= 20


@pytest_twisted.ensureDeferred
async def test_refused_pages_are_retried_more_often_than_pages_that_fail(sites: Sites) -> None:
    host, other = sites.host(), sites.host()
    refusals = [answer(status=429)] * 4
    host.pages["/page"] = in_turn(*refusals, answer("x"))
    other.pages["/fails"] = answer(status=500)
    settings: dict[str, Any] = {**RETRY, "ROBOTS_BACKOFF_MAX": 0.1}
    crawler = await crawl(host.url("/page"), other.url("/fails"), **settings)
    assert crawler.spider.got == [host.url("/page")]
    assert (host.fetched.count("/page"), other.fetched.count("/fails")) == (5, 3)


@pytest_twisted.ensureDeferred
async def test_a_page_that_is_refused_while_others_are_not_costs_no_other(
    sites: Sites,
) -> None:
    host = sites.host()
    host.pages["/page"] = answer(status=429)
    requests = [Request(host.url("/page"), priority=20)]
    requests += [Request(host.url(f"/good?{number}")) for number in range(30)]
    crawler = await crawl(*requests, **RETRY, CONCURRENT_REQUESTS=1)
    assert len(crawler.spider.got) == 30
    assert host.fetched.count("/page") <= 5
    assert stat(crawler, SLOWED) <= 1
    assert stat(crawler, GIVEN_UP) == 0


@pytest.mark.parametrize(
    "where",
    [
        "scattered",
        pytest.param("in a row", marks=pytest.mark.stress),
        pytest.param("at the end", marks=pytest.mark.stress),
    ],
)
@pytest_twisted.ensureDeferred
async def test_pages_that_are_always_503_cost_no_other_page(sites: Sites, where: str) -> None:
    host = sites.host()
    dead = {"scattered": range(2, 60, 12), "in a row": range(20, 25), "at the end": range(55, 60)}
    host.pages["/page"] = served(Dead(dead[where]))
    crawler = await crawl(*pages(host, 60), **RETRY)
    assert len(crawler.spider.got) == 55
    assert len(host.fetched) <= 55 + 5 * (3 + Throttle.FORGIVEN)
    assert throttle_of(crawler, host).waited <= 10


@pytest_twisted.ensureDeferred
async def test_what_was_answered_before_the_first_refusal_counts(sites: Sites) -> None:
    host = sites.host()
    host.pages["/page"] = served(Dead({20}))
    crawler = await crawl(*pages(host, 21), CONCURRENT_REQUESTS=1)
    throttle = throttle_of(crawler, host)
    assert [*throttle._shares.at_full_speed] == [*[False] * FEW, True]


@pytest_twisted.ensureDeferred
async def test_refusals_that_have_nothing_to_do_with_the_pace_do_not_slow_a_host_down(
    sites: Sites,
) -> None:
    host = sites.host()
    host.pages["/page"] = served(EveryNth(5))
    crawler = await crawl(*pages(host, 50), **RETRY)
    assert len(crawler.spider.got) == 50
    assert throttle_of(crawler, host).waited <= 10


@pytest.mark.parametrize(
    ("statuses", "slowed"),
    [
        ((503, 200, 200, 200), 0),
        ((503, 503, 200, 200, 200, 200), 0),
        ((503, 503, 200, 503, 200, 200), 1),
        ((503, 503, 503, 200), 1),
        ((429, 200, 200, 200), 1),
        ((404, 500, 403, 410), 0),
    ],
)
@pytest_twisted.ensureDeferred
async def test_what_slows_a_host_down(sites: Sites, statuses: tuple[int, ...], slowed: int) -> None:
    host = sites.host()
    host.pages["/page"] = in_turn(*(answer("x", status=each) for each in statuses), answer("x"))
    settings: dict[str, Any] = {"CONCURRENT_REQUESTS_PER_DOMAIN": 1, "ROBOTS_BACKOFF_MAX": 0.1}
    crawler = await crawl(*pages(host, len(statuses)), **settings)
    assert stat(crawler, SLOWED) == slowed


@pytest.mark.parametrize(
    "header",
    [
        *("0", "soon", "Thu, 01 Jan 1970 00:00:00 GMT", "-5", ""),
        *("1795000000", "1" + "0" * 20, "Fri, 31 Dec 9999 23:59:59 GMT"),
    ],
)
@pytest_twisted.ensureDeferred
async def test_a_retry_after_that_says_nothing_is_none(sites: Sites, header: str) -> None:
    host = sites.host()
    refusal = answer(status=429, retry_after=header)
    host.pages["/page"] = in_turn(refusal, refusal, answer("x"))
    settings: dict[str, Any] = {
        **RETRY,
        "ROBOTS_BACKOFF_MAX": 0.2,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
    }
    crawler = await crawl(*pages(host, 1), **settings)
    assert len(crawler.spider.got) == 1
    assert (stat(crawler, SLOWED), stat(crawler, "robotstxt/retry_after")) == (1, 0)
    assert host.gaps[0] >= 0.19


@pytest_twisted.ensureDeferred
async def test_a_retry_after_that_asks_for_longer_is_honoured(sites: Sites) -> None:
    host = sites.host()
    host.pages["/page"] = in_turn(answer(status=429, retry_after="2"), answer("x"))
    await crawl(*pages(host, 1), **RETRY, CONCURRENT_REQUESTS_PER_DOMAIN=1)
    assert host.gaps[0] >= 1.9


@pytest.mark.parametrize(
    "settings",
    [{"ROBOTS_BACKOFF_MAX": 0}, {"ROBOTS_MODE": "observe"}, {"ROBOTSTXT_OBEY": False}],
    ids=["switched off", "observe mode", "nothing is obeyed"],
)
@pytest_twisted.ensureDeferred
async def test_where_nothing_is_slowed_down(sites: Sites, settings: dict[str, Any]) -> None:
    host = sites.host()
    host.pages["/page"] = answer(status=429)
    crawler = await crawl(*pages(host, 20), **settings)
    assert len(host.fetched) == 20
    assert stat(crawler, SLOWED) == 0


@pytest_twisted.ensureDeferred
async def test_a_429_to_a_robots_txt_is_not_one_to_a_page(sites: Sites) -> None:
    host = sites.host(answer(status=429, retry_after="1"))
    crawler = await crawl(*pages(host, 3), ROBOTS_STATUS_POLICY="fail-open")
    assert len(crawler.spider.got) == 3
    assert stat(crawler, REFUSED) == 0


@pytest_twisted.ensureDeferred
async def test_a_redirect_slows_down_the_host_that_refuses(sites: Sites) -> None:
    busy, other = sites.host(), sites.host()
    busy.pages["/page"] = in_turn(answer(status=429), answer("x"))
    other.pages["/page"] = redirect(busy.url("/page?1"), 302)
    settings: dict[str, Any] = {**RETRY, "ROBOTS_BACKOFF_MAX": 0.3}
    crawler = await crawl(other.url("/page"), *pages(other, 0), **settings)
    assert crawler.spider.got == [busy.url("/page?1")]
    assert busy.gaps[0] >= 0.29
    pacing = crawler.get_downloader_middleware(RobotsMiddleware).crawl.get(Door)
    assert pacing.pace_of(other.address) is None


@pytest.mark.parametrize("status", [429, 503])
@pytest_twisted.ensureDeferred
async def test_a_callback_that_handles_a_refusal_gets_it_no_later(
    sites: Sites, status: int
) -> None:
    host = sites.host()
    host.pages["/page"] = answer(status=status)
    requests = [Request(host.url("/page"), meta={"handle_httpstatus_list": [status]})]
    crawler = await crawl(*requests, **RETRY, ROBOTS_BACKOFF_MAX=0.1)
    assert crawler.spider.got == [host.url("/page")]
    assert len(host.fetched) == 3
    assert stat(crawler, SLOWED) == (status == 429)


@pytest_twisted.ensureDeferred
async def test_answers_of_the_http_cache_slow_nothing_down(sites: Sites, tmp_path: Path) -> None:
    host = sites.host()
    host.pages["/page"] = answer(status=429)
    cache: dict[str, Any] = {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(tmp_path)}
    await crawl(*pages(host, 4), **cache, ROBOTS_BACKOFF_MAX=0)
    crawler = await crawl(*pages(host, 4), **cache)
    assert stat(crawler, "httpcache/hit") >= 4
    assert stat(crawler, REFUSED) == 0


@QUEUES
@pytest_twisted.ensureDeferred
async def test_a_slot_that_several_hosts_share_is_not_slowed_down_by_one(
    sites: Sites, queue: dict[str, Any]
) -> None:
    busy, other = sites.host(), sites.host()
    busy.pages["/page"] = answer(status=429, retry_after="60")
    meta = {"download_slot": "proxy"}
    requests = [Request(url, meta=meta) for url in [*pages(busy, 2), *pages(other, 30)]]
    settings: dict[str, Any] = {
        "CONCURRENT_REQUESTS_PER_DOMAIN": 2,
        "ROBOTS_BACKOFF_MAX": 60,
        **RETRY,
        **queue,
    }
    crawler = make_crawler(**settings)
    close_when(lambda: len(crawler.spider.got) == 30, crawler)
    await run(crawler, urls=requests)
    assert sorted(crawler.spider.got) == sorted(pages(other, 30))
    assert 1 <= len(busy.fetched) <= 2  # both may have been under way at the first refusal


class TestGivingUp:
    SETTINGS: ClassVar[dict[str, Any]] = {
        **RETRY,
        "ROBOTS_GIVE_UP_AFTER": 3,
        "ROBOTS_BACKOFF_MAX": 0.1,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 2,
    }

    @QUEUES
    @pytest_twisted.ensureDeferred
    async def test_a_host_that_refuses_all_is_given_up_and_no_other(
        self, sites: Sites, queue: dict[str, Any], tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level("INFO")
        busy, other = sites.host(), sites.host()
        busy.pages["/page"] = answer(status=429, retry_after="1")
        files: dict[str, Any] = {
            "ROBOTS_SUMMARY_FILE": str(tmp_path / "summary.json"),
            "ROBOTS_AUDIT_LOG": str(tmp_path / "audit.jsonl"),
        }
        urls = [*pages(busy, 30), *pages(other, 5)]
        crawler = await crawl(*urls, **self.SETTINGS, **queue, **files)
        assert len(crawler.spider.got) == 5
        assert len(busy.fetched) >= 3
        assert queue or len(busy.fetched) < 20
        failures = crawler.spider.failures
        assert set(failures) == set(pages(busy, 30))
        assert {type(error) for error in failures.values()} == {RobotsGivenUp}
        assert {error.verdict.reason for error in failures.values()} == {Reason.GIVEN_UP}
        assert stat(crawler, GIVEN_UP) == 1
        assert stat(crawler, "robotstxt/forbidden/given_up") == 30
        tally = crawler.get_downloader_middleware(RobotsMiddleware).tally
        # What was sent counts as allowed, and each retry is judged anew.
        assert (tally.allowed, tally.denied) == (len(busy.fetched) + 5, 30)
        assert (
            "is given up: it has answered nothing but 429 with Retry-After 3 times in a row"
            in caplog.text
        )
        assert f"{busy.origin}  404, all allowed, given up  " in caplog.text
        summary = json.loads((tmp_path / "summary.json").read_text())
        assert summary["denied_by_reason"] == {"given_up": 30}
        assert [site["given_up"] for site in summary["sites"]] == [True, False]
        lines = map(json.loads, (tmp_path / "audit.jsonl").read_text().splitlines())
        reasons = [line["reason"] for line in lines if line["type"] == "verdict"]
        assert reasons == ["given_up"] * 30

    @pytest_twisted.ensureDeferred
    async def test_pages_that_are_refused_for_good_cost_no_page_that_comes_later(
        self, sites: Sites
    ) -> None:
        host = sites.host()
        host.pages["/page"] = answer(status=429)
        urgent = [Request(url, priority=1) for url in pages(host, 8)]
        settings = {**self.SETTINGS, "CONCURRENT_REQUESTS_PER_DOMAIN": 1}
        crawler = await crawl(*urgent, host.url("/good"), **settings)
        assert crawler.spider.got == [host.url("/good")]
        assert stat(crawler, GIVEN_UP) == 0

    @pytest_twisted.ensureDeferred
    async def test_nothing_waits_for_a_host_that_is_given_up(self, sites: Sites) -> None:
        host = sites.host()
        host.pages["/page"] = answer(status=429, retry_after="300")
        settings = {**self.SETTINGS, "ROBOTS_GIVE_UP_AFTER": 1, "ROBOTS_BACKOFF_MAX": 300}
        crawler = await crawl(*pages(host, 30), **settings)
        assert stat(crawler, GIVEN_UP) == 1
        assert stat(crawler, "elapsed_time_seconds") < 60

    @QUEUES
    @pytest_twisted.ensureDeferred
    async def test_what_robots_txt_does_not_apply_to_is_sent_on(
        self, sites: Sites, queue: dict[str, Any]
    ) -> None:
        host = sites.host()
        host.pages["/page"] = after(0.5, answer(status=429, retry_after="300"))

        class AsksForTwo(ProbeSpider):
            async def start(self) -> AsyncIterator[Request]:
                yield self.request(host.url("/page"))
                await until(lambda: host.fetched)
                yield self.request(host.url("/good"), meta={"dont_obey_robotstxt": True})

        settings = {**self.SETTINGS, "ROBOTS_GIVE_UP_AFTER": 1, "CONCURRENT_REQUESTS_PER_DOMAIN": 1}
        crawler = await crawl(spider=AsksForTwo, **settings, **queue)
        assert stat(crawler, GIVEN_UP) == 1
        assert crawler.spider.got == [host.url("/good")]

    @pytest_twisted.ensureDeferred
    async def test_a_single_answer_starts_the_count_again(self, sites: Sites) -> None:
        host = sites.host()
        refusals = [answer(status=429, retry_after="1")] * 2
        host.pages["/page"] = in_turn(*refusals, answer("x"), *refusals, answer("x"))
        settings = {**self.SETTINGS, "CONCURRENT_REQUESTS_PER_DOMAIN": 1}
        crawler = await crawl(*pages(host, 8), **settings)
        assert len(crawler.spider.got) == 8
        assert stat(crawler, GIVEN_UP) == 0

    @pytest.mark.parametrize(
        "settings",
        [
            {"ROBOTS_GIVE_UP_AFTER": 0},
            {"ROBOTSTXT_OBEY": False, "ROBOTS_CRAWL_DELAY_OBEY": True},
        ],
        ids=["switched off", "nothing is dropped"],
    )
    @pytest_twisted.ensureDeferred
    async def test_where_no_host_is_given_up(self, sites: Sites, settings: dict[str, Any]) -> None:
        host = sites.host()
        host.pages["/page"] = answer(status=429, retry_after="1")
        crawler = await crawl(
            *pages(host, 8), **{**self.SETTINGS, **settings, "RETRY_ENABLED": False}
        )
        assert len(host.fetched) == 8
        assert stat(crawler, GIVEN_UP) == 0

    @pytest_twisted.ensureDeferred
    async def test_of_requests_under_way_together_one_counts(self, sites: Sites) -> None:
        host = sites.host()
        refusal = when(lambda: len(host.fetched) >= 8, answer(status=429, retry_after="1"))
        host.pages["/page"] = in_turn(*[refusal] * 8, answer("x"))
        settings = {**self.SETTINGS, "CONCURRENT_REQUESTS_PER_DOMAIN": 8}
        crawler = await crawl(*pages(host, 10), **settings)
        assert len(crawler.spider.got) == 10
        assert stat(crawler, GIVEN_UP) == 0


@pytest.mark.stress
@pytest_twisted.ensureDeferred
async def test_a_limit_of_two_a_second_is_found(sites: Sites) -> None:
    """At most 10 % refused, in real crawls of all limiters, with and without Retry-After.

    The time depends on how busy the machine is; tests/hosts/test_throttle.py is stricter
    about it.
    """
    count = 400
    hosts, crawls = [], []
    for limiter in LIMITERS.values():
        for retry_after in (False, True):
            host = sites.host()
            host.pages["/page"] = limited(limiter(), retry_after=retry_after)
            crawler = make_crawler(ProbeSpider, **RETRY, LOG_LEVEL="INFO")
            hosts.append((host, crawler))
            crawls.append(crawler.crawl(urls=pages(host, count)))
    await gatherResults(crawls)
    for host, crawler in hosts:
        assert len(crawler.spider.got) == count
        assert len(host.fetched) - count <= 0.1 * len(host.fetched)
        assert sum(host.gaps) <= 2 * count / 2


@pytest.mark.stress
@pytest.mark.skipif(not has_nginx(), reason="needs nginx")
@pytest_twisted.ensureDeferred
async def test_a_limit_of_nginx_is_found(sites: Sites) -> None:
    """Three a second and a burst of five, 429 or 503, with and without Retry-After."""
    count = 200
    with LimitingNginx() as nginx:
        limits = [(status, asks) for status in (429, 503) for asks in (False, True)]
        origins = [nginx.server(*limit) for limit in limits]
        nginx.start()
        made = [make_crawler(ProbeSpider, **RETRY, LOG_LEVEL="INFO") for _ in origins]
        urls = [[f"{origin}/page?{number}" for number in range(count)] for origin in origins]
        crawls = zip(made, urls, strict=True)
        await gatherResults([crawler.crawl(urls=asked) for crawler, asked in crawls])
    for crawler in made:
        assert len(crawler.spider.got) == count
        assert stat(crawler, REFUSED) <= 0.15 * count
        assert stat(crawler, "elapsed_time_seconds") <= 2 * count / 3


class ClosesWhenRefused(ProbeSpider):
    """Is closed soon after the first refusal."""

    closed_at = 0.0

    def parse(self, response: Response) -> None:
        super().parse(response)
        call_later(0.3, self.close_now)

    def close_now(self) -> None:
        self.closed_at = time.monotonic()
        deferred_from_coro(self.crawler.engine.close_spider_async(reason="enough"))


# Scrapy's own queue leaves files open that it has emptied.
@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@QUEUES
@pytest_twisted.ensureDeferred
async def test_a_crawl_that_is_stopped_does_not_wait_and_loses_nothing(
    sites: Sites, tmp_path: Path, queue: dict[str, Any]
) -> None:
    host = sites.host()
    host.pages["/page"] = in_turn(answer("x"), *[answer(status=429)] * 5, answer("x"))
    settings: dict[str, Any] = {
        **RETRY,
        **queue,
        "JOBDIR": str(tmp_path),
        "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
    }
    requests = [Request(url) for url in pages(host, 30)]
    crawler = make_crawler(ClosesWhenRefused, **settings)
    await run(crawler, urls=requests, errback=False)
    assert time.monotonic() - crawler.spider.closed_at < 20
    assert crawler.spider.failures == {}
    first = crawler.spider.got
    host.pages["/page"] = answer("x")
    again = make_crawler(TimedSpider, **settings)
    await run(again, urls=[], errback=False)
    assert sorted([*first, *again.spider.got]) == sorted(pages(host, 30))
