"""The connection of scrapy-redis, asked with short waits."""

from __future__ import annotations

from typing import Any

import pytest
import redis

from scrapy_robots_plus.redis.host_queue import Link, Stored
from scrapy_robots_plus.storage.redis_server import ServerError
from tests.redis_server import RedisServer, wait_until

from .workers import Crew, names, take


def options(link: Link) -> dict[str, Any]:
    found: dict[str, Any] = link.client.connection_pool.connection_kwargs
    return found


def test_it_answers_with_bytes_and_does_not_wait_for_long(server: RedisServer) -> None:
    theirs = redis.Redis.from_url(server.url, decode_responses=True, socket_timeout=30)
    link = Link(theirs)
    link.client.set("a", "b")
    assert link.run(lambda client: client.get("a")) == b"b"
    assert (options(link)["socket_timeout"], options(link)["socket_connect_timeout"]) == (1.0, 1.0)
    link.close()
    theirs.close()


def test_its_connections_end_with_it(server: RedisServer) -> None:
    with redis.Redis.from_url(server.url) as theirs, server.client() as watcher:
        link = Link(theirs)
        id_ = link.run(lambda client: client.client_id())
        assert watcher.client_list(client_id=[id_])
        link.close()
        wait_until(lambda: not watcher.client_list(client_id=[id_]))


def test_it_asks_in_the_way_that_was_chosen() -> None:
    with RedisServer(unix=True) as server:
        theirs = redis.Redis.from_url(server.url)
        link = Link(theirs)
        assert link.run(lambda client: client.ping()) is True
        link.close()
        theirs.close()


def test_closed_it_leaves_no_connection_though_somebody_has_its_client(server: RedisServer) -> None:
    with server.client() as client:
        link = Link(redis.Redis.from_url(server.url))
        somebody = link.client
        assert link.run(lambda asked: asked.ping()) is True
        assert len(client.client_list()) == 2
        link.close()
        wait_until(lambda: len(client.client_list()) == 1)
        somebody.close()


def test_a_wait_that_was_chosen_is_kept() -> None:
    assert options(Link(redis.Redis(socket_timeout=5)))["socket_timeout"] == 5


def test_an_unusual_client_is_used_as_it_is() -> None:
    client = object()
    assert Link(client).client is client


@pytest.mark.parametrize(
    ("client", "name"),
    [
        (redis.Redis(), "redis://localhost:6379"),
        (redis.Redis("a.example", 1), "redis://a.example:1"),
        (redis.Redis("::1", 1, password="secret"), "redis://***@[::1]:1"),
        (redis.Redis(unix_socket_path="/run/s"), "unix:///run/s"),
        (object(), "redis://localhost:6379"),
    ],
)
def test_it_is_named_by_where_it_is(client: Any, name: str) -> None:
    assert Link(client).name == name


@pytest.mark.parametrize(
    ("where", "name"),
    [
        ({"host": "127.0.0.1", "port": 1}, "redis://***@127.0.0.1:1"),
        ({"unix_socket_path": "/no"}, "unix://***@/no"),
    ],
)
def test_no_error_shows_the_password(where: dict[str, Any], name: str) -> None:
    link = Link(redis.Redis(**where, username="me", password="se/cret"))
    assert link.name == name
    with pytest.raises(ServerError) as caught:
        link.run(lambda client: client.ping())
    assert str(caught.value).startswith(name)
    assert "cret" not in str(caught.value)


def test_all_requests_of_an_old_queue_are_moved(crew: Crew) -> None:
    worker = crew.worker("1")
    crew.client.lpush(crew.key, *range(1200))
    moved = worker.move_all(lambda data, score: Stored("a.example", score, data))
    assert moved == 1200
    assert names(take(worker)) == ["0"]
