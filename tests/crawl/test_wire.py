"""What reaches a site is what was judged, whatever the download handler makes of a URL.

The sites' own logs are held against the rules. A crawl with Scrapy's own middleware shows that they
would tell.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
import scrapy
from scrapy.utils.reactor import is_asyncio_reactor_installed

from scrapy_robots_plus import RobotsDisallowed, RobotsMiddleware
from scrapy_robots_plus.protocol.robotstxt import RobotsTxt
from tests.certificates import self_signed
from tests.crawl_process import MODES, crawl_in_process
from tests.crawling import OTHER_PARSER, crawl
from tests.sites import answer

from .wire import ASCII, PLAIN, SHORT, Wire, wire_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from scrapy.crawler import Crawler

    from tests.sites import Hit, Host, Reply, Sites

HANDLERS = {
    "HTTP/1.1": "http11.HTTP11DownloadHandler",
    "HTTP/2": "http2.H2DownloadHandler",
    "aiohttp": "_aiohttp.AiohttpDownloadHandler",
    "httpx": "_httpx.HttpxDownloadHandler",
    "curl": "scrapy_impersonate.ImpersonateDownloadHandler",
}
"""Those of Scrapy, of which aiohttp and httpx are there from 2.18 on and need asyncio, and that of
scrapy-impersonate where it is installed."""

ALONE: dict[str, Any] = {"ADDONS": {}, "ROBOTSTXT_OBEY": True}
"""Scrapy's own middleware, with its own parser."""

FAST: dict[str, Any] = {
    "CONCURRENT_REQUESTS": 64,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 32,
    "LOG_LEVEL": "INFO",
}

ROBOTS_TXT = b"User-agent: *\nAllow: /$\nDisallow: /\n"


def with_each_handler(turn: int) -> pytest.MarkDecorator:
    """In `make test`, each octet with one handler or two, in the test whose *turn* it is."""
    few = [
        pytest.param(handler, SHORT[place % 4 * 2 + turn :: 8], id=f"{handler}-few")
        for place, handler in enumerate(HANDLERS)
    ]
    every = [
        pytest.param(handler, ASCII, id=f"{handler}-all", marks=pytest.mark.stress)
        for handler in HANDLERS
    ]
    return pytest.mark.parametrize(("handler", "octets"), few + every)


ours_alone = pytest.mark.skipif(OTHER_PARSER is not None, reason="the log is held against ours")


class Impersonates:
    """A middleware that makes scrapy-impersonate send all requests."""

    def process_request(self, request: scrapy.Request) -> None:
        request.meta["impersonate"] = "chrome"


def settings_for(handler: str) -> dict[str, Any]:
    if handler == "curl":
        pytest.importorskip("scrapy_impersonate")
        if not is_asyncio_reactor_installed():
            pytest.skip("needs asyncio")
        handlers = dict.fromkeys(("http", "https"), HANDLERS[handler])
        return {
            **FAST,
            "DOWNLOAD_HANDLERS": handlers,
            "DOWNLOADER_MIDDLEWARES": {Impersonates: 1},
            "USER_AGENT": None,
        }
    if handler in ("aiohttp", "httpx"):
        pytest.importorskip(f"scrapy.core.downloader.handlers._{handler}")
        if not is_asyncio_reactor_installed():
            pytest.skip("needs asyncio")
    path = f"scrapy.core.downloader.handlers.{HANDLERS[handler]}"
    return {**FAST, "DOWNLOAD_HANDLERS": {"http": path, "https": path}}


def site_for(sites: Sites, wire: Wire, handler: str = "HTTP/1.1") -> Host:
    return sites.host(wire.robots_txt, self_signed(http2=True) if handler == "HTTP/2" else None)


def disallowed_in(log: Iterable[str], wire: Wire) -> list[str]:
    """What arrived that the rules disallow as it arrived."""
    file = RobotsTxt.parse(wire.robots_txt)
    return [path for path in log if not file.allowed(f"http://x.example{path}", "Foobot")]


async def crawl_wire(host: Host, wire: Wire, **settings: Any) -> Crawler:
    urls = (scrapy.Request(host.url(path)).url for path in wire.closed + wire.open)
    return await crawl(*dict.fromkeys(urls), **settings)


@ours_alone
@with_each_handler(0)
@pytest_twisted.ensureDeferred
async def test_nothing_disallowed_arrives(
    sites: Sites, handler: str, octets: Iterable[int]
) -> None:
    settings, wire = settings_for(handler), wire_of(octets)
    host = site_for(sites, wire, handler)
    crawler = await crawl_wire(host, wire, **settings)
    assert disallowed_in(host.fetched, wire) == []
    if handler != "curl":  # whose responses have the URLs that were sent
        assert_open_pages_came(crawler, host, wire)
    await assert_questions_get_the_same_answer(crawler)


@ours_alone
@with_each_handler(1)
@pytest_twisted.ensureDeferred
async def test_nor_does_it_if_urls_stay_as_they_are(
    sites: Sites, handler: str, octets: Iterable[int]
) -> None:
    settings, wire = settings_for(handler), wire_of(octets)
    host = site_for(sites, wire, handler)
    urls = map(host.url, wire.closed + wire.open)
    await crawl(*(kept_as_it_is(url) for url in urls), **settings)
    assert disallowed_in(host.fetched, wire) == []
    assert len(host.fetched) > len(wire.open) / 2


def kept_as_it_is(url: str) -> scrapy.Request:
    """Where this version of Scrapy can do it."""
    meta = {"verbatim_url": True}
    return scrapy.Request(url, meta=meta, errback=lambda _: None, dont_filter=True)


def assert_open_pages_came(crawler: Crawler, host: Host, wire: Wire) -> None:
    got = set(crawler.spider.got)
    missed = [path for path in wire.open if scrapy.Request(host.url(path)).url not in got]
    assert missed == []
    kinds = {type(error) for error in crawler.spider.failures.values()}
    assert kinds == {RobotsDisallowed}


async def assert_questions_get_the_same_answer(crawler: Crawler) -> None:
    policies = crawler.get_downloader_middleware(RobotsMiddleware).policies
    refused = {url: error.verdict for url, error in crawler.spider.failures.items()}
    assert [url for url in crawler.spider.got if not await policies.allowed(url)] == []
    assert {url: await policies.verdict(url) for url in refused} == refused
    assert any(verdict.form is not None for verdict in refused.values())


@pytest.mark.parametrize(
    "handler",
    [
        pytest.param(handler, marks=[pytest.mark.stress] * (place > 0))
        for place, handler in enumerate(HANDLERS)
    ],
)
@pytest_twisted.ensureDeferred
async def test_scrapy_alone_lets_disallowed_pages_through(sites: Sites, handler: str) -> None:
    """So the test above can fail."""
    settings, wire = settings_for(handler), replace(wire_of(b""), open=[])
    host = site_for(sites, wire, handler)
    await crawl_wire(host, wire, **settings, **ALONE)
    assert len(disallowed_in(host.fetched, wire)) > 0


def cut(coding: str, compress: str) -> Reply:
    """The file compressed, with a Content-Length that fits what is left of it."""
    body = bytes(pytest.importorskip(compress).compress(ROBOTS_TXT * 20))
    return answer(body[: len(body) // 2], content_encoding=coding)


async def doubled(hit: Hit, writer: asyncio.StreamWriter) -> None:
    two = {"location": "/empty.txt\r\nLocation: /rules.txt"}
    await answer("", 302, **two)(hit, writer)
    await asyncio.sleep(0.05)  # the next request must not come over this connection


WITHOUT_RULES: dict[str, Callable[[], Reply]] = {
    "zstd, cut off": partial(cut, "zstd", "backports.zstd"),
    "br, cut off": partial(cut, "br", "brotli"),
    "two Locations": lambda: doubled,
    "a Location without a host": partial(answer, "", 302, location="http://"),
}
"""What has been read as a file that allows more than the site does."""


@ours_alone
@pytest.mark.parametrize(
    ("handler", "kind"),
    [
        # Every second kind in `make test`, by turns.
        pytest.param(handler, kind, marks=[pytest.mark.stress] * ((turn + place) % 2))
        for turn, handler in enumerate(HANDLERS)
        for place, kind in enumerate(WITHOUT_RULES)
    ],
)
@pytest_twisted.ensureDeferred
async def test_what_is_no_whole_file_lets_nothing_through(
    sites: Sites, handler: str, kind: str
) -> None:
    if handler == "curl" and "cut" in kind:
        pytest.skip("curl decodes by itself, and hands over what it has")
    settings, wire = settings_for(handler), Wire(["/closed"], ["/closed"], ["/open"])
    host = site_for(sites, wire, handler)
    host.robots(WITHOUT_RULES[kind]())
    host.pages["/rules.txt"] = answer(wire.robots_txt)
    host.pages["/empty.txt"] = answer("")
    await crawl_wire(host, wire, **settings, ROBOTS_FETCH_RETRIES=0)
    assert disallowed_in(host.fetched, wire) == []
    if kind == "two Locations" and handler != "curl":  # which takes them for an attack
        assert host.fetched[0] == "/rules.txt"
        assert len(host.fetched) > 1
    else:
        assert host.fetched == []
    assert host.robots_hits == 1


@pytest_twisted.ensureDeferred
async def test_a_rule_of_the_same_text_as_a_url_disallows_it(sites: Sites) -> None:
    rules = ["/a[1]", "/*?g[0]=", "/*?filter[", "/*?n=o'b"]
    rules += [f"/{place}{octet:02x}{chr(octet)}x" for octet in PLAIN for place in ("p", "?q")]
    host = sites.host("User-agent: *\n" + "".join(f"Disallow: {rule}\n" for rule in rules))
    await crawl(*(host.url(rule) for rule in rules), **FAST)
    assert host.fetched == []


@ours_alone
@pytest.mark.parametrize(
    "octets",
    [
        pytest.param(SHORT[::4], id="few"),
        pytest.param(ASCII, id="all", marks=pytest.mark.stress),
    ],
)
@pytest.mark.parametrize("mode", sorted({"no reactor"} & {*MODES}))
def test_nothing_disallowed_arrives_without_a_reactor(
    sites: Sites, mode: str, octets: Iterable[int]
) -> None:
    wire = wire_of(octets)
    host = site_for(sites, wire)
    result = crawl_in_process(mode, *map(host.url, wire.closed + wire.open), **FAST)
    assert disallowed_in(host.fetched, wire) == []
    assert {scrapy.Request(host.url(path)).url for path in wire.open} <= {*result["got"]}
    assert set(result["failures"].values()) == {"RobotsDisallowed"}
