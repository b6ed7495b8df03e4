"""Jobs of a few hosts: what they should fetch, and what they have fetched."""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

import scrapy

from tests.crawling import BASE_SETTINGS, IN_FILES, OwnSettings, make_crawler, run
from tests.sites import after, answer
from tests.waiting import close_when

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from tests.sites import Host, Sites

SCRAPYS_QUEUE = "scrapy.pqueues.DownloaderAwarePriorityQueue"
PAGES = 8


class JobSpider(scrapy.Spider):
    """From each start page to the others of its host, with priorities; every URL once."""

    name = "job"

    def __init__(self, urls: list[str]) -> None:
        super().__init__()
        self.urls = urls
        self.failed: list[str] = []

    async def start(self) -> AsyncIterator[scrapy.Request]:
        for url in self.urls:
            yield scrapy.Request(url, errback=self.count_failure)

    def parse(self, response: Response) -> Iterator[scrapy.Request]:
        if response.url.endswith("/0"):
            for number in range(1, PAGES):
                url = response.urljoin(f"/{number}")
                yield scrapy.Request(url, priority=number % 3, errback=self.count_failure)

    def count_failure(self, failure: Any) -> None:
        self.failed.append(failure.request.url)


def all_pages(hosts: list[Host]) -> Counter[tuple[str, str]]:
    return Counter((host.address, f"/{number}") for host in hosts for number in range(PAGES))


def fetched(hosts: list[Host]) -> Counter[tuple[str, str]]:
    return Counter((host.address, path) for host in hosts for path in host.fetched)


def make_hosts(sites: Sites) -> list[Host]:
    """Hosts whose requests wait for all kinds of reasons when the job is stopped."""
    return [
        sites.host("User-agent: *\nAllow: /\n"),
        sites.host("User-agent: *\nDisallow: /never\nCrawl-delay: 0.05\n"),
        sites.host(after(0.4, answer("User-agent: *\nDisallow: /never\nCrawl-delay: 0.02\n"))),
        sites.host(),
    ]


async def run_until_so(
    condition: Callable[[], object], hosts: list[Host], **settings: Any
) -> Crawler:
    """Runs the job until *condition* holds."""
    crawler = make_crawler(JobSpider, **settings)
    close_when(condition, crawler)
    await run(crawler, urls=[host.url("/0") for host in hosts])
    return crawler


async def run_to_the_end(hosts: list[Host], **settings: Any) -> None:
    await run(make_crawler(JobSpider, **settings), urls=[host.url("/0") for host in hosts])


MAIN = f"{__name__}:main"


def main() -> None:
    from scrapy.crawler import AsyncCrawlerProcess

    job, queue, *urls = sys.argv[1:]
    settings = {**BASE_SETTINGS, **IN_FILES, "JOBDIR": job, "LOG_LEVEL": "ERROR"}
    # In Scrapy each request that a damaged file does not take ends one of these tasks, and without
    # any the crawl never ends.
    settings["CONCURRENT_ITEMS"] = 100
    if queue:
        settings["SCHEDULER_PRIORITY_QUEUE"] = queue
    process = AsyncCrawlerProcess(OwnSettings(settings))
    process.crawl(JobSpider, urls=urls)
    process.start()
