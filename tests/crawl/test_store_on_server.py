"""Crawls whose store is on a real Redis server, in each reactor mode."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.crawl_process import MODES, crawl_in_process
from tests.redis_server import RedisServer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.sites import Host, Sites

pytestmark = pytest.mark.parametrize("mode", MODES)

RULES = "User-agent: *\nDisallow: /closed\n"


@pytest.fixture(scope="module")
def one_server() -> Iterator[RedisServer]:
    with RedisServer(user="crawler", password="5ecret") as server:
        yield server


@pytest.fixture
def server(one_server: RedisServer) -> RedisServer:
    return one_server.emptied()


def crawl(mode: str, hosts: list[Host], url: str, **settings: Any) -> dict[str, Any]:
    urls = [host.url(path) for host in hosts for path in ("/open", "/closed")]
    result = crawl_in_process(mode, *urls, ROBOTS_STORE=url, **settings)
    assert sorted(result["got"]) == sorted(host.url("/open") for host in hosts)
    assert set().union(*(host.fetched for host in hosts)) == {"/open"}
    assert "log_count/ERROR" not in result["stats"]
    return result


def test_the_next_crawl_finds_what_one_has_fetched(
    sites: Sites, mode: str, server: RedisServer
) -> None:
    hosts = [sites.host(RULES) for _ in range(3)]
    first = crawl(mode, hosts, server.url)["stats"]
    second = crawl(mode, hosts, server.url)["stats"]
    assert [host.robots_hits for host in hosts] == [1, 1, 1]
    assert (first["robotstxt/store/misses"], second["robotstxt/store/hits"]) == (3, 3)
    assert "robotstxt/store/errors" not in first | second


def test_what_others_have_put_there_is_replaced(
    sites: Sites, mode: str, server: RedisServer
) -> None:
    hosts = [sites.host(RULES) for _ in range(3)]
    with server.client() as client:
        for host, kind in zip(hosts, (client.set, client.sadd, client.rpush), strict=True):
            kind(f"{{robots:{host.url().rstrip('/')}}}:record", "something else")
    for _ in range(2):
        crawl(mode, hosts, server.url)
    assert [host.robots_hits for host in hosts] == [1, 1, 1]


@pytest.mark.parametrize("how", ["stopped", "paused", "wrong password"])
def test_without_the_server_robots_txt_is_fetched(sites: Sites, mode: str, how: str) -> None:
    hosts = [sites.host(RULES) for _ in range(5)]
    with RedisServer(password="5ecret") as server:
        url = server.url_for("", "wr0ng") if how == "wrong password" else server.url
        if how == "paused":
            server.pause()
        elif how == "stopped":
            server.kill()
        stats = crawl(mode, hosts, url)["stats"]
        if how == "paused":
            server.resume()
    assert [host.robots_hits for host in hosts] == [1] * 5
    assert stats["robotstxt/store/errors"] >= 5
    assert stats["log_count/WARNING"] == 1
