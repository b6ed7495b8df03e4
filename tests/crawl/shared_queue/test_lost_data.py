"""The server comes back with older data, or loses keys: delays hold, no worker waits for ever, and
no page is lost that the server still has.
"""

from __future__ import annotations

import random
import re
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
from scrapy.utils.asyncio import call_later

from scrapy_robots_plus import compat
from scrapy_robots_plus.redis import RobotsQueue
from tests.crawling import make_crawler, parts_of_seconds, stat
from tests.redis_proxy import RedisProxy
from tests.redis_server import RedisServer, scrapy_redis_may_warn
from tests.sending import HICCUP
from tests.sites import answer, when
from tests.waiting import close_when
from tests.workers import SHARED, Crawled, Workers, robots, smallest

from .crews import CrewSpider, come

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.sites import Host, Sites

pytestmark = scrapy_redis_may_warn

DELAY = 1.2
LONGEST = 60
SETTINGS: dict[str, Any] = {**SHARED, "CONCURRENT_REQUESTS": 8}


def hosts_of(sites: Sites, pages: int = 5) -> dict[Host, int]:
    slow = {sites.host(robots(DELAY)): pages for _ in range(4)}
    return slow | {sites.host(robots()): 2 * pages for _ in range(2)}


def assert_delays_hold(crawled: Crawled) -> None:
    slow = [host for host, pages in crawled.workers.hosts.items() if pages < 10]
    assert smallest(crawled.gaps, slow) >= DELAY - HICCUP
    assert smallest(crawled.arrival_gaps, slow) >= DELAY - 10 * HICCUP


@contextmanager
def crawling(hosts: dict[Host, int], server: Any) -> Iterator[Workers]:
    """Workers which have found all pages, and fetched few."""
    with Workers(hosts, server, SETTINGS) as workers:
        workers.start(2)
        workers.go()
        wait_until_all_are_found(workers)
        yield workers


def wait_until_all_are_found(workers: Workers) -> None:
    with workers.server.client() as client:
        workers.wait_until(lambda: client.scard("worker:dupefilter") == workers.pages, 20)


def pause(seconds: float) -> None:
    time.sleep(seconds)


def ended(workers: Workers) -> Crawled:
    """When all pages have come."""
    workers.wait_until(lambda: len(workers.handled) >= workers.pages, LONGEST)
    return Crawled(workers, 0.0, workers.end(), None)


def come_back_with_older_data(sites: Sites, seed: int) -> Crawled:
    generator = random.Random(seed)
    with RedisServer() as server, crawling(hosts_of(sites), server) as workers:
        pause(generator.uniform(0, 1))
        with server.client() as client:
            client.save()
        pause(generator.uniform(0.3, 3))
        server.kill()
        pause(generator.choice([0, 0.5, 2]))
        server.start()
        return ended(workers)


@parts_of_seconds
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(each, marks=pytest.mark.stress) for each in range(1, 10))]
)
def test_a_server_that_comes_back_with_older_data(sites: Sites, seed: int) -> None:
    crawled = come_back_with_older_data(sites, seed)
    assert crawled.missing == set()
    assert_delays_hold(crawled)
    assert crawled.stat("robotstxt/shared_queue/losses") == 2
    assert len(re.findall("WARNING: The Redis server of the queue was started again", crawled.log))


@parts_of_seconds
@pytest.mark.parametrize("lag", [0.4, pytest.param(2.0, marks=pytest.mark.stress)])
def test_a_replica_that_takes_over_late(sites: Sites, lag: float) -> None:
    with RedisServer() as server, RedisServer() as replica, RedisProxy(server) as road:
        replica.follow(server)
        hosts = hosts_of(sites)
        with Workers(hosts, server, {**SETTINGS, "REDIS_URL": road.url}) as workers:
            workers.start(2)
            workers.go()
            wait_until_all_are_found(workers)
            with server.client() as client:
                client.set("all that was found", "")
                assert client.wait(1, 10_000) == 1
            replica.lead()
            pause(lag)
            road.server = replica
            road.cut()
            crawled = ended(workers)
    assert crawled.missing == set()
    assert_delays_hold(crawled)


class LosesItsChildren(CrewSpider):
    """Its server comes back as it was before the first page has yielded a request."""

    server: RedisServer
    ends_meanwhile = False

    async def parse(self, response: Any) -> Any:
        if not response.url.endswith("/0"):
            return
        with self.server.client() as client:
            client.save()
        for number in range(1, 8):
            yield self.request(response.urljoin(f"/{number}"), callback=self.parse)
        await come_in_time(lambda: self.is_pushed(7))
        self.server.kill()
        if self.ends_meanwhile:
            call_later(1.0, self.server.start)
            return
        self.server.start()
        losses = "robotstxt/shared_queue/losses"
        await come_in_time(lambda: self.crawler.stats.get_value(losses))

    def is_pushed(self, number: int) -> bool:
        with self.server.client() as client:
            return bool(client.scard("crew:dupefilter") > number)


async def come_in_time(condition: Callable[[], object]) -> None:
    give_up_at = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < give_up_at
        await compat.sleep(0.05)


@parts_of_seconds
@pytest.mark.parametrize("ends_meanwhile", [False, True])
@pytest_twisted.ensureDeferred
async def test_what_a_page_has_yielded_is_put_in_again(
    sites: Sites, monkeypatch: pytest.MonkeyPatch, ends_meanwhile: bool
) -> None:
    """Until the server has heard that it is done with, nobody fetches it again, so nobody else
    would find them.
    """
    host = sites.host(robots(0.5))
    with RedisServer() as server:
        settings = {**SETTINGS, "SCHEDULER": "scrapy_redis.scheduler.Scheduler"}
        settings |= {"SCHEDULER_PERSIST": True, "REDIS_URL": server.url, "CONCURRENT_REQUESTS": 1}
        crawler = make_crawler(LosesItsChildren, **settings)
        monkeypatch.setattr(LosesItsChildren, "server", server, raising=False)
        monkeypatch.setattr(LosesItsChildren, "ends_meanwhile", ends_meanwhile)
        await crawler.crawl(urls=[host.url("/0")])
    assert sorted(host.fetched) == [f"/{number}" for number in range(8)]
    assert crawler.spider.failures == {}


@pytest_twisted.ensureDeferred
async def test_a_worker_that_is_stopped_gives_back_what_the_server_has_lost(sites: Sites) -> None:
    stopped = False
    host = sites.host(when(lambda: stopped, answer(robots())))
    with RedisServer() as server:
        settings = {**SETTINGS, "SCHEDULER": "scrapy_redis.scheduler.Scheduler"}
        settings |= {"SCHEDULER_PERSIST": True, "REDIS_URL": server.url}
        crawler = make_crawler(CrewSpider, **settings)
        running = crawler.crawl(urls=[host.url("/0")])
        await come(lambda: host.robots_hits)  # the page waits for it
        server.emptied()
        await come(lambda: stat(crawler, "robotstxt/shared_queue/losses"))
        compat.close_crawl(crawler, "stopped")
        stopped = True
        await running
        assert host.fetched == []
        await make_crawler(CrewSpider, **settings).crawl(urls=[])
    assert host.fetched == ["/0"]


KEYS = ["new", "pace", "workers", "pushed", "waiting", "clock", "idle", "out:*"]


@parts_of_seconds
@pytest.mark.parametrize(
    "key", [pytest.param(each, marks=pytest.mark.stress) for each in ("due", *KEYS)]
)  # in `make test`, one after the other in the same crawl
def test_a_key_that_is_lost(sites: Sites, key: str) -> None:
    hosts = hosts_of(sites)
    with RedisServer() as server, crawling(hosts, server) as workers:
        with server.client() as client:
            for name in client.keys(f"{{worker:requests}}:{key}"):
                client.delete(name)
        crawled = ended(workers)
    assert crawled.missing == set()
    assert_delays_hold(crawled)


@parts_of_seconds
def test_requests_that_are_lost_are_counted_and_said_in_every_run(sites: Sites) -> None:
    """And everything else ends as it does."""
    lost = sites.host(robots(6))  # long enough: only its first page is asked for before
    hosts = hosts_of(sites) | {lost: 5}
    said = "4 requests that waited in Redis were lost there"
    with RedisServer() as server:
        with crawling(hosts, server) as workers:
            with server.client() as client:
                client.delete(f"{{worker:requests}}:host:{lost.address}")
            workers.wait_until(lambda: len(workers.handled) >= workers.pages - 4, LONGEST)
            workers.end()
            assert said in workers.log
            assert workers.log.count("Spider closed (finished)") == 2
        with Workers(hosts, server, SETTINGS) as workers:
            workers.start()
            workers.go()
            results = workers.end()
            assert workers.log.count(said) == 1
            assert results[0]["stats"]["robotstxt/shared_queue/lost"] == 4
        with server.client() as client:
            client.delete("{worker:requests}:lost")
        with Workers(hosts, server, SETTINGS) as workers:
            workers.start()
            workers.go()
            workers.end()
            assert said not in workers.log


@parts_of_seconds
def test_a_server_that_evicts_keys(sites: Sites) -> None:
    hosts = hosts_of(sites)
    with RedisServer() as server:
        with server.client() as client:
            client.config_set("maxmemory-policy", "allkeys-lru")
        with crawling(hosts, server) as workers:
            assert "maxmemory-policy allkeys-lru" in workers.log
            with server.client() as client:
                client.config_set("maxmemory", client.info("memory")["used_memory"] - 60_000)
                pause(2)
                client.config_set("maxmemory", 0)
                assert client.info("stats")["evicted_keys"]
            quiet_for(workers, 8)
            results = workers.end()
            crawled = Crawled(workers, 0.0, results, None)
    assert_delays_hold(crawled)
    assert {each["stats"]["finish_reason"] for each in results} == {"finished"}


def quiet_for(workers: Workers, seconds: float) -> None:
    """Until no page has come for so long."""
    handled, since = -1, time.monotonic()
    give_up_at = since + LONGEST
    while time.monotonic() < min(since + seconds, give_up_at):
        if len(workers.handled) != handled:
            handled, since = len(workers.handled), time.monotonic()
        time.sleep(0.1)


def arrivals_after(act: Callable[[Workers, RedisServer], None], sites: Sites) -> Crawled:
    hosts = {sites.host(robots(DELAY)): 3 for _ in range(6)}
    with RedisServer() as server, Workers(hosts, server, SETTINGS) as workers:
        workers.start()
        workers.go()
        workers.wait_until(lambda: len(workers.handled) >= len(hosts), 20)
        act(workers, server)
        return ended(workers)


@parts_of_seconds
def test_every_key_is_lost_in_turn(sites: Sites) -> None:
    with RedisServer() as server, crawling(hosts_of(sites), server) as workers:
        with server.client() as client:
            for key in ["due", *KEYS]:
                for name in client.keys(f"{{worker:requests}}:{key}"):
                    client.delete(name)
                pause(0.3)
        crawled = ended(workers)
    assert crawled.missing == set()
    assert_delays_hold(crawled)


@pytest.fixture
def two_pages(
    sites: Sites, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> list[str]:
    """Of a host with a long delay: a worker has soon had nothing to do, and says so after a second
    and a half.
    """
    monkeypatch.setattr(RobotsQueue, "TELLS_AFTER", 1.5)
    caplog.set_level("INFO")
    host = sites.host(robots(30))
    return [host.url("/1"), host.url("/2")]


@pytest_twisted.ensureDeferred
async def test_a_worker_that_has_nothing_to_do_says_so(
    two_pages: list[str], shared: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    crawler = make_crawler(CrewSpider, **shared)
    close_when(lambda: "has had nothing to do" in caplog.text, crawler)
    await crawler.crawl(urls=two_pages)
    assert "the hosts of all requests that wait (" in caplog.text


@pytest_twisted.ensureDeferred
async def test_hosts_are_not_blamed_for_a_server_that_is_away(
    two_pages: list[str], shared: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    with RedisServer() as own:
        crawler = make_crawler(CrewSpider, **shared | {"REDIS_URL": own.url})
        close_when(lambda: not own.running and time.monotonic() > killed_at + 4, crawler)
        running = crawler.crawl(urls=two_pages)
        await come(lambda: crawler.stats.get_value("response_received_count", 0) > 1)
        killed_at = time.monotonic()
        own.kill()
        await running
    assert "cannot be used" in caplog.text
    assert "has had nothing to do" not in caplog.text


@parts_of_seconds
def test_a_second_worker_that_flushes_breaks_no_delay(sites: Sites) -> None:
    crawled = arrivals_after(lambda workers, _: workers.start(SCHEDULER_FLUSH_ON_START=True), sites)
    assert_delays_hold(crawled)
    assert crawled.missing == set()


@parts_of_seconds
def test_a_fresh_worker_of_an_emptied_server_breaks_no_delay(sites: Sites) -> None:
    def empty(workers: Workers, server: RedisServer) -> None:
        server.emptied()
        workers.start()

    crawled = arrivals_after(empty, sites)
    assert_delays_hold(crawled)
    assert crawled.missing == set()
