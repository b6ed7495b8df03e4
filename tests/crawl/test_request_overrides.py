"""An override in the meta of a request holds for that request, and for no other."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
import scrapy

from scrapy_robots_plus import RobotsDisallowed, RobotsOverrideError, RobotsUnreachable
from scrapy_robots_plus.protocol import FIRST_MATCH
from tests.crawling import (
    OTHER_PARSER,
    ProbeSpider,
    StepSpider,
    crawl,
    make_crawler,
    names_rules,
    run,
    stat,
)
from tests.samples import block_with, run_as_it_is
from tests.sending import HICCUP, TimedSpider, gaps
from tests.sites import Sites, answer, hang, in_turn, redirect, when
from tests.waiting import close_when

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

CLOSED = "User-agent: *\nDisallow: /\n"
RULES = "User-agent: *\nDisallow: /closed\n"
OFF = {"obey": False, "reason": "asked by the owner"}
ON = {"obey": True, "reason": "a test of the site"}

ours_alone = pytest.mark.skipif(OTHER_PARSER is not None, reason="only our parser has dialects")


def asked(url: str, override: Any, **more: Any) -> scrapy.Request:
    meta = {"robots_override": override, **more.pop("meta", {})}
    return scrapy.Request(url, meta=meta, dont_filter=True, **more)


class Spider(ProbeSpider):
    """Its requests may have an errback without saying so."""

    async def start(self) -> AsyncIterator[scrapy.Request]:
        for url in self.urls:
            request = url if isinstance(url, scrapy.Request) else self.request(url)
            yield request if request.errback else request.replace(errback=self.failed)


@pytest_twisted.ensureDeferred
async def test_one_request_goes_where_the_others_may_not(sites: Sites) -> None:
    host = sites.host(CLOSED)
    crawler = await crawl(
        asked(host.url("/a"), OFF), host.url("/b"), asked(host.url("/c"), OFF), spider=Spider
    )
    assert sorted(host.fetched) == ["/a", "/c"]
    assert stat(crawler, "robotstxt/override") == 2
    assert stat(crawler, f"robotstxt/override/{OFF['reason']}") == 2
    assert stat(crawler, "robotstxt/forbidden") == 1


@pytest_twisted.ensureDeferred
async def test_each_key_holds_for_one_request(sites: Sites) -> None:
    host = sites.host("User-agent: Barbot\nDisallow: /\n")
    missing = sites.host(answer("", 404))
    crawler = await crawl(
        asked(host.url("/barbot"), {"user_agent": "Barbot"}),
        asked(host.url("/own"), {"robots_txt": CLOSED}),
        asked(missing.url("/strict"), {"status_policy": {"4xx": "disallow"}}),
        host.url("/foobot"),
        missing.url("/a"),
        spider=Spider,
    )
    assert (host.fetched, missing.fetched) == (["/foobot"], ["/a"])
    failures = crawler.spider.failures
    assert isinstance(failures[host.url("/barbot")], RobotsDisallowed)
    assert isinstance(failures[host.url("/own")], RobotsDisallowed)
    assert isinstance(failures[missing.url("/strict")], RobotsUnreachable)
    assert (host.robots_hits, missing.robots_hits) == (1, 1)


@ours_alone
@pytest.mark.parametrize("dialect", ["FIRST_MATCH", FIRST_MATCH])
@pytest_twisted.ensureDeferred
async def test_one_request_reads_the_file_in_another_dialect(sites: Sites, dialect: Any) -> None:
    host = sites.host("User-agent: *\nAllow: /\nDisallow: /closed\n")
    urls = [host.url(f"/closed/{number}") for number in range(3)]
    await crawl(urls[0], asked(urls[1], {"dialect": dialect}), urls[2], spider=Spider)
    assert host.fetched == ["/closed/1"]
    assert host.robots_hits == 1


@pytest_twisted.ensureDeferred
async def test_the_keys_of_a_request_are_laid_over_those_of_its_host(sites: Sites) -> None:
    host, open_ = sites.host("User-agent: Barbot\nDisallow: /b\n"), sites.host(CLOSED)
    overrides = {host.address: {"user_agent": "Barbot"}, open_.address: OFF}
    same, other = {"dialect": "RFC9309"}, {"user_agent": "Foobot"}
    crawler = await crawl(
        asked(host.url("/b/1"), same),
        asked(host.url("/b/2"), other),
        asked(open_.url("/a"), ON),
        open_.url("/b"),
        spider=Spider,
        ROBOTS_OVERRIDES=overrides,
    )
    assert host.fetched == ["/b/2"]
    assert open_.fetched == ["/b"]
    assert stat(crawler, f"robotstxt/override/{ON['reason']}") == 1
    assert stat(crawler, "robotstxt/override") == 4


@pytest_twisted.ensureDeferred
async def test_requests_that_do_not_need_the_file_do_not_wait_for_it(sites: Sites) -> None:
    host = sites.host(when(lambda: {"/a", "/b"} <= set(host.fetched), answer(RULES)))
    await crawl(
        host.url("/closed"),
        asked(host.url("/a"), OFF),
        asked(host.url("/b"), {"robots_txt": RULES}),
        host.url("/open"),
        spider=Spider,
        ROBOTS_FETCH_TIMEOUT=60,
    )
    assert sorted(host.fetched) == ["/a", "/b", "/open"]


@pytest.mark.parametrize("defer", [0, 1])
@pytest_twisted.ensureDeferred
async def test_a_host_that_is_held_back_holds_no_request_that_may_go(
    sites: Sites, defer: int
) -> None:
    host = sites.host(answer("", 503))
    crawler = await crawl(
        host.url("/b"),
        asked(host.url("/a"), OFF),
        asked(host.url("/c"), {"status_policy": "fail-open"}),
        spider=Spider,
        ROBOTS_DEFER=defer,
        ROBOTS_FETCH_RETRIES=0,
    )
    assert sorted(host.fetched) == ["/a", "/c"]
    assert isinstance(crawler.spider.failures[host.url("/b")], RobotsUnreachable)


@pytest_twisted.ensureDeferred
async def test_what_only_a_request_calls_unreachable_is_not_deferred_in_circles(
    sites: Sites,
) -> None:
    host = sites.host(answer("", 404))
    strict = {"status_policy": {"404": "disallow"}}
    crawler = await crawl(
        asked(host.url("/a"), strict),
        spider=Spider,
        ROBOTS_DEFER=3600,
        CLOSESPIDER_TIMEOUT=20,
    )
    assert isinstance(crawler.spider.failures[host.url("/a")], RobotsUnreachable)
    assert stat(crawler, "robotstxt/put_back") == 0
    assert crawler.stats.get_value("finish_reason") != "closespider_timeout"


@pytest.mark.parametrize("queue", ["ours", "Scrapy's"])
@pytest_twisted.ensureDeferred
async def test_a_delay_of_a_request_slows_its_host_and_never_hastens_it(
    sites: Sites, queue: str
) -> None:
    host, slow = sites.host(RULES), sites.host("User-agent: *\nDisallow: /never\nCrawl-delay: 1\n")
    others = {"SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.DownloaderAwarePriorityQueue"}
    requests = [asked(host.url(f"/{number}"), {"crawl_delay": 0.5}) for number in range(3)]
    requests += [asked(slow.url(f"/{number}"), {"crawl_delay": 0}) for number in range(2)]
    crawler = await crawl(
        slow.url("/first"),
        *requests,
        spider=TimedSpider,
        errback=False,
        **({} if queue == "ours" else others),
    )
    assert min(gaps(crawler.spider.sent, host)) >= 0.5 - HICCUP
    assert min(gaps(crawler.spider.sent, slow)) >= 1 - HICCUP


WRONG: list[tuple[Any, str]] = [
    ("off", "robots_override = 'off': expected a dict of obey, user_agent, "),
    ({"obey": False}, "robots_override['obey'] = False: expected a reason as well"),
    ({"obey": False, "reason": " "}, "robots_override['reason'] = ' ': expected a text that"),
    ({"obay": 1}, "robots_override['obay'] = 1: there is no such key; did you mean obey?"),
    ({"crawl_delay": "x"}, "robots_override['crawl_delay'] = 'x': expected a number of seconds"),
    ({"dialect": None}, "robots_override['dialect'] = None: 'None' is not a dialect"),
    ({"user_agent": None}, "robots_override['user_agent'] = None: expected a product token"),
    ({"robots_txt": 5}, "robots_override['robots_txt'] = 5: expected the text of a robots.txt"),
    ({("a", 1): 1}, "robots_override[('a', 1)] = 1: there is no such key; expected obey, "),
    ({None: 1, "status_policy": "x"}, "'x' is not a preset"),
]


@pytest.mark.parametrize(("override", "told"), WRONG, ids=[repr(each)[:30] for each, _ in WRONG])
@pytest_twisted.ensureDeferred
async def test_a_wrong_override_fails_its_request_and_says_why(
    sites: Sites, caplog: pytest.LogCaptureFixture, override: Any, told: str
) -> None:
    host = sites.host(RULES)
    crawler = await crawl(asked(host.url("/wrong"), override), host.url("/right"), spider=Spider)
    assert host.fetched == ["/right"]
    error = crawler.spider.failures[host.url("/wrong")]
    assert isinstance(error, RobotsOverrideError)
    assert told in str(error)
    (record,) = (record for record in caplog.records if record.levelname == "ERROR")
    assert told in record.getMessage()
    assert stat(crawler, "robotstxt/override_errors") == 1


class Rude:
    def __repr__(self) -> str:
        raise RuntimeError("no")


@pytest.mark.parametrize("queue", ["RobotsPriorityQueue", "Scrapy's"])
@pytest_twisted.ensureDeferred
async def test_whatever_stands_there_the_crawl_goes_on(sites: Sites, queue: str) -> None:
    host = sites.host(RULES)
    endless: dict[str, Any] = {}
    endless["status_policy"] = endless
    odd = [endless, "\ud800", b"\xff", 1j, object, [{}], float("nan")]
    others = {"SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.DownloaderAwarePriorityQueue"}
    marked = asked(host.url("/closed"), OFF, meta={"robots_override_for": Rude()})
    crawler = await crawl(
        *(asked(host.url(f"/{number}"), each) for number, each in enumerate(odd)),
        marked,
        host.url("/right"),
        spider=Spider,
        **(others if queue == "Scrapy's" else {}),
    )
    assert sorted(host.fetched) == ["/closed", "/right"]
    assert {type(error) for error in crawler.spider.failures.values()} == {RobotsOverrideError}
    assert stat(crawler, "robotstxt/override_errors") == len(odd)


class BareSpider(StepSpider):
    """Adds requests without an errback while robots.txt is known."""

    bare: tuple[scrapy.Request, ...] = ()

    def parse(self, response: scrapy.http.Response) -> Any:
        super().parse(response)
        if response.url.endswith("/first"):
            yield from self.bare


@pytest_twisted.ensureDeferred
async def test_the_check_before_the_queue_reads_the_override(sites: Sites) -> None:
    host = sites.host(RULES)
    bare = (
        asked(host.url("/closed/1"), OFF),
        asked(host.url("/other"), {"robots_txt": CLOSED}),
        asked(host.url("/wrong"), {"obey": False}),
        scrapy.Request(host.url("/closed/2")),
    )
    crawler = await crawl(host.url("/first"), spider=BareSpider, spider_attributes={"bare": bare})
    assert host.fetched == ["/first", "/closed/1"]
    assert stat(crawler, "robotstxt/forbidden") == 2
    assert stat(crawler, "robotstxt/override_errors") == 1


@pytest_twisted.ensureDeferred
async def test_a_redirect_within_the_origin_keeps_it_and_to_another_drops_it(
    sites: Sites, caplog: pytest.LogCaptureFixture
) -> None:
    host, other = sites.host(CLOSED), sites.host(CLOSED)
    host.pages["/moved"] = redirect("/here")
    host.pages["/away"] = redirect(other.url("/there"))
    other.pages["/back"] = redirect(host.url("/again"))
    off = [asked(host.url(path), OFF) for path in ("/moved", "/away")]
    with caplog.at_level(logging.DEBUG):
        await crawl(*off, spider=Spider)
    assert sorted(host.fetched) == ["/away", "/here", "/moved"]
    assert other.fetched == []
    said = f"The robots_override for {host.origin} does not apply to <GET {other.url('/there')}>"
    assert said in caplog.text


@pytest_twisted.ensureDeferred
async def test_what_was_dropped_on_the_way_does_not_come_back(sites: Sites) -> None:
    host, other = sites.host(CLOSED), sites.host()
    host.pages["/away"] = redirect(other.url("/back"))
    other.pages["/back"] = redirect(host.url("/again"))
    await crawl(asked(host.url("/away"), OFF), spider=Spider)
    assert host.fetched == ["/away"]
    assert other.fetched == ["/back"]


@pytest_twisted.ensureDeferred
async def test_a_retry_keeps_it(sites: Sites) -> None:
    host = sites.host(CLOSED)
    host.pages["/a"] = in_turn(answer("", 500), answer("a page"))
    await crawl(asked(host.url("/a"), OFF), spider=Spider, RETRY_ENABLED=True)
    assert host.fetched == ["/a", "/a"]


class HandingOnSpider(Spider):
    """Hands the meta of a response on, as many spiders do."""

    on: tuple[tuple[str, dict[str, Any]], ...] = ()

    def parse(self, response: scrapy.http.Response) -> Any:
        super().parse(response)
        if response.url.endswith("/first"):
            for url, more in self.on:
                yield scrapy.Request(url, meta={**response.meta, **more}, errback=self.failed)


@pytest_twisted.ensureDeferred
async def test_a_copy_of_the_meta_holds_for_its_origin_and_a_new_override_for_any(
    sites: Sites,
) -> None:
    host, other = sites.host(CLOSED), sites.host(CLOSED)
    new = {"robots_override": {"obey": False, "reason": "another one"}}
    on: Any = ((host.url("/same"), {}), (other.url("/copied"), {}), (other.url("/new"), new))
    await crawl(
        asked(host.url("/first"), OFF), spider=HandingOnSpider, spider_attributes={"on": on}
    )
    assert host.fetched == ["/first", "/same"]
    assert other.fetched == ["/new"]


@pytest_twisted.ensureDeferred
async def test_a_resumed_job_keeps_the_overrides_of_its_requests(
    sites: Sites, tmp_path: Any
) -> None:
    host = sites.host(CLOSED)
    requests = [
        scrapy.Request(host.url(f"/{number}"), meta={"robots_override": OFF})
        for number in range(30)
    ]
    job: dict[str, Any] = {"JOBDIR": str(tmp_path), "CONCURRENT_REQUESTS": 1}
    first = make_crawler(ProbeSpider, **job)
    close_when(lambda: len(host.fetched) >= 3, first)
    await run(first, urls=requests)
    before = len(host.fetched)
    assert before < 30
    await crawl(**job)
    assert sorted(host.fetched) == sorted(f"/{number}" for number in range(30))


@pytest_twisted.ensureDeferred
async def test_dont_obey_robotstxt_goes_before_it(sites: Sites) -> None:
    host = sites.host(hang)
    request = asked(host.url("/a"), {"robots_txt": CLOSED}, meta={"dont_obey_robotstxt": True})
    crawler = await crawl(request)
    assert host.fetched == ["/a"]
    assert stat(crawler, "robotstxt/override") == 0
    assert stat(crawler, "robotstxt/dont_obey") == 1


@names_rules
@pytest_twisted.ensureDeferred
async def test_the_table_shows_the_site_and_not_the_request(
    sites: Sites, caplog: pytest.LogCaptureFixture
) -> None:
    host = sites.host(RULES)
    with caplog.at_level(logging.INFO):
        await crawl(host.url("/a"), asked(host.url("/closed"), OFF), spider=Spider)
    (line,) = (line for line in caplog.text.splitlines() if line.startswith(host.origin))
    assert line.split()[1:] == ["200,", "rules", "-", "-", "2", "0"]


@pytest_twisted.ensureDeferred
async def test_more_reasons_do_not_make_more_stats(sites: Sites) -> None:
    host = sites.host(CLOSED)
    requests = [
        asked(host.url(f"/{number}"), {"obey": False, "reason": f"ticket {number}"})
        for number in range(105)
    ]
    crawler = await crawl(*requests)
    keys = [key for key in crawler.stats.get_stats() if key.startswith("robotstxt/override/")]
    assert len(keys) == 100
    assert stat(crawler, "robotstxt/override") == 105
    assert len(host.fetched) == 105


@pytest_twisted.ensureDeferred
async def test_the_sample_of_the_docs_runs(sites: Sites) -> None:
    host = sites.host(CLOSED)
    sample = block_with("ticket 4711", "docs/overrides.md", site=host.origin)
    crawler = await run_as_it_is(sample["StatusSpider"])
    assert host.fetched == ["/status"]
    assert stat(crawler, "robotstxt/override/ticket 4711: the owner asked us to look") == 1
