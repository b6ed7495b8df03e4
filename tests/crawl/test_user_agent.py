"""Which name a request goes by when its robots.txt is read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
import scrapy
from scrapy.http import TextResponse

from scrapy_robots_plus import RobotsMiddleware
from tests.crawling import ProbeSpider, crawl, names_rules, reads_headers, stat, takes_names
from tests.sending import HICCUP, TimedSpider, gaps

if TYPE_CHECKING:
    from tests.sites import Sites

ONLY_FOOBOT = "User-agent: foobot\nAllow: /\n\nUser-agent: *\nDisallow: /\n"
RULES_FOR_OTHERS = "User-agent: barbot\nDisallow: /\n\nUser-agent: *\nDisallow: /open\n"
BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:121.0) Gecko/20100101 Firefox/121.0"
NOT_FOOBOT = "User-agent: foobot\nDisallow: /\n"


class PutsInUserAgent:
    """A downloader middleware, as those that rotate headers."""

    def process_request(self, request: scrapy.Request) -> None:
        if "robots.txt" not in request.url:
            request.headers["User-Agent"] = request.url.rpartition("/")[2]


@pytest_twisted.ensureDeferred
async def test_a_crawl_that_sends_no_header_goes_by_no_name(sites: Sites) -> None:
    host = sites.host(ONLY_FOOBOT)
    none = {"scrapy.downloadermiddlewares.useragent.UserAgentMiddleware": None}
    await crawl(host.url("/a"), USER_AGENT="Foobot/1.0", DOWNLOADER_MIDDLEWARES=none)
    assert host.fetched == []


@pytest_twisted.ensureDeferred
async def test_the_setting_is_what_is_looked_for(sites: Sites) -> None:
    host = sites.host(ONLY_FOOBOT)
    await crawl(host.url("/a"), ROBOTSTXT_USER_AGENT="Foobot", USER_AGENT="Mozilla/5.0")
    assert host.fetched == ["/a"]
    assert host.hits[-1].headers["user-agent"] == "mozilla/5.0"


@takes_names
@pytest.mark.parametrize(
    ("settings", "warnings"),
    [
        ({"USER_AGENT": BROWSER}, 1),
        ({"USER_AGENT": BROWSER, "ROBOTS_DIALECT": "GOOGLE"}, 1),
        ({"USER_AGENT": BROWSER, "ROBOTS_DIALECT": "GYM2008"}, 0),  # compares whole headers
        ({"USER_AGENT": BROWSER, "ROBOTSTXT_USER_AGENT": "foobot"}, 0),
        ({"USER_AGENT": "Foobot/1.0"}, 0),
    ],
)
@pytest_twisted.ensureDeferred
async def test_a_name_that_no_site_can_address_is_told_once(
    sites: Sites, settings: dict[str, Any], warnings: int, caplog: pytest.LogCaptureFixture
) -> None:
    host = sites.host("")
    await crawl(host.url("/a"), host.url("/b"), **settings)
    told = [each for each in caplog.records if "contains no product token" in each.getMessage()]
    assert [(each.levelname, each.__dict__["spider"].name) for each in told] == (
        [("WARNING", ProbeSpider.name)] * warnings
    )


@reads_headers
@pytest_twisted.ensureDeferred
async def test_the_setting_may_be_a_whole_header(sites: Sites) -> None:
    host = sites.host(ONLY_FOOBOT)
    header = "Mozilla/5.0 (compatible; Foobot/2.1; +https://foobot.example/)"
    await crawl(host.url("/a"), ROBOTSTXT_USER_AGENT=header, USER_AGENT="Barbot/1.0")
    assert host.fetched == ["/a"]


@reads_headers
@pytest.mark.parametrize(
    "header",
    [
        "Mozilla/5.0 (compatible; foobot/1.0 +https://e.example/bot)",
        "Mozilla/5.0 (X11; Linux; foobot/1.0) AppleWebKit/537.36 (KHTML, like Gecko) Safari/537.36",
        "Mozilla/5.0+(compatible;+foobot;++https://e.example)",
        "Barbot/1.0 (compatible; Mozilla/5.0; +https://e.example) foobot",
    ],
)
@pytest_twisted.ensureDeferred
async def test_a_group_for_any_name_in_a_header_is_obeyed(sites: Sites, header: str) -> None:
    host = sites.host(f"{NOT_FOOBOT}\nUser-agent: *\nAllow: /\n")
    await crawl(host.url("/a"), USER_AGENT=header)
    assert host.fetched == []


@pytest_twisted.ensureDeferred
async def test_without_it_each_request_goes_by_its_own_header(sites: Sites) -> None:
    host = sites.host(NOT_FOOBOT)
    named = [
        scrapy.Request(host.url(f"/{name}"), headers={"User-Agent": f"{name}/1.0"})
        for name in ("Foobot", "Barbot")
    ]
    await crawl(*named, USER_AGENT="Barbot/1.0")
    assert host.fetched == ["/Barbot"]


@pytest_twisted.ensureDeferred
async def test_headers_that_scrapy_puts_in_later_are_foreseen(sites: Sites) -> None:
    variants: dict[str, dict[str, Any]] = {
        "USER_AGENT": {"USER_AGENT": "Foobot/1.0"},
        "DEFAULT_REQUEST_HEADERS": {"DEFAULT_REQUEST_HEADERS": {"User-Agent": "Foobot/1.0"}},
    }
    for settings in variants.values():
        host = sites.host(ONLY_FOOBOT)
        await crawl(host.url("/a"), **{"USER_AGENT": "Barbot/1.0", **settings})
        assert host.fetched == ["/a"]


@reads_headers
@pytest.mark.parametrize("written", ["USER_AGENT", "DEFAULT_REQUEST_HEADERS", "request"])
@pytest_twisted.ensureDeferred
async def test_a_name_beyond_ascii_is_one_name_wherever_it_is_written(
    sites: Sites, written: str
) -> None:
    host = sites.host("User-agent: F\u00f6\u00f6bot\nAllow: /\n\nUser-agent: *\nDisallow: /\n")
    agent = "F\u00f6\u00f6bot/1.0"
    headers = {"User-Agent": agent}
    settings: dict[str, dict[str, Any]] = {
        "USER_AGENT": {"USER_AGENT": agent},
        "DEFAULT_REQUEST_HEADERS": {"DEFAULT_REQUEST_HEADERS": headers},
    }
    request = scrapy.Request(host.url("/a"), headers=headers if written == "request" else None)
    await crawl(request, **settings.get(written, {}))
    assert host.fetched == ["/a"]


@pytest_twisted.ensureDeferred
async def test_a_user_agent_put_in_by_another_middleware_is_checked_as_it_is_sent(
    sites: Sites,
) -> None:
    host = sites.host(NOT_FOOBOT)
    requests = [
        scrapy.Request(host.url("/Foobot")),
        scrapy.Request(host.url("/Barbot")),
        scrapy.Request(host.url("/x/Foobot"), headers={"User-Agent": "Quxbot"}),
    ]
    crawler = await crawl(
        *requests,
        USER_AGENT="Barbot",
        DOWNLOADER_MIDDLEWARES={PutsInUserAgent: 1000},
    )
    assert host.fetched == ["/Barbot"]
    assert stat(crawler, "robotstxt/forbidden/rule") == 2


class NamesItselfWhenOpened(ProbeSpider):
    @classmethod
    def from_crawler(cls, crawler: Any, *arguments: Any, **named: Any) -> Any:
        spider = super().from_crawler(crawler, *arguments, **named)
        crawler.signals.connect(spider.spider_opened, scrapy.signals.spider_opened)
        return spider

    def spider_opened(self) -> None:
        self.user_agent = "Foobot/1.0"


@pytest_twisted.ensureDeferred
async def test_a_spider_may_name_itself_when_it_is_opened(sites: Sites) -> None:
    host = sites.host(NOT_FOOBOT)
    await crawl(host.url("/a"), spider=NamesItselfWhenOpened, USER_AGENT="Barbot")
    assert host.fetched == []


BOTH = "User-agent: foobot\nDisallow: /\n\nUser-agent: foobot-news\nDisallow: /closed\n"


@names_rules
@pytest_twisted.ensureDeferred
async def test_of_several_names_the_first_that_a_file_knows_counts(sites: Sites) -> None:
    names = ["Foobot-News", "Foobot"]
    one, both, neither = sites.host(NOT_FOOBOT), sites.host(BOTH), sites.host(RULES_FOR_OTHERS)
    hosts = (one, both, neither)
    urls = [host.url(page) for host in hosts for page in ("/closed", "/open")]
    crawler = await crawl(*urls, ROBOTSTXT_USER_AGENT=names, USER_AGENT="Mozilla/5.0")
    assert [host.fetched for host in hosts] == [[], ["/open"], ["/closed"]]
    verdict = crawler.spider.failures[one.url("/open")].verdict
    assert (verdict.rule, verdict.group) == ("Disallow: /", ("foobot",))


@names_rules
@pytest_twisted.ensureDeferred
async def test_a_delay_for_the_second_of_several_names_is_kept(sites: Sites) -> None:
    host = sites.host("User-agent: Foobot\nCrawl-delay: 1\n")
    urls = [host.url("/1"), host.url("/2")]
    names = ["Foobot-News", "Foobot"]
    crawler = await crawl(*urls, spider=TimedSpider, ROBOTSTXT_USER_AGENT=names)
    assert min(gaps(crawler.spider.sent, host)) >= 1 - HICCUP


@pytest_twisted.ensureDeferred
async def test_a_parser_that_takes_one_name_is_given_the_first(sites: Sites) -> None:
    file = "User-agent: newsbot\nDisallow: /closed\n\nUser-agent: foobot\nDisallow: /\n"
    host = sites.host(file)
    await crawl(
        host.url("/closed"),
        host.url("/open"),
        ROBOTSTXT_USER_AGENT=["Newsbot", "Foobot"],
        ROBOTSTXT_PARSER="scrapy.robotstxt.ProtegoRobotParser",
    )
    assert host.fetched == ["/open"]


@pytest_twisted.ensureDeferred
async def test_denied_for_such_a_name_from_the_start_is_a_crawl_that_was_denied(
    sites: Sites,
) -> None:
    host = sites.host(NOT_FOOBOT)
    settings: dict[str, Any] = {
        "USER_AGENT": "Barbot",
        "DOWNLOADER_MIDDLEWARES": {PutsInUserAgent: 900},
    }
    crawler = await crawl(host.url("/Foobot"), **settings)
    assert host.fetched == []
    assert stat(crawler, "finish_reason") == "robotstxt_denied"


class RotatesAndFails:
    """Another header each time; the first time, it fails then."""

    def __init__(self) -> None:
        self.names = iter(("Barbot", "Foobot"))

    def process_request(self, request: scrapy.Request) -> None:
        if "robots.txt" not in request.url:
            name = request.headers["User-Agent"] = next(self.names)
            if name == "Barbot":
                raise OSError


class ExemptsWhatFailed:
    """Sends a request once more, itself and not a copy."""

    def process_exception(self, request: scrapy.Request, exception: Exception) -> scrapy.Request:
        request.meta["dont_obey_robotstxt"] = request.dont_filter = True
        return request


@pytest_twisted.ensureDeferred
async def test_a_request_that_is_exempt_when_it_comes_again_is_not_judged_again(
    sites: Sites,
) -> None:
    host = sites.host(NOT_FOOBOT)
    middlewares = {RotatesAndFails: 950, ExemptsWhatFailed: 10}
    await crawl(host.url("/a"), DOWNLOADER_MIDDLEWARES=middlewares)
    assert host.fetched == ["/a"]


class Cached:
    """Answers a page itself, as a cache does (HttpCacheMiddleware stands at 900)."""

    def process_request(self, request: scrapy.Request) -> TextResponse | None:
        if request.url.endswith("/cached"):
            return TextResponse(request.url, body=b"x", request=request)
        return None


class CopiesMeta(ProbeSpider):
    def parse(self, response: Any) -> Any:
        super().parse(response)
        if response.url.endswith("/cached"):
            yield scrapy.Request(
                response.urljoin("/Foobot"), meta=response.meta, errback=self.failed
            )


@pytest_twisted.ensureDeferred
async def test_the_name_that_a_request_was_judged_by_does_not_go_on_with_its_meta(
    sites: Sites,
) -> None:
    host = sites.host(NOT_FOOBOT)
    first = scrapy.Request(host.url("/cached"), headers={"User-Agent": "Barbot"})
    crawler = await crawl(
        first,
        spider=CopiesMeta,
        USER_AGENT="Barbot",
        DOWNLOADER_MIDDLEWARES={PutsInUserAgent: 950, Cached: 900},
    )
    assert crawler.spider.got == [host.url("/cached")]
    assert host.fetched == []


class Wraps:
    """A middleware of the project that calls ours, which Scrapy does not know."""

    def __init__(self, crawler: Any) -> None:
        self.ours = RobotsMiddleware(crawler)

    @classmethod
    def from_crawler(cls, crawler: Any) -> Any:
        return cls(crawler)

    async def process_request(self, request: scrapy.Request) -> Any:
        return await self.ours.process_request(request)


@pytest_twisted.ensureDeferred
async def test_a_middleware_of_the_project_may_call_ours(sites: Sites) -> None:
    host = sites.host(NOT_FOOBOT)
    urls = [host.url("/Foobot"), host.url("/Barbot")]
    ours = "scrapy_robots_plus.RobotsMiddleware"
    middlewares = {ours: None, Wraps: 100, PutsInUserAgent: 1000}
    crawler = await crawl(*urls, USER_AGENT="Barbot", DOWNLOADER_MIDDLEWARES=middlewares)
    assert host.fetched == ["/Barbot"]
    assert stat(crawler, "finish_reason") == "finished"
