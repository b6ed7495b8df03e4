"""``scrapy robots cache`` on a store on a real Redis server."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from scrapy_robots_plus.storage.redis_store import RedisStore

from ..redis_server import RedisServer
from ..sites import after, answer
from ..storage.records import never_read, origin, rules
from .running import Done, Robots

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from scrapy_robots_plus.storage.record import RobotsRecord

    from ..sites import Sites

NOW = float(int(time.time()))
RECORDS = [
    rules(1, NOW - 7_200),
    rules(2, NOW - 100, failure=503, failures=3, failed_at=NOW - 10, retry_in=3_000.0),
    never_read(3, NOW - 10),
]


@pytest.fixture
def server() -> Iterator[RedisServer]:
    with RedisServer(user="crawler", password="5ecret") as server:
        yield server


@pytest.fixture
def store(server: RedisServer) -> Iterator[RedisStore]:
    with RedisStore(server.url) as store:
        for record in RECORDS:
            store.put(record)
        yield store


class Shell:
    """Runs commands, none of which shows user or password."""

    def __init__(self, robots: Robots, url: str) -> None:
        self.robots = robots
        self.url = url

    def __call__(self, *arguments: str) -> Done:
        done = self.robots("cache", *arguments, "--store", self.url)
        assert "5ecret" not in done.output + done.errors
        assert "crawler" not in done.output + done.errors
        return done


@pytest.fixture
def cache(robots: Robots, server: RedisServer) -> Shell:
    return Shell(robots, server.url)


def held(store: RedisStore) -> list[RobotsRecord | None]:
    return [each.record for each in store.scan()]


def test_it_is_listed_shown_and_emptied(cache: Shell, store: RedisStore) -> None:
    listed = cache("list")
    assert (listed.status, listed.errors) == (0, "")
    assert [line.split()[-1] for line in listed.lines[1:]] == [str(origin(n)) for n in (1, 2, 3)]
    shown = cache("show", "https://host1.example")
    assert (shown.status, shown.errors) == (0, "")
    assert "Disallow: /1/" in shown.output
    assert cache("purge", "https://host1.example").status == 0
    assert cache("purge", "https://host1.example").status == 2
    assert held(store) == RECORDS[1:]
    emptied = cache("purge", "--all")
    assert (emptied.status, emptied.lines) == (0, ["2 records deleted"])
    assert held(store) == []


def test_what_is_no_record_is_found(cache: Shell, store: RedisStore, server: RedisServer) -> None:
    with server.client() as client:
        client.set("{robots:https://host4.example}:record", "garbage")
        client.set("{robots:https://host5.example}:record", "more of it")
    listed = cache("list")
    assert listed.status == 1
    assert len(listed.errors.splitlines()) == 2
    assert "https://host5.example: not a record" in listed.errors


def test_a_purge_goes_through_the_server_once(
    cache: Shell, store: RedisStore, server: RedisServer
) -> None:
    with server.client() as client:
        client.config_resetstat()
        assert cache("purge", "--all").lines == ["3 records deleted"]
        calls = client.info("commandstats")
    assert calls["cmdstat_scan"]["calls"] == 1


def test_a_server_that_is_away_is_named_without_its_password(
    cache: Shell, server: RedisServer
) -> None:
    server.kill()
    for action in (["list"], ["purge", "--all"], ["show", "https://host1.example"]):
        done = cache(*action)
        assert done.status == 2
        assert "redis://***@" in done.errors
        assert "refused" in done.errors


def test_a_wrong_url_is_named_without_its_password(cache: Shell) -> None:
    cache.url = "redis://crawler:5ecret@127.0.0.1/zero"
    done = cache("list")
    assert done.status == 2
    assert "'redis://***' is not the URL of a Redis server" in done.errors


def test_what_sites_say_is_shown_whole_although_no_store_takes_it(
    sites: Sites, tmp_path: Path
) -> None:
    """Policies do without the text, which was asked of the store: the file seemed to be empty."""
    hosts = [sites.host(f"User-agent: *\nDisallow: /{name}\n") for name in ("closed", "shut")]
    hosts[0].robots(after(1, answer("User-agent: *\nDisallow: /closed\n")))
    robots = Robots.in_project(tmp_path, ROBOTS_STORE="redis://:5ecret@127.0.0.1:1/0")
    shown = robots("show", *(host.url() for host in hosts))
    assert "Disallow: /closed" in shown.output
    assert "Disallow: /shut" in shown.output
    assert "ROBOTS_STORE: redis://***@127.0.0.1:1/0" in shown.errors
