"""``ROBOTS_CLEAN_PARAM``: of URLs that a site calls equal, one is fetched."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
import scrapy
from scrapy.utils.request import fingerprint

from scrapy_robots_plus import RobotsDisallowed, RobotsDuplicate
from scrapy_robots_plus.protocol.clean_param import CleanParams
from scrapy_robots_plus.requests.equal_urls import EqualUrls
from tests.crawling import OTHER_PARSER, ProbeSpider, crawl, make_crawler, run, stat
from tests.sites import Host, Sites, after, answer, in_turn, redirect
from tests.waiting import pause, until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

FIFO = "scrapy.squeues.FifoMemoryQueue"
ON = {"ROBOTS_CLEAN_PARAM": True}
RULES = "User-agent: *\nDisallow: /*bad=\nClean-param: ref&bad /shop/\n"
DROPPED = "robotstxt/clean_param/dropped"

pytestmark = pytest.mark.skipif(OTHER_PARSER is not None, reason="only our parser has Clean-param")


class OnceSpider(ProbeSpider):
    """Leaves duplicates to the filter."""

    def request(self, url: str, **arguments: Any) -> scrapy.Request:
        return super().request(url, **arguments).replace(dont_filter=False)


async def crawled(host: Host, *paths: str, **settings: Any) -> Any:
    settings = {"spider": OnceSpider, **ON, **settings}
    return await crawl(*map(host.url, paths), **settings)


@pytest_twisted.ensureDeferred
async def test_one_of_the_equal_urls_is_fetched(sites: Sites) -> None:
    host = sites.host(RULES)
    crawler = await crawled(host, *(f"/shop/1?ref={n}&id=7" for n in range(20)), "/shop/1?id=7")
    assert len(host.fetched) == 1
    assert stat(crawler, DROPPED) == 20
    assert stat(crawler, "robotstxt/forbidden") == 0
    errors = crawler.spider.failures.values()
    assert {type(each) for each in errors} == {RobotsDuplicate}
    assert {each.cleaned for each in errors} == {host.url("/shop/1?id=7")}


@pytest_twisted.ensureDeferred
async def test_of_long_files_few_are_kept_read(sites: Sites) -> None:
    hosts = []
    for number in range(24):
        names = "".join(f"Clean-param: {number}a{n}&ref /\n" for n in range(200))
        hosts.append(sites.host(f"User-agent: *\n{names}"))
    urls = [host.url(f"/?ref={n}") for n in range(2) for host in hosts]
    crawler = await crawl(*urls, spider=OnceSpider, **ON)
    assert [len(host.fetched) for host in hosts] == [1] * 24
    assert stat(crawler, DROPPED) == 24
    gc.collect()
    assert 0 < sum(type(each) is CleanParams for each in gc.get_objects()) < 12


@pytest_twisted.ensureDeferred
async def test_others_are_all_fetched(sites: Sites) -> None:
    host = sites.host(RULES)
    paths = ["/shop/1?id=7", "/shop/1?id=8", "/shop/1", "/shop/2?ref=1", "/a?ref=1", "/a?ref=2"]
    crawler = await crawled(host, *paths)
    assert sorted(host.fetched) == sorted(paths)
    assert stat(crawler, DROPPED) == 0


@pytest_twisted.ensureDeferred
async def test_nothing_is_dropped_unless_asked_for(sites: Sites) -> None:
    host = sites.host(RULES)
    await crawled(host, "/shop/1?ref=1", "/shop/1?ref=2", ROBOTS_CLEAN_PARAM=False)
    assert len(host.fetched) == 2


@pytest_twisted.ensureDeferred
async def test_a_url_that_is_denied_stands_for_no_other(sites: Sites) -> None:
    host = sites.host(RULES)
    crawler = await crawled(host, "/shop/1?bad=1", "/shop/1?ref=1")
    assert host.fetched == ["/shop/1?ref=1"]
    assert stat(crawler, "robotstxt/forbidden") == 1


@pytest_twisted.ensureDeferred
async def test_requests_that_are_not_to_be_filtered_are_not(sites: Sites) -> None:
    host = sites.host(RULES)
    crawler = await crawled(host, "/shop/1?ref=1", "/shop/1?ref=2", spider=ProbeSpider)
    assert len(host.fetched) == 2
    assert stat(crawler, DROPPED) == 0


@pytest_twisted.ensureDeferred
async def test_posts_are_not_dropped(sites: Sites) -> None:
    host = sites.host(RULES)
    urls = [host.url(f"/shop/1?ref={number}") for number in range(2)]
    posts = [scrapy.Request(url, method="POST") for url in urls]
    crawler = await crawl(*posts, spider=OnceSpider, **ON)
    assert stat(crawler, DROPPED) == 0
    assert stat(crawler, "downloader/request_method_count/POST") == 2


@pytest_twisted.ensureDeferred
async def test_a_retry_is_no_duplicate_of_itself(sites: Sites) -> None:
    host = sites.host(RULES)
    host.pages["/shop/1"] = in_turn(answer("", 500), answer("", 500), answer("there"))
    crawler = await crawled(host, "/shop/1?ref=1", RETRY_ENABLED=True)
    assert crawler.spider.got == [host.url("/shop/1?ref=1")]
    assert len(host.fetched) == 3


@pytest.mark.parametrize("target", ["/shop/1", "/shop/1?ref=9", "/other"])
@pytest_twisted.ensureDeferred
async def test_a_redirect_is_no_duplicate_of_where_it_comes_from(sites: Sites, target: str) -> None:
    """Many sites take their parameters out of a URL by a redirect."""
    host = sites.host(RULES)
    host.pages["/shop/1?ref=1"] = redirect(host.url(target))
    crawler = await crawled(host, "/shop/1?ref=1", "/shop/1?ref=2", CONCURRENT_REQUESTS=1)
    assert host.url(target) in crawler.spider.got
    assert stat(crawler, DROPPED) == 1


@pytest.mark.parametrize("order", ["the target was dropped", "the target waits"])
@pytest_twisted.ensureDeferred
async def test_a_redirect_to_a_url_that_was_scheduled_before_loses_no_page(
    sites: Sites, order: str
) -> None:
    """Scrapy's filter drops the target, as a link to it came first."""
    host = sites.host(RULES)
    links = []
    for number in range(10):
        page = f"/shop/{number}"
        host.pages[f"{page}?ref=1"] = redirect(host.url(page))
        links += [host.url(page), host.url(f"{page}?ref=1")]
    waits = order == "the target waits"

    class Linking(LinkSpider):
        def parse(self, response: Any) -> Any:
            for request in super().parse(response) or ():
                yield request.replace(priority=waits * ("?" in request.url))

    crawler = make_crawler(Linking, **ON, CONCURRENT_REQUESTS=1 if waits else 16)
    await run(crawler, first=host.url("/"), links=links)
    pages = [host.url(f"/shop/{number}") for number in range(10)]
    assert sorted(crawler.spider.got[1:]) == pages
    assert host.fetched.count("/shop/0") == 1


@pytest_twisted.ensureDeferred
async def test_a_redirect_to_a_page_that_is_known_is_dropped(sites: Sites) -> None:
    host = sites.host(RULES)
    host.pages["/old"] = redirect(host.url("/shop/1?ref=2"))
    one_by_one = {"CONCURRENT_REQUESTS": 1, "SCHEDULER_MEMORY_QUEUE": FIFO}
    crawler = await crawled(host, "/shop/1?ref=1", "/old", **one_by_one)
    assert crawler.spider.got == [host.url("/shop/1?ref=1")]
    assert stat(crawler, DROPPED) == 1


@pytest_twisted.ensureDeferred
async def test_what_was_deferred_is_no_duplicate_of_itself(sites: Sites) -> None:
    """It goes back to the queue once the file could not be read."""
    host = sites.host()
    host.robots(in_turn(answer("", 503), answer(RULES)))
    deferring = {
        "ROBOTS_DEFER": 3600,
        "ROBOTS_RETRY_INTERVAL": (1, 3600),
        "ROBOTS_FETCH_RETRIES": 0,
    }
    crawler = await crawled(host, "/shop/1?ref=1", "/shop/1?ref=2", **deferring)
    assert len(crawler.spider.got) == 1
    assert stat(crawler, DROPPED) == 1


class LinkSpider(scrapy.Spider):
    """From one page to the others, when the rules are known."""

    name = "links"

    def __init__(self, first: str, links: list[str]) -> None:
        super().__init__()
        self.first = first
        self.links = links
        self.got: list[str] = []

    async def start(self) -> AsyncIterator[scrapy.Request]:
        yield scrapy.Request(self.first)

    def parse(self, response: Any) -> Any:
        self.got.append(response.url)
        if response.url == self.first:
            yield from map(scrapy.Request, self.links)


@pytest_twisted.ensureDeferred
async def test_those_that_were_queued_before_cost_no_delay_each(sites: Sites) -> None:
    host = sites.host()
    host.robots(after(0.3, answer(f"{RULES}Crawl-delay: 1\n")))
    crawler = await crawled(host, *(f"/shop/1?ref={number}" for number in range(40)))
    assert stat(crawler, DROPPED) == 39
    assert stat(crawler, "elapsed_time_seconds") < 30  # about 1; with a delay each, 40


@pytest_twisted.ensureDeferred
async def test_a_request_from_code_is_not_dropped(sites: Sites) -> None:
    host = sites.host(RULES)

    class Asking(OnceSpider):
        async def parse(self, response: Any) -> None:
            url = host.url("/shop/1?ref=2")
            there = await self.crawler.engine.download_async(scrapy.Request(url))
            self.got.append(there.url)

    crawler = await crawled(host, "/shop/1?ref=1", spider=Asking)
    assert crawler.spider.got == [host.url("/shop/1?ref=2")]


@pytest_twisted.ensureDeferred
async def test_what_was_forgotten_is_fetched_again(
    sites: Sites, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = sites.host(RULES)
    paths = ["/shop/1?ref=1", "/shop/2?ref=1", "/shop/3?ref=1", "/shop/1?ref=2"]
    one_by_one = {"CONCURRENT_REQUESTS": 1, "SCHEDULER_MEMORY_QUEUE": FIFO}
    monkeypatch.setattr(EqualUrls, "MOST", 2)
    await crawled(host, *paths, **one_by_one)
    assert sorted(host.fetched) == sorted(paths)


@pytest.mark.parametrize("queue", ["RobotsPriorityQueue", "ScrapyPriorityQueue"])
@pytest_twisted.ensureDeferred
async def test_a_job_keeps_the_promise_within_each_run(
    sites: Sites, tmp_path: Any, queue: str
) -> None:
    """And may fetch an equal URL once more in the next one."""
    host = sites.host(RULES)
    package = "scrapy_robots_plus" if queue.startswith("Robots") else "scrapy.pqueues"
    settings = {"JOBDIR": str(tmp_path), "SCHEDULER_PRIORITY_QUEUE": f"{package}.{queue}", **ON}
    for first in ("/shop/1?ref=a", "/shop/1?ref=b"):
        links = [host.url(f"/shop/1?ref={first[-1]}{number}") for number in range(5)]
        crawler = make_crawler(LinkSpider, **settings)
        await run(crawler, first=host.url(first), links=links)
        assert crawler.spider.got == [host.url(first)]
    assert len(host.fetched) == 2


@pytest_twisted.ensureDeferred
async def test_a_fingerprinter_of_the_project_has_its_say(sites: Sites) -> None:
    """Headers that it looks at make another request."""
    host = sites.host(RULES)
    fingerprinter = "tests.requests.test_equal_urls.ByLanguage"
    urls = [host.url(f"/shop/1?ref={number}") for number in range(4)]
    languages = ("de", "fr", "de", "fr")
    requests = [
        scrapy.Request(url, headers={"Accept-Language": language})
        for url, language in zip(urls, languages, strict=True)
    ]
    await crawl(*requests, spider=OnceSpider, REQUEST_FINGERPRINTER_CLASS=fingerprinter, **ON)
    assert len(host.fetched) == 2


class ByLanguage:
    def fingerprint(self, request: scrapy.Request) -> bytes:
        return fingerprint(request, include_headers=["Accept-Language"])


@pytest_twisted.ensureDeferred
async def test_another_parser_is_told_of_at_the_start(
    sites: Sites, caplog: pytest.LogCaptureFixture
) -> None:
    host = sites.host(RULES)
    parser = "scrapy.robotstxt.ProtegoRobotParser"
    crawler = await crawled(host, "/shop/1?ref=1", "/shop/1?ref=2", ROBOTSTXT_PARSER=parser)
    assert len(crawler.spider.got) == 2
    assert (
        "ROBOTS_CLEAN_PARAM finds nothing in robots.txt files, because ROBOTSTXT_PARSER is"
        in caplog.text
    )


@pytest_twisted.ensureDeferred
async def test_the_mark_of_scheduled_requests_does_not_reach_the_spider(sites: Sites) -> None:
    """Spiders copy the meta of a response to other requests."""
    host = sites.host(RULES)
    seen: list[dict[str, Any]] = []

    class Keeping(OnceSpider):
        def parse(self, response: Any) -> None:
            seen.append(dict(response.meta))

    plain = scrapy.Request(host.url("/shop/1?ref=1"))
    exempt = scrapy.Request(host.url("/shop/1?ref=2"), meta={"dont_obey_robotstxt": True})
    await crawl(plain, exempt, spider=Keeping, **ON)
    assert ["robots_scheduled" in meta for meta in seen] == [False, False]


class Renames:
    """Puts another User-Agent into some requests, after robots.txt was asked."""

    def process_request(self, request: scrapy.Request) -> None:
        if request.url.endswith("ref=a"):
            request.headers["User-Agent"] = "Otherbot"


@pytest_twisted.ensureDeferred
async def test_one_that_is_denied_as_another_crawler_stands_for_no_other(sites: Sites) -> None:
    host = sites.host(f"{RULES}\nUser-agent: otherbot\nDisallow: /\n")
    urls = [f"/shop/1?ref={name}" for name in "abc"]
    crawler = await crawled(
        host, *urls, DOWNLOADER_MIDDLEWARES={Renames: 450}, SCHEDULER_MEMORY_QUEUE=FIFO
    )
    assert host.fetched == ["/shop/1?ref=b"]
    assert stat(crawler, DROPPED) == 1


@pytest_twisted.ensureDeferred
async def test_one_that_new_rules_deny_while_it_waits_stands_for_no_other(sites: Sites) -> None:
    host = sites.host(in_turn(answer(RULES), answer(f"{RULES}Disallow: /*ref=a\n")))

    class WithOneLater(OnceSpider):
        async def start(self) -> AsyncIterator[scrapy.Request]:
            for path in ("/1", "/2", "/shop/1?ref=a"):
                yield self.request(host.url(path))
            await pause(1.5)  # then the rules have expired
            yield self.request(host.url("/3"))
            await until(lambda: self.failures)
            yield self.request(host.url("/shop/1?ref=b"))
            yield self.request(host.url("/shop/1?ref=c"))

    queue = {"SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.ScrapyPriorityQueue"}
    queue["SCHEDULER_MEMORY_QUEUE"] = FIFO
    crawler = await crawl(spider=WithOneLater, **ON, **queue, ROBOTS_TTL=(1, 1), DOWNLOAD_DELAY=1)
    assert sorted(host.fetched) == ["/1", "/2", "/3", "/shop/1?ref=b"]
    assert {url[-5:]: type(each) for url, each in crawler.spider.failures.items()} == {
        "ref=a": RobotsDisallowed,
        "ref=c": RobotsDuplicate,
    }


class RenamesAll:
    """Puts a User-Agent of its own into each request, after robots.txt was asked."""

    def process_request(self, request: scrapy.Request) -> None:
        request.headers["User-Agent"] = "Otherbot"


@pytest_twisted.ensureDeferred
async def test_of_those_that_are_sent_as_another_crawler_one_is_fetched(sites: Sites) -> None:
    host = sites.host(RULES)
    one_by_one = {"CONCURRENT_REQUESTS": 1, "DOWNLOADER_MIDDLEWARES": {RenamesAll: 450}}
    crawler = await crawled(host, *(f"/shop/1?ref={n}" for n in range(4)), **one_by_one)
    assert len(host.fetched) == 1
    assert stat(crawler, DROPPED) == 3
