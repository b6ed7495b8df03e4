"""One crawl of a scenario, in a process of its own.

usage: python -m benchmarks.crawl_spider SCENARIO VARIANT PORT
                                         [--live] [--job FOLDER] [--seconds N]
                              [--threshold N]

--live leaves out the hosts that are dead, --seconds bounds the crawl, --threshold is that of the
garbage collector. Prints JSON: the seconds of CPU and by the clock, and what went wrong.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import resource
import time
from typing import TYPE_CHECKING, Any

import scrapy
from scrapy.core.downloader import Slot
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.exceptions import CloseSpider

from .crawl_scenarios import Scenario, scenario_named

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

FILES_COUNTED_EVERY = 500
"""Pages."""

VARIANTS = ("package", "built-in", "off")

NO_JITTER: dict[str, Any] = (
    {"jitter": 0} if hasattr(Slot(1, 0, 0), "jitter") else {"randomize_delay": False}
)


class BenchmarkSpider(scrapy.Spider):
    name = "benchmark"

    def __init__(self, scenario: Scenario, port: int, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.scenario = scenario
        self.port = port
        self.got = 0
        self.failed = 0
        self.open_files = 0
        self.live_addresses = {
            address for hosts in scenario.hosts if not hosts.dead for address in hosts.addresses
        }
        self.live = 0
        self.live_done: float | None = None

    async def start(self) -> AsyncIterator[scrapy.Request]:
        pages = self.pages()
        if self.scenario.as_links:
            yield next(pages).replace(callback=self.parse_links, cb_kwargs={"pages": pages})
        else:
            for page in pages:
                yield page

    def pages(self) -> Iterator[scrapy.Request]:
        for address, path in self.scenario.paths():
            url = f"http://{address}:{self.port}{path}"
            yield scrapy.Request(
                url, errback=self.count_failure, dont_filter=not self.scenario.filtered
            )

    def parse_links(
        self, response: scrapy.http.Response, pages: Iterator[scrapy.Request]
    ) -> Iterator[scrapy.Request]:
        self.parse(response)
        yield from pages

    def parse(self, response: scrapy.http.Response) -> None:
        self.got += 1
        if self.got % FILES_COUNTED_EVERY == 0:
            self.open_files = max(self.open_files, len(os.listdir("/proc/self/fd")))
        if response.url.split("/")[2].partition(":")[0] in self.live_addresses:
            self.live += 1
            if self.live == self.scenario.live_pages:
                self.live_done = time.monotonic()
                if self.scenario.until_live_done:
                    raise CloseSpider("the live pages are there")

    def count_failure(self, _: Any) -> None:
        self.failed += 1


def settings_of(variant: str, scenario: Scenario) -> dict[str, Any]:
    """All defaults, but for what a benchmark prints and listens to, and the timeout.

    That is the same for all: Twisted keeps the timer of each page until its moment, answered or
    not, and the garbage collector looks at all of them.
    """
    settings: dict[str, Any] = {
        "LOG_LEVEL": "CRITICAL",
        "TELNETCONSOLE_ENABLED": False,
        "USER_AGENT": "Foobot/1.0 (+https://foobot.example/)",
        "DOWNLOAD_TIMEOUT": scenario.timeout,
        **scenario.settings,
    }
    if variant == "package":
        return settings | {
            "ADDONS": {"scrapy_robots_plus.Addon": 300},
            "ROBOTS_FETCH_TIMEOUT": scenario.timeout,
        }
    slots = {
        address: {"delay": hosts.delay, "concurrency": 8, **NO_JITTER}
        for hosts in scenario.hosts
        for address in hosts.addresses
        if hosts.delay
    }
    return settings | {
        "ROBOTSTXT_OBEY": variant == "built-in",
        "DOWNLOAD_SLOTS": slots,
    }


class CollectorTime:
    """Seconds that the garbage collector took.

    Scrapy starts a hundred tasks for each callback, which is just about as much as makes Python
    collect; whether it does, for every page or for every third, is chance and outweighs the rest.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self._began = 0.0
        gc.callbacks.append(self)

    def __call__(self, phase: str, _: Any) -> None:
        if phase == "start":
            self._began = time.process_time()
        else:
            self.seconds += time.process_time() - self._began


def main() -> None:
    collector = CollectorTime()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenario", type=scenario_named)
    parser.add_argument("variant", choices=VARIANTS)
    parser.add_argument("port", type=int)
    parser.add_argument("--live", action="store_true")
    parser.add_argument("--job", metavar="FOLDER")
    parser.add_argument("--seconds", type=int, default=0)
    parser.add_argument("--threshold", type=int)
    options = parser.parse_args()
    scenario = options.scenario.without_dead() if options.live else options.scenario
    if options.threshold:
        gc.set_threshold(options.threshold)
    bounds = {"JOBDIR": options.job, "CLOSESPIDER_TIMEOUT": options.seconds}
    process = AsyncCrawlerProcess({**settings_of(options.variant, scenario), **bounds})
    crawler = process.create_crawler(BenchmarkSpider)
    process.crawl(crawler, scenario=scenario, port=options.port)
    began, cpu_before = time.monotonic(), time.process_time()
    process.start()
    spider = crawler.spider
    assert isinstance(spider, BenchmarkSpider)
    result = {
        "seconds": time.monotonic() - began,
        "live_seconds": None if spider.live_done is None else spider.live_done - began,
        "cpu": time.process_time() - cpu_before,
        "collector": collector.seconds,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "files": spider.open_files,
        "began": began,
        "got": spider.got,
        "failed": spider.failed,
        "reason": crawler.stats.get_value("finish_reason"),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
