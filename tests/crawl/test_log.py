"""Lines of the log that name the spider, and what is said once."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any

import pytest

from scrapy_robots_plus.crawl.log import Once, crawl_log


def test_a_line_names_the_spider_and_the_module(caplog: pytest.LogCaptureFixture) -> None:
    crawler: Any = SimpleNamespace(spider="a spider")
    crawl_log("scrapy_robots_plus.of_a_test")(crawler).warning("%s happened", "it")
    (record,) = caplog.records
    assert (record.name, record.levelno) == ("scrapy_robots_plus.of_a_test", logging.WARNING)
    assert (record.getMessage(), vars(record)["spider"]) == ("it happened", "a spider")


def test_a_thing_is_first_once() -> None:
    once = Once()
    assert [once.is_first() for _ in range(3)] == [True, False, False]
    assert [once.is_first(key) for key in ("a", "b", "a")] == [True, True, False]


def test_of_very_many_things_only_some_are_first() -> None:
    once = Once(2)
    assert [once.is_first(key) for key in range(4)] == [True, True, False, False]
