"""What is read of Scrapy's own settings."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

import pytest
from scrapy.settings import Settings

from scrapy_robots_plus.crawl.settings import (
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
