"""Crawls whose store is on a real Redis server, in each reactor mode."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.commands.running import Robots
from tests.crawl_process import MODES, crawl_in_process, crawls_in_process
from tests.redis_server import RedisServer
from tests.sites import TDMREP, answer, validated

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.sites import Host, Sites

in_each_mode = pytest.mark.parametrize("mode", MODES)
in_one_mode = pytest.mark.parametrize(
    "mode", [pytest.param(mode, marks=[pytest.mark.stress] * (mode != "asyncio")) for mode in MODES]
)
"""In `make test`: what depends on the mode, as reads, writes and leases do, is in another test."""

RULES = "User-agent: *\nDisallow: /closed\n"
RESERVED = json.dumps([{"location": "/reserved", "tdm-reservation": 1}])
SKIP: dict[str, Any] = {"ROBOTS_AI_USES": ["train-ai"], "ROBOTS_AI_POLICY": "skip"}


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


@in_each_mode
def test_the_next_crawl_finds_what_one_has_fetched(
    sites: Sites, mode: str, server: RedisServer
) -> None:
    hosts = [sites.host(RULES) for _ in range(3)]
    first = crawl(mode, hosts, server.url)["stats"]
    second = crawl(mode, hosts, server.url)["stats"]
    assert [host.robots_hits for host in hosts] == [1, 1, 1]
    assert (first["robotstxt/store/misses"], second["robotstxt/store/hits"]) == (3, 3)
    assert "robotstxt/store/errors" not in first | second


@in_one_mode
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


@pytest.mark.parametrize(
    ("mode", "how"),
    [
        # By turns in `make test`.
        pytest.param(mode, how, marks=[pytest.mark.stress] * ((turn + place) % 3 > 0))
        for turn, mode in enumerate(MODES)
        for place, how in enumerate(["stopped", "paused", "wrong password"])
    ],
)
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


def asked(host: Host) -> int:
    return sum(hit.path == TDMREP for hit in host.hits)


@in_one_mode
def test_the_next_crawl_finds_each_tdmrep_json_too(
    sites: Sites, mode: str, server: RedisServer, tmp_path: Path
) -> None:
    hosts = [sites.host(RULES) for _ in range(4)]
    for host, reply in zip(
        hosts, [answer(RESERVED), answer("[]"), answer("", 404), answer("", 503)], strict=True
    ):
        host.pages[TDMREP] = reply
    urls = [host.url(path) for host in hosts for path in ("/reserved", "/open", "/closed")]
    wanted = [host.url("/reserved") for host in hosts[1:]] + [host.url("/open") for host in hosts]
    for _ in range(3):
        done = crawl_in_process(mode, *urls, ROBOTS_STORE=server.url, **SKIP)
        assert sorted(done["got"]) == sorted(wanted)
        assert "log_count/ERROR" not in done["stats"]
        assert "robotstxt/store/errors" not in done["stats"]
    assert [host.robots_hits for host in hosts] == [1] * 4
    assert [asked(host) for host in hosts] == [1] * 4
    listed = Robots(tmp_path)("cache", "list", "--json", "-s", f"ROBOTS_STORE={server.url}")
    assert {each["origin"] for each in listed.json} == {
        f"{host.url('')}{path}" for host in hosts for path in ("", TDMREP)
    }


@in_each_mode
def test_crawls_at_once_ask_for_a_tdmrep_json_once(
    sites: Sites, mode: str, server: RedisServer
) -> None:
    host = sites.host(RULES)
    host.pages[TDMREP] = answer(RESERVED)
    urls = [host.url("/reserved"), host.url("/open")]
    for done in crawls_in_process(mode, 3, *urls, ROBOTS_STORE=server.url, **SKIP):
        assert done["got"] == [host.url("/open")]
    assert (asked(host), host.robots_hits) == (1, 1)


@in_one_mode
def test_one_that_has_expired_is_asked_for_by_its_validator(
    sites: Sites, mode: str, server: RedisServer
) -> None:
    host = sites.host(RULES)
    host.pages[TDMREP] = validated(RESERVED, '"1"', cache_control="max-age=1")
    for number in range(2):
        done = crawl_in_process(
            mode, host.url("/reserved"), ROBOTS_STORE=server.url, ROBOTS_TTL=(1, 86_400), **SKIP
        )
        assert done["got"] == []
        time.sleep(1.1 * (number == 0))
    assert [hit.headers.get("if-none-match") for hit in host.hits if hit.path == TDMREP] == [
        None,
        '"1"',
    ]
    assert done["stats"]["robotstxt/tdmrep/304"] == 1
