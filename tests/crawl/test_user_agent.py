"""Which name a request goes by when its robots.txt is read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest_twisted
import scrapy

from tests.crawling import crawl, reads_headers, stat

if TYPE_CHECKING:
    from tests.sites import Sites

ONLY_FOOBOT = "User-agent: foobot\nAllow: /\n\nUser-agent: *\nDisallow: /\n"
NOT_FOOBOT = "User-agent: foobot\nDisallow: /\n"


class PutsInUserAgent:
    """A downloader middleware, as those that rotate headers."""

    def process_request(self, request: scrapy.Request) -> None:
        if "robots.txt" not in request.url:
            request.headers["User-Agent"] = request.url.rpartition("/")[2]


@pytest_twisted.ensureDeferred
async def test_the_setting_is_what_is_looked_for(sites: Sites) -> None:
    host = sites.host(ONLY_FOOBOT)
    await crawl(host.url("/a"), ROBOTSTXT_USER_AGENT="Foobot", USER_AGENT="Mozilla/5.0")
    assert host.fetched == ["/a"]
    assert host.hits[-1].headers["user-agent"] == "mozilla/5.0"


@reads_headers
@pytest_twisted.ensureDeferred
async def test_the_setting_may_be_a_whole_header(sites: Sites) -> None:
    host = sites.host(ONLY_FOOBOT)
    header = "Mozilla/5.0 (compatible; Foobot/2.1; +https://foobot.example/)"
    await crawl(host.url("/a"), ROBOTSTXT_USER_AGENT=header, USER_AGENT="Barbot/1.0")
    assert host.fetched == ["/a"]


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
