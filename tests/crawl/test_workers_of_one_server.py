"""Crawls with one Redis server as their store: each robots.txt is fetched once for all of them."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
from scrapy import signals
from scrapy.utils.defer import deferred_from_coro
from twisted.internet.defer import Deferred

from tests.crawl.at_once import ONE_AT_A_TIME, RULES, is_fetching, late, together, urls_of
from tests.crawl_process import MODES, crawls_in_process
from tests.crawling import ProbeSpider, StepSpider, make_crawler, parts_of_seconds, stat
from tests.redis_proxy import RedisProxy
from tests.redis_server import RedisServer
from tests.sites import after, answer, hang, hang_up, in_turn, validated
from tests.waiting import close_when, pause, until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.crawler import Crawler

    from tests.sites import Host, Sites


@pytest.fixture
def server() -> Iterator[RedisServer]:
    with RedisServer() as running:
        yield running


def worker(
    server: RedisServer, spider: type[ProbeSpider] = ProbeSpider, **settings: Any
) -> Crawler:
    settings = {"ROBOTS_FETCH_RETRIES": 0, **settings}
    return make_crawler(spider, ROBOTS_STORE=server.url, **settings)


def time_has_passed(seconds: float) -> Deferred[None]:
    return deferred_from_coro(pause(seconds))


def lease_of(host: Host) -> str:
    return f"{{robots:{host.origin}}}:lease"


@pytest_twisted.ensureDeferred
async def test_files_that_several_need_at_once_are_fetched_once(
    sites: Sites, server: RedisServer
) -> None:
    hosts = [sites.host(after(0.1, answer(RULES))) for _ in range(5)]
    crawls = [worker(server) for _ in range(3)]
    await together(*((each, urls_of(*hosts)) for each in crawls))
    assert [host.robots_hits for host in hosts] == [1] * 5
    assert [sorted(host.fetched) for host in hosts] == [["/open"] * 3] * 5
    assert sum(stat(each, "robotstxt/request_count") for each in crawls) == 5
    assert sum(stat(each, "robotstxt/shared_count") for each in crawls) == 10
    assert not server.client().keys("*lease")


@pytest_twisted.ensureDeferred
async def test_a_file_that_another_fetched_while_this_one_waited_for_a_place_is_taken(
    sites: Sites, server: RedisServer
) -> None:
    hosts = [sites.host(after(0.02, answer(RULES))) for _ in range(10)]
    crawls = [worker(server, **ONE_AT_A_TIME) for _ in range(2)]
    await together((crawls[0], urls_of(*hosts)), (crawls[1], urls_of(*reversed(hosts))))
    assert [host.robots_hits for host in hosts] == [1] * 10
    assert [len(each.spider.got) for each in crawls] == [10, 10]


@pytest_twisted.ensureDeferred
async def test_a_dead_host_is_asked_once_for_all(sites: Sites, server: RedisServer) -> None:
    host = sites.host(after(0.1, answer("", 503)))
    await together(*((worker(server), urls_of(host)) for _ in range(3)))
    await together((worker(server), urls_of(host)))
    assert host.robots_hits == 1
    assert host.fetched == []


@pytest_twisted.ensureDeferred
async def test_a_dead_host_is_asked_again_when_its_time_has_come(
    sites: Sites, server: RedisServer
) -> None:
    host = sites.host(in_turn(after(0.1, answer("", 503)), after(0.1, answer(RULES))))
    briefly: dict[str, Any] = {"ROBOTS_RETRY_INTERVAL": (1, 1)}
    await together(*((worker(server, **briefly), urls_of(host)) for _ in range(2)))
    await time_has_passed(1.1)
    await together(*((worker(server, **briefly), urls_of(host)) for _ in range(3)))
    assert host.robots_hits == 2
    assert host.fetched == ["/open"] * 3


@pytest_twisted.ensureDeferred
async def test_a_host_that_cannot_be_reached_is_asked_once_for_all(
    sites: Sites, server: RedisServer
) -> None:
    host, down = sites.host(RULES), sites.host(after(0.1, hang_up))
    urls = [host.url("/first"), down.url("/open")]
    await together(*((worker(server, StepSpider), urls) for _ in range(3)))
    await together((worker(server, StepSpider), urls))
    assert down.robots_hits == 1


@pytest_twisted.ensureDeferred
async def test_a_worker_without_a_network_of_its_own_does_not_close_sites_for_others(
    sites: Sites, server: RedisServer
) -> None:
    hosts = [sites.host(RULES) for _ in range(5)]
    proxy = {"proxy": sites.closed_host()}
    sick = worker(server, ROBOTS_FETCH_META=proxy, ROBOTS_FETCH_RETRIES=0)
    is_over = partial(stat, sick, "robotstxt/forbidden/unreachable")
    healthy = worker(server, late(lambda: is_over() == 10))
    await together((sick, urls_of(*hosts)), (healthy, urls_of(*hosts)))
    assert stat(sick, "robotstxt/failure_count/connection") == 5
    assert [host.fetched for host in hosts] == [["/open"]] * 5


@pytest_twisted.ensureDeferred
async def test_an_expired_file_is_revalidated_once_for_all(
    sites: Sites, server: RedisServer
) -> None:
    host = sites.host(after(0.1, validated(RULES, '"1"', cache_control="max-age=0")))
    briefly: dict[str, Any] = {"ROBOTS_TTL": (1, 1)}
    await together((worker(server, **briefly), urls_of(host)))
    await time_has_passed(1.1)
    await together(*((worker(server, **briefly), urls_of(host) * 10) for _ in range(3)))
    asked = [hit.headers.get("if-none-match") for hit in host.hits if hit.path == "/robots.txt"]
    assert asked == [None, '"1"']


@pytest_twisted.ensureDeferred
async def test_one_that_closes_in_the_middle_leaves_the_fetch_to_another(
    sites: Sites, server: RedisServer
) -> None:
    host = sites.host(in_turn(hang, answer(RULES)))
    closing = worker(server)
    waiting = [worker(server, late(lambda: host.robots_hits)) for _ in range(2)]
    close_when(lambda: all(is_fetching(each, host) for each in waiting), closing)
    await together((closing, urls_of(host)), *((each, urls_of(host)) for each in waiting))
    assert host.robots_hits == 2
    assert host.fetched == ["/open"] * 2


@parts_of_seconds
@pytest_twisted.ensureDeferred
async def test_a_lease_left_behind_delays_nobody_beyond_its_lifetime(
    sites: Sites, server: RedisServer
) -> None:
    host, other = sites.host(RULES), sites.host(RULES)
    server.client().set(lease_of(host), "of a dead worker", px=800)
    crawler = worker(server)
    began = time.monotonic()
    await together((crawler, urls_of(host, other)))
    assert host.robots_hits == other.robots_hits == 1
    first = next(hit.at for hit in host.hits)
    assert first - began > 0.7
    assert other.hits[-1].at < first  # nobody else waits
    assert not server.client().keys("*lease")


@pytest_twisted.ensureDeferred
async def test_a_lease_that_never_ends_is_not_waited_for(
    sites: Sites, server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = sites.host(RULES)
    server.client().set(lease_of(host), "of nobody")
    monkeypatch.setattr("scrapy_robots_plus.origins.fetch_lease.SPARE_SECONDS", 0)
    await together((worker(server, ROBOTS_FETCH_TIMEOUT=0.5), urls_of(host)))
    assert host.fetched == ["/open"]
    assert server.client().get(lease_of(host)) == b"of nobody"


@pytest.mark.parametrize("fault", ["kill", "fill", "empty"])
@pytest_twisted.ensureDeferred
async def test_a_server_that_fails_while_one_waits_delays_nothing(
    sites: Sites, server: RedisServer, fault: str
) -> None:
    host = sites.host(RULES)
    server.client().set(lease_of(host), "of another", px=600_000)
    broken: list[str] = []

    async def break_it() -> None:
        polls = server.usage().commands["GET"]
        await until(lambda: server.usage().commands["GET"] > polls + 3)
        break_down(server, fault)
        broken.append(fault)

    crawler = worker(server)
    began = partial(deferred_from_coro, break_it())
    crawler.signals.connect(lambda: began() and None, signals.spider_opened, weak=False)
    await together((crawler, urls_of(host)))
    assert broken == [fault]
    assert host.robots_hits == 1
    assert host.fetched == ["/open"]


def break_down(server: RedisServer, fault: str) -> None:
    if fault == "kill":
        server.kill()
    elif fault == "empty":
        server.fail_over_to_an_empty_one()
    else:
        server.client().delete(*server.client().keys("*lease"))
        server.run_out_of_memory()


@pytest.mark.parametrize("mode", MODES)
def test_in_each_reactor_mode(sites: Sites, server: RedisServer, mode: str) -> None:
    hosts = [sites.host(after(0.2, answer(RULES))), sites.host(after(0.2, answer("", 503)))]
    results = crawls_in_process(
        mode, 2, *urls_of(*hosts), ROBOTS_FETCH_RETRIES=0, ROBOTS_STORE=server.url
    )
    assert [host.robots_hits for host in hosts] == [1, 1]
    assert [result["got"] for result in results] == [[hosts[0].url("/open")]] * 2


@pytest_twisted.ensureDeferred
async def test_a_server_that_carries_out_and_never_answers_delays_little(
    sites: Sites, server: RedisServer
) -> None:
    host = sites.host(RULES)
    with RedisProxy(server) as proxy:
        proxy.lose_answers = True
        crawler = make_crawler(ROBOTS_STORE=proxy.url)
        await together((crawler, urls_of(host)))
    assert host.fetched == ["/open"]
    assert stat(crawler, "robotstxt/store/errors") > 0


@pytest_twisted.ensureDeferred
async def test_rights_to_records_alone_are_counted_and_said_once(
    sites: Sites, caplog: pytest.LogCaptureFixture
) -> None:
    hosts = [sites.host(RULES) for _ in range(3)]
    rights = "~*:record ~{robots}* &* +@all"
    with RedisServer(user="crawler", password="secret", rights=rights) as server:
        crawler = make_crawler(ROBOTS_STORE=server.url)
        await together((crawler, urls_of(*hosts)))
    assert [host.fetched for host in hosts] == [["/open"]] * 3
    assert stat(crawler, "robotstxt/store/errors") == 3
    assert caplog.text.count("ROBOTS_STORE: ") == 1
    assert "secret" not in caplog.text
