"""A job with more hosts than files that may be open, and one that was killed."""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from scrapy import Request

from tests.crawl.jobs import JobSpider, all_pages, fetched
from tests.crawling import BASE_SETTINGS, OwnSettings
from tests.programs import Program
from tests.sites import Host, Sites

if TYPE_CHECKING:
    from collections.abc import Iterator

MAIN = f"{__name__}:main"


class ManyHosts(JobSpider):
    def parse(self, response: Any) -> Iterator[Request]:
        """Each page of the first host names a page of another host."""
        if response.url == self.urls[0]:
            for url in self.urls[1:]:
                yield Request(url, errback=self.count_failure)

    async def start(self) -> Any:
        yield Request(self.urls[0])


def test_with_few_files_to_open_every_page_is_fetched(sites: Sites, tmp_path: Path) -> None:
    hosts = [sites.host("User-agent: *\nDisallow: /never\n") for _ in range(32)]
    few = {"CONCURRENT_REQUESTS": 4, "ROBOTS_FETCH_CONCURRENCY": 4}
    done = crawl_job(tmp_path, hosts, ManyHosts, files=40, timeout=90, **few)
    assert fetched(hosts).total() == 32, done
    assert "too many open files" not in done.lower()
    assert "Unhandled" not in done


# A job that is killed


def crawl_job(
    job: Path,
    hosts: list[Host],
    spider: type[JobSpider] = JobSpider,
    *,
    kill_at: int | None = None,
    files: int | None = None,
    timeout: float = 60,
    **settings: Any,
) -> str:
    """Runs the job in a process of its own; *kill_at*: when so many pages were fetched.

    *files*: how many it may open.
    """
    arguments = [spider.__name__, str(job), json.dumps(files), json.dumps(settings)]
    program = Program(MAIN, *arguments, *(host.url("/0") for host in hosts))
    if kill_at is not None:
        while fetched(hosts).total() < kill_at and program.poll() is None:
            time.sleep(0.005)
        program.kill()
    log = program.communicate(timeout=timeout)[1].decode()
    assert kill_at is not None or program.wait() == 0, log
    return log


def stopped_killed_and_resumed(sites: Sites, job: Path, first: int, second: int) -> None:
    """Nothing is lost, and the crawl ends by itself."""
    hosts = [sites.host("User-agent: *\nDisallow: /never\nCrawl-delay: 0.05\n") for _ in range(6)]
    crawl_job(job, hosts, CLOSESPIDER_PAGECOUNT=first)
    crawl_job(job, hosts, kill_at=first + second)
    before = fetched(hosts).total()
    log = crawl_job(job, hosts, timeout=40)
    missing = (all_pages(hosts) - fetched(hosts)).total()
    assert missing == 0, log
    if before < all_pages(hosts).total() - 6:
        assert "The last run of this job was killed" in log
    assert int(log.rpartition("robotstxt/queue/lost=")[2].split()[0]) == 0


def test_stopped_then_killed_then_resumed(sites: Sites, tmp_path: Path) -> None:
    stopped_killed_and_resumed(sites, tmp_path, 10, 12)


@pytest.mark.stress
def test_stopped_then_killed_then_resumed_at_20_moments(sites: Sites, tmp_path: Path) -> None:
    for turn in range(20):
        stopped_killed_and_resumed(sites, tmp_path / str(turn), 4 + turn, turn + 1)


def main() -> None:
    from scrapy.crawler import AsyncCrawlerProcess

    name, job, files, own, *urls = sys.argv[1:]
    if most := json.loads(files):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    spider = {"JobSpider": JobSpider, "ManyHosts": ManyHosts}[name]
    settings = {**BASE_SETTINGS, "JOBDIR": job, "LOG_LEVEL": "WARNING"}
    process = AsyncCrawlerProcess(OwnSettings({**settings, **json.loads(own)}))
    crawler = process.create_crawler(spider)
    process.crawl(crawler, urls=urls)
    process.start()
    lost = crawler.stats.get_value("robotstxt/queue/lost", 0)
    print(f"robotstxt/queue/lost={lost}", file=sys.stderr)
