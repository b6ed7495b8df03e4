"""What docs/coming-from-scrapy.md says: what stays, what changes, jobs that change in between."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
from scrapy.exceptions import IgnoreRequest

from tests.crawl.jobs import all_pages, fetched, run_to_the_end, run_until_so
from tests.crawling import IN_FILES, OTHER_PARSER, crawl, resumes_jobs, stat
from tests.sites import after, answer, hang_up

if TYPE_CHECKING:
    from tests.sites import Host, Reply, Sites

pytestmark = resumes_jobs
RULES = "User-agent: *\nDisallow: /private/\n"
SCRAPYS_OWN: dict[str, Any] = {"ADDONS": {}, "ROBOTSTXT_OBEY": True}
SWITCHED_OFF: dict[str, Any] = {"ROBOTSTXT_OBEY": False}
OURS: dict[str, Any] = {}


@pytest.mark.parametrize("settings", [SCRAPYS_OWN, OURS], ids=["Scrapy's own", "ours"])
@pytest_twisted.ensureDeferred
async def test_what_a_project_may_rely_on_is_the_same(
    sites: Sites, caplog: pytest.LogCaptureFixture, settings: dict[str, Any]
) -> None:
    host = sites.host(RULES)
    with caplog.at_level(logging.DEBUG):
        crawler = await crawl(host.url("/"), host.url("/private/"), **settings)
    assert host.fetched == ["/"]
    assert isinstance(crawler.spider.failures[host.url("/private/")], IgnoreRequest)
    line = f"Forbidden by robots.txt: <GET {host.url('/private/')}>"
    assert [text for text in caplog.messages if text.startswith(line)]
    assert stat(crawler, "robotstxt/request_count") == 1
    assert stat(crawler, "robotstxt/response_status_count/200") == 1
    assert stat(crawler, "robotstxt/forbidden") == 1


STRICTER: list[tuple[str, Reply, str]] = [
    ("an error", answer("", 500), "/"),
    ("too many requests", answer("", 429), "/"),
    ("a hang-up", hang_up, "/"),
    ("as it is sent", answer("User-agent: *\nDisallow: /a$\n"), "/a;"),
]
LOOSER: list[tuple[str, Reply, str]] = [
    ("404", answer("User-agent: *\nDisallow: /\n", 404), "/"),
    ("another parser", answer("User-agent: *\nDisallow: /a%2A\n"), "/a*"),
]


@pytest.mark.skipif(OTHER_PARSER is not None, reason="with Scrapy's default parser and with ours")
@pytest.mark.parametrize(
    ("why", "robots", "path"), STRICTER + LOOSER, ids=[why for why, _, _ in STRICTER + LOOSER]
)
@pytest_twisted.ensureDeferred
async def test_some_requests_are_judged_differently(
    sites: Sites, why: str, robots: Reply, path: str
) -> None:
    host = sites.host(robots)
    await crawl(host.url(path), **SCRAPYS_OWN, ROBOTS_FETCH_RETRIES=0)
    before = len(host.fetched)
    await crawl(host.url(path), ROBOTS_FETCH_RETRIES=0)
    now = len(host.fetched) - before
    is_stricter = why in [name for name, _, _ in STRICTER]
    assert (before, now) == ((1, 0) if is_stricter else (0, 1))


@pytest.mark.parametrize(
    ("runs", "kept"),
    [
        ([SCRAPYS_OWN, OURS], {}),
        ([OURS, SCRAPYS_OWN, OURS], IN_FILES),
        ([OURS, SWITCHED_OFF, OURS], {}),
        ([SWITCHED_OFF, OURS, SCRAPYS_OWN, SWITCHED_OFF, OURS], IN_FILES),
    ],
    ids=["added", "taken out and back", "switched off and on", "all of it"],
)
@pytest_twisted.ensureDeferred
async def test_a_job_may_be_resumed_with_or_without_the_package(
    sites: Sites, tmp_path: Path, runs: list[dict[str, Any]], kept: dict[str, Any]
) -> None:
    """Taken out, if the project has chosen Scrapy's files."""
    rules = answer("User-agent: *\nDisallow: /never\n")
    hosts = [sites.host(rules), sites.host(after(0.2, rules)), sites.host()]
    job = {"JOBDIR": str(tmp_path), "CONCURRENT_REQUESTS": 2, "DOWNLOAD_DELAY": 0.1, **kept}
    for settings in runs[:-1]:
        await run_a_bit(hosts, **job, **settings)
        assert fetched(hosts) < all_pages(hosts)
    await run_to_the_end(hosts, **job, **runs[-1])
    assert fetched(hosts) == all_pages(hosts)


async def run_a_bit(hosts: list[Host], **settings: Any) -> None:
    """Until a page more has been fetched."""
    before = fetched(hosts)
    await run_until_so(lambda: fetched(hosts) > before, hosts, **settings)
    assert fetched(hosts) > before
