"""README, "From code": what policies answer, and that asking them changes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest_twisted

from scrapy_robots_plus import RobotsMiddleware
from tests.crawling import ProbeSpider, crawl, make_crawler, parts_of_seconds, run, stat
from tests.sending import TimedSpider, gaps

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from tests.sites import Sites

RULES = "User-agent: *\nDisallow: /closed\n"


@parts_of_seconds
@pytest_twisted.ensureDeferred
async def test_they_tell_what_a_request_would_come_to(sites: Sites) -> None:
    host = sites.host(f"{RULES}Crawl-delay: 0.1\nSitemap: https://x.example/map.xml\n")
    crawler = make_crawler(AskingSpider)
    await run(crawler, urls=[host.url("/open"), host.url("/closed"), "mailto:someone"])
    assert crawler.spider.answers == [True, False, True]
    assert crawler.spider.seen == [("200", "rules", 0.1, ("https://x.example/map.xml",))]
    assert host.fetched == ["/open"]


class AskingSpider(ProbeSpider):
    async def start(self) -> AsyncIterator[Request]:
        policies = self.crawler.get_downloader_middleware(RobotsMiddleware).policies
        self.answers = [await policies.allowed(url) for url in self.urls]
        yield self.request(self.urls[0])

    def parse(self, response: Response) -> None:
        policies = self.crawler.get_downloader_middleware(RobotsMiddleware).policies
        assert len(list(policies)) == 1
        self.seen = [
            (policy.status, policy.access.value, policy.delay, policy.sitemaps)
            for policy in policies
            if 0 <= policy.age < 60
        ]


class NamingSpider(ProbeSpider):
    async def start(self) -> AsyncIterator[Request]:
        policies = self.crawler.get_downloader_middleware(RobotsMiddleware).policies
        names: list[Any] = ["Barbot", b"Barbot", ("Barbot", "Foobot"), ["Barbot", "Foobot"]]
        self.answers = [
            [bool(await policies.allowed(url, name)), bool(await policies.may(url, "search", name))]
            for url in self.urls
            for name in names
        ]
        return
        yield


@pytest_twisted.ensureDeferred
async def test_an_agent_may_be_named_in_any_form(sites: Sites) -> None:
    host = sites.host("User-agent: barbot\nDisallow: /closed\n\nUser-agent: *\nDisallow: /\n")
    crawler = await crawl(host.url("/open"), host.url("/closed"), spider=NamingSpider)
    assert crawler.spider.answers == [[True, True]] * 4 + [[False, False]] * 4
    assert stat(crawler, "robotstxt/parser_errors") == 0


class Asks:
    """A middleware that asks what is allowed, for every request that comes along."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Asks:
        return cls(crawler)

    async def process_request(self, request: Request) -> None:
        policies = self.crawler.get_downloader_middleware(RobotsMiddleware).policies
        request.meta["verdict"] = await policies.allowed(request.url)


class KeepsVerdict(ProbeSpider):
    def parse(self, response: Response) -> None:
        super().parse(response)
        self.verdict = response.meta["verdict"]


@pytest_twisted.ensureDeferred
async def test_a_middleware_may_ask_them_about_the_request_it_is_given(sites: Sites) -> None:
    """For robots.txt itself too, whose fetch must not wait for itself."""
    host = sites.host(RULES)
    settings = {"DOWNLOADER_MIDDLEWARES": {Asks: 500}, "CLOSESPIDER_TIMEOUT": 60}
    crawler = await crawl(host.url("/a"), spider=KeepsVerdict, **settings)
    assert (host.fetched, stat(crawler, "finish_reason")) == (["/a"], "finished")
    assert crawler.spider.verdict is True


class AsksForAnother(TimedSpider):
    async def start(self) -> AsyncIterator[Request]:
        policies = self.crawler.get_downloader_middleware(RobotsMiddleware).policies
        await policies.allowed(self.urls[0], agent="Slowbot")
        for url in self.urls:
            yield self.request(url)


@pytest_twisted.ensureDeferred
async def test_asking_for_another_agent_takes_on_none_of_its_delays(sites: Sites) -> None:
    host = sites.host("User-agent: slowbot\nCrawl-delay: 2\n\nUser-agent: *\nDisallow: /x\n")
    crawler = await crawl(*[host.url(f"/{n}") for n in range(3)], spider=AsksForAnother)
    assert min(gaps(crawler.spider.sent, host)) < 1
    assert stat(crawler, "robotstxt/crawl_delay/applied") == 0
