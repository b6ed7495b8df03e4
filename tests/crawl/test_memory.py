"""What a crawl keeps in memory has bounds, and all of it goes with the crawl."""

from __future__ import annotations

import gc
import tracemalloc
import weakref
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
import scrapy
from scrapy import Request
from scrapy.pqueues import DownloaderAwarePriorityQueue
from scrapy.settings import Settings
from scrapy.squeues import FifoMemoryQueue, LifoMemoryQueue
from scrapy.utils.httpobj import urlparse_cached
from scrapy.utils.reactor import is_asyncio_reactor_installed

from scrapy_robots_plus import RobotsMiddleware
from scrapy_robots_plus.hosts.door import Door
from tests.crawling import StepSpider, crawl, make_crawler, run
from tests.sites import after, answer

from .world import Host, World

if TYPE_CHECKING:
    from tests.sites import Sites

OPEN = "User-agent: *\nDisallow: /never\n"


@pytest_twisted.ensureDeferred
async def test_hosts_that_asked_for_patience_are_forgotten(
    sites: Sites, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Door, "LEAST", 2)
    hosts = [sites.host(OPEN) for _ in range(12)]
    for host in hosts:
        host.pages["/"] = answer(status=429, retry_after="1")
    last = sites.host(OPEN)
    last.pages["/"] = after(2.5, answer("x"))
    crawler = await crawl(*[h.url("/") for h in [*hosts, last]], ROBOTS_CACHE_SIZE=2)
    middleware = crawler.get_downloader_middleware(RobotsMiddleware)
    assert len(middleware.crawl.get(Door).lines) <= 2


@pytest_twisted.ensureDeferred
async def test_the_policies_that_were_used_last_are_kept(sites: Sites) -> None:
    used, others = sites.host(OPEN), [sites.host(OPEN) for _ in range(4)]
    urls = [url for each in others for url in (used.url(f"/{each.origin}"), each.url("/"))]
    await crawl(*urls, spider=StepSpider, ROBOTS_CACHE_SIZE=2, ROBOTS_STORE_MAX=1)
    assert len(used.fetched) == 4
    assert used.robots_hits == 1


@pytest_twisted.ensureDeferred
async def test_names_that_come_once_are_not_kept(sites: Sites) -> None:
    host = sites.host(OPEN + "Request-rate: 100/1\n")
    requests = [
        scrapy.Request(host.url(f"/{n}"), headers={"User-Agent": f"Bot/1.{n}"}) for n in range(60)
    ]
    crawler = await crawl(*requests)
    policy = next(iter(crawler.get_downloader_middleware(RobotsMiddleware).policies))
    assert len(host.fetched) == 60
    assert len(policy._asked) < 50


@pytest.mark.skipif(
    not is_asyncio_reactor_installed(), reason="there Scrapy itself keeps its crawlers"
)
@pytest_twisted.ensureDeferred
async def test_a_crawler_is_let_go(sites: Sites) -> None:
    host = sites.host(OPEN)
    crawler = make_crawler()
    await run(crawler, urls=[host.url("/a")])
    seen = weakref.ref(crawler)
    del crawler
    gc.collect()
    assert seen() is None


HOSTS = 1_000


def allocated(queue: Any) -> float:
    """Bytes for each host that has two requests in *queue*, without the requests."""
    requests = [Request(f"http://host{n}.example/{page}") for page in "ab" for n in range(HOSTS)]
    for request in requests:
        urlparse_cached(request)
        request.meta.clear()  # creates it
    gc.collect()
    tracemalloc.start()
    try:
        for request in requests:
            queue.push(request)
        return tracemalloc.get_traced_memory()[0] / HOSTS
    finally:
        tracemalloc.stop()


def test_a_host_that_waits_for_its_robots_txt_costs_less_than_in_scrapys_queue() -> None:
    world = World([Host() for _ in range(HOSTS)])
    downloader = SimpleNamespace(
        slots={}, get_slot_key=lambda request: urlparse_cached(request).hostname
    )
    crawler: Any = SimpleNamespace(
        settings=Settings(), engine=SimpleNamespace(downloader=downloader)
    )
    theirs = DownloaderAwarePriorityQueue(
        crawler, LifoMemoryQueue, "", start_queue_cls=FifoMemoryQueue
    )
    ours = allocated(world.queue)
    assert world.queue.pop() is None
    assert world.queue_hosts.ready == 0
    assert ours < allocated(theirs)
