"""``ROBOTS_MODE = "observe"``: everything is judged, and nothing is denied or delayed."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
import scrapy

from scrapy_robots_plus import RobotsMiddleware, request_disallowed
from scrapy_robots_plus.crawl.crawl import Crawl
from scrapy_robots_plus.origins.policy import Passes, Refused
from tests.crawling import StepSpider, crawl, make_crawler, run, stat
from tests.sending import TimedSpider
from tests.sites import A_PAGE, Sites, after, answer, hang
from tests.waiting import close_when

if TYPE_CHECKING:
    from scrapy.http import Response

CLOSED = "User-agent: *\nDisallow: /\n"
RULES = "User-agent: *\nDisallow: /closed\n"
OBSERVE: dict[str, Any] = {"ROBOTS_MODE": "observe"}
OTHER_QUEUE = {"SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.DownloaderAwarePriorityQueue"}
OTHER_DOWNLOADER = {"DOWNLOADER": "scrapy.core.downloader.Downloader"}
WITHOUT = {**OTHER_QUEUE, **OTHER_DOWNLOADER}


@pytest.mark.parametrize("parts", [{}, OTHER_QUEUE, WITHOUT], ids=["ours", "queue", "neither"])
@pytest_twisted.ensureDeferred
async def test_what_would_be_denied_is_sent_and_counted(
    sites: Sites, caplog: pytest.LogCaptureFixture, parts: dict[str, Any]
) -> None:
    host, gone, failing = sites.host(RULES), sites.host(), sites.host(answer("", 503))
    urls = [host.url("/closed"), host.url("/a"), gone.url("/a"), failing.url("/a")]
    with caplog.at_level(logging.DEBUG):
        crawler = await crawl(*urls, **OBSERVE, **parts, ROBOTS_FETCH_RETRIES=0)
    assert sorted(crawler.spider.got) == sorted(urls)
    assert crawler.spider.failures == {}
    assert stat(crawler, "robotstxt/forbidden") == 2
    assert stat(crawler, "robotstxt/forbidden/rule") == 1
    assert stat(crawler, "robotstxt/forbidden/unreachable") == 1
    assert f"Would be forbidden by robots.txt: <GET {host.url('/closed')}>" in caplog.text
    assert "Forbidden by robots.txt" not in caplog.text
    assert caplog.text.count('ROBOTS_MODE is "observe": nothing is enforced') == 1
    assert "observe mode, nothing was enforced: 3 sites, 2 requests allowed, 2 would be denied" in (
        caplog.text
    )
    assert f"{failing.url('/robots.txt')} cannot be read (503): all its requests would be" in (
        caplog.text
    )


@pytest_twisted.ensureDeferred
async def test_a_crawl_that_is_closed_to_it_ends_as_any_other(sites: Sites) -> None:
    host = sites.host(CLOSED)
    crawler = await crawl(host.url("/a"), **OBSERVE)
    assert crawler.stats.get_value("finish_reason") == "finished"
    assert host.fetched == ["/a"]


@pytest_twisted.ensureDeferred
async def test_a_file_that_never_comes_ends_in_a_verdict(sites: Sites) -> None:
    host = sites.host(hang)
    crawler = await crawl(host.url("/a"), **OBSERVE, ROBOTS_FETCH_TIMEOUT=0.5)
    assert host.fetched == ["/a"]
    assert stat(crawler, "robotstxt/forbidden/unreachable") == 1


@pytest.mark.parametrize("parts", [{}, WITHOUT], ids=["ours", "neither"])
@pytest_twisted.ensureDeferred
async def test_nothing_is_delayed(sites: Sites, parts: dict[str, Any]) -> None:
    hours = "User-agent: *\nCrawl-delay: 30\nVisit-time: 0000-0001\n"
    slow, fixed = sites.host(hours), sites.host()
    busy = sites.host()
    busy.pages["/busy"] = answer("", 503, retry_after="60")
    hosts = (slow, fixed, busy)
    crawler = await crawl(
        busy.url("/busy"),
        *(host.url(f"/{number}") for number in range(4) for host in hosts),
        spider=TimedSpider,
        ROBOTS_VISIT_TIME="obey",
        ROBOTS_OVERRIDES={fixed.address: {"crawl_delay": 30}},
        CLOSESPIDER_TIMEOUT=25,
        **OBSERVE,
        **parts,
    )
    assert crawler.stats.get_value("finish_reason") == "finished"
    assert [len(host.fetched) for host in hosts] == [4, 4, 5]
    assert stat(crawler, "robotstxt/retry_after") == 0
    assert stat(crawler, "robotstxt/put_back") == 0
    assert stat(crawler, "robotstxt/crawl_delay/applied") == 0


@pytest_twisted.ensureDeferred
async def test_unreachable_hosts_are_not_deferred(sites: Sites) -> None:
    host = sites.host(answer("", 503))
    crawler = await crawl(
        *(host.url(f"/{number}") for number in range(3)), ROBOTS_DEFER=3600, **OBSERVE
    )
    assert len(host.fetched) == 3
    assert stat(crawler, "robotstxt/forbidden/unreachable") == 3


class KnownSpider(StepSpider):
    def parse(self, response: Response) -> Any:
        super().parse(response)
        if response.url.endswith("/first"):
            yield scrapy.Request(response.urljoin("/closed"))


@pytest_twisted.ensureDeferred
async def test_a_request_without_errback_is_not_dropped_before_the_queue(sites: Sites) -> None:
    host = sites.host(RULES)
    crawler = await crawl(host.url("/first"), spider=KnownSpider, **OBSERVE)
    assert host.fetched == ["/first", "/closed"]
    assert stat(crawler, "robotstxt/forbidden") == 1


@pytest_twisted.ensureDeferred
async def test_no_signal_says_that_a_request_was_dropped_and_listeners_hear_of_it(
    sites: Sites,
) -> None:
    host = sites.host(RULES)
    crawler = make_crawler(**OBSERVE)
    dropped: list[Any] = []
    crawler.signals.connect(lambda: dropped.append(1), request_disallowed, weak=False)
    crawl_of = Crawl.of(crawler)
    told: list[tuple[str, type]] = []
    crawl_of.decision_listeners.append(
        lambda request, _origin, _agent, decision: told.append((request.url, type(decision)))
    )
    await run(crawler, urls=[host.url("/closed"), host.url("/a")])
    assert dropped == []
    assert sorted(told, key=str) == sorted(
        [(host.url("/closed"), Refused), (host.url("/a"), Passes)], key=str
    )


class SendsAs:
    """A middleware that sends some requests as somebody else."""

    def process_request(self, request: scrapy.Request) -> None:
        if "other" in request.url:
            request.headers["User-Agent"] = "Barbot"


@pytest_twisted.ensureDeferred
async def test_a_request_that_is_sent_as_another_agent_is_judged_as_that_one(sites: Sites) -> None:
    host = sites.host("User-agent: Barbot\nDisallow: /\n\nUser-agent: Foobot\nDisallow: /closed\n")
    urls = [host.url(path) for path in ("/first", "/other", "/closed/other", "/closed")]
    crawler = await crawl(*urls, DOWNLOADER_MIDDLEWARES={SendsAs: 500}, **OBSERVE)
    assert len(host.fetched) == 4
    assert stat(crawler, "robotstxt/forbidden") == 3
    tally = crawler.get_downloader_middleware(RobotsMiddleware).tally
    assert (tally.allowed, tally.denied) == (1, 3)


@pytest_twisted.ensureDeferred
async def test_overrides_count_and_a_wrong_one_does_not_stop_its_request(
    sites: Sites, caplog: pytest.LogCaptureFixture
) -> None:
    off, host = sites.host(CLOSED), sites.host(RULES)
    requests = [
        scrapy.Request(host.url("/own"), meta={"robots_override": {"robots_txt": CLOSED}}),
        scrapy.Request(host.url("/closed"), meta={"robots_override": {"obey": False}}),
    ]
    crawler = await crawl(
        off.url("/a"),
        *requests,
        ROBOTS_OVERRIDES={off.address: {"obey": False, "reason": "ours"}},
        **OBSERVE,
    )
    assert (off.fetched, off.robots_hits) == (["/a"], 0)
    assert sorted(host.fetched) == ["/closed", "/own"]
    assert stat(crawler, "robotstxt/override") == 2
    assert stat(crawler, "robotstxt/forbidden") == 2
    assert stat(crawler, "robotstxt/override_errors") == 1
    assert "is judged without it: robots_override['obey'] = False: expected a reason" in caplog.text


@pytest_twisted.ensureDeferred
async def test_dont_obey_robotstxt_is_counted_as_ever(sites: Sites) -> None:
    host = sites.host(CLOSED)
    request = scrapy.Request(host.url("/a"), meta={"dont_obey_robotstxt": True})
    crawler = await crawl(request, **OBSERVE)
    assert stat(crawler, "robotstxt/dont_obey") == 1
    assert stat(crawler, "robotstxt/forbidden") == host.robots_hits == 0


@pytest.mark.parametrize(("first", "second"), [("obey", "observe"), ("observe", "obey")])
@pytest_twisted.ensureDeferred
async def test_a_job_may_be_resumed_in_the_other_mode(
    sites: Sites, tmp_path: Any, first: str, second: str
) -> None:
    host = sites.host("User-agent: *\nDisallow: /closed\nCrawl-delay: 0.05\n")
    paths = [f"/{number}" for number in range(15)]
    host.pages.update(dict.fromkeys(paths, after(0.02, A_PAGE)))
    requests = [scrapy.Request(host.url(path)) for path in paths]
    job: dict[str, Any] = {"JOBDIR": str(tmp_path), "CONCURRENT_REQUESTS": 1}
    crawler = make_crawler(**job, ROBOTS_MODE=first)
    close_when(lambda: len(host.fetched) >= 3, crawler)
    await run(crawler, urls=requests)
    assert len(host.fetched) < len(paths)
    await crawl(**job, ROBOTS_MODE=second)
    assert sorted(host.fetched) == sorted(paths)


@pytest_twisted.ensureDeferred
async def test_a_crawl_that_obeys_nothing_audits_nothing(
    sites: Sites, caplog: pytest.LogCaptureFixture
) -> None:
    host = sites.host(CLOSED)
    with caplog.at_level(logging.INFO):
        await crawl(host.url("/a"), **OBSERVE, ROBOTSTXT_OBEY=False)
    assert host.robots_hits == 0
    assert "observe" not in caplog.text.replace("'ROBOTS_MODE': 'observe'", "")
