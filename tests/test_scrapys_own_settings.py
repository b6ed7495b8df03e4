"""What is read of Scrapy's own settings."""

from __future__ import annotations

import sys
from collections import OrderedDict
from typing import Any

import pytest
from scrapy import Request
from scrapy.settings import Settings

from scrapy_robots_plus import compat
from scrapy_robots_plus.protocol.product_token import as_text
from scrapy_robots_plus.settings.scrapys_own import (
    class_in,
    has_workers,
    job_folder,
    names_our_queue,
    redis_url,
    user_agent_in_headers,
)


@pytest.mark.parametrize(
    "name", ["ROBOTSTXT_PARSER", "SCHEDULER", "SCHEDULER_START_DISK_QUEUE", "DUPEFILTER_CLASS"]
)
def test_classes_that_scrapy_names_are_loaded(name: str) -> None:
    assert class_in(Settings({name: "collections.OrderedDict"}), name) is OrderedDict
    assert class_in(Settings({name: OrderedDict}), name) is OrderedDict


@pytest.mark.parametrize(("value", "folder"), [("jobs/1", "jobs/1"), ("", None), (None, None)])
def test_the_folder_of_a_job(value: str | None, folder: str | None) -> None:
    assert job_folder(Settings({"JOBDIR": value})) == folder


@pytest.mark.parametrize(
    ("headers", "agent"),
    [
        ({"Accept": "*/*", "user-AGENT": "Foobot/1.0"}, "Foobot/1.0"),
        ({"User-Agent": "", "user-agent": "Foobot/1.0"}, "Foobot/1.0"),
        ({"Accept": "*/*", "User-Agent": None}, None),
        (None, None),
    ],
)
def test_the_user_agent_in_the_headers_of_all_requests(
    headers: dict[str, str | None] | None, agent: str | None
) -> None:
    assert user_agent_in_headers(Settings({"DEFAULT_REQUEST_HEADERS": headers})) == agent


@pytest.mark.parametrize("value", ["Foobot", "F\u00f6\u00f6bot", b"F\xf6\xf6bot"])
def test_it_is_read_there_as_in_a_request(value: str | bytes) -> None:
    headers = {"User-Agent": value}
    of_request = compat.user_agent_of(Request("http://a.example", headers=headers))
    agent = user_agent_in_headers(Settings({"DEFAULT_REQUEST_HEADERS": headers}))
    assert agent == as_text(of_request or b"")


def test_start_requests_may_be_kept_with_the_others() -> None:
    name = "SCHEDULER_START_DISK_QUEUE"
    assert class_in(Settings({name: None}), name) is None


@pytest.mark.parametrize(
    ("scheduler", "workers"),
    [("scrapy_redis.scheduler.Scheduler", True), ("scrapy.core.scheduler.Scheduler", False)],
)
def test_a_scheduler_of_scrapy_redis_has_workers(scheduler: str, workers: bool) -> None:
    pytest.importorskip("scrapy_redis")
    assert has_workers(Settings({"SCHEDULER": scheduler})) is workers


@pytest.mark.parametrize(
    ("queue", "ours"),
    [
        ("scrapy_robots_plus.redis.RobotsQueue", True),
        ("scrapy_redis.queue.PriorityQueue", False),
        ("scrapy_robots_plus.robotparser.no_such_queue", False),
        ("no_such_package.Queue", False),
        ("os.getcwd", False),
        ("", False),
        (None, False),
    ],
)
def test_whether_the_queue_of_scrapy_redis_is_ours(queue: str | None, ours: bool) -> None:
    pytest.importorskip("scrapy_redis")
    assert names_our_queue(Settings({"SCHEDULER_QUEUE_CLASS": queue})) is ours


def test_it_is_ours_where_scrapy_redis_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scrapy_robots_plus.redis.queue", None)  # cannot be imported
    monkeypatch.delattr("scrapy_robots_plus.redis.queue", raising=False)
    settings = Settings({"SCHEDULER_QUEUE_CLASS": "scrapy_robots_plus.redis.RobotsQueue"})
    assert names_our_queue(settings)


@pytest.mark.parametrize(
    ("settings", "url"),
    [
        ({}, "redis://localhost:6379"),
        ({"REDIS_URL": "rediss://h.example:1/2"}, "rediss://h.example:1/2"),
        (
            {"REDIS_HOST": "h.example", "REDIS_PORT": 7000, "REDIS_DB": 3},
            "redis://h.example:7000/3",
        ),
        (
            {"REDIS_URL": "redis://a.example", "REDIS_PARAMS": {"host": "b", "socket_timeout": 3}},
            "redis://a.example:6379?socket_timeout=3",
        ),
        ({"REDIS_PARAMS": {"redis_cls": "redis.StrictRedis"}}, "redis://localhost:6379"),
        (
            {"REDIS_PARAMS": {"redis_cls": "redis.RedisCluster"}},
            "redis://localhost:6379?cluster=true",
        ),
        (
            {"REDIS_PARAMS": {"ssl": True, "host": "h.example", "ssl_cert_reqs": "CERT_NONE"}},
            "rediss://h.example:6379?ssl_cert_reqs=none",
        ),
        (
            {"REDIS_PARAMS": {"host": "::1", "username": "u", "password": "p/w"}},
            "redis://u:p%2Fw@[::1]:6379",
        ),
        (
            {"REDIS_PARAMS": {"unix_socket_path": "/run/redis.sock", "db": 2}},
            "unix:///run/redis.sock?db=2",
        ),
        ({"REDIS_PARAMS": {"redis_cls": "redis.Sentinel"}}, None),
        ({"REDIS_PARAMS": {"connection_pool": object()}}, None),
        ({"REDIS_URL": "http://h.example"}, None),
    ],
)
def test_the_url_of_the_server_of_scrapy_redis(settings: dict[str, Any], url: str | None) -> None:
    pytest.importorskip("redis")
    assert redis_url(Settings(settings)) == url
