"""Nothing hangs, is lost or grows without bound, in each case where something once did."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Any

import pytest
import pytest_twisted
import scrapy
from scrapy.core.scheduler import Scheduler
from scrapy.utils.reactor import is_asyncio_reactor_installed

from scrapy_robots_plus import RobotsMiddleware, RobotsParser
from tests.crawling import ProbeSpider, crawl, make_crawler, run, stat
from tests.sites import Sites, after, answer, in_turn, redirect

pytestmark = pytest.mark.skipif(
    not is_asyncio_reactor_installed(), reason="the spiders of these tests sleep with asyncio"
)

OPEN = "User-agent: *\nDisallow: /never\n"
CLOSED = "User-agent: *\nDisallow: /secret\n"
BOUND = {"CLOSESPIDER_TIMEOUT": 9}
SCRAPYS = {"SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.DownloaderAwarePriorityQueue"}


class FirstRun(scrapy.Spider):
    """Stops after its first page; leaves three requests of one host in the queue."""

    name = "job"
    url = ""

    async def start(self):
        yield scrapy.Request(self.url + "/first", callback=self.first)

    async def first(self, response):
        self.crawler.engine.pause()
        for n in range(2):
            yield scrapy.Request(f"{self.url}/ok{n}", callback=self.parse, priority=1)
        yield scrapy.Request(f"{self.url}/renamed", callback=self.renamed, priority=5)
        asyncio.get_running_loop().call_later(
            0.3, lambda: asyncio.ensure_future(self.crawler.stop_async())
        )

    def parse(self, response):
        pass

    def renamed(self, response):
        pass


class SecondRun(scrapy.Spider):
    """The same spider after its author renamed a callback."""

    name = "job"

    async def start(self):
        return
        yield

    def parse(self, response):
        pass


@pytest.mark.stress
@pytest.mark.parametrize("queue", [SCRAPYS, {}], ids=["scrapys", "robots"])
@pytest_twisted.ensureDeferred
async def test_a_request_on_disk_that_cannot_be_read(sites: Sites, tmp_path, queue) -> None:
    host = sites.host(OPEN)
    first = type("First", (FirstRun,), {"url": host.origin})
    settings = {"JOBDIR": str(tmp_path), **queue}
    await crawl(spider=first, **settings)
    assert host.fetched == ["/first"]
    crawler = await crawl(spider=SecondRun, **settings, CLOSESPIDER_TIMEOUT=14)
    assert sorted(host.fetched) == ["/first", "/ok0", "/ok1"]
    assert stat(crawler, "finish_reason") == "finished"


class Asks:
    """README, "From code": asks what is allowed, for every request that comes along."""

    def __init__(self, crawler):
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    async def process_request(self, request):
        policies = self.crawler.get_downloader_middleware(RobotsMiddleware).policies
        request.meta["verdict"] = await policies.allowed(request.url)


@pytest_twisted.ensureDeferred
async def test_a_middleware_that_asks_policies(sites: Sites) -> None:
    host = sites.host(OPEN)
    time.monotonic()
    crawler = await crawl(host.url("/a"), DOWNLOADER_MIDDLEWARES={Asks: 500}, **BOUND)
    assert (host.fetched, stat(crawler, "finish_reason")) == (["/a"], "finished")


class Rewrites:
    """Answers with a request of its own, which has nothing of ours but the URL."""

    def process_request(self, request):
        if "rewritten" not in request.flags:
            return scrapy.Request(request.url, flags=["rewritten"], dont_filter=True)
        return None


@pytest_twisted.ensureDeferred
async def test_a_middleware_that_answers_with_new_requests(sites: Sites) -> None:
    host = sites.host(CLOSED)
    urls = [host.url("/a"), host.url("/secret")]
    agents = {"DEFAULT_REQUEST_HEADERS": {"User-Agent": "Foobot"}}  # checked before and after
    crawler = await crawl(*urls, DOWNLOADER_MIDDLEWARES={Rewrites: 500}, **BOUND, **agents)
    assert (host.fetched, stat(crawler, "finish_reason")) == (["/a"], "finished")


class Discards(Scheduler):
    """Drops what has become stale, as schedulers of projects do."""

    def next_request(self):
        while (request := super().next_request()) is not None and "stale" in request.url:
            pass
        return request


@pytest.mark.parametrize("queue", [SCRAPYS, {}], ids=["scrapys", "robots"])
@pytest_twisted.ensureDeferred
async def test_a_scheduler_that_discards_requests(sites: Sites, queue) -> None:
    host = sites.host(OPEN)
    urls = [host.url(f"/stale{n}") for n in range(8)] + [host.url("/good")]
    crawler = await crawl(*urls, SCHEDULER=Discards, **BOUND, **queue)
    assert (host.fetched, stat(crawler, "finish_reason")) == (["/good"], "finished")


@pytest_twisted.ensureDeferred
async def test_floors_are_given_back_after_retry_after(sites: Sites) -> None:
    hosts = [sites.host(OPEN) for _ in range(12)]
    for host in hosts:
        host.pages["/"] = answer(status=429, retry_after="1")
    last = sites.host(OPEN)
    last.pages["/"] = after(2.5, answer("x"))
    crawler = await crawl(*[h.url("/") for h in [*hosts, last]], ROBOTS_CACHE_SIZE=2)
    middleware = crawler.get_downloader_middleware(RobotsMiddleware)
    assert len(middleware.crawl.pacing._floors) <= 2


@pytest_twisted.ensureDeferred
async def test_user_agents_of_each_request_are_not_kept(sites: Sites) -> None:
    host = sites.host(OPEN + "Request-rate: 100/1 0000-2359\n")
    requests = [
        scrapy.Request(host.url(f"/{n}"), headers={"User-Agent": f"Bot/1.{n}"}) for n in range(200)
    ]
    crawler = await crawl(*requests)
    policy = next(iter(crawler.get_downloader_middleware(RobotsMiddleware).policies))
    assert len(host.fetched) == 200
    assert len(policy.paces._asked) < 100
    assert len(policy.paces._hourly) < 100
    if isinstance(policy.parser, RobotsParser):
        assert len(policy.parser._shared._known) < 100


class Stops(ProbeSpider):
    async def start(self):
        for url in self.urls:
            yield self.request(url) if isinstance(url, str) else url
        await asyncio.sleep(0.5)
        self.stopping = asyncio.ensure_future(self.crawler.stop_async())
        await asyncio.sleep(30)


class LambdaSpider(Stops):
    def request(self, url: str, **more: Any):
        return scrapy.Request(url, errback=lambda f: self.failed(f), dont_filter=True)


OWN_QUEUE = SCRAPYS


# Scrapy 2.14 leaves a file of its disk queue to the garbage collector, which warns.
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.usefixtures("garbage_collected")
@pytest.mark.parametrize("queue", [OWN_QUEUE], ids=["scrapys"])
@pytest_twisted.ensureDeferred
async def test_put_back_what_cannot_be_put_on_disk(sites: Sites, tmp_path, queue) -> None:
    host = sites.host(after(3, answer(OPEN)))
    crawler = await crawl(host.url("/a"), spider=LambdaSpider, JOBDIR=str(tmp_path), **queue)
    await crawl(spider=SecondRun, JOBDIR=str(tmp_path), **queue)
    assert crawler.spider.failures or host.fetched


@pytest.mark.parametrize("store", ["memory", "sqlite"])
@pytest_twisted.ensureDeferred
async def test_closing_with_fetches_that_wait_for_a_place(
    sites: Sites, caplog, tmp_path, store: str
) -> None:
    hosts = [sites.host(OPEN) for _ in range(4)]
    uri = "memory" if store == "memory" else f"sqlite:{tmp_path / 'r.db'}"
    settings = {"ROBOTS_STORE": uri, "ROBOTS_TTL": 1, "ROBOTS_TTL_MIN": 1, "ROBOTS_TTL_MAX": 1}
    await crawl(*[h.url("/a") for h in hosts], **settings)
    time.sleep(1.2)
    for h in hosts:
        h.robots(after(2, answer(OPEN)))
    caplog.clear()
    await crawl(
        *[h.url("/b") for h in hosts],
        spider=Stops,
        ROBOTS_FETCH_CONCURRENCY=1,
        ROBOTS_FETCH_TIMEOUT=3,
        **settings,
        **OWN_QUEUE,
    )
    await crawl(hosts[0].url("/c"), ROBOTSTXT_OBEY=False)  # lets the loop turn
    noise = [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]
    assert noise == []


class Short(ProbeSpider):
    async def start(self):
        yield self.request(self.urls[0])
        await asyncio.sleep(1.3)
        yield self.request(self.urls[1])


class Foobot:
    def process_request(self, request):
        if "robots.txt" not in request.url:
            request.headers["User-Agent"] = "Foobot/1.0"


@pytest_twisted.ensureDeferred
async def test_denied_from_the_start_for_a_rotated_user_agent(sites: Sites) -> None:
    host = sites.host("User-agent: foobot\nDisallow: /\n")
    crawler = await crawl(host.url("/a"), USER_AGENT="Barbot", DOWNLOADER_MIDDLEWARES={Foobot: 900})
    assert host.fetched == []
    assert stat(crawler, "finish_reason") == "robotstxt_denied"


@pytest.mark.parametrize("status", [404, 301, 304])
@pytest_twisted.ensureDeferred
async def test_an_empty_body_that_claims_to_be_compressed(sites: Sites, status: int) -> None:
    host = sites.host()
    more = {"location": "/moved.txt"} if status == 301 else {}
    reply = answer(status=status, content_encoding="gzip", **more)
    host.pages["/moved.txt"] = answer(OPEN)
    if status != 304:
        host.robots(reply)
        crawler = await crawl(host.url("/a"))
        assert "/a" in host.fetched
        return
    host.robots(in_turn(answer(OPEN, etag='"1"'), reply))
    crawler = await crawl(
        host.url("/a"),
        host.url("/b"),
        spider=Short,
        ROBOTS_TTL=1,
        ROBOTS_TTL_MIN=1,
        ROBOTS_TTL_MAX=1,
    )
    assert stat(crawler, "robotstxt/failure_count/undecodable") == 0


@pytest_twisted.ensureDeferred
async def test_delays_alone_drop_nothing_at_closing(sites: Sites) -> None:
    host = sites.host("User-agent: *\nDisallow: /never\nCrawl-delay: 100\n")
    await crawl(
        host.url("/a"),
        ROBOTSTXT_OBEY=False,
        ROBOTS_CRAWL_DELAY=True,
        ROBOTS_CRAWL_DELAY_TOO_LONG="skip",
    )
    assert host.fetched == ["/a"]  # README: "keeps delays and drops nothing"


@pytest.mark.parametrize(
    "value",
    [
        "Wed",
        "1 2 3",
        "Mon, 32 Foo",
        ", ,",
        "Wed, 21 Oct 2015 07:28:00",
        "0 Jan 0 0:0:0 +99999",
        "Wed, 21 Oct 99999 07:28:00 GMT",
        "a b c d e f",
        "-1",
        "1.5",
        "Wed, 21 Oct 2015 07:28:00 +9999999999999",
    ],
)
def test_retry_after_of_any_kind(value: str) -> None:
    from scrapy.http import Request, Response

    from scrapy_robots_plus.crawl.pacing.backoff import wait_asked_for

    wait_asked_for(
        Request("http://a"), Response("http://a", 429, headers={"Retry-After": value}), 0
    )


class AsksForAnother(ProbeSpider):
    async def start(self):
        policies = self.crawler.get_downloader_middleware(RobotsMiddleware).policies
        await policies.allowed(self.urls[0], agent="Slowbot")
        for url in self.urls:
            yield self.request(url)


@pytest_twisted.ensureDeferred
async def test_asking_for_another_agent_changes_nothing(sites: Sites) -> None:
    """README "From code"; crawl-delay.md: "where a robots.txt names one for your crawler"."""
    host = sites.host("User-agent: slowbot\nCrawl-delay: 2\n\nUser-agent: *\nDisallow: /x\n")
    crawler = await crawl(*[host.url(f"/{n}") for n in range(3)], spider=AsksForAnother)
    assert len(host.fetched) == 3
    assert max(host.gaps) < 1
    assert stat(crawler, "robotstxt/crawl_delay/applied") == 0


@pytest.mark.parametrize("queue", [{}], ids=["robots"])
@pytest_twisted.ensureDeferred
async def test_retry_after_is_for_the_host_not_for_a_slot(sites: Sites, queue) -> None:
    """README: ROBOTS_RETRY_AFTER leaves a host alone."""
    host = sites.host(OPEN)
    host.pages["/0"] = answer(status=429, retry_after="2")
    for n in range(1, 5):
        host.pages[f"/{n}"] = after(0.3, answer("x"))
    requests = [
        scrapy.Request(host.url(f"/{n}"), meta={"download_slot": f"s{n % 2}"}, priority=9 - n)
        for n in range(7)
    ]
    await crawl(*requests, CONCURRENT_REQUESTS_PER_DOMAIN=1, **queue)
    busy = next(hit.at for hit in host.hits if hit.path == "/0")
    late = [round(hit.at - busy, 2) for hit in host.hits if hit.at > busy + 0.2]
    assert late
    assert min(late) >= 1.9


class ChangesLate(ProbeSpider):
    async def start(self):
        for url in self.urls[:-1]:
            yield self.request(url)
        await asyncio.sleep(1.4)
        yield self.request(self.urls[-1])


@pytest_twisted.ensureDeferred
async def test_rules_that_change_while_requests_wait_in_a_slot(sites: Sites) -> None:
    """freshness.md: "Requests are judged when their turn comes, by the rules that hold then".

    With another queue their turn comes earlier than they are sent (queue.md, "Without it").
    """
    host = sites.host(
        in_turn(
            answer("User-agent: *\nDisallow: /never\nCrawl-delay: 1\n"),
            answer("User-agent: *\nDisallow: /\nCrawl-delay: 1\n"),
        )
    )
    await crawl(
        *[host.url(f"/{n}") for n in range(6)],
        spider=ChangesLate,
        ROBOTS_TTL=1,
        ROBOTS_TTL_MIN=1,
        ROBOTS_TTL_MAX=1,
    )
    changed = max(hit.at for hit in host.hits if hit.path == "/robots.txt")
    late = [h.path for h in host.hits if h.at > changed + 1.1 and h.path != "/robots.txt"]
    assert late == []


class Pauses(ProbeSpider):
    async def start(self):
        self.crawler.engine.pause()
        for url in self.urls:
            yield self.request(url)
        asyncio.get_running_loop().call_later(0.5, self.crawler.engine.unpause)


@pytest.mark.stress
@pytest_twisted.ensureDeferred
async def test_pause(sites: Sites) -> None:
    hosts = [sites.host(OPEN) for _ in range(3)]
    crawler = await crawl(*[h.url("/a") for h in hosts], spider=Pauses, **BOUND)
    assert stat(crawler, "finish_reason") == "finished"


@pytest_twisted.ensureDeferred
async def test_a_crawler_is_let_go(sites: Sites) -> None:
    import gc
    import weakref

    host = sites.host(OPEN)
    crawler = make_crawler()
    await run(crawler, urls=[host.url("/a")])
    seen = weakref.ref(crawler)
    del crawler
    gc.collect()
    assert seen() is None


@pytest_twisted.ensureDeferred
async def test_closing_in_mid_fetch_is_no_failure_of_the_site(sites: Sites, tmp_path) -> None:
    """The next crawl denies for ROBOTS_ERROR_TTL, without asking, because this one was stopped."""
    host = sites.host(in_turn(answer(OPEN), after(0.6, redirect("/r.txt")), answer(OPEN)))
    host.pages["/r.txt"] = answer(OPEN)
    settings = {
        "ROBOTS_STORE": f"sqlite:{tmp_path / 'r.db'}",
        "ROBOTS_TTL": 1,
        "ROBOTS_TTL_MIN": 1,
        "ROBOTS_TTL_MAX": 1,
        "ROBOTS_STALE_MAX": 2,
    }
    await crawl(host.url("/one"), **settings)
    time.sleep(2.1)
    await crawl(host.url("/two"), spider=Stops, **settings)
    await crawl(host.url("/three"), **settings)
    assert "/three" in host.fetched
