"""Requests, workers and servers that are in trouble."""

from __future__ import annotations

import pickle
import re
import shlex
import signal
import time
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
import scrapy

from tests.crawling import crawl, make_crawler, parts_of_seconds, stat
from tests.redis_server import RedisServer, scrapy_redis_may_warn
from tests.samples import ROOT
from tests.sending import HICCUP
from tests.sites import answer, hang, when
from tests.waiting import close_when
from tests.workers import SHARED, Workers, robots, smallest

from .crews import CrewSpider, come

if TYPE_CHECKING:
    from tests.sites import Sites

pytestmark = scrapy_redis_may_warn
RULES = "User-agent: *\nDisallow: /never\n"
CLUSTER_PAGE = (ROOT / "docs" / "cluster-operation.md").read_text()
PAGE = answer("<p>A page</p>", content_type="text/html")


class Lambdas(CrewSpider):
    def request(self, url: str, **arguments: Any) -> scrapy.Request:
        def callback(response: scrapy.http.Response) -> None:
            self.got.append(response.url)

        return scrapy.Request(url, callback)


@pytest_twisted.ensureDeferred
async def test_requests_that_cannot_be_written_are_sent(
    sites: Sites, shared: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    host = sites.host(RULES)
    urls = [host.url(f"/{each}") for each in range(5)]
    crawler = await crawl(*urls, *urls, spider=Lambdas, **shared)
    assert sorted(host.fetched) == [f"/{each}" for each in range(5)]
    assert stat(crawler, "robotstxt/queue/kept_in_memory") == 5
    assert caplog.text.count("cannot be shared with other workers") == 1


@pytest_twisted.ensureDeferred
async def test_requests_that_cannot_be_written_are_removed_with_all_others(
    sites: Sites, shared: dict[str, Any]
) -> None:
    """Without ``SCHEDULER_PERSIST`` nothing that waits at the end is lost: it was to go."""
    host = sites.host(RULES)
    settings = shared | {"SCHEDULER_PERSIST": False, "CONCURRENT_REQUESTS": 1}
    crawler = make_crawler(Lambdas, **settings, CLOSESPIDER_PAGECOUNT=1)
    await crawler.crawl(urls=[host.url(f"/{each}") for each in range(50)])
    assert len(host.fetched) < stat(crawler, "robotstxt/queue/kept_in_memory")
    assert stat(crawler, "robotstxt/queue/lost") == 0


@pytest_twisted.ensureDeferred
async def test_requests_that_cannot_be_read_are_set_aside(
    sites: Sites, shared: dict[str, Any], server: RedisServer
) -> None:
    host = sites.host(RULES)
    gone = {"url": host.url("/x"), "callback": "gone", "errback": None}
    with server.client() as client:
        client.zadd("crew:requests", {b"not a pickle": 0, pickle.dumps(gone): 1})
        crawler = await crawl(host.url("/a"), spider=CrewSpider, **shared)
        assert len(client.lrange("{crew:requests}:aside", 0, -1)) == 2
    assert host.fetched == ["/a"]
    assert stat(crawler, "robotstxt/queue/set_aside") == 2


@pytest_twisted.ensureDeferred
async def test_a_crawl_that_ends_while_a_request_waits_for_a_robots_txt_ends_without_an_error(
    sites: Sites, shared: dict[str, Any]
) -> None:
    host = sites.host(hang)
    crawler = make_crawler(Lambdas, **shared)
    close_when(lambda: host.robots_hits, crawler)
    await crawler.crawl(urls=[host.url("/a")])
    assert stat(crawler, "log_count/ERROR") == 0


class WithThatCallback(CrewSpider):
    def gone(self, response: scrapy.http.Response) -> None:
        self.got.append(response.url)


@pytest_twisted.ensureDeferred
async def test_requests_that_were_set_aside_come_back_by_the_command_of_the_page(
    sites: Sites, shared: dict[str, Any], server: RedisServer
) -> None:
    host = sites.host(RULES)
    gone = {"url": host.url("/x"), "callback": "gone", "errback": None}
    (command,) = re.findall(r"`redis-cli (renamenx [^`]*)`", CLUSTER_PAGE)
    with server.client() as client:
        client.zadd("crew:requests", {pickle.dumps(gone): 1})
        await crawl(host.url("/a"), spider=CrewSpider, **shared)
        assert host.fetched == ["/a"]
        client.execute_command(*shlex.split(command.replace("worker:", "crew:")))
        crawler = await crawl(host.url("/b"), spider=WithThatCallback, **shared)
        assert not client.exists("{crew:requests}:aside")
    assert sorted(host.fetched) == ["/a", "/b", "/x"]
    assert host.url("/x") in crawler.spider.got


@pytest_twisted.ensureDeferred
async def test_another_serializer_is_used(
    sites: Sites, shared: dict[str, Any], server: RedisServer
) -> None:
    host = sites.host(RULES + "Crawl-delay: 30\n")
    crawler = make_crawler(
        CrewSpider, **shared, SCHEDULER_SERIALIZER="tests.crawl.shared_queue.as_json"
    )
    close_when(lambda: host.fetched, crawler)
    await crawler.crawl(urls=[host.url(f"/{each}") for each in range(3)])
    with server.client() as client:
        waiting = client.zrange(f"{{crew:requests}}:host:{host.address}", 0, -1)
    assert len(waiting) == 2
    assert all(each[8:].startswith(b"{") for each in waiting)


@parts_of_seconds
def test_a_worker_that_hangs_loses_its_requests_to_others(sites: Sites) -> None:
    """And breaks no pace when it goes on."""
    paced = sites.host(robots(0.3))
    hosts = {paced: 12, sites.host(robots()): 20}
    settings = {**SHARED, "ROBOTS_WORKER_LIFETIME": 1}
    with RedisServer() as server, Workers(hosts, server, settings) as running:
        running.start(2)
        running.go()
        running.wait_until(lambda: len(running.handled) > 5, 20)
        hanging, then = running.all[0], time.monotonic() + 2
        hanging.send(signal.SIGSTOP)
        running.wait_until(lambda: time.monotonic() > then, 20)
        hanging.send(signal.SIGCONT)
        crawled = running.crawl(30)
    assert crawled.missing == set()
    assert crawled.stat("robotstxt/shared_queue/forgotten") == 1
    assert smallest(crawled.gaps, [paced]) >= 0.3 - HICCUP


@pytest_twisted.ensureDeferred
async def test_a_server_that_is_restarted_in_the_middle(
    sites: Sites, caplog: pytest.LogCaptureFixture
) -> None:
    """It keeps its data. What is found meanwhile is kept in memory."""
    caplog.set_level("INFO")
    host = sites.host(RULES)
    with RedisServer(durable=True) as server:
        host.pages["/0"] = when(lambda: not server.running, PAGE)
        settings = {
            "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
            "SCHEDULER_PERSIST": True,
            "REDIS_URL": server.url,
            **SHARED,
        }
        crawler = make_crawler(Linking, **settings)
        running = crawler.crawl(urls=[host.url("/0")])
        await come(lambda: host.fetched)
        server.kill()
        await come(lambda: stat(crawler, "robotstxt/shared_queue/kept_in_memory") == 6)
        server.start()
        await running
    assert sorted(host.fetched) == [f"/{each}" for each in range(7)]
    assert caplog.text.count("cannot be used") == 1
    assert caplog.text.count("can be used again") == 1
    assert stat(crawler, "log_count/ERROR") == 0


class Linking(CrewSpider):
    def parse(self, response: scrapy.http.Response) -> Any:
        if response.url.endswith("/0"):
            for each in (1, 2, 3, 4, 5, 6):
                yield scrapy.Request(response.urljoin(f"/{each}"))


@pytest_twisted.ensureDeferred
async def test_a_user_with_the_rights_that_the_docs_name_but_info(
    sites: Sites, caplog: pytest.LogCaptureFixture
) -> None:
    host = sites.host(RULES)
    (rights,) = re.findall(r"`(~\{robots[^`]+) \+info`", CLUSTER_PAGE)
    rights = rights.replace("worker", "crew")
    with RedisServer(user="crawler", password="s3cret", rights=rights) as server:
        settings = {
            "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
            "REDIS_URL": server.url.partition("//")[0] + "//" + server.url.rpartition("@")[2],
            "REDIS_PARAMS": {"username": "crawler", "password": "s3cret"},
            **SHARED,
        }
        await crawl(host.url("/0"), host.url("/0"), spider=Linking, **settings)
    assert sorted(host.fetched) == [f"/{each}" for each in range(7)]
    warnings = [each for each in caplog.records if each.levelname == "WARNING"]
    assert [each for each in warnings if each.name.startswith("scrapy_robots_plus")] == []
    assert "s3cret" not in caplog.text


@pytest_twisted.ensureDeferred
async def test_a_server_without_memory_is_told_of_once(
    sites: Sites, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    host, full = sites.host(RULES), [False]
    with RedisServer() as server:
        host.pages["/0"] = when(lambda: full[0], PAGE)
        settings = {
            "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
            "SCHEDULER_PERSIST": True,
            "REDIS_URL": server.url,
            **SHARED,
        }
        crawler = make_crawler(Linking, **settings)
        running = crawler.crawl(urls=[host.url("/0")])
        await come(lambda: host.fetched)
        server.run_out_of_memory()
        full[0] = True
        await come(lambda: stat(crawler, "robotstxt/shared_queue/errors") > 3)
        server.limit_memory(0)
        await running
    assert sorted(host.fetched) == [f"/{each}" for each in range(7)]
    assert caplog.text.count("cannot be used") == 1
    assert caplog.text.count("can be used again") == 1


@pytest_twisted.ensureDeferred
async def test_a_slot_that_is_no_text_is_one_as_for_scrapy(
    sites: Sites, shared: dict[str, Any]
) -> None:
    class InASlot(CrewSpider):
        def request(self, url: str, **arguments: Any) -> scrapy.Request:
            return super().request(url, meta={"download_slot": 5}, **arguments)

    host = sites.host(RULES)
    paths = [f"/{each}" for each in range(5)]
    crawler = await crawl(*map(host.url, paths), spider=InASlot, **shared)
    assert sorted(host.fetched) == paths
    assert stat(crawler, "finish_reason") == "finished"


@pytest_twisted.ensureDeferred
async def test_hosts_that_never_answer_leave_the_others_places_to_be_fetched_in(
    sites: Sites, shared: dict[str, Any]
) -> None:
    silent = [sites.host(hang) for _ in range(16)]
    host = sites.host(RULES)
    crawler = make_crawler(
        CrewSpider, **shared, ROBOTS_FETCH_CONCURRENCY=2, ROBOTS_FETCH_TIMEOUT=30
    )
    given_up: list[float] = []

    def is_fetched() -> bool:
        if host.fetched:
            given_up.append(stat(crawler, "robotstxt/exception_count"))
        return bool(host.fetched)

    close_when(is_fetched, crawler)
    await crawler.crawl(urls=[*(each.url("/") for each in silent), host.url("/")])
    assert host.fetched == ["/"]
    assert given_up[0] == 0
