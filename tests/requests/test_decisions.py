"""Whoever wants to know is told of each decision about a request, once."""

from __future__ import annotations

from typing import Any

import pytest_twisted
import scrapy

from scrapy_robots_plus.crawl.crawl import Crawl
from scrapy_robots_plus.origins.policy import Passes, Refused
from tests.crawling import ProbeSpider, SendsAsBarbot, crawl, make_crawler, run
from tests.sites import Sites, answer, in_turn

RULES = "User-agent: *\nDisallow: /closed\n\nUser-agent: barbot\nDisallow: /\n"


class Listener:
    """An extension that keeps what it is told: path, agent, and the kind of decision."""

    def __init__(self, crawler: scrapy.crawler.Crawler) -> None:
        self.heard: list[tuple[str, Any, type]] = []
        self.crawl = Crawl.of(crawler)
        self.crawl.decision_listeners.append(self._listen)

    @classmethod
    def from_crawler(cls, crawler: scrapy.crawler.Crawler) -> Listener:
        return cls(crawler)

    def _listen(self, request: scrapy.Request, origin: Any, agent: Any, decision: Any) -> None:
        assert request.url.startswith(str(origin))
        self.heard.append((request.url.removeprefix(str(origin)), agent, type(decision)))


class FollowingSpider(ProbeSpider):
    """Follows one link without an errback, so that it is denied before it enters the queue."""

    def parse(self, response: scrapy.http.Response) -> Any:
        if not response.url.endswith("/closed/2"):
            yield scrapy.Request(response.urljoin("/closed/2"))


SETTINGS: dict[str, Any] = {
    "EXTENSIONS": {Listener: 900},
    "ROBOTS_FETCH_RETRIES": 0,
    "USER_AGENT": "Foobot",
}


def heard_in(crawler: scrapy.crawler.Crawler) -> list[tuple[str, Any, type]]:
    return crawler.get_extension(Listener).heard


@pytest_twisted.ensureDeferred
async def test_each_decision_is_told_once(sites: Sites) -> None:
    host = sites.host(RULES)
    urls = [host.url("/a"), host.url("/closed/1")]
    crawler = await crawl(*urls, spider=FollowingSpider, **SETTINGS)
    assert sorted(heard_in(crawler)) == [
        ("/a", "Foobot", Passes),
        ("/closed/1", "Foobot", Refused),
        ("/closed/2", "Foobot", Refused),
    ]


@pytest_twisted.ensureDeferred
async def test_a_request_that_is_sent_as_another_agent_is_told_again(sites: Sites) -> None:
    host = sites.host(RULES)
    middlewares: dict[str, Any] = {"DOWNLOADER_MIDDLEWARES": {SendsAsBarbot: 900}}
    crawler = await crawl(host.url("/renamed"), **SETTINGS, **middlewares)
    assert host.fetched == []
    assert heard_in(crawler) == [
        ("/renamed", "Foobot", Passes),
        ("/renamed", "Barbot", Refused),
    ]
    host = sites.host("User-agent: foobot\nAllow: /\n")
    crawler = await crawl(host.url("/renamed"), **SETTINGS, **middlewares)
    assert host.fetched == ["/renamed"]
    assert heard_in(crawler) == [
        ("/renamed", "Foobot", Passes),
        ("/renamed", "Barbot", Passes),
    ]


@pytest_twisted.ensureDeferred
async def test_a_request_that_waits_for_its_robots_txt_is_told_when_it_is_decided(
    sites: Sites,
) -> None:
    host = sites.host(in_turn(answer("", 503), answer(RULES)))
    crawler = make_crawler(**SETTINGS, ROBOTS_DEFER=3600, ROBOTS_RETRY_INTERVAL=(0.1, 3600))
    await run(crawler, urls=[host.url("/a")])
    assert heard_in(crawler) == [("/a", "Foobot", Passes)]


@pytest_twisted.ensureDeferred
async def test_what_robots_txt_does_not_apply_to_is_not_told(sites: Sites) -> None:
    host = sites.host(RULES)
    exempt = scrapy.Request(host.url("/closed"), meta={"dont_obey_robotstxt": True})
    crawler = await crawl(exempt, scrapy.Request("data:,a"), **SETTINGS)
    assert host.fetched == ["/closed"]
    assert heard_in(crawler) == []
