"""Requests that are new, on their way to the server: those of a moment together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest_twisted
import scrapy
from scrapy import signals
from scrapy_redis import picklecompat

from scrapy_robots_plus.crawl.crawl import Crawl
from scrapy_robots_plus.redis.host_queue import HostQueue
from scrapy_robots_plus.redis.pushing import Pushing
from tests.crawling import make_crawler, stat
from tests.redis_proxy import RedisProxy
from tests.redis_server import RedisServer, scrapy_redis_may_warn
from tests.sites import answer, when

from .crews import CrewSpider, come

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest

    from scrapy_robots_plus.redis.host_queue import Report
    from tests.sites import Sites

pytestmark = scrapy_redis_may_warn

RULES = "User-agent: *\nDisallow: /never\n"
LINKS = 100


class Links(CrewSpider):
    """Its first page names a hundred others twice, and each of those two that were named."""

    def parse(self, response: scrapy.http.Response) -> Iterator[scrapy.Request]:
        is_first = response.url.endswith("/0")
        numbers = [*range(1, LINKS + 1)] * 2 if is_first else [1, 2]
        yield from (self.request(response.urljoin(f"/{each}")) for each in numbers)


@pytest_twisted.ensureDeferred
async def test_what_a_page_leads_to_is_put_in_together(
    sites: Sites, server: RedisServer, shared: dict[str, Any]
) -> None:
    host = sites.host(RULES)
    crawler = make_crawler(Links, **shared)
    dropped: list[str] = []

    def note(request: scrapy.Request) -> None:
        dropped.append(request.url)

    crawler.signals.connect(note, signals.request_dropped)
    with server.client() as client:
        client.config_resetstat()
        await crawler.crawl(urls=[host.url("/0")])
        scripts = client.info("commandstats")["cmdstat_evalsha"]["calls"]
    assert sorted(host.fetched) == sorted(f"/{each}" for each in range(LINKS + 1))
    assert scripts < 2 * LINKS
    # Each link was counted once, whoever found out that it had been seen, and when.
    assert len(dropped) == LINKS + 2 * LINKS
    assert stat(crawler, "scheduler/enqueued/redis") == LINKS + 1
    assert stat(crawler, "scheduler/dequeued/redis") == LINKS + 1


class SixLinks(CrewSpider):
    def parse(self, response: scrapy.http.Response) -> Iterator[scrapy.Request]:
        if response.url.endswith("/0"):
            yield from (self.request(response.urljoin(f"/{each}")) for each in range(1, 7))


@pytest_twisted.ensureDeferred
async def test_no_page_ends_before_all_that_it_has_led_to_is_put_in(
    sites: Sites, shared: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that is killed between the two would lose the rest."""
    exchange = HostQueue.exchange
    kept: list[int] = []

    def watched(
        queue: HostQueue, most: int, unknown: int, reports: list[Report], **more: Any
    ) -> Any:
        told = exchange(queue, most, unknown, reports, **more)
        if any(each.what == "ended" for each in reports):
            ours: Any = Crawl.of(crawler).queue
            kept.append(len(ours.pushing.kept))
        return told

    monkeypatch.setattr(HostQueue, "exchange", watched)
    monkeypatch.setattr(Pushing, "AT_ONCE", 1)
    monkeypatch.setattr(Pushing.give, "__kwdefaults__", {"seconds": 0.0})
    host = sites.host(RULES)
    with RedisServer(durable=True) as server:
        host.pages["/0"] = when(lambda: not server.running, answer("A page"))
        crawler = make_crawler(SixLinks, **shared | {"REDIS_URL": server.url})
        running = crawler.crawl(urls=[host.url("/0")])
        await come(lambda: host.fetched)
        server.kill()
        await come(lambda: stat(crawler, "robotstxt/shared_queue/kept_in_memory") == 6)
        server.start()
        await running
    assert sorted(host.fetched) == [f"/{each}" for each in range(7)]
    assert kept
    assert set(kept) == {0}


class LargeLinks(SixLinks):
    def request(self, url: str, **arguments: Any) -> scrapy.Request:
        return super().request(url, **arguments).replace(meta={"blob": "x" * 100_000})


@pytest_twisted.ensureDeferred
async def test_large_requests_are_put_in_a_few_at_a_time(
    sites: Sites, shared: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer to too much at once would come too late, and all of it be sent again for ever."""
    push, sizes = HostQueue.push, []

    def watched(queue: HostQueue, requests: list[Any], *more: Any) -> Any:
        sizes.append(sum(len(each.data) for each in requests))
        return push(queue, requests, *more)

    monkeypatch.setattr(HostQueue, "push", watched)
    host = sites.host(RULES)
    crawler = make_crawler(LargeLinks, **shared)
    await crawler.crawl(urls=[host.url("/0")])
    assert sorted(host.fetched) == [f"/{each}" for each in range(7)]
    assert sum(sizes) > 7 * 100_000
    assert max(sizes) <= Pushing.BYTES_AT_ONCE


@pytest_twisted.ensureDeferred
async def test_the_engine_goes_on_between_large_requests_that_take_long(
    sites: Sites, shared: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With no time for a second step, each time that requests are given has one."""
    give, push, steps = Pushing.give, HostQueue.push, []

    def watched_give(pushing: Pushing, *arguments: Any, **named: Any) -> None:
        if "seconds" not in named and pushing.kept:  # the end of the crawl waits for all
            steps.append(0)
        give(pushing, *arguments, **named)

    def watched_push(*arguments: Any) -> Any:
        steps[-1] += 1
        return push(*arguments)

    monkeypatch.setattr(Pushing, "give", watched_give)
    monkeypatch.setattr(HostQueue, "push", watched_push)
    monkeypatch.setattr(give, "__kwdefaults__", {"seconds": 0.0})
    host = sites.host(RULES)
    crawler = make_crawler(LargeLinks, **shared)
    await crawler.crawl(urls=[host.url("/0")])
    assert sorted(host.fetched) == [f"/{each}" for each in range(7)]
    assert set(steps) == {1}


class OneTooLarge(SixLinks):
    """Its first link takes the line for more than the timeout of a second."""

    def request(self, url: str, **arguments: Any) -> scrapy.Request:
        request = super().request(url, **arguments)
        return request.replace(meta={"blob": "x" * 700_000}) if url.endswith("/1") else request


@pytest_twisted.ensureDeferred
async def test_one_request_that_is_too_large_for_the_line_is_sent_by_its_own_worker(
    sites: Sites,
    server: RedisServer,
    shared: dict[str, Any],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It would be given to the server for ever, and all others wait behind it."""
    host = sites.host(RULES)
    with RedisProxy(server) as line:
        line.rate = 350_000
        crawler = make_crawler(OneTooLarge, **shared | {"REDIS_URL": line.url})
        await crawler.crawl(urls=[host.url("/0")])
    assert sorted(host.fetched) == [f"/{each}" for each in range(7)]
    assert stat(crawler, "robotstxt/queue/kept_in_memory") == 1
    assert stat(crawler, "robotstxt/queue/lost") == 0
    (warning,) = (each for each in caplog.messages if "socket_timeout" in each)
    assert host.url("/1") in warning
    assert "700 kB" in warning


class WritesOnly:
    """A serializer of a project that cannot read what is large."""

    dumps = staticmethod(picklecompat.dumps)

    @staticmethod
    def loads(data: Any) -> Any:
        if len(data) > 100_000:
            raise ValueError("too long")
        return picklecompat.loads(data)


@pytest_twisted.ensureDeferred
async def test_one_request_that_is_too_large_and_cannot_be_read_is_counted_as_lost(
    sites: Sites, server: RedisServer, shared: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    host = sites.host(RULES)
    settings = shared | {"SCHEDULER_SERIALIZER": WritesOnly}
    with RedisProxy(server) as line:
        line.rate = 350_000
        crawler = make_crawler(OneTooLarge, **settings | {"REDIS_URL": line.url})
        await crawler.crawl(urls=[host.url("/0")])
    assert sorted(host.fetched) == ["/0", *(f"/{each}" for each in range(2, 7))]
    assert stat(crawler, "robotstxt/queue/lost") == 1
    assert "too long" in next(each for each in caplog.messages if "lost" in each)
