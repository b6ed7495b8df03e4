"""What is read of Scrapy's own settings."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

import pytest
from scrapy.settings import Settings

from scrapy_robots_plus.crawl.settings import (
    job_folder,
    log_interval,
    parser_class,
    queue_class,
    scheduler_class,
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
