"""A store on a Redis server: the crawl waits for nothing, and holds to what it has learnt."""

from __future__ import annotations

import logging
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
from scrapy.utils.asyncio import create_looping_call

from scrapy_robots_plus.compat import loops
from scrapy_robots_plus.crawl import crawl as shared
from scrapy_robots_plus.crawl.clock import Clock
from scrapy_robots_plus.origins import crawl_store as store_module
from scrapy_robots_plus.origins.crawl_store import CrawlStore
from scrapy_robots_plus.storage.redis_store import RedisStore
from tests.crawl.scripted import make_crawler
from tests.redis_proxy import RedisProxy
from tests.redis_server import RedisServer
from tests.storage.records import START, never_read, origin, rules
from tests.waiting import in_loop, until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy_robots_plus.storage.record import RobotsRecord

OLD, NEW, NEWER = (rules(1, START + time) for time in (0, 100, 200))


class Crawl:
    def __init__(self, url: str, now: float = START, **overrides: Any) -> None:
        self.now = now
        self.crawler = make_crawler(ROBOTS_STORE=url, **overrides)
        clock = Clock(wall=lambda: self.now)
        self.archive = CrawlStore(shared.Crawl.of(self.crawler, clock))

    def learn(self, record: RobotsRecord) -> None:
        self.now = max(self.now, record.fetched_at, record.failed_at)
        self.archive.save(record)

    async def load(self, number: int = 1) -> RobotsRecord | None:
        return await self.archive.load(origin(number))

    async def recovered(self) -> None:
        """The server is asked again: the pause since it was away is over."""
        server = self.archive._store.server  # type: ignore[attr-defined]
        await until(lambda: server._alone_until < time.monotonic())

    def stat(self, name: str) -> int:
        return self.crawler.stats.get_value(f"robotstxt/store/{name}", 0)


@asynccontextmanager
async def crawling(url: str, now: float = START, **overrides: Any) -> AsyncIterator[Crawl]:
    crawl = Crawl(url, now, **overrides)
    yield crawl
    await crawl.archive._close()


@pytest.fixture
def server() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


@pytest.fixture
def other(server: RedisServer) -> Iterator[RedisStore]:
    """What another crawl has of it."""
    with RedisStore(server.url) as store:
        yield store


@in_loop
async def test_what_is_saved_is_found_at_once_and_by_the_next_crawl(server: RedisServer) -> None:
    async with crawling(server.url) as crawl:
        crawl.learn(NEW)
        assert await crawl.load() == NEW
        crawl.learn(NEWER)
        crawl.learn(NEWER._replace(failure=503, failures=1, failed_at=START + 300))
    async with crawling(server.url, START + 300) as crawl:
        found = await crawl.load()
        assert found is not None
        assert (found.body, found.failure) == (NEWER.body, 503)
        assert await crawl.load(2) is None
        assert (crawl.stat("hits"), crawl.stat("misses"), crawl.stat("errors")) == (1, 1, 0)


@in_loop
async def test_the_loop_goes_on_while_a_server_hangs(server: RedisServer) -> None:
    async with crawling(server.url) as crawl:
        crawl.learn(NEW)
        assert await crawl.load() == NEW
        ticks: list[float] = []
        ticking = create_looping_call(lambda: ticks.append(time.monotonic()))
        ticking.start(0.01)
        server.pause()
        try:
            for number in range(2, 50):
                crawl.learn(rules(number))
            assert await crawl.load() is None
        finally:
            server.resume()
            ticking.stop()
        assert len(ticks) > 10
        assert crawl.stat("errors") >= 1


@in_loop
async def test_what_could_not_be_saved_is_not_answered_by_what_was_stored_before(
    server: RedisServer, other: RedisStore
) -> None:
    other.put(OLD)
    async with crawling(server.url) as crawl:
        assert await crawl.load() == OLD
        server.run_out_of_memory()
        crawl.learn(NEW)
        assert await crawl.load() is None
        server.limit_memory(0)
        assert await crawl.load() is None
        other.put(rules(1, START + 50)._replace(failure=503, failed_at=START + 400))
        assert await crawl.load() is None
        crawl.learn(NEWER)
        assert await crawl.load() == NEWER


@in_loop
async def test_it_is_removed_for_the_next_crawl(server: RedisServer, other: RedisStore) -> None:
    other.put(OLD)
    async with crawling(server.url) as crawl:
        server.run_out_of_memory()
        crawl.learn(NEW)  # nobody waits for the answer before the crawl ends
    assert other.get(origin(1)) is None


@in_loop
async def test_nothing_from_before_a_loss_is_believed(
    server: RedisServer, other: RedisStore
) -> None:
    async with crawling(server.url) as crawl:
        crawl.learn(NEW)
        assert await crawl.load() == NEW
        server.fail_over_to_an_empty_one()
        other.put(rules(1, START + 50))
        assert await crawl.load() is None
        crawl.learn(rules(1, START + 900))
        assert await crawl.load() == rules(1, START + 900)


@in_loop
async def test_a_server_that_is_away_is_warned_of_once_and_used_when_it_is_back(
    server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with crawling(server.url) as crawl:
        crawl.learn(OLD)
        assert await crawl.load() == OLD
        server.kill()
        for number in range(1, 30):
            crawl.learn(rules(number, START + number))
            assert await crawl.load(number) is None
        assert crawl.stat("errors") == 58
        assert len([record for record in caplog.records if "ROBOTS_STORE" in record.message]) == 1
        server.start()
        await crawl.recovered()
        crawl.learn(rules(30, START + 30))
        assert await crawl.load(30) == rules(30, START + 30)


@in_loop
async def test_a_server_that_is_away_from_the_start_can_come(server: RedisServer) -> None:
    server.kill()
    async with crawling(server.url) as crawl:
        assert await crawl.load() is None
        server.start()
        await crawl.recovered()
        crawl.learn(NEW)
        assert await crawl.load() == NEW


@in_loop
async def test_an_answer_that_comes_too_late_counts_as_none(
    server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loops.Courier.ask, "__defaults__", (0.3,))
    with RedisProxy(server) as proxy:
        async with crawling(proxy.url) as crawl:
            crawl.learn(NEW)
            assert await crawl.load() == NEW
            proxy.delay = 0.2
            asked = [crawl.load(number) for number in range(1, 30)]
            started = time.monotonic()
            found = [await each for each in asked[:3]]
            assert time.monotonic() - started < 3
            assert found[0] in (NEW, None)
            for each in asked[3:]:
                each.close()
            proxy.delay = 0


@in_loop
async def test_closing_waits_for_what_is_to_be_saved_but_not_for_ever(
    server: RedisServer, other: RedisStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with crawling(server.url) as crawl:
        for number in range(200):
            crawl.learn(rules(number))
    assert len(other) == 200
    monkeypatch.setattr(store_module, "SECONDS_TO_CLOSE", 1.0)
    async with crawling(f"{server.url}?socket_timeout=10") as crawl:
        assert await crawl.load(3) == rules(3)
        server.pause()
        crawl.learn(rules(3, START + 1))
        started = time.monotonic()
        await crawl.archive._close()
        assert time.monotonic() - started < 1.5
        server.resume()
    assert crawl.stat("errors") == 1


@in_loop
async def test_after_closing_nothing_is_found_and_nothing_fails(server: RedisServer) -> None:
    async with crawling(server.url) as crawl:
        crawl.learn(NEW)
    assert await crawl.load() is None
    crawl.learn(NEWER)
    assert crawl.stat("errors") == 0


@in_loop
async def test_failures_are_shared_for_as_long_as_they_hold(server: RedisServer) -> None:
    now = time.time()
    failed = never_read(1, now, outcome=503, failure=503)
    async with crawling(server.url, now) as crawl, crawling(server.url, now) as beside:
        crawl.learn(failed)
        assert await crawl.load() == failed
        assert await beside.load() == failed
    with server.client() as client:
        (ttl,) = [client.ttl(key) for key in client.keys("*:record")]
        assert 3_600 < ttl <= 3_660


@in_loop
async def test_no_password_is_in_what_is_logged_or_shown(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with RedisServer(user="crawler", password="5ecret") as server:
        async with crawling(server.url_for("crawler", "wr0ng")) as crawl:
            assert await crawl.load() is None
            settings = crawl.archive._settings
            shown = [caplog.text, repr(settings), repr(crawl.archive._store)]
    assert "ROBOTS_STORE" in caplog.text
    assert not [text for text in shown if "wr0ng" in text or "crawler" in text]


@in_loop
async def test_nothing_is_asked_before_the_first_use(server: RedisServer) -> None:
    before = server.usage()
    async with crawling(server.url):
        pass
    assert not (server.usage() - before).commands
