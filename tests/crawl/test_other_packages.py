"""Crawls with other packages for Scrapy: what docs/with-other-packages.md says of them.

Each needs its package (``make test-packages`` installs them). scrapy-playwright, the HTTP cache and
jobs with scrapy-redis have pages of their own.
"""

from __future__ import annotations

import base64
import json
import logging
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
import pytest_twisted
import scrapy
from scrapy.utils.reactor import is_asyncio_reactor_installed

from scrapy_robots_plus import RobotsDisallowed
from tests.crawling import BASE_SETTINGS, ProbeSpider, crawl
from tests.redis_server import redis_server, scrapy_redis_may_warn
from tests.samples import block_with, settings_of
from tests.sites import NETWORK, answer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.sites import Host, Sites

RULES = "User-agent: *\nDisallow: /private/\n"
SLOW = RULES + "Crawl-delay: 1\n"

needs_asyncio = pytest.mark.skipif(
    not is_asyncio_reactor_installed(), reason="this package needs asyncio"
)


def pages(host: Host) -> list[str]:
    return [host.url(path) for path in ("/0", "/1", "/private/diary", "/2")]


def assert_polite(host: Host) -> None:
    """The rules and the delay of SLOW were kept."""
    assert sorted(host.fetched) == ["/0", "/1", "/2"]
    assert min(host.gaps) >= 0.95  # as they arrive


@scrapy_redis_may_warn
@pytest_twisted.ensureDeferred
async def test_scrapy_redis_schedules_and_rules_and_delays_hold(
    sites: Sites, caplog: pytest.LogCaptureFixture
) -> None:
    with redis_server() as redis, caplog.at_level(logging.INFO):
        sample = settings_of(block_with("scrapy_redis", "docs/with-other-packages.md"))
        own = {name: sample.pop(name) for name in ("SCHEDULER_QUEUE_CLASS", "DUPEFILTER_CLASS")}
        assert {name for name in sample if sample[name] != redis[name]} == {"REDIS_URL"}
        for queue in ({}, own):
            host = sites.host(SLOW)
            caplog.clear()
            await crawl(*pages(host), **{**sample, **redis, **queue})
            assert_polite(host)
            assert ("RobotsPriorityQueue is not in use" in caplog.text) == (not queue)


# scrapy-impersonate
@needs_asyncio
@pytest_twisted.ensureDeferred
async def test_scrapy_impersonate_sends_pages_and_robots_txt(sites: Sites) -> None:
    pytest.importorskip("scrapy_impersonate")
    host = sites.host(SLOW)
    settings = settings_of(block_with("scrapy_impersonate", "docs/with-other-packages.md"))
    as_chrome = [scrapy.Request(url, meta={"impersonate": "chrome"}) for url in pages(host)]
    await crawl(*as_chrome, **settings)
    assert_polite(host)
    agent = BASE_SETTINGS["USER_AGENT"].lower()
    assert {hit.headers["user-agent"] for hit in host.hits} == {agent}


# scrapy-poet
@needs_asyncio
@pytest_twisted.ensureDeferred
async def test_a_page_object_is_made_of_allowed_pages_alone(sites: Sites) -> None:
    web_poet: Any = pytest.importorskip("web_poet")
    settings = poet()
    host = sites.host(SLOW)

    class Page(web_poet.WebPage):
        pass

    class Spider(ProbeSpider):
        def parse(self, response: Any, page: Any) -> None:  # type: ignore[override]
            self.got.append(str(page.url))

    Spider.parse.__annotations__.update(page=Page, response=scrapy.http.Response)
    crawler = await crawl(*pages(host), spider=Spider, **settings)
    assert_polite(host)
    assert crawler.spider.got == [host.url(path) for path in host.fetched]
    assert isinstance(crawler.spider.failures[host.url("/private/diary")], RobotsDisallowed)


@needs_asyncio
@pytest_twisted.ensureDeferred
async def test_what_a_page_object_fetches_by_itself_is_checked_too(sites: Sites) -> None:
    web_poet: Any = pytest.importorskip("web_poet")
    settings = poet()
    host = sites.host(RULES)
    errors: list[BaseException | None] = []

    class Page(web_poet.WebPage):
        def __init__(self, response: Any, http: Any) -> None:
            super().__init__(response)
            self.http = http

        async def more(self) -> str:
            try:
                await self.http.get(host.url("/private/diary"))
            except web_poet.exceptions.HttpError as error:
                errors.append(error.__cause__)
            return str((await self.http.get(host.url("/open"))).url)

    Page.__init__.__annotations__.update(response=web_poet.HttpResponse, http=web_poet.HttpClient)

    class Spider(ProbeSpider):
        async def parse(self, response: Any, page: Any) -> None:  # type: ignore[override]
            self.got.append(await page.more())

    Spider.parse.__annotations__.update(page=Page, response=scrapy.http.Response)
    crawler = await crawl(host.url("/"), spider=Spider, **settings)
    assert [type(error) for error in errors] == [RobotsDisallowed]
    assert crawler.spider.got == [host.url("/open")]
    assert host.fetched == ["/", "/open"]


def poet() -> dict[str, Any]:
    pytest.importorskip("scrapy_poet")
    return settings_of(block_with("scrapy_poet", "docs/with-other-packages.md"))


# scrapy-zyte-api
class Service(ThreadingHTTPServer):
    """Answers as Zyte API does, with what it fetches itself."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__((f"{NETWORK}.254.1", 0), Answering)
        self.asked: list[str] = []

    @property
    def settings(self) -> dict[str, str]:
        address, port = self.server_address[:2]
        return {"ZYTE_API_KEY": "none", "ZYTE_API_URL": f"http://{address!s}:{port}/"}


class Answering(BaseHTTPRequestHandler):
    server: Service

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(asked["url"])
        status, body, kind = _fetched(asked["url"])
        answered = {
            "url": asked["url"],
            "statusCode": status,
            "httpResponseBody": base64.b64encode(body).decode(),
            "httpResponseHeaders": [{"name": "content-type", "value": kind}],
        }
        raw = json.dumps(answered).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *_: object) -> None:
        pass


def _fetched(url: str) -> tuple[int, bytes, str]:
    try:
        with urlopen(url, timeout=10) as response:
            return response.status, response.read(), response.headers["content-type"]
    except HTTPError as error:
        return error.code, error.read(), error.headers["content-type"]


@pytest.fixture
def service() -> Iterator[Service]:
    with Service() as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield running
        running.shutdown()


def zyte_api() -> dict[str, Any]:
    pytest.importorskip("scrapy_zyte_api.providers")  # which scrapy-poet needs, if it is there
    return settings_of(block_with("scrapy_zyte_api", "docs/with-other-packages.md"))


@pytest.mark.parametrize(
    "more",
    [{}, {"AUTOTHROTTLE_ENABLED": True}, {"ZYTE_API_PRESERVE_DELAY": False}],
    ids=["usual", "AutoThrottle", "delays not preserved"],
)
@needs_asyncio
@pytest_twisted.ensureDeferred
async def test_rules_and_delays_hold_through_zyte_api(
    sites: Sites, service: Service, more: dict[str, Any]
) -> None:
    host = sites.host(SLOW)
    settings = {"ADDONS": zyte_api()["ADDONS"], **service.settings, **more}
    await crawl(*pages(host), **settings)
    assert_polite(host)
    assert len(service.asked) == 4
    assert host.url("/robots.txt") in service.asked


@needs_asyncio
@pytest_twisted.ensureDeferred
async def test_robots_txt_alone_may_be_fetched_without_zyte_api(
    sites: Sites, service: Service
) -> None:
    host = sites.host(SLOW)
    await crawl(*pages(host), **{**zyte_api(), **service.settings})
    assert_polite(host)
    assert len(service.asked) == 3
    assert host.url("/robots.txt") not in service.asked


# Proxies
@pytest_twisted.ensureDeferred
async def test_a_proxy_for_pages_is_not_one_for_robots_txt(sites: Sites) -> None:
    host, proxy = sites.host(RULES), sites.host()
    urls = [host.url("/"), host.url("/private/diary")]
    await crawl(*(scrapy.Request(url, meta={"proxy": proxy.origin}) for url in urls))
    assert [hit.path for hit in proxy.hits] == [host.url("/")]
    assert [hit.path for hit in host.hits] == ["/robots.txt"]


@pytest_twisted.ensureDeferred
async def test_a_proxy_for_robots_txt_is_a_setting(sites: Sites) -> None:
    host, proxy = sites.host(), sites.host()
    proxy.pages[host.url("/robots.txt")] = answer(RULES)
    sample = block_with("proxy.example", "docs/with-other-packages.md", proxy=proxy.origin)
    await crawl(host.url("/"), host.url("/private/diary"), **settings_of(sample))
    assert [hit.path for hit in proxy.hits] == [host.url("/robots.txt")]
    assert [hit.path for hit in host.hits] == ["/"]


@pytest_twisted.ensureDeferred
async def test_a_proxy_of_the_environment_is_for_both(
    sites: Sites, monkeypatch: pytest.MonkeyPatch
) -> None:
    host, proxy = sites.host(), sites.host()
    proxy.pages[host.url("/robots.txt")] = answer(RULES)
    monkeypatch.setenv("http_proxy", proxy.origin)
    await crawl(host.url("/"), host.url("/private/diary"))
    assert [hit.path for hit in proxy.hits] == [host.url("/robots.txt"), host.url("/")]
    assert host.hits == []


class ProxyForAll:
    """As those that rotate proxies do."""

    proxy = ""

    def process_request(self, request: scrapy.Request) -> None:
        request.meta["proxy"] = self.proxy


@pytest_twisted.ensureDeferred
async def test_a_middleware_that_sends_everything_through_a_proxy_takes_robots_txt_along(
    sites: Sites,
) -> None:
    host, proxy = sites.host(), sites.host()
    proxy.pages[host.url("/robots.txt")] = answer(RULES)
    middleware = type("ToThisProxy", (ProxyForAll,), {"proxy": proxy.origin})
    urls = [host.url("/"), host.url("/private/diary")]
    await crawl(*urls, DOWNLOADER_MIDDLEWARES={middleware: 350})
    assert [hit.path for hit in proxy.hits] == [host.url("/robots.txt"), host.url("/")]
    assert host.hits == []


# AutoThrottle
@pytest_twisted.ensureDeferred
async def test_autothrottle_goes_no_faster_than_the_delay(sites: Sites) -> None:
    host = sites.host(SLOW)
    settings = settings_of(block_with("AUTOTHROTTLE", "docs/with-other-packages.md"))
    await crawl(*pages(host), **settings, AUTOTHROTTLE_START_DELAY=0.1)
    assert_polite(host)
