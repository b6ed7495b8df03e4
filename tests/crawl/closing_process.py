"""A crawl that is ended while a robots.txt does not come, in a process of its own.

usage, in a fork: MODE < JSON with "how", "silent", "live", "timeout"
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from typing import TYPE_CHECKING, Any

from scrapy.crawler import AsyncCrawlerProcess, CrawlerProcess
from scrapy.exceptions import CloseSpider

from tests.crawl_process import MODES
from tests.crawling import BASE_SETTINGS, OwnSettings, ProbeSpider, ignore_replaced_settings
from tests.waiting import pause, until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy import Request
    from scrapy.http import Response


class EndingSpider(ProbeSpider):
    """``close`` and ``SIGINT`` end it beside a silent host; with ``refresh`` its pages do."""

    def __init__(self, how: str, silent: str, live: str) -> None:
        super().__init__()
        self.how = how
        self.silent = silent
        self.live = live
        self.last = 0.0

    async def start(self) -> AsyncIterator[Request]:
        if self.how != "refresh":
            yield self.request(self.silent)
        yield self.request(self.live)
        if self.how == "refresh":
            await until(lambda: self.got)
            await pause(1.3)
            yield self.request(self.live)

    def parse(self, response: Response) -> None:
        super().parse(response)
        self.last = time.monotonic()
        if self.how == "close":
            raise CloseSpider("enough")
        if self.how == "SIGINT":
            os.kill(os.getpid(), signal.SIGINT)


def main() -> None:
    ignore_replaced_settings()
    job: dict[str, Any] = json.load(sys.stdin)
    timeout = job.pop("timeout")
    mode = sys.argv[1]
    settings = {
        **BASE_SETTINGS,
        **MODES[mode],
        "ROBOTS_TTL": (1, 1),
        "LOG_LEVEL": "INFO",
        "ROBOTS_FETCH_TIMEOUT": timeout,
    }
    process = (CrawlerProcess if mode == "select" else AsyncCrawlerProcess)(OwnSettings(settings))
    crawler = process.create_crawler(EndingSpider)
    process.crawl(crawler, **job)
    process.start()
    spider = crawler.spider
    assert isinstance(spider, EndingSpider)
    result = {
        "closed_after": time.monotonic() - spider.last,
        "got": len(spider.got),
        "stats": crawler.stats.get_stats(),
    }
    print(json.dumps(result, default=str))
