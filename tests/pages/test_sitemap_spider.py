"""A SitemapSpider crawl asks each origin for its robots.txt once."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
import scrapy
from scrapy.spiders import SitemapSpider

from scrapy_robots_plus import RobotsSitemapSpider, RobotsUnreachable
from tests.crawling import crawl, make_crawler, run, stat
from tests.sites import Host, Sites, after, answer, hang_up, in_turn, redirect
from tests.waiting import close_when

from .listings import listing

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

EMPTY = "User-agent: *\nDisallow: /closed\n"
XML = {"content_type": "application/xml"}


class Pages:
    """What a spider of these tests keeps."""

    got: list[str]
    failures: list[BaseException]

    def __init__(self, urls: list[str], also: tuple[str, ...] = ()) -> None:
        self.sitemap_urls = urls
        self.also = also
        self.got = []
        self.failures = []
        super().__init__()

    async def start(self) -> AsyncIterator[Any]:
        async for each in super().start():  # type: ignore[misc]
            yield each.replace(errback=lambda failure: self.failures.append(failure.value))
        for url in self.also:
            yield scrapy.Request(url, self.parse)

    def parse(self, response: Any) -> None:
        self.got.append(response.url)


class Ours(Pages, RobotsSitemapSpider):  # type: ignore[misc]
    name = "ours"


class Scrapys(Pages, SitemapSpider):  # type: ignore[misc]
    name = "scrapys"


def site_with(host: Host, *pages: str) -> Host:
    """A robots.txt, a sitemap, the pages in it."""
    host.robots(f"{EMPTY}Sitemap: {host.url('/map.xml')}\n")
    host.pages["/map.xml"] = listing("urlset", *map(host.url, pages))
    return host


async def crawled(*urls: str, spider: type[Any] = Ours, **settings: Any) -> Any:
    also = settings.pop("also", ())
    crawler = make_crawler(spider, **settings)
    await run(crawler, urls=list(urls), also=also)
    return crawler


ROBOTS = "/robots.txt"


@pytest_twisted.ensureDeferred
async def test_each_origin_is_asked_for_its_robots_txt_once(sites: Sites) -> None:
    hosts = [site_with(sites.host(), "/a", "/b", "/closed/c") for _ in range(5)]
    crawler = await crawled(*(host.url(ROBOTS) for host in hosts))
    assert [host.robots_hits for host in hosts] == [1] * 5
    expected = [host.url(page) for host in hosts for page in ("/a", "/b")]
    assert sorted(crawler.spider.got) == sorted(expected)
    assert stat(crawler, "robotstxt/sitemaps/found") == 5


@pytest_twisted.ensureDeferred
async def test_scrapys_own_spider_asks_twice(sites: Sites) -> None:
    """Otherwise the other tests here would show nothing."""
    host = site_with(sites.host(), "/a")
    await crawled(host.url(ROBOTS), spider=Scrapys)
    assert host.robots_hits == 2


@pytest.mark.parametrize("pages_first", [True, False])
@pytest_twisted.ensureDeferred
async def test_whichever_request_comes_first(sites: Sites, pages_first: bool) -> None:
    host = site_with(sites.host(), "/a")
    host.robots(after(0.2, host.pages[ROBOTS]))
    also = [scrapy.Request(host.url("/b"), priority=1 if pages_first else -1)]

    class Both(Ours):
        async def start(self) -> AsyncIterator[Any]:
            if pages_first:
                yield also[0]
            async for each in super().start():
                yield each
            if not pages_first:
                yield also[0]

    crawler = await crawled(host.url(ROBOTS), spider=Both)
    assert host.robots_hits == 1
    assert sorted(crawler.spider.got) == [host.url("/a"), host.url("/b")]


@pytest.mark.parametrize("queue", ["ours", "scrapys"])
@pytest_twisted.ensureDeferred
async def test_whatever_the_queue(sites: Sites, queue: str) -> None:
    """Without ours, requests wait for the file in the middleware."""
    host = site_with(sites.host(), "/a")
    host.robots(after(0.2, host.pages[ROBOTS]))
    other = {"SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.ScrapyPriorityQueue"}
    settings: dict[str, Any] = other if queue == "scrapys" else {}
    crawler = await crawled(host.url(ROBOTS), also=(host.url("/b"),), **settings)
    assert host.robots_hits == 1
    assert sorted(crawler.spider.got) == [host.url("/a"), host.url("/b")]


@pytest_twisted.ensureDeferred
async def test_a_robots_txt_that_is_redirected(sites: Sites) -> None:
    host, www = sites.host(), site_with(sites.host(), "/a")
    host.robots(redirect(www.url("/robots.php")))
    www.pages["/robots.php"] = answer(f"{EMPTY}Sitemap: map.xml\n")
    crawler = await crawled(host.url(ROBOTS))
    assert (host.robots_hits, www.fetched.count("/robots.php"), www.robots_hits) == (1, 1, 1)
    assert crawler.spider.got == [www.url("/a")]


@pytest_twisted.ensureDeferred
async def test_a_robots_txt_that_is_not_there(sites: Sites) -> None:
    host = sites.host()
    host.robots(answer(f"Sitemap: {host.url('/map.xml')}", 404))
    crawler = await crawled(host.url(ROBOTS), also=(host.url("/b"),))
    assert host.robots_hits == 1
    assert crawler.spider.got == [host.url("/b")]
    assert "/map.xml" not in host.fetched


@pytest.mark.parametrize("reply", [answer("", 503, retry_after="60"), hang_up])
@pytest_twisted.ensureDeferred
async def test_a_robots_txt_that_cannot_be_read(sites: Sites, reply: Any) -> None:
    host = sites.host().robots(reply)
    crawler = await crawled(host.url(ROBOTS), ROBOTS_FETCH_RETRIES=0)
    assert host.robots_hits == 1
    (failure,) = crawler.spider.failures
    assert isinstance(failure, RobotsUnreachable)
    assert stat(crawler, "robotstxt/forbidden/unreachable") == 1


@pytest_twisted.ensureDeferred
async def test_a_robots_txt_that_can_be_read_later(sites: Sites) -> None:
    """``ROBOTS_DEFER`` holds for it as for pages."""
    host = site_with(sites.host(), "/a")
    host.robots(in_turn(answer("", 503), host.pages[ROBOTS]))
    crawler = await crawled(
        host.url(ROBOTS), ROBOTS_DEFER=3600, ROBOTS_RETRY_INTERVAL=(1, 3600), ROBOTS_FETCH_RETRIES=0
    )
    assert host.robots_hits == 2
    assert crawler.spider.got == [host.url("/a")]


@pytest_twisted.ensureDeferred
async def test_a_file_that_expires_is_refreshed_and_no_more(sites: Sites) -> None:
    host = site_with(sites.host(), *(f"/{number}" for number in range(8)))
    text = f"{EMPTY}Sitemap: {host.url('/map.xml')}\n"
    host.robots(answer(text, cache_control="max-age=1"))
    crawler = await crawled(host.url(ROBOTS), ROBOTS_TTL=(1, 86_400), DOWNLOAD_DELAY=0.25)
    assert len(crawler.spider.got) == 8
    assert host.robots_hits == stat(crawler, "robotstxt/request_count")
    assert host.robots_hits == 1 + stat(crawler, "robotstxt/refresh_count") > 1


@pytest_twisted.ensureDeferred
async def test_the_http_cache_keeps_the_whole_file_for_a_replay(
    sites: Sites, tmp_path: Any
) -> None:
    host = site_with(sites.host(), "/a", "/closed/b")
    settings: dict[str, Any] = {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(tmp_path)}
    for replay in (False, True):
        crawler = await crawled(host.url(ROBOTS), HTTPCACHE_IGNORE_MISSING=replay, **settings)
        assert crawler.spider.got == [host.url("/a")]
        assert stat(crawler, "robotstxt/forbidden") == 1
        assert host.robots_hits == 1
    assert host.fetched.count("/a") == 1


@pytest_twisted.ensureDeferred
async def test_an_index_rules_filters_and_alternate_links_work_as_ever(sites: Sites) -> None:
    host = sites.host()
    host.robots(f"{EMPTY}Sitemap: {host.url('/index.xml')}\n")
    host.pages["/index.xml"] = listing(
        "sitemapindex", host.url("/one.xml.gz"), host.url("/skipped.xml")
    )
    text = (
        '<urlset xmlns:xhtml="http://www.w3.org/1999/xhtml">'
        f"<url><loc>{host.url('/shop/1')}</loc><lastmod>2026-01-01</lastmod>"
        f'<xhtml:link rel="alternate" href="{host.url("/shop/1/de")}"/></url>'
        f"<url><loc>{host.url('/shop/2')}</loc><lastmod>2001-01-01</lastmod></url>"
        f"<url><loc>{host.url('/news/3')}</loc><lastmod>2026-01-01</lastmod></url></urlset>"
    )
    host.pages["/one.xml.gz"] = answer(gzip.compress(text.encode()))

    class Choosy(Ours):
        sitemap_rules = [("/shop/", "parse_shop")]  # noqa: RUF012
        sitemap_follow = ["/one"]  # noqa: RUF012
        sitemap_alternate_links = True

        def sitemap_filter(self, entries: Any) -> Any:
            return (each for each in entries if each.get("lastmod", "2026") >= "2026")

        def parse_shop(self, response: Any) -> None:
            self.got.append(response.url)

    crawler = await crawled(host.url(ROBOTS), spider=Choosy)
    assert sorted(crawler.spider.got) == [host.url("/shop/1"), host.url("/shop/1/de")]
    assert "/skipped.xml" not in host.fetched
    assert host.robots_hits == 1


@pytest_twisted.ensureDeferred
async def test_a_sitemap_in_place_of_a_robots_txt_is_requested(sites: Sites) -> None:
    host = site_with(sites.host(), "/a")
    crawler = await crawled(host.url("/map.xml"))
    assert crawler.spider.got == [host.url("/a")]
    assert host.robots_hits == 1


@pytest_twisted.ensureDeferred
async def test_with_sitemaps_scheduled_each_is_requested_once(sites: Sites) -> None:
    """Also those of other hosts that the crawl comes to."""
    host, other = site_with(sites.host(), "/a"), site_with(sites.host(), "/b")
    crawler = await crawled(host.url(ROBOTS), also=(other.url("/"),), ROBOTS_SITEMAPS=True)
    assert sorted(crawler.spider.got) == sorted([host.url("/a"), other.url("/"), other.url("/b")])
    assert [each.fetched.count("/map.xml") for each in (host, other)] == [1, 1]
    assert [each.robots_hits for each in (host, other)] == [1, 1]


@pytest.mark.parametrize(
    "settings",
    [{"ADDONS": {}}, {"ROBOTSTXT_OBEY": False}],
    ids=["no add-on", "off"],
)
@pytest_twisted.ensureDeferred
async def test_where_nothing_can_answer_it_the_request_is_sent(
    sites: Sites, settings: dict[str, Any]
) -> None:
    host = site_with(sites.host(), "/a")
    crawler = await crawled(host.url(ROBOTS), **settings)
    assert crawler.spider.got == [host.url("/a")]
    assert host.robots_hits == 1


@pytest_twisted.ensureDeferred
async def test_a_host_that_is_not_obeyed_is_asked_by_the_request_itself(sites: Sites) -> None:
    host = site_with(sites.host(), "/a")
    overrides = {host.origin: {"obey": False, "crawl_delay": 0, "reason": "ours"}}
    crawler = await crawled(host.url(ROBOTS), ROBOTS_OVERRIDES=overrides)
    assert crawler.spider.got == [host.url("/a")]
    assert host.robots_hits == 1


@pytest_twisted.ensureDeferred
async def test_a_text_in_place_of_the_file_names_the_sitemaps(sites: Sites) -> None:
    host = site_with(sites.host(), "/a")
    overrides = {host.origin: {"robots_txt": f"Sitemap: {host.url('/map.xml')}"}}
    crawler = await crawled(host.url(ROBOTS), ROBOTS_OVERRIDES=overrides)
    assert crawler.spider.got == [host.url("/a")]
    assert host.robots_hits == 0


@pytest_twisted.ensureDeferred
async def test_a_job_that_is_stopped_while_it_waits_goes_on(sites: Sites, tmp_path: Any) -> None:
    host = site_with(sites.host(), "/a")
    whole = host.pages[ROBOTS]
    host.robots(after(60, whole))
    crawler = make_crawler(RobotsSitemapSpider, JOBDIR=str(tmp_path), ROBOTS_FETCH_TIMEOUT=90)
    close_when(lambda: host.robots_hits, crawler)
    await run(crawler, name="job", sitemap_urls=[host.url(ROBOTS)])
    host.robots(whole)
    got: list[str] = []

    class Resumed(RobotsSitemapSpider):
        name = "job"

        def parse(self, response: Any) -> None:
            got.append(response.url)

    crawler = make_crawler(Resumed, JOBDIR=str(tmp_path))
    await run(crawler, sitemap_urls=[host.url(ROBOTS)])
    assert got == [host.url("/a")]
    assert host.robots_hits == 2  # one of them was cut off


@pytest_twisted.ensureDeferred
async def test_it_keeps_the_tables_free_of_what_was_not_sent(
    sites: Sites, caplog: pytest.LogCaptureFixture
) -> None:
    host = site_with(sites.host(), "/a")
    caplog.set_level("INFO")
    await crawled(host.url(ROBOTS))
    assert "1 site, 2 requests allowed, 0 denied" in caplog.text  # the sitemap and its page


@pytest_twisted.ensureDeferred
async def test_the_key_works_for_any_spider(sites: Sites) -> None:
    host = site_with(sites.host(), "/a")
    host.robots(f"{EMPTY}Sitemap: map.xml\nSitemap: ftp://a.example/\n")
    texts: list[str] = []

    class Asking(scrapy.Spider):
        name = "asking"

        def __init__(self, urls: object) -> None:
            super().__init__()

        async def start(self) -> AsyncIterator[Any]:
            yield scrapy.Request(host.url(ROBOTS), meta={"robots_sitemaps": True})

        def parse(self, response: Any) -> None:
            texts.append(response.text)

    await crawl(spider=Asking)
    assert texts == [f"Sitemap: {host.url('/map.xml')}\n"]
    assert host.robots_hits == 1


@pytest_twisted.ensureDeferred
async def test_two_spiders_with_one_store_ask_once(sites: Sites, tmp_path: Any) -> None:
    """Not only two crawls of one spider."""
    hosts = [site_with(sites.host(), "/a"), site_with(sites.host(), "/b")]
    store: dict[str, Any] = {"ROBOTS_STORE": f"sqlite:{tmp_path / 'robots.sqlite'}"}
    await crawled(hosts[0].url(ROBOTS), **store)
    crawler = await crawled(*(host.url(ROBOTS) for host in hosts), **store)
    assert [host.robots_hits for host in hosts] == [1, 1]
    assert sorted(crawler.spider.got) == sorted([hosts[0].url("/a"), hosts[1].url("/b")])


@pytest_twisted.ensureDeferred
async def test_before_a_base_class_that_is_a_sitemap_spider(sites: Sites) -> None:
    host = site_with(sites.host(), "/a")

    class Base(SitemapSpider):
        async def start(self) -> AsyncIterator[Any]:
            async for each in super().start():
                yield each.replace(meta={**each.meta, "base": True})

        def parse(self, response: Any) -> Any:
            yield {"url": response.url}

    class Mixed(RobotsSitemapSpider, Base):
        name = "mixed"

    crawler = make_crawler(Mixed)
    await run(crawler, sitemap_urls=[host.url(ROBOTS)])
    assert stat(crawler, "item_scraped_count") == 1
    assert host.robots_hits == 1


@pytest_twisted.ensureDeferred
async def test_where_rules_are_not_obeyed_but_delays_are(sites: Sites) -> None:
    host, failing = site_with(sites.host(), "/a"), sites.host()
    failing.robots(answer("", 503, retry_after="60"))
    settings: dict[str, Any] = {
        "ROBOTSTXT_OBEY": False,
        "ROBOTS_CRAWL_DELAY_OBEY": True,
        "RETRY_ENABLED": True,
    }
    crawler = await crawled(host.url(ROBOTS), failing.url(ROBOTS), **settings)
    assert crawler.spider.got == [host.url("/a")]
    assert [each.robots_hits for each in (host, failing)] == [1, 1]


@pytest_twisted.ensureDeferred
async def test_allowed_domains_hold_for_sitemaps(sites: Sites) -> None:
    host, far = sites.host(), sites.host()
    host.robots(f"Sitemap: {far.url('/map.xml')}\nSitemap: map.xml\n")
    host.pages["/map.xml"] = listing("urlset", host.url("/a"))

    class Local(Ours):
        allowed_domains = [host.origin.partition("//")[2].partition(":")[0]]  # noqa: RUF012

    crawler = await crawled(host.url(ROBOTS), spider=Local, ROBOTS_SITEMAPS=True)
    assert crawler.spider.got == [host.url("/a")]
    assert far.hits == []


@pytest_twisted.ensureDeferred
async def test_a_file_without_sitemaps_is_told_of(
    sites: Sites, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    host = sites.host(EMPTY)
    await crawled(host.url(ROBOTS))
    assert f"{host.url(ROBOTS)} names no sitemap that may be requested" in caplog.text
