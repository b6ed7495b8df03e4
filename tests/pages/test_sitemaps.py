"""Sitemaps that robots.txt files name: announced, and requested."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
import scrapy
from scrapy import signals
from scrapy.utils.defer import deferred_from_coro

from scrapy_robots_plus import Origin, RobotsSitemapSpider, sitemaps_found
from scrapy_robots_plus.crawl.crawl import Crawl
from scrapy_robots_plus.origins.policies import Policies
from scrapy_robots_plus.origins.store_or_site import Retrieved
from scrapy_robots_plus.pages.sitemaps import Sitemaps
from tests.crawling import ProbeSpider, StepSpider, crawl, make_crawler, run, stat
from tests.sites import Host, Sites, after, answer, in_turn, redirect
from tests.waiting import until

from .listings import listing

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy.crawler import Crawler

SCHEDULED = "robotstxt/sitemaps/scheduled"
EMPTY = "User-agent: *\nDisallow: /closed\n"


class Listening(ProbeSpider):
    """Keeps what the signal brings."""

    found: list[tuple[Origin, tuple[str, ...]]]

    @classmethod
    def from_crawler(cls, crawler: Crawler, *arguments: Any, **named: Any) -> Listening:
        spider = super().from_crawler(crawler, *arguments, **named)
        spider.found = []
        crawler.signals.connect(spider.keep, sitemaps_found)
        return spider

    def keep(self, origin: Origin, urls: tuple[str, ...]) -> None:
        self.found.append((origin, urls))


class Reading(ProbeSpider):
    """Reads sitemaps, as text: the pages they name come a line each."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.sitemaps: list[str] = []

    def parse_sitemap(self, response: scrapy.http.TextResponse) -> Any:
        self.sitemaps.append(response.url)
        for word in response.text.split():
            if "://" in word:
                yield scrapy.Request(word)


def robots(*sitemaps: str) -> str:
    return EMPTY + "".join(f"Sitemap: {url}\n" for url in sitemaps)


def origin_of(host: Host) -> Origin:
    origin = Origin.of(host.url("/"))
    assert origin is not None
    return origin


@pytest_twisted.ensureDeferred
async def test_the_signal_brings_the_sitemaps_of_each_origin_once(sites: Sites) -> None:
    one, other, without = sites.host(), sites.host(), sites.host()
    one.robots(robots(one.url("/a.xml"), "https://far.example/b.xml"))
    other.robots(robots(other.url("/a.xml")))
    without.robots(EMPTY)
    urls = [host.url(f"/{page}") for host in (one, other, without) for page in range(3)]
    crawler = await crawl(*urls, spider=Listening)
    assert sorted(crawler.spider.found) == sorted(
        [
            (origin_of(one), (one.url("/a.xml"), "https://far.example/b.xml")),
            (origin_of(other), (other.url("/a.xml"),)),
        ]
    )
    assert stat(crawler, "robotstxt/sitemaps/found") == 3
    assert len(crawler.spider.got) == 9


@pytest_twisted.ensureDeferred
async def test_a_file_that_comes_from_the_store_counts_as_well(sites: Sites, tmp_path: Any) -> None:
    host = sites.host()
    host.robots(robots("/a.xml"))
    store = f"sqlite:{tmp_path / 'robots.sqlite'}"
    for _ in range(2):
        crawler = await crawl(host.url("/"), spider=Listening, ROBOTS_STORE=store)
        assert crawler.spider.found == [(origin_of(host), (host.url("/a.xml"),))]
    assert len([hit for hit in host.hits if hit.path == "/robots.txt"]) == 1


class Stepping(StepSpider, Listening):
    pause = 0.1

    def enough(self) -> bool:
        return len(self.found) >= 2


@pytest_twisted.ensureDeferred
async def test_the_signal_comes_again_only_if_the_list_has_changed(sites: Sites) -> None:
    host = sites.host()
    old, new = robots("/a.xml"), robots("/a.xml", "/b.xml")
    fresh: dict[str, Any] = {"cache_control": "max-age=1"}
    # Other rules and the same list; then a list of two.
    texts = (old, f"{old}User-agent: x\nDisallow: /", new)
    host.robots(in_turn(*(answer(text, **fresh) for text in texts)))
    crawler = await crawl(
        *(host.url(f"/{page}") for page in range(250)), spider=Stepping, ROBOTS_TTL=(1, 86_400)
    )
    found = [urls for _, urls in crawler.spider.found]
    assert found == [(host.url("/a.xml"),), (host.url("/a.xml"), host.url("/b.xml"))]
    assert stat(crawler, "robotstxt/sitemaps/found") == 3


@pytest_twisted.ensureDeferred
async def test_sitemaps_are_requested_and_their_pages_fetched(sites: Sites) -> None:
    host, far = sites.host(), sites.host()
    host.robots(robots("/a.xml", far.url("/b.xml"), "/closed/c.xml"))
    far.robots("User-agent: *\nDisallow: /page\n")
    host.pages["/a.xml"] = answer(f"{host.url('/page')} {far.url('/page')}")
    crawler = await crawl(host.url("/"), spider=Reading, ROBOTS_SITEMAPS=True)
    assert sorted(crawler.spider.sitemaps) == sorted([host.url("/a.xml"), far.url("/b.xml")])
    assert sorted(crawler.spider.got) == sorted([host.url("/"), host.url("/page")])
    assert "/closed/c.xml" not in host.fetched
    assert stat(crawler, SCHEDULED) == 3
    assert crawler.stats.get_value("finish_reason") == "finished"


@pytest_twisted.ensureDeferred
async def test_the_pages_of_one_sitemap_of_an_index_come_before_the_next_sitemap(
    sites: Sites,
) -> None:
    class Site(RobotsSitemapSpider):
        name = "site"

        async def start(self) -> AsyncIterator[scrapy.Request]:
            yield scrapy.Request(host.url("/"))

        def parse(self, response: Any) -> None:
            pass

    host = sites.host()
    host.robots(robots("/index.xml"))
    numbers = range(6)
    host.pages["/index.xml"] = listing("sitemapindex", *(host.url(f"/{n}.xml") for n in numbers))
    for number in numbers:
        pages = (host.url(f"/{number}/{page}") for page in range(3))
        # Each later than the callback of the last one ends: Scrapy 2.14 takes its time.
        host.pages[f"/{number}.xml"] = after(0.4, listing("urlset", *pages))
    await crawl(
        spider=Site,
        ROBOTS_SITEMAPS=True,
        CONCURRENT_REQUESTS=1,
        SCHEDULER_MEMORY_QUEUE="scrapy.squeues.FifoMemoryQueue",
    )
    place = host.fetched.index
    assert len(host.fetched) == 2 + 4 * len(numbers)
    for number in numbers[2:]:  # one more may be under way while the callback of the last one runs
        assert place(f"/{number}.xml") > max(place(f"/{number - 2}/{page}") for page in range(3))


@pytest_twisted.ensureDeferred
async def test_nothing_is_requested_unless_asked_for(sites: Sites) -> None:
    host = sites.host()
    host.robots(robots("/a.xml"))
    crawler = await crawl(host.url("/"), spider=Reading)
    assert crawler.spider.sitemaps == []
    assert stat(crawler, "robotstxt/sitemaps/found") == 0


@pytest_twisted.ensureDeferred
async def test_a_spider_that_reads_none_is_told_once(
    sites: Sites, caplog: pytest.LogCaptureFixture
) -> None:
    hosts = [sites.host() for _ in range(2)]
    for host in hosts:
        host.robots(robots("/a.xml"))
    await crawl(*(host.url("/") for host in hosts), ROBOTS_SITEMAPS=True)
    warnings = [each for each in caplog.records if "has no parse_sitemap" in each.getMessage()]
    assert len(warnings) == 1
    assert all("/a.xml" not in host.fetched for host in hosts)


@pytest_twisted.ensureDeferred
async def test_what_a_redirected_file_names_is_relative_to_where_it_was_found(sites: Sites) -> None:
    host, www = sites.host(), sites.host()
    host.robots(redirect(www.url("/robots.txt")))
    www.robots(robots("a.xml"))
    crawler = await crawl(host.url("/"), spider=Listening)
    assert crawler.spider.found == [(origin_of(host), (www.url("/a.xml"),))]


@pytest_twisted.ensureDeferred
async def test_a_hostile_list_is_bounded_and_what_is_left_out_is_counted(
    sites: Sites, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Sitemaps, "MOST", 20)
    host = sites.host()
    odd = [
        "ftp://a.example/a",
        "file:///etc/passwd",
        "https://u:p@a.example/",
        "http://[",
        "robots.txt",
    ]
    many = [f"/{number}" for number in range(20_000)]
    host.robots(robots(*odd, *many))
    crawler = await crawl(host.url("/"), spider=Reading, ROBOTS_SITEMAPS=True)
    named = len(odd) + len(many)
    assert stat(crawler, "robotstxt/sitemaps/left_out") == named - 15
    assert sorted(crawler.spider.sitemaps) == sorted(host.url(f"/{n}") for n in range(15))


@pytest_twisted.ensureDeferred
async def test_a_job_that_is_stopped_meanwhile_requests_each_once(
    sites: Sites, tmp_path: Any
) -> None:
    host = sites.host()
    maps = [host.url(f"/{number}.xml") for number in range(110)]
    host.robots(robots(*maps))
    done: list[str] = []
    scheduled: list[int] = []
    for page in ("/first", "/second"):
        crawler = make_crawler(Reading, ROBOTS_SITEMAPS=True, JOBDIR=str(tmp_path))
        if page == "/first":
            crawler.signals.connect(stop_at_the_51st, signals.request_scheduled)
        await run(crawler, urls=[host.url(page)])
        done += crawler.spider.sitemaps
        scheduled.append(stat(crawler, SCHEDULED))
    assert sorted(done) == sorted(maps)
    assert 50 < scheduled[0] < 110 == scheduled[1]


def stop_at_the_51st(request: scrapy.Request, spider: scrapy.Spider) -> None:
    if request.url.endswith("/50.xml"):
        deferred_from_coro(spider.crawler.engine.close_spider_async(reason="stopped"))


class Late(ProbeSpider):
    """Its last request is the first to its host."""

    sitemaps: tuple[str, ...] = ()

    async def start(self) -> AsyncIterator[scrapy.Request]:
        yield self.request(self.urls[0])

    def parse_sitemap(self, response: Any) -> None:
        self.sitemaps = (*self.sitemaps, response.url)


@pytest_twisted.ensureDeferred
async def test_the_crawl_does_not_end_before_sitemaps_are_requested(sites: Sites) -> None:
    """Nor wait for anything: the only page is denied at once."""
    host = sites.host()
    host.robots(robots(*(f"/{number}.xml" for number in range(110))))
    crawler = await crawl(host.url("/closed"), spider=Late, ROBOTS_SITEMAPS=True)
    assert len(crawler.spider.sitemaps) == 110
    assert stat(crawler, "elapsed_time_seconds") < 20


@pytest_twisted.ensureDeferred
async def test_a_file_may_come_in_the_moment_in_which_the_spider_closes(
    sites: Sites, caplog: pytest.LogCaptureFixture
) -> None:
    class Closing(Reading):
        def closed(self, reason: str) -> None:
            crawl = Crawl.of(self.crawler)
            policy: Any = crawl.get(Policies).usable(origin_of(host))
            self.sitemaps_of_crawl = crawl.get(Sitemaps)
            self.sitemaps_of_crawl._news.clear()
            self.sitemaps_of_crawl.retrieved(Retrieved(None, policy, policy.record))

    host = sites.host()
    host.robots(robots(host.url("/a.xml")))
    with caplog.at_level("ERROR"):
        crawler = await crawl(host.url("/"), spider=Closing, ROBOTS_SITEMAPS=True)
        await until(lambda: crawler.spider.sitemaps_of_crawl._working == 0)
    assert (caplog.text, stat(crawler, SCHEDULED)) == ("", 1)
