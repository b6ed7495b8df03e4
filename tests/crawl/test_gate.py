"""No request goes out but through a verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
import scrapy
from scrapy import signals
from scrapy.core.engine import ExecutionEngine

from scrapy_robots_plus import (
    Reason,
    RobotsDisallowed,
    RobotsUnreachable,
    request_disallowed,
)
from tests.crawling import (
    ProbeSpider,
    StepSpider,
    crawl,
    make_crawler,
    names_rules,
    parts_of_seconds,
    run,
    stat,
)
from tests.sites import Sites, after, answer, hang, in_turn, redirect, when
from tests.waiting import close_when

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy.http import Response

CLOSED = "User-agent: *\nDisallow: /\n"
RULES = "User-agent: *\nDisallow: /closed\n"


@pytest_twisted.ensureDeferred
async def test_of_100_disallowed_urls_that_arrive_together_none_is_fetched(sites: Sites) -> None:
    host = sites.host(after(0.3, answer(CLOSED)))
    urls = [host.url(f"/{number}") for number in range(100)]
    crawler = await crawl(*urls)
    assert host.fetched == []
    assert host.robots_hits == 1
    assert stat(crawler, "robotstxt/forbidden") == 100
    assert {type(error) for error in crawler.spider.failures.values()} == {RobotsDisallowed}


@pytest_twisted.ensureDeferred
async def test_each_origin_has_a_robots_txt_of_its_own(sites: Sites) -> None:
    closed, open_ = sites.host(CLOSED), sites.host("User-agent: *\nAllow: /\n")
    await crawl(closed.url("/a"), open_.url("/a"), closed.url("/b"), open_.url("/b"))
    assert closed.fetched == []
    assert sorted(open_.fetched) == ["/a", "/b"]
    assert closed.robots_hits == open_.robots_hits == 1


@pytest_twisted.ensureDeferred
async def test_the_exception_tells_what_and_why(sites: Sites) -> None:
    target = sites.host(RULES).url("/robots.txt")
    closed = sites.host(redirect(target))
    failing = sites.host(answer("", 503))
    crawler = await crawl(closed.url("/closed/1"), failing.url("/a"))
    denied = crawler.spider.failures[closed.url("/closed/1")]
    unread = crawler.spider.failures[failing.url("/a")]
    assert isinstance(denied, RobotsDisallowed)
    assert denied.url == closed.url("/closed/1")
    assert denied.verdict.reason is Reason.RULE
    assert denied.verdict.robots_url == target
    assert isinstance(unread, RobotsUnreachable)
    assert unread.verdict.reason is Reason.UNREACHABLE
    assert unread.verdict.outcome == "503"
    assert not denied.verdict


@names_rules
@pytest_twisted.ensureDeferred
async def test_a_robots_txt_may_be_fetched_as_a_page_even_if_it_closes_the_site_or_failed_before(
    sites: Sites,
) -> None:
    closed = sites.host(CLOSED)
    failing = sites.host(in_turn(answer("", 503), answer("a page")))
    urls = [closed.url("/robots.txt"), failing.url("/robots.txt")]
    crawler = await crawl(*urls, failing.url("/a"), ROBOTS_FETCH_RETRIES=0)
    assert sorted(crawler.spider.got) == sorted(urls)
    assert failing.fetched == []


@pytest_twisted.ensureDeferred
async def test_dont_obey_robotstxt_and_other_schemes_pass(sites: Sites) -> None:
    host = sites.host(CLOSED)
    request = scrapy.Request(host.url("/anyway"), meta={"dont_obey_robotstxt": True})
    crawler = await crawl(request, scrapy.Request("data:text/plain,hello"))
    assert host.fetched == ["/anyway"]
    assert host.robots_hits == 0
    assert len(crawler.spider.got) == 2


@pytest_twisted.ensureDeferred
async def test_start_urls_outside_allowed_domains_are_checked(sites: Sites) -> None:
    """Scrapy's own middleware lets them through: its robots.txt request is filtered as offsite."""
    elsewhere = sites.host(CLOSED)
    host = sites.host(redirect(elsewhere.url("/robots.txt")))
    attributes = {"allowed_domains": ["unrelated.example"]}
    await crawl(host.url("/a"), elsewhere.url("/b"), spider_attributes=attributes)
    assert host.fetched == elsewhere.fetched == []
    assert elsewhere.robots_hits == 2  # for itself, and for the host that redirects to it


@pytest_twisted.ensureDeferred
async def test_the_target_of_a_redirected_page_is_checked(sites: Sites) -> None:
    host, target = sites.host(), sites.host(CLOSED)
    host.pages["/moved"] = redirect(target.url("/closed"))
    crawler = await crawl(host.url("/moved"))
    assert host.fetched == ["/moved"]
    assert target.fetched == []
    assert list(crawler.spider.failures) == [target.url("/closed")]


class FollowingSpider(ProbeSpider):
    """Asks for the first URL, and for the rest when the policy is known."""

    async def start(self) -> AsyncIterator[scrapy.Request]:
        yield self.request(self.urls[0], callback=self.first)

    def first(self, response: Response) -> Any:
        for url in self.urls[1:]:
            yield self.request(url)


class FilteredSpider(FollowingSpider):
    """Its links go through Scrapy's filter of duplicates."""

    def first(self, response: Response) -> Any:
        yield from map(scrapy.Request, self.urls[1:])


@pytest_twisted.ensureDeferred
async def test_links_that_are_disallowed_cost_no_delay_each(sites: Sites) -> None:
    host = sites.host(f"{RULES}Crawl-delay: 1\n")
    urls = [host.url("/open"), *(host.url(f"/closed/{number}") for number in range(40))]
    crawler = await crawl(*urls, spider=FollowingSpider, errback=False)
    assert stat(crawler, "robotstxt/forbidden/rule") == 40
    assert stat(crawler, "elapsed_time_seconds") < 30  # about 1; with a delay each, 40
    assert host.fetched == ["/open"]


@pytest_twisted.ensureDeferred
async def test_a_link_that_is_disallowed_is_counted_once_however_often_it_is_found(
    sites: Sites,
) -> None:
    host = sites.host(RULES)
    urls = [host.url("/open"), *[host.url("/closed")] * 20]
    crawler = await crawl(*urls, spider=FilteredSpider)
    assert stat(crawler, "robotstxt/forbidden/rule") == 1
    assert stat(crawler, "dupefilter/filtered") == 19


@pytest_twisted.ensureDeferred
async def test_but_an_errback_is_always_called(sites: Sites) -> None:
    host = sites.host(RULES)
    urls = [host.url("/open"), host.url("/closed/1"), host.url("/closed/2")]
    crawler = await crawl(*urls, spider=FollowingSpider)
    assert sorted(crawler.spider.failures) == urls[1:]
    assert stat(crawler, "robotstxt/forbidden/rule") == 2


class LateSpider(ProbeSpider):
    """Gives requests to the engine first and says afterwards who waits for them."""

    def parse(self, response: Response) -> None:
        super().parse(response)
        if response.url.endswith("/first"):
            for page in ("/closed/late", "/open/late", "/closed/never"):
                request = scrapy.Request(response.urljoin(page))
                self.crawler.engine.crawl(request)
                if page.endswith("late"):
                    request.errback = self.failed


@pytest_twisted.ensureDeferred
async def test_an_errback_that_comes_after_the_request_is_called_too(sites: Sites) -> None:
    """As ``scrapy shell`` does, which would wait for ever."""
    host = sites.host(RULES)
    crawler = await crawl(host.url("/first"), spider=LateSpider)
    assert sorted(host.fetched) == ["/first", "/open/late"]
    assert list(crawler.spider.failures) == [host.url("/closed/late")]
    assert stat(crawler, "robotstxt/forbidden") == 2


class LateOutcomeSpider(ProbeSpider):
    """Its late errbacks make something, or raise an exception."""

    def parse(self, response: Response) -> None:
        super().parse(response)
        for page, errback in (("makes", self.makes), ("raises", self.raises)):
            request = scrapy.Request(response.urljoin(f"/closed/{page}"))
            self.crawler.engine.crawl(request)
            request.errback = errback

    async def makes(self, failure: Any) -> AsyncIterator[Any]:
        yield {"of": failure.request.url}
        yield scrapy.Request(failure.request.url.replace("closed", "open"), self.followed)

    def raises(self, failure: Any) -> None:
        raise ValueError("the errback fails")

    def followed(self, response: Response) -> None:
        self.got.append(response.url)


@pytest_twisted.ensureDeferred
async def test_what_becomes_of_a_late_errback_is_what_becomes_of_any_other(
    sites: Sites, caplog: pytest.LogCaptureFixture
) -> None:
    host = sites.host(RULES)
    crawler = await crawl(host.url("/first"), spider=LateOutcomeSpider)
    assert crawler.spider.got == [host.url("/first"), host.url("/open/makes")]
    assert stat(crawler, "item_scraped_count") == 1
    assert stat(crawler, "spider_exceptions/ValueError") == 1
    assert f"Spider error processing <GET {host.url('/closed/raises')}>" in caplog.text


class LastSpider(ProbeSpider):
    """The last that it has is a late errback."""

    def parse(self, response: Response) -> None:
        super().parse(response)
        request = scrapy.Request(response.urljoin("/closed"))
        self.crawler.engine.crawl(request)
        request.errback = self.failed


@pytest_twisted.ensureDeferred
async def test_a_crawl_ends_when_its_last_late_errback_has_ended(
    sites: Sites, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not when the engine looks next, five seconds later."""
    monkeypatch.setattr(ExecutionEngine, "_SLOT_HEARTBEAT_INTERVAL", 3_600)
    host = sites.host(RULES)
    crawler = await crawl(host.url("/first"), spider=LastSpider, CLOSESPIDER_TIMEOUT=20)
    assert list(crawler.spider.failures) == [host.url("/closed")]
    assert crawler.stats.get_value("finish_reason") == "finished"


class DownloadingSpider(ProbeSpider):
    """Downloads each URL as a pipeline does, past the scheduler."""

    async def start(self) -> AsyncIterator[Any]:
        for url in self.urls:
            request = scrapy.Request(url)
            try:
                self.got.append((await self.crawler.engine.download_async(request)).url)
            except scrapy.exceptions.IgnoreRequest as error:
                self.failures[url] = error
        return
        yield


@pytest_twisted.ensureDeferred
async def test_downloads_past_the_scheduler_are_checked(sites: Sites) -> None:
    host = sites.host(RULES)
    crawler = await crawl(host.url("/open"), host.url("/closed"), spider=DownloadingSpider)
    assert crawler.spider.got == [host.url("/open")]
    assert isinstance(crawler.spider.failures[host.url("/closed")], RobotsDisallowed)


@pytest_twisted.ensureDeferred
async def test_eviction_neither_leaks_nor_strands(sites: Sites) -> None:
    hosts = [sites.host(after(0.05, answer(CLOSED))) for _ in range(6)]
    urls = [host.url(f"/{number}") for number in range(5) for host in hosts]
    crawler = await crawl(*urls, ROBOTS_CACHE_SIZE=1, CONCURRENT_REQUESTS=3)
    assert [host.fetched for host in hosts] == [[]] * 6
    assert len(crawler.spider.failures) == len(urls)


class UntilRefused(StepSpider):
    """Goes on until a page is refused, and then for two more."""

    pause = 0.1

    def enough(self) -> bool:
        return len(self.failures) > 2


@pytest_twisted.ensureDeferred
async def test_an_expired_policy_answers_while_it_is_refreshed(sites: Sites) -> None:
    host = sites.host()

    def two_pages_came_meanwhile() -> bool:
        paths = [hit.path for hit in host.hits]
        refreshed = len(paths) - paths[::-1].index("/robots.txt")
        return len(paths) - refreshed >= 2

    host.robots(in_turn(answer(RULES), when(two_pages_came_meanwhile, answer(CLOSED))))
    urls = [host.url(f"/{number:03}") for number in range(300)]
    crawler = await crawl(*urls, spider=UntilRefused, ROBOTS_TTL=(1, 1))
    assert stat(crawler, "robotstxt/refresh_count") >= 1
    pages = len(host.fetched)
    assert sorted(crawler.spider.failures) == urls[pages : pages + 3]


@pytest_twisted.ensureDeferred
async def test_a_failure_is_remembered_for_its_own_time(sites: Sites) -> None:
    host = sites.host(in_turn(answer("", 503), answer(RULES)))
    urls = [host.url(f"/{number:03}") for number in range(300)]
    crawler = await crawl(
        *urls, spider=UntilLetIn, ROBOTS_RETRY_INTERVAL=(1, 3600), ROBOTS_FETCH_RETRIES=0
    )
    assert host.robots_hits == 2
    denied = sorted(crawler.spider.failures)
    assert denied
    assert denied + crawler.spider.got == urls[: len(denied) + 1]


class UntilLetIn(StepSpider):
    pause = 0.1

    def enough(self) -> bool:
        return bool(self.got)


@pytest_twisted.ensureDeferred
async def test_closing_while_a_fetch_hangs(sites: Sites) -> None:
    """Waiting requests are answered, fetches are called off, and nothing is sent afterwards.

    With a queue that lets them wait in the middleware: in ours they would wait unseen.
    """
    host, other = sites.host(hang), sites.host(hang)
    crawler = make_crawler(
        ROBOTS_FETCH_RETRIES=5,
        ROBOTS_STATUS_POLICY="fail-open",
        SCHEDULER_PRIORITY_QUEUE="scrapy.pqueues.ScrapyPriorityQueue",
    )
    events: list[str] = []

    class Watcher(ProbeSpider):
        def failed(self, failure: Any) -> None:
            events.append(str(failure.value.verdict.reason))

    crawler.spidercls = Watcher

    def fetch_over(request: scrapy.Request) -> None:
        events.append(request.url)

    crawler.signals.connect(fetch_over, signals.request_left_downloader)
    asked = host.url("/robots.txt"), other.url("/robots.txt")
    close_when(lambda: host.robots_hits and other.robots_hits, crawler, "enough")
    await run(crawler, urls=[host.url("/a"), host.url("/b"), other.url("/c")])
    assert sorted(events) == sorted(["closing", "closing", "closing", *asked])
    assert host.fetched == other.fetched == []
    assert host.robots_hits == other.robots_hits == 1
    assert stat(crawler, "finish_reason") == "enough"


@pytest.mark.parametrize("attribute", ["errback", "no errback"])
@pytest_twisted.ensureDeferred
async def test_a_crawl_that_was_denied_from_the_start_says_so(sites: Sites, attribute: str) -> None:
    host, failing = sites.host(CLOSED), sites.host(answer("", 500))
    errback = attribute == "errback"
    crawler = await crawl(host.url("/a"), host.url("/b"), failing.url(), errback=errback)
    assert stat(crawler, "finish_reason") == "robotstxt_denied"


@pytest_twisted.ensureDeferred
async def test_a_crawl_whose_start_fails_was_not_denied_from_the_start(sites: Sites) -> None:
    host = sites.host(CLOSED)

    class Fails(ProbeSpider):
        async def start(self) -> AsyncIterator[Any]:
            yield self.request(host.url("/a"))
            raise RuntimeError

    crawler = await crawl(spider=Fails)
    # Scrapy 2.14 ends it as any other.
    expected = "start_error" if hasattr(crawler.engine, "_start_error") else "robotstxt_denied"
    assert stat(crawler, "finish_reason") == expected


@pytest_twisted.ensureDeferred
async def test_a_request_with_the_mark_of_a_robots_txt_fetch_is_a_page(sites: Sites) -> None:
    host = sites.host(RULES)

    class Marks(ProbeSpider):
        def request(self, url: str, **arguments: Any) -> scrapy.Request:
            return super().request(url, meta={"robots_fetch": True}, **arguments)

    crawler = await crawl(host.url("/closed"), host.url("/open"), spider=Marks)
    assert stat(crawler, "finish_reason") == "finished"
    assert stat(crawler, "robotstxt/own_errors") == 0
    assert host.fetched == ["/open"]


@pytest_twisted.ensureDeferred
async def test_one_start_request_let_through_is_a_crawl(sites: Sites) -> None:
    host = sites.host(RULES)
    crawler = await crawl(host.url("/closed"), host.url("/open"))
    assert stat(crawler, "finish_reason") == "finished"


@pytest_twisted.ensureDeferred
async def test_refusals_are_signalled(sites: Sites) -> None:
    host = sites.host(RULES)
    crawler = make_crawler()
    told: list[tuple[str, Reason]] = []

    def note(request: scrapy.Request, verdict: Any) -> None:
        told.append((request.url, verdict.reason))

    crawler.signals.connect(note, request_disallowed)
    await run(crawler, urls=[host.url("/open"), host.url("/closed")])
    assert told == [(host.url("/closed"), Reason.RULE)]


@pytest.mark.skipif(not hasattr(signals, "robots_parsed"), reason="Scrapy 2.18 and later")
@pytest_twisted.ensureDeferred
async def test_scrapys_signal_for_a_parsed_file_is_sent(sites: Sites) -> None:
    host = sites.host(RULES)
    crawler = make_crawler()
    told: list[tuple[bool, str]] = []

    def note(robotparser: Any, request: scrapy.Request) -> None:
        told.append((robotparser.allowed(host.url("/closed"), "Foobot"), request.url))

    crawler.signals.connect(note, signals.robots_parsed)
    await run(crawler, urls=[host.url("/open"), host.url("/closed")])
    assert told == [(False, host.url("/robots.txt"))]


@parts_of_seconds
@pytest_twisted.ensureDeferred
async def test_the_table_at_the_end(sites: Sites, caplog: pytest.LogCaptureFixture) -> None:
    host, failing = sites.host(f"{RULES}Crawl-delay: 0.1\n"), sites.host(answer("", 503))
    caplog.set_level("INFO", logger="scrapy_robots_plus")
    urls = [host.url("/open"), host.url("/closed/1"), host.url("/closed/2"), failing.url("/a")]
    await crawl(*urls)
    table = next(line for line in caplog.messages if line.startswith("robots.txt ("))
    lines = [line.split() for line in table.splitlines()]
    assert table.startswith("robots.txt (probe): 2 sites, 1 request allowed, 3 denied\n")
    assert lines[2] == [host.origin, "200,", "rules", *["0.1", "s", "0.1", "s", "1", "2"]]
    assert lines[3] == [failing.origin, "503,", "all", "denied", "-", "-", "0", "1"]


@pytest_twisted.ensureDeferred
async def test_a_file_is_fetched_once_and_counted(sites: Sites) -> None:
    host = sites.host(RULES)
    crawler = await crawl(*(host.url(f"/{number}") for number in range(20)))
    assert host.robots_hits == 1
    assert len(host.fetched) == 20
    assert stat(crawler, "robotstxt/request_count") == 1
    assert stat(crawler, "robotstxt/response_count") == 1
    assert stat(crawler, "robotstxt/response_status_count/200") == 1


class Rewrites:
    """Answers with a request of its own, which has nothing of ours but the URL."""

    def process_request(self, request: scrapy.Request) -> scrapy.Request | None:
        if "rewritten" not in request.flags:
            return scrapy.Request(request.url, flags=["rewritten"], dont_filter=True)
        return None


@pytest_twisted.ensureDeferred
async def test_requests_that_a_middleware_makes_instead_are_checked_too(sites: Sites) -> None:
    host = sites.host(RULES)
    crawler = await crawl(
        *(host.url(path) for path in ("/a", "/closed")),
        DOWNLOADER_MIDDLEWARES={Rewrites: 500},
        CLOSESPIDER_TIMEOUT=60,
        DEFAULT_REQUEST_HEADERS={"User-Agent": "Foobot"},  # checked before and after
    )
    assert (host.fetched, stat(crawler, "finish_reason")) == (["/a"], "finished")
