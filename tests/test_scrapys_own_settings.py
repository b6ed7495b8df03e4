"""What is read of Scrapy's own settings."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

import pytest
from scrapy.settings import Settings

from scrapy_robots_plus.settings.scrapys_own import (
    default_user_agent,
    disk_queue_class,
    dupefilter_class,
    has_workers,
    is_chosen,
    job_folder,
    log_interval,
    logs_all_duplicates,
    names_our_queue,
    parser_class,
    queue_class,
    scheduler_class,
    start_disk_queue_class,
    throttles_automatically,
    user_agent_in_headers,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.settings import BaseSettings


@pytest.mark.parametrize(
    ("read", "name"),
    [
        (parser_class, "ROBOTSTXT_PARSER"),
        (scheduler_class, "SCHEDULER"),
        (queue_class, "SCHEDULER_PRIORITY_QUEUE"),
        (disk_queue_class, "SCHEDULER_DISK_QUEUE"),
        (start_disk_queue_class, "SCHEDULER_START_DISK_QUEUE"),
        (dupefilter_class, "DUPEFILTER_CLASS"),
    ],
)
def test_classes_that_scrapy_names_are_loaded(
    read: Callable[[BaseSettings], type], name: str
) -> None:
    assert read(Settings({name: "collections.OrderedDict"})) is OrderedDict
    assert read(Settings({name: OrderedDict})) is OrderedDict


@pytest.mark.parametrize(("value", "folder"), [("jobs/1", "jobs/1"), ("", None), (None, None)])
def test_the_folder_of_a_job(value: str | None, folder: str | None) -> None:
    assert job_folder(Settings({"JOBDIR": value})) == folder


def test_the_interval_of_the_log() -> None:
    assert log_interval(Settings({"LOGSTATS_INTERVAL": "2.5"})) == 2.5


@pytest.mark.parametrize(("value", "does"), [("True", True), ("0", False)])
def test_whether_autothrottle_is_on(value: str, does: bool) -> None:
    assert throttles_automatically(Settings({"AUTOTHROTTLE_ENABLED": value})) is does


@pytest.mark.parametrize(("value", "agent"), [("Foobot/1.0", "Foobot/1.0"), ("", ""), (None, "")])
def test_the_user_agent_of_requests_that_have_none(value: str | None, agent: str) -> None:
    assert default_user_agent(Settings({"USER_AGENT": value})) == agent


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


def test_start_requests_may_be_kept_with_the_others() -> None:
    assert start_disk_queue_class(Settings({"SCHEDULER_START_DISK_QUEUE": None})) is None


@pytest.mark.parametrize(("value", "logs"), [("True", True), ("0", False)])
def test_whether_all_duplicates_are_logged(value: str, logs: bool) -> None:
    assert logs_all_duplicates(Settings({"DUPEFILTER_DEBUG": value})) is logs


@pytest.mark.parametrize(
    ("priority", "chosen"), [("default", False), ("addon", True), ("project", True)]
)
def test_a_setting_is_chosen_unless_scrapy_has_set_it(priority: str, chosen: bool) -> None:
    assert is_chosen(Settings({"DUPEFILTER_CLASS": "x"}, priority), "DUPEFILTER_CLASS") is chosen


def test_a_setting_that_nobody_has_set_is_not_chosen() -> None:
    assert not is_chosen(Settings(), "ROBOTS_UNHEARD_OF")


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
