"""The connection of scrapy-redis, asked with short waits."""

from __future__ import annotations

from typing import Any

import pytest
import redis
from scrapy.settings import BaseSettings
from scrapy_redis.connection import from_settings

from scrapy_robots_plus.redis.host_queue import Stored
from scrapy_robots_plus.redis.session import Link
from scrapy_robots_plus.settings.scrapys_own import redis_url
from scrapy_robots_plus.storage.redis_server import ServerError
from tests.redis_server import RedisServer, wait_until

from .workers import Crew, names, take

pytestmark = pytest.mark.filterwarnings("ignore:Call to '__init__' function with deprecated")
"""By scrapy-redis."""


def options(link: Link) -> dict[str, Any]:
    found: dict[str, Any] = link.client.connection_pool.connection_kwargs
    return found


PASSWORD = "s3cret"
WAYS: list[dict[str, Any]] = [
    {"REDIS_URL": "redis://:s3cret@PLACE"},
    {"REDIS_URL": "redis://:s3cret@PLACE", "REDIS_DECODE_RESPONSES": True},
    {"REDIS_URL": "redis://:s3cret@PLACE/0?max_connections=10"},
    {"REDIS_URL": "redis://default@PLACE", "REDIS_PARAMS": {"password": PASSWORD}},
    {"REDIS_PARAMS": {"url": "redis://PLACE", "password": PASSWORD}},
    {
        "REDIS_URL": "redis://PLACE",
        "REDIS_PARAMS": {
            "credential_provider": redis.UsernamePasswordCredentialProvider("default", PASSWORD)
        },
    },
]


@pytest.fixture
def locked(server: RedisServer) -> str:
    """Where a server is that wants a password."""
    with server.client() as client:
        client.config_set("requirepass", PASSWORD)
    return server.url_for(tcp=True).partition("://")[2]


@pytest.mark.parametrize("way", WAYS)
def test_however_scrapy_redis_gets_there_it_answers_with_bytes_and_does_not_wait_for_long(
    way: dict[str, Any], locked: str
) -> None:
    settings = BaseSettings(put_into(way, locked))
    with from_settings(settings) as theirs:
        link = Link(theirs, settings)
        link.run(lambda client: client.set("a", "b"))
        assert link.run(lambda client: client.get("a")) == b"b"
        if redis_url(settings) is None:
            assert link.client is theirs
        else:
            waits = (options(link)["socket_timeout"], options(link)["socket_connect_timeout"])
            assert waits == (1.0, 1.0)
        link.close()


def put_into(way: dict[str, Any], place: str) -> dict[str, Any]:
    def put(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: put(each) for name, each in value.items()}
        return value.replace("PLACE", place) if isinstance(value, str) else value

    return {name: put(each) for name, each in way.items()}


def test_closed_it_leaves_no_connection_though_somebody_has_its_client(server: RedisServer) -> None:
    with server.client() as client:
        settings = BaseSettings({"REDIS_URL": server.url})
        link = Link(from_settings(settings), settings)
        somebody = link.client
        assert link.run(lambda asked: asked.ping()) is True
        assert len(client.client_list()) == 2
        link.close()
        wait_until(lambda: len(client.client_list()) == 1)
        somebody.close()


def link_to(**params: Any) -> Link:
    settings = BaseSettings({"REDIS_PARAMS": params})
    return Link(from_settings(settings), settings)


def test_a_wait_that_was_chosen_is_kept() -> None:
    assert options(link_to(socket_timeout=5))["socket_timeout"] == 5


SENTINEL: Any = redis.Sentinel


@pytest.mark.parametrize(
    ("client", "settings"),
    [
        (object(), {"REDIS_PARAMS": {"redis_cls": dict}}),
        # Of a scheduler of the project, which has made it in its own way.
        (redis.Redis("127.0.0.2"), {}),
        (redis.Redis(db=1), {}),
        (redis.Redis(unix_socket_path="/no"), {}),
        (redis.Redis(password=PASSWORD), {}),
        (redis.Redis(password="S3cret"), {"REDIS_PARAMS": {"password": PASSWORD}}),
        (redis.Redis(username="me"), {}),
        (redis.Redis(credential_provider=redis.UsernamePasswordCredentialProvider("me")), {}),
        (SENTINEL([("127.0.0.2", 1)]).master_for("one"), {}),
    ],
    ids=[
        "of another kind",
        "host",
        "database",
        "socket",
        "password",
        "case",
        "user",
        "provider",
        "sentinel",
    ],
)
def test_a_client_that_the_settings_do_not_lead_to_is_used_as_it_is(
    client: Any, settings: dict[str, Any]
) -> None:
    link = Link(client, BaseSettings(settings))
    assert link.client is client
    assert link.name == "the server of scrapy-redis"


@pytest.mark.parametrize(
    ("where", "name"),
    [
        ({"host": "127.0.0.1", "port": 1}, "redis://***@127.0.0.1:1"),
        ({"host": "::1", "port": 1}, "redis://***@[::1]:1"),
        ({"unix_socket_path": "/no"}, "unix://***@/no"),
    ],
)
def test_no_error_shows_the_password(where: dict[str, Any], name: str) -> None:
    link = link_to(**where, username="me", password="se/cret")
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
