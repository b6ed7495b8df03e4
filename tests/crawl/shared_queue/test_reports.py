"""What is said of a server that fails again and again."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy_robots_plus.redis.queue_log import QueueLog
from scrapy_robots_plus.storage.redis_server import ServerError
from tests.crawling import make_crawler, stat

if TYPE_CHECKING:
    import pytest


def test_a_server_that_refuses_every_second_question_is_named_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    crawler = make_crawler()
    crawler._apply_settings()
    reports = QueueLog(crawler)
    for _ in range(100):
        reports.failed(ServerError("OOM command not allowed"))
        reports.answered()
    assert stat(crawler, "robotstxt/shared_queue/errors") == 100
    ours = [record for record in caplog.records if record.name.startswith("scrapy_robots_plus")]
    assert [record.levelname for record in ours] == ["WARNING", "INFO"]
