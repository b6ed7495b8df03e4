"""What a job leaves on the disk names no module of the package that a later version may move."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted

from scrapy_robots_plus.protocol import GOOGLE
from tests.crawling import make_crawler, run, stat
from tests.pages.stamping import FollowingSpider
from tests.waiting import close_when

if TYPE_CHECKING:
    from pathlib import Path

    from tests.sites import Sites

OURS: dict[str, Any] = {}
SCRAPYS = {"SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleLifoDiskQueue"}
PAGES = 20
DOCUMENTED = {b"scrapy_robots_plus.protocol.dialect"}
"""Where the reference says a dialect of one's own is made."""


@pytest.mark.parametrize("queue", [OURS, SCRAPYS], ids=["ours", "Scrapy's"])
@pytest_twisted.ensureDeferred
async def test_what_waits_in_a_job_names_no_module_but_documented_ones(
    sites: Sites, tmp_path: Path, queue: dict[str, Any]
) -> None:
    """Each request has the meta of the page before it, and a dialect of its own."""
    host = sites.host("User-agent: *\nDisallow: /closed\n")
    override = {"crawl_delay": 0, "dialect": GOOGLE._replace(name="mine", tokens_only=False)}
    then = tuple(
        (host.url(f"/next/{number}"), {"robots_override": override}) for number in range(PAGES)
    )
    job: dict[str, Any] = {"JOBDIR": str(tmp_path / "job"), "CONCURRENT_REQUESTS": 1}
    crawler = make_crawler(type("Spider", (FollowingSpider,), {"then": then}), **job, **queue)
    close_when(lambda: len(host.fetched) >= 3, crawler)
    await run(crawler, urls=[host.url("/first")])
    assert len(host.fetched) < PAGES
    assert stat(crawler, "scheduler/enqueued/disk") > PAGES

    stored = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert any(url.encode() in stored for url, _ in then)
    assert set(re.findall(rb"scrapy_robots_plus[\w.]*", stored)) == DOCUMENTED
