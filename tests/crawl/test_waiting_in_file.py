"""Requests that wait for long, in the file of a job: nothing is sent early, lost or sent twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted

from scrapy_robots_plus.crawl.clock import Clock
from scrapy_robots_plus.crawl.crawl import Crawl
from scrapy_robots_plus.hosts.stored_lanes import StoredLanes
from scrapy_robots_plus.job import FILE_NAME, overview
from tests.crawl.jobs import PAGES, JobSpider, all_pages, fetched, run_until_so
from tests.crawling import make_crawler, reads_paces, run
from tests.waiting import close_when

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.sites import Host, Sites

NIGHT, MORNING = 3 * 3600.0, 7 * 3600.0
"""Seconds since 1970."""
VISITS = "User-agent: *\nDisallow: /never\nVisit-time: 0600-0845\n"
HOSTS = 5


async def run_at(
    moment: float, job: Path, hosts: list[Host], until: Callable[[], object] = bool
) -> None:
    """Runs the job at *moment*, as the visiting hours see it."""
    settings: dict[str, Any] = {"JOBDIR": str(job), "ROBOTS_VISIT_TIME": "obey"}
    crawler = make_crawler(JobSpider, **settings)
    shared = Crawl.of(crawler, Clock(wall=lambda: moment))
    close_when(until, crawler)
    await run(crawler, urls=[host.url("/0") for host in hosts])
    assert Crawl.of(crawler) is shared
    assert crawler.spider.failed == []


@reads_paces
@pytest_twisted.ensureDeferred
async def test_requests_wait_for_visiting_hours_through_a_stop(
    sites: Sites, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More hosts wait than may be awake; another one needs no hours."""
    monkeypatch.setattr(StoredLanes, "MOST_AWAKE", 2)
    monkeypatch.setattr(StoredLanes, "AT_ONCE", 2)
    monkeypatch.setattr(StoredLanes, "LEAST_PAUSE", 0.05)
    closed, open_ = [sites.host(VISITS) for _ in range(HOSTS)], sites.host()

    def all_are_known() -> bool:
        return all(host.robots_hits for host in closed) and fetched([open_]) == all_pages([open_])

    await run_at(NIGHT, tmp_path, [*closed, open_], until=all_are_known)
    assert fetched(closed).total() == 0
    held = overview(tmp_path / FILE_NAME, HOSTS)
    assert (held.waiting, held.under_way, held.lanes) == (HOSTS, 0, HOSTS)

    await run_at(MORNING, tmp_path, [*closed, open_])
    assert fetched([*closed, open_]) == all_pages([*closed, open_])
    assert overview(tmp_path / FILE_NAME, HOSTS).waiting == 0


@pytest_twisted.ensureDeferred
async def test_a_job_whose_hosts_have_waited_goes_on_in_observe_mode(
    sites: Sites, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its lanes still know for which robots.txt they waited; those that wait make room."""
    monkeypatch.setattr(StoredLanes, "MOST_AWAKE", 2)
    monkeypatch.setattr(StoredLanes, "AT_ONCE", 2)
    monkeypatch.setattr(StoredLanes, "LEAST_PAUSE", 0.05)
    hosts = [sites.host("User-agent: *\nDisallow: /never\n") for _ in range(HOSTS)]
    settings: dict[str, Any] = {"JOBDIR": str(tmp_path), "DOWNLOAD_DELAY": 0.1}
    await run_until_so(lambda: fetched(hosts).total() > HOSTS, hosts, **settings)
    assert fetched(hosts).total() < HOSTS * PAGES

    crawler = make_crawler(JobSpider, **settings, ROBOTS_MODE="observe")
    await run(crawler, urls=[])
    assert crawler.stats.get_value("finish_reason") == "finished"
    assert fetched(hosts) == all_pages(hosts)
