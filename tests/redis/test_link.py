"""The connection of scrapy-redis, asked with short waits."""

from __future__ import annotations

from typing import Any

import pytest
from scrapy.settings import BaseSettings

from scrapy_robots_plus.redis.host_queue import Link, Stored
from scrapy_robots_plus.settings.scrapys_own import redis_url
from scrapy_robots_plus.storage.redis_server import ServerError
from tests.redis_server import RedisServer, wait_until

from .workers import Crew, names, take


def options(link: Link) -> dict[str, Any]:
    found: dict[str, Any] = link.client.connection_pool.connection_kwargs
    return found


def test_it_answers_with_bytes_and_does_not_wait_for_long(server: RedisServer) -> None:
    link = Link(server.url, None)
    link.client.set("a", "b")
    assert link.run(lambda client: client.get("a")) == b"b"
    assert (options(link)["socket_timeout"], options(link)["socket_connect_timeout"]) == (1.0, 1.0)
    link.close()


def test_closed_it_leaves_no_connection_though_somebody_has_its_client(server: RedisServer) -> None:
    with server.client() as client:
        link = Link(server.url, None)
        somebody = link.client
        assert link.run(lambda asked: asked.ping()) is True
        assert len(client.client_list()) == 2
        link.close()
        wait_until(lambda: len(client.client_list()) == 1)
        somebody.close()


def test_a_wait_that_was_chosen_is_kept() -> None:
    settings = BaseSettings({"REDIS_PARAMS": {"socket_timeout": 5}})
    assert options(Link(redis_url(settings), None))["socket_timeout"] == 5


def test_an_unusual_client_is_used_as_it_is() -> None:
    client = object()
    assert Link(None, client).client is client


@pytest.mark.parametrize(
    ("params", "name"),
    [
        ({"host": "127.0.0.1", "port": 1}, "redis://***@127.0.0.1:1"),
        ({"unix_socket_path": "/no"}, "unix://***@/no"),
    ],
)
def test_no_error_shows_the_password(params: dict[str, Any], name: str) -> None:
    params |= {"username": "me", "password": "se/cret"}
    link = Link(redis_url(BaseSettings({"REDIS_PARAMS": params})), None)
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
