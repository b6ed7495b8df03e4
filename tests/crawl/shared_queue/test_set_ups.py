"""How workers get to their server, and what they say if that is not as it should be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted

from tests.crawling import crawl, make_crawler
from tests.redis_proxy import RedisProxy
from tests.redis_server import ADDRESS, RedisServer, scrapy_redis_may_warn, wait_until
from tests.waiting import close_when
from tests.workers import SHARED, Workers, robots

from .crews import CrewSpider, come

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.sites import Host, Sites

pytestmark = [
    scrapy_redis_may_warn,
    pytest.mark.filterwarnings("ignore:Call to '__init__' function with deprecated"),  # by theirs
]
BARE: dict[str, Any] = {"SCHEDULER": "scrapy_redis.scheduler.Scheduler", "SCHEDULER_PERSIST": True}


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    ours = (each for each in caplog.records if each.name.startswith("scrapy_robots_plus"))
    return [each.getMessage() for each in ours if each.levelname in ("WARNING", "ERROR")]


async def fetch_twice(host: Host, settings: dict[str, Any]) -> None:
    for number in range(2):
        await crawl(host.url(f"/{number}"), spider=CrewSpider, **BARE, **SHARED, **settings)
    assert host.fetched == ["/0", "/1"]


@pytest_twisted.ensureDeferred
async def test_robots_txt_files_are_shared_however_the_server_is_named(
    sites: Sites, caplog: pytest.LogCaptureFixture
) -> None:
    with RedisServer(unix=True) as server, RedisProxy(server, tls=True) as road:
        tls = {"host": ADDRESS, "port": road.port, "ssl": True, "ssl_cert_reqs": None}
        for params in (
            {"host": ADDRESS, "port": server.port},
            {"unix_socket_path": str(server.folder / "s")},
            {**tls, "ssl_check_hostname": False},
            {"host": ADDRESS, "port": server.port, "redis_cls": "redis.Redis"},
        ):
            host = sites.host(robots())
            await fetch_twice(host, {"REDIS_PARAMS": params})
            assert host.robots_hits == 1, params
            with server.client() as client:
                client.flushall()
    assert warnings(caplog) == []


class OwnRedis:
    """As a project may make its client: by Sentinel for example."""

    def __new__(cls, **options: Any) -> Any:
        import redis

        return redis.Redis(**options)


@pytest_twisted.ensureDeferred
async def test_that_robots_txt_files_are_not_shared_is_said(
    sites: Sites, server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    host = sites.host(robots())
    own = f"{__name__}.OwnRedis"
    params = {"redis_cls": own, "host": ADDRESS, "port": server.port}
    await fetch_twice(host, {"REDIS_PARAMS": params})
    assert [each.split(":")[0] for each in warnings(caplog)] == [
        "Each worker fetches robots.txt files for itself"
    ] * 2


@pytest.fixture
def nodes() -> Iterator[tuple[RedisServer, RedisServer]]:
    """Of one cluster; the first has all slots."""
    with RedisServer(cluster=True) as one, RedisServer(cluster=True) as two:
        with one.client() as first, two.client() as second:
            second.execute_command("CLUSTER FLUSHSLOTS")
            second.execute_command("CLUSTER MEET", ADDRESS, one.port)
            wait_until(lambda: second.cluster("INFO")["cluster_slots_assigned"] == "16384")
            wait_until(lambda: first.cluster("INFO")["cluster_known_nodes"] == "2")
            for node in (first, second):  # until then it answers CLUSTERDOWN, which may pass
                wait_until(lambda node=node: node.cluster("INFO")["cluster_state"] == "ok")
        yield one, two


def end_of_a_start(sites: Sites, server: RedisServer, **settings: Any) -> str:
    """The log of a worker that cannot begin."""
    with Workers({sites.host(robots()): 1}, server, {**SHARED, **settings}) as workers:
        worker = workers._start_one({})
        workers.all.append(worker)
        wait_until(lambda: not worker.is_running)
        log = workers.log
    assert "Traceback" not in log
    assert log.count("ERROR: The queue of requests cannot be used: ") == 1
    assert "Spider closed (shared_queue_failed)" in log
    return log


def test_a_cluster_that_the_client_does_not_know_of_ends_the_start(
    sites: Sites, nodes: tuple[RedisServer, RedisServer]
) -> None:
    own = {"REDIS_URL": nodes[1].url_for(tcp=True), "ROBOTS_STORE": "memory"}
    log = end_of_a_start(sites, nodes[1], **own)
    assert 'a Redis Cluster: set REDIS_PARAMS = {"redis_cls": "redis.RedisCluster"}' in log


def test_the_set_up_for_a_cluster_works(
    sites: Sites, nodes: tuple[RedisServer, RedisServer]
) -> None:
    own = {
        "REDIS_URL": nodes[1].url_for(tcp=True),
        "REDIS_PARAMS": {"redis_cls": "redis.RedisCluster"},
    }
    hosts = {sites.host(robots(0.2)): 3, sites.host(robots()): 20}
    with Workers(hosts, nodes[0], {**SHARED, **own}) as workers:
        workers.start(2)
        crawled = workers.crawl(40)
    assert crawled.missing == set()
    assert set(crawled.robots_requests.values()) == {1}
    assert " WARNING: " not in crawled.log


def test_a_key_that_holds_something_else_ends_the_start(sites: Sites) -> None:
    with RedisServer() as server:
        with server.client() as client:
            client.set("{worker:requests}:due", "of another program")
        log = end_of_a_start(sites, server)
    assert f"{server.url}: " in log
    assert "WRONGTYPE" in log


def test_a_user_without_the_rights_ends_the_start(sites: Sites) -> None:
    with RedisServer(user="crawler", password="s3cret", rights="~other:* &* +@all") as server:
        log = end_of_a_start(sites, server)
    assert "s3cret" not in log
    assert "permission" in log.lower()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"ADDONS": {}}, "whether robots.txt is obeyed is False here, and True there"),
        ({"ROBOTSTXT_OBEY": False}, "whether robots.txt is obeyed is False here, and True there"),
        ({"USER_AGENT": "barbot/1.0"}, "the product token is barbot here, and foobot there"),
        ({"DOWNLOAD_DELAY": 2}, "DOWNLOAD_DELAY is 2.0 here, and 0.0 there"),
        ({"ROBOTS_CRAWL_DELAY_MAX": 7}, "ROBOTS_CRAWL_DELAY_MAX is 7.0 here, and 60.0 there"),
        ({}, ""),
    ],
    ids=["no add-on", "no robots.txt", "another name", "delay", "longest delay", "the same"],
)
@pytest_twisted.ensureDeferred
async def test_what_differs_from_the_other_workers_is_said(
    sites: Sites,
    shared: dict[str, Any],
    caplog: pytest.LogCaptureFixture,
    settings: dict[str, Any],
    said: str,
) -> None:
    hosts = [sites.host(robots(30)), sites.host(robots())]
    staying = make_crawler(CrewSpider, **shared)
    close_when(lambda: hosts[1].fetched, staying)
    staying_runs = staying.crawl(urls=[hosts[0].url("/1"), hosts[0].url("/2")])
    await come(lambda: hosts[0].fetched)
    differing = make_crawler(CrewSpider, **{**shared, **settings})
    close_when(lambda: hosts[1].fetched, differing)
    await differing.crawl(urls=[hosts[1].url("/1")])
    await staying_runs
    told = [each for each in warnings(caplog) if "shares its requests" in each]
    assert len(told) == bool(said)
    assert all(said in each for each in told)
