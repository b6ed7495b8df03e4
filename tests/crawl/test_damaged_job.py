"""A job whose file is damaged in mid-crawl: what is missing at the end is what was said."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
import scrapy

from scrapy_robots_plus.job import FILE_NAME, JobFileError, overview
from tests.crawling import make_crawler, resumes_jobs, run, stat
from tests.waiting import close_when

from .job_process import Links

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from scrapy.http import Response

    from tests.sites import Host, Sites

pytestmark = resumes_jobs

PAGES = 60
PAGE = 4_096


class OneList(Links):
    """All its pages are linked from the first."""

    name = "list"

    def parse(self, response: Response) -> Iterator[scrapy.Request]:
        if response.url.endswith("/0"):
            for number in range(1, PAGES):
                yield scrapy.Request(response.urljoin(f"/{number}"), meta={"text": "x" * 1_000})


async def crawl_on(job: Path, urls: list[str]) -> Any:
    crawler = make_crawler(OneList, JOBDIR=str(job), LOG_LEVEL="INFO")
    await run(crawler, urls=urls)
    return crawler


async def check_pages(
    sites: Sites, folder: Path, caplog: pytest.LogCaptureFixture, every: int
) -> None:
    host: Host = sites.host("User-agent: *\nDisallow: /never\n")
    begun = make_crawler(OneList, JOBDIR=str(folder / "begun"), CONCURRENT_REQUESTS=2)
    close_when(lambda: len(host.fetched) > 20, begun)
    await run(begun, urls=[host.url("/0")])
    first = set(host.fetched)
    data = (folder / "begun" / FILE_NAME).read_bytes()
    noticed = 0
    for number in range(0, len(data) // PAGE, every):
        job = folder / str(number)
        shutil.copytree(folder / "begun", job)
        begin = number * PAGE
        (job / FILE_NAME).write_bytes(data[:begin] + bytes(PAGE) + data[begin + PAGE :])
        before = len(host.fetched)
        caplog.clear()
        lost = 0
        for _ in range(2):
            crawler = await crawl_on(job, [])
            lost += stat(crawler, "robotstxt/queue/lost")
            if stat(crawler, "finish_reason") == "finished":
                break
            assert stat(crawler, "finish_reason") == "job_file_failed"
        missing = PAGES - len(first | set(host.fetched[before:]))
        assert stat(crawler, "finish_reason") == "finished"
        assert lost == missing
        said = [int(each) for each in re.findall(r"(\d+) are lost", caplog.text)]
        assert sum(said) == missing, (number, caplog.text)
        noticed += bool(missing)
        try:
            told = overview(job / FILE_NAME, 0).losses
        except JobFileError:  # fingerprints, with which no request of the run was compared
            told = []
        assert len(told) == bool(missing)
    assert noticed


@pytest_twisted.ensureDeferred
async def test_what_is_missing_is_what_was_said(
    sites: Sites, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await check_pages(sites, tmp_path, caplog, every=16)


@pytest.mark.stress
@pytest_twisted.ensureDeferred
async def test_with_each_page_in_turn(
    sites: Sites, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await check_pages(sites, tmp_path, caplog, every=1)
