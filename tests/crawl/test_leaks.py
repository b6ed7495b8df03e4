"""What robots.txt disallows does not reach the server, on any way that was found to lead there."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
import pytest_twisted
import scrapy
from scrapy.http import TextResponse
from scrapy.utils.reactor import is_asyncio_reactor_installed

from tests.crawling import ProbeSpider, crawl
from tests.sites import Sites, after, answer, in_turn, redirect, validated

pytestmark = pytest.mark.skipif(
    not is_asyncio_reactor_installed(), reason="the spiders of these tests sleep with asyncio"
)

NOT_FOOBOT = "User-agent: foobot\nDisallow: /secret\n"
CLOSED = "User-agent: *\nDisallow: /secret\n"
SHORT = {"ROBOTS_TTL": 1, "ROBOTS_TTL_MIN": 1, "ROBOTS_TTL_MAX": 1}


class Foobot:
    """Puts in a User-Agent, as a rotating middleware does."""

    def process_request(self, request: scrapy.Request) -> None:
        if "robots.txt" not in request.url:
            request.headers["User-Agent"] = "Foobot/1.0"


class Shortcut:
    """Answers a page itself, as a cache does (HttpCacheMiddleware stands at 900)."""

    def process_request(self, request: scrapy.Request) -> Any:
        if request.url.endswith("/cached"):
            return TextResponse(request.url, body=b"x", request=request)
        return None


class MetaCopyingSpider(ProbeSpider):
    def parse(self, response: Any) -> Any:
        super().parse(response)
        if response.url.endswith("/cached"):
            yield scrapy.Request(
                response.urljoin("/secret"), meta=response.meta, errback=self.failed
            )


@pytest_twisted.ensureDeferred
async def test_judged_agent_left_in_meta(sites: Sites) -> None:
    host = sites.host(NOT_FOOBOT)
    first = scrapy.Request(host.url("/cached"), headers={"User-Agent": "Foobot/1.0"})
    await crawl(
        first,
        spider=MetaCopyingSpider,
        USER_AGENT="Barbot",
        DOWNLOADER_MIDDLEWARES={Foobot: 950, Shortcut: 900},
    )
    assert "/secret" not in host.fetched


@pytest_twisted.ensureDeferred
async def test_status_policy_that_is_tightened_between_two_crawls(sites: Sites, tmp_path) -> None:
    host = sites.host(answer(status=403))
    store = f"sqlite:{tmp_path / 'r.db'}"
    await crawl(host.url("/one"), ROBOTS_STORE=store)
    assert host.fetched == ["/one"]
    await crawl(host.url("/two"), ROBOTS_STORE=store, ROBOTS_STATUS_POLICY={"403": "disallow"})
    assert host.fetched == ["/one"]


@pytest_twisted.ensureDeferred
async def test_ttl_max_that_is_lowered_between_two_crawls(sites: Sites, tmp_path) -> None:
    host = sites.host(in_turn(answer("User-agent: *\nDisallow:\n"), answer(CLOSED)))
    store = f"sqlite:{tmp_path / 'r.db'}"
    await crawl(host.url("/one"), ROBOTS_STORE=store)
    time.sleep(1.2)
    await crawl(host.url("/two"), ROBOTS_STORE=store, **SHORT)
    assert host.robots_hits == 2


class SlowSpider(ProbeSpider):
    async def start(self):
        yield self.request(self.urls[0])
        for url in self.urls[1:]:
            await asyncio.sleep(1.3)
            yield self.request(url)


@pytest.mark.parametrize("policy", ["fail-open", {"503": "allow"}], ids=str)
@pytest_twisted.ensureDeferred
async def test_last_good_copy_under_a_policy_that_opens(sites: Sites, policy: Any) -> None:
    """README: "While it cannot be read, the last good copy is obeyed"; failures.md: "fail-open
    fetches what is not forbidden by rules that could be read"."""
    host = sites.host(in_turn(answer(CLOSED), answer(status=503)))
    urls = [host.url(p) for p in ("/1", "/2", "/3", "/secret")]
    await crawl(*urls, spider=SlowSpider, ROBOTS_STATUS_POLICY=policy, **SHORT)
    assert "/secret" not in host.fetched


@pytest_twisted.ensureDeferred
async def test_error_ttl_under_a_policy_that_opens(sites: Sites, tmp_path) -> None:
    """README: ROBOTS_ERROR_TTL 60 s after which one that cannot be read is asked for again."""
    host = sites.host(in_turn(answer(status=503), answer(CLOSED)))
    urls = [host.url(p) for p in ("/1", "/2", "/secret")]
    await crawl(
        *urls,
        spider=SlowSpider,
        ROBOTS_STATUS_POLICY="fail-open",
        ROBOTS_ERROR_TTL=1,
        ROBOTS_FETCH_RETRIES=0,
    )
    assert "/secret" not in host.fetched


class StoppingSpider(ProbeSpider):
    async def start(self):
        yield self.request(self.urls[0])
        await asyncio.sleep(0.3)
        self.stopping = asyncio.ensure_future(self.crawler.stop_async())
        await asyncio.sleep(10)


@pytest_twisted.ensureDeferred
async def test_fetch_interrupted_by_closing_is_no_answer(sites: Sites, tmp_path) -> None:
    """The spider closes while the robots.txt redirects: an invented "unavailable" is stored."""
    host = sites.host(in_turn(after(0.6, redirect("/other.txt")), answer(CLOSED)))
    host.pages["/other.txt"] = answer(CLOSED)
    settings = {"ROBOTS_STORE": f"sqlite:{tmp_path / 'r.db'}", "ROBOTS_STATUS_POLICY": "fail-open"}
    await crawl(host.url("/one"), spider=StoppingSpider, **settings)
    assert host.fetched == []
    await crawl(host.url("/secret"), **settings)
    assert "/secret" not in host.fetched


@pytest_twisted.ensureDeferred
async def test_a_304_that_nobody_asked_for(sites: Sites, tmp_path) -> None:
    """The first answer was found behind a redirect, so no validator is sent to the first URL."""
    host = sites.host(in_turn(redirect("/r.txt"), answer(status=304)))
    host.pages["/r.txt"] = validated("User-agent: *\nDisallow:\n", '"1"')
    urls = [host.url(p) for p in ("/1", "/2", "/3")]
    await crawl(*urls, spider=SlowSpider, ROBOTS_STALE_MAX=0, **SHORT)
    sent = [h.headers for h in host.hits if h.path == "/robots.txt"][1:]
    assert sent
    assert not any("if-none-match" in h for h in sent)
    assert "/3" not in host.fetched  # docs: "A 304 that nobody asked for is a failure"


@pytest_twisted.ensureDeferred
async def test_odd_urls(sites: Sites) -> None:
    """What arrives is what was judged."""
    host = sites.host("User-agent: *\nDisallow: /secret\nDisallow: /?q\nDisallow: /;p\n")
    o = host.origin
    bare = o.removeprefix("http://")
    urls = [
        f"HTTP://{bare}/secret",
        f"http://u:p@{bare}/secret",
        f"{o}?q=1",
        f"{o}/;p",
        f"{o}/%73ecret",
        f"{o}/se\tcret",
        f"{o}/secret#x",
        f"{o}/x#/../secret",
        f"http://u@{bare}?q",
        f"{o}/\\secret",
        f"{o}\\secret",
        f"{o}/./secret",
        f"{o}/a/../secret",
        f"{o}/a/%2e%2e/secret",
    ]
    await crawl(*urls)
    bad = [p for p in host.fetched if p.startswith(("/secret", "/?q", "/;p"))]
    assert bad == []


@pytest.mark.parametrize("client", ["aiohttp", "httpx"])
@pytest_twisted.ensureDeferred
async def test_dot_segments_with_handlers_that_normalise(sites: Sites, client: str) -> None:
    pytest.importorskip(client)
    host = sites.host(CLOSED)
    handler = f"scrapy.core.downloader.handlers._{client}.{client.title()}DownloadHandler"
    await crawl(
        host.url("/a/../secret"),
        host.url("/a/%2e%2e/secret"),
        DOWNLOAD_HANDLERS={"http": handler},
    )
    assert "/secret" not in host.fetched
