"""A job that Scrapy began with files goes on in one file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest_twisted

from scrapy_robots_plus.job import FILE_NAME
from tests.commands.running import Robots
from tests.crawl.jobs import (
    SCRAPYS_QUEUE,
    all_pages,
    fetched,
    make_hosts,
    run_to_the_end,
    run_until_so,
)
from tests.sites import Sites

if TYPE_CHECKING:
    from pathlib import Path


@pytest_twisted.ensureDeferred
async def test_a_converted_job_fetches_the_rest_once(sites: Sites, tmp_path: Path) -> None:
    hosts = make_hosts(sites)
    job = str(tmp_path / "job")
    await run_until_so(
        lambda: sum(fetched(hosts).values()) >= 10,
        hosts,
        JOBDIR=job,
        SCHEDULER_PRIORITY_QUEUE=SCRAPYS_QUEUE,
    )
    done = Robots(tmp_path)("job", "convert", "job")
    assert done.status == 0, done.errors
    assert (tmp_path / "job" / FILE_NAME).exists()
    await run_to_the_end(hosts, JOBDIR=job)
    assert fetched(hosts) == all_pages(hosts)
