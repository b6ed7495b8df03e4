"""What scrapy-redis promises holds with the queue of this package, too."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
import scrapy
from scrapy_redis.spiders import RedisSpider

from tests.crawl.jobs import (
    PAGES,
    JobSpider,
    all_pages,
    fetched,
    run_to_the_end,
    run_until_so,
)
from tests.crawl.test_other_schedulers import interrupted, slow_hosts
from tests.crawling import crawl, make_crawler, parts_of_seconds, run, stat
from tests.redis_server import RedisServer, scrapy_redis_may_warn
from tests.sites import answer, hang, when
from tests.waiting import close_when
from tests.workers import SHARED, Workers

from .crews import come

if TYPE_CHECKING:
    from tests.sites import Host, Sites

pytestmark = [
    scrapy_redis_may_warn,
    pytest.mark.filterwarnings(
        "ignore:scrapy_redis.spiders:scrapy.exceptions.ScrapyDeprecationWarning"
    ),
]

RULES = "User-agent: *\nDisallow: /never\n"
THEIR_FILTER = {"DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter"}


def keys(server: RedisServer) -> set[str]:
    """Without those of robots.txt files."""
    with server.client() as client:
        found = {key.decode() for key in client.keys("*")}
    return {key for key in found if not key.startswith("{robots")}


def keys_that_stay(server: RedisServer) -> set[str]:
    """What is known of the pace of hosts does not: it is of use for an hour."""
    with server.client() as client:
        return {key for key in keys(server) if client.ttl(key) == -1}


@pytest.mark.parametrize("own", [{}, THEIR_FILTER], ids=["our filter", "theirs"])
@pytest_twisted.ensureDeferred
async def test_each_page_is_fetched_once(
    sites: Sites, shared: dict[str, Any], own: dict[str, Any]
) -> None:
    hosts = [sites.host(RULES), sites.host(RULES + "Crawl-delay: 0.05\n"), sites.host()]
    await run_to_the_end([*hosts, hosts[0]], **{**shared, **own})
    assert fetched(hosts) == all_pages(hosts)


def has_fetched(host: Host, number: int) -> bool:
    return len(host.fetched) == number


class Waits(RedisSpider):
    """Gets its start URLs from Redis, as they come."""

    name = "waits"
    redis_key = "waits:urls"

    def make_request_from_data(self, data: bytes) -> scrapy.Request:
        return scrapy.Request(data.decode())

    def parse(self, response: scrapy.http.Response) -> Any:
        if response.url.endswith("/0"):
            yield from (scrapy.Request(response.urljoin(f"/{each}")) for each in range(1, 5))


@pytest_twisted.ensureDeferred
async def test_a_spider_waits_for_start_urls(
    sites: Sites, server: RedisServer, shared: dict[str, Any]
) -> None:
    first, second = sites.host(RULES), sites.host(RULES)
    crawler = make_crawler(Waits, **shared)
    close_when(lambda: len(second.fetched) == 5, crawler)
    running = crawler.crawl()
    await come(lambda: crawler.crawling and crawler.engine.running)
    with server.client() as client:
        for host in (first, second):
            client.lpush("waits:urls", host.url("/0"), host.url("/0"))
            crawler.engine._slot.nextcall.schedule()  # a heartbeat, every 5 seconds
            await come(partial(has_fetched, host, 5))
    await running
    assert sorted(first.fetched) == sorted(second.fetched) == [f"/{each}" for each in range(5)]


@pytest_twisted.ensureDeferred
async def test_start_urls_do_not_wait_for_a_slow_host(
    sites: Sites, server: RedisServer, shared: dict[str, Any]
) -> None:
    slow, fast = sites.host(RULES + "Crawl-delay: 30\n"), sites.host(RULES)
    crawler = make_crawler(Waits, **shared, REDIS_START_URLS_BATCH_SIZE=1)
    close_when(lambda: len(fast.fetched) == 5, crawler)
    with server.client() as client:
        client.rpush("waits:urls", slow.url("/0"))
        running = crawler.crawl()
        await come(lambda: slow.fetched)
        client.rpush("waits:urls", fast.url("/0"))
        await running
    assert slow.fetched == ["/0"]


@pytest_twisted.ensureDeferred
async def test_start_urls_that_are_no_urls_are_told_of(
    sites: Sites, server: RedisServer, shared: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    """As when scrapy-redis itself reads them, in a spider that is idle."""
    slow, fast = sites.host(RULES + "Crawl-delay: 30\n"), sites.host(RULES)
    crawler = make_crawler(Waits, **shared)
    close_when(lambda: len(fast.fetched) == 5, crawler)
    with server.client() as client:
        client.rpush("waits:urls", slow.url("/0"))
        running = crawler.crawl()
        await come(lambda: slow.fetched)
        client.rpush("waits:urls", "no URL")
        await come(lambda: stat(crawler, "log_count/ERROR"))
        client.rpush("waits:urls", fast.url("/0"))
        await running
    (error,) = (record for record in caplog.records if record.levelname == "ERROR")
    assert "no%20URL" in error.getMessage()
    assert error.exc_info


@pytest_twisted.ensureDeferred
async def test_without_persistence_nothing_stays(
    sites: Sites, server: RedisServer, shared: dict[str, Any]
) -> None:
    host = sites.host(RULES)
    await run_to_the_end([host], **{**shared, "SCHEDULER_PERSIST": False})
    assert fetched([host]) == all_pages([host])
    assert keys_that_stay(server) == set()


@parts_of_seconds
@pytest_twisted.ensureDeferred
async def test_stopped_and_resumed_no_page_is_lost(
    sites: Sites, server: RedisServer, shared: dict[str, Any]
) -> None:
    """One host waits for its robots.txt, one for its delay."""
    hosts = [sites.host(hang), sites.host(RULES + "Crawl-delay: 0.1\n"), sites.host(RULES)]
    patient = {"ROBOTS_FETCH_TIMEOUT": 30, "ROBOTS_FETCH_RETRIES": 0}
    stopped = await run_until_so(lambda: len(hosts[1].fetched) == 3, hosts, **shared, **patient)
    assert stopped.spider.failed == []
    assert not any(":out:" in key for key in keys(server))
    hosts[0].robots(RULES)
    await run_to_the_end(hosts, **shared)
    assert fetched(hosts) == all_pages(hosts)


@parts_of_seconds
@pytest_twisted.ensureDeferred
async def test_the_queue_is_flushed_at_the_start(sites: Sites, shared: dict[str, Any]) -> None:
    host = sites.host(RULES + "Crawl-delay: 0.1\n")
    await run_until_so(lambda: len(host.fetched) == 2, [host], **shared)
    await run_to_the_end([host], **shared, SCHEDULER_FLUSH_ON_START=True)
    assert sorted(host.fetched[2:]) == sorted(f"/{each}" for each in range(PAGES))


@pytest_twisted.ensureDeferred
async def test_a_worker_that_flushes_the_queue_of_others_says_so(
    sites: Sites, shared: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    host, flushing = sites.host(RULES + "Crawl-delay: 0.2\n"), {"SCHEDULER_FLUSH_ON_START": True}
    first = make_crawler(JobSpider, **shared, **flushing)
    running = first.crawl(urls=[host.url("/0")])
    await come(lambda: host.fetched)
    assert "SCHEDULER_FLUSH_ON_START" not in warnings_in(caplog)
    await run(make_crawler(JobSpider, **shared, **flushing), urls=[])
    await running
    assert warnings_in(caplog).count("that this worker shares with 1 other worker") == 1


def warnings_in(caplog: pytest.LogCaptureFixture) -> str:
    return "\n".join(each.getMessage() for each in caplog.records if each.levelname == "WARNING")


@parts_of_seconds
@pytest_twisted.ensureDeferred
async def test_the_last_worker_clears_the_queue(
    sites: Sites, server: RedisServer, shared: dict[str, Any]
) -> None:
    """scrapy-redis clears it under the feet of the others."""
    host = sites.host(RULES + "Crawl-delay: 0.1\n")
    settings = {**shared, "SCHEDULER_PERSIST": False}
    staying = make_crawler(JobSpider, **settings)
    running = staying.crawl(urls=[host.url("/0")])
    await come(lambda: host.fetched)
    leaving = make_crawler(JobSpider, **settings)
    close_when(lambda: len(host.fetched) >= 4, leaving)
    await run(leaving, urls=[])
    assert len(host.fetched) < PAGES
    await running
    assert fetched([host]) == all_pages([host])
    assert keys_that_stay(server) == set()


def test_workers_that_end_at_the_same_time_leave_nothing(sites: Sites) -> None:
    """Else all that the next crawl asks for would be taken for seen."""
    spider = "tests.crawl.shared_queue.crews.LeavesSlowly"
    settings = {**SHARED, "SCHEDULER_PERSIST": False}
    with (
        RedisServer() as server,
        Workers({sites.host(RULES): 5}, server, settings, spider=spider) as running,
    ):
        running.start(2)
        crawled = running.crawl(30)
        assert keys_that_stay(server) == set()
    assert crawled.missing == set()


@pytest_twisted.ensureDeferred
async def test_a_worker_waits_for_what_others_have(sites: Sites, shared: dict[str, Any]) -> None:
    """It is not closed while a page is under way that may lead to others."""
    host = sites.host(RULES)
    idle = make_crawler(JobSpider, **shared)
    busy = make_crawler(JobSpider, **shared)
    waiting = [False]
    host.pages["/0"] = when(lambda: waiting[0], answer("<p>A page</p>", content_type="text/html"))
    running = busy.crawl(urls=[host.url("/0")])
    await come(lambda: host.fetched)
    also_running = idle.crawl(urls=[])
    await come(lambda: idle.crawling and idle.engine.running and not idle.engine._start)
    idle.engine._spider_idle()
    assert idle.crawling
    waiting[0] = True
    await running
    await also_running
    assert fetched([host]) == all_pages([host])


@pytest_twisted.ensureDeferred
async def test_an_idle_worker_waits_for_as_long_as_it_is_told(
    sites: Sites, shared: dict[str, Any]
) -> None:
    host = sites.host(RULES)
    crawler = await crawl(host.url("/a"), **shared, SCHEDULER_IDLE_BEFORE_CLOSE=1)
    assert crawler.stats.get_value("elapsed_time_seconds") >= 1


@pytest.mark.parametrize(
    "kind",
    ["FifoQueue", pytest.param("LifoQueue", marks=pytest.mark.stress), "PriorityQueue"],
)
@pytest_twisted.ensureDeferred
async def test_requests_of_its_own_queues_are_taken_over(
    sites: Sites, server: RedisServer, shared: dict[str, Any], kind: str
) -> None:
    hosts = [sites.host(RULES), sites.host(RULES + "Crawl-delay: 0.02\n")]
    theirs = {**shared, **THEIR_FILTER, "SCHEDULER_QUEUE_CLASS": f"scrapy_redis.queue.{kind}"}
    await run_until_so(lambda: len(hosts[0].fetched) > 2, hosts, CONCURRENT_REQUESTS=2, **theirs)
    assert "job:requests" in keys(server)
    crawler = make_crawler(JobSpider, **shared)
    await run(crawler, urls=[])
    assert fetched(hosts) == all_pages(hosts)
    assert stat(crawler, "robotstxt/shared_queue/moved") > 0
    assert "job:requests" not in keys(server)


@pytest_twisted.ensureDeferred
async def test_a_server_that_is_a_cluster_keeps_queue_and_filter(
    sites: Sites, shared: dict[str, Any]
) -> None:
    """Their keys have different hash slots, which no script may touch together."""
    hosts = [sites.host(RULES), sites.host(RULES)]
    with RedisServer(cluster=True) as server:
        url = server.url.partition("?")[0]
        own = {**shared, "REDIS_URL": url, "ROBOTS_STORE": "memory"}
        await run_to_the_end([*hosts, hosts[0]], **own)
    assert fetched(hosts) == all_pages(hosts)


class Another(JobSpider):
    name = "another"


@pytest_twisted.ensureDeferred
async def test_two_spiders_on_one_server_have_a_queue_each(
    sites: Sites, shared: dict[str, Any]
) -> None:
    host, other = sites.host(RULES), sites.host(RULES)
    running = make_crawler(Another, **shared).crawl(urls=[other.url("/0")])
    await run_to_the_end([host], **shared)
    await running
    assert fetched([host, other]) == all_pages([host, other])


def test_interrupted_no_page_is_lost(sites: Sites, shared: dict[str, Any]) -> None:
    assert interrupted(slow_hosts(sites, 6), [0.4], **shared) == 0


@pytest.mark.stress
def test_interrupted_ten_times_no_page_is_lost(sites: Sites, shared: dict[str, Any]) -> None:
    assert interrupted(slow_hosts(sites, 25), [0.1 * turn for turn in range(10)], **shared) == 0
