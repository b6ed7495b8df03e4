"""The monitors for Spidermon of the docs, run by the real one in real crawls."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted
from scrapy import signals

from tests.crawling import make_crawler, run
from tests.samples import block_with, settings_of
from tests.sites import answer

if TYPE_CHECKING:
    from pathlib import Path

    from tests.sites import Sites

pytestmark = pytest.mark.filterwarnings(
    r"ignore:Spider\.log\(\) is deprecated"
)  # Spidermon uses it


async def results(
    caplog: pytest.LogCaptureFixture, *urls: str, changed_before: int = 0, **more: Any
) -> dict[str, str]:
    """What Spidermon says of each monitor of the page after a crawl of *urls*."""
    caplog.set_level(logging.INFO)
    settings: dict[str, Any] = settings_of(block_with("SPIDERMON_ENABLED", "docs/monitoring.md"))
    settings["SPIDERMON_SPIDER_CLOSE_MONITORS"] = [
        block_with("BaseStatMonitor", "docs/monitoring.md")["RobotsSuite"]
    ]
    caplog.clear()
    crawler = make_crawler(**settings, **more, ROBOTS_FETCH_RETRIES=0)

    def opened() -> None:
        crawler.stats.inc_value("robotstxt/changed", changed_before)

    if changed_before:
        crawler.signals.connect(opened, signals.spider_opened)
    await run(crawler, urls=urls)
    lines = [record.getMessage() for record in caplog.records]
    pairs = [line.removeprefix("[Spidermon] ").split("... ", 1) for line in lines if "... " in line]
    return {name.partition("/")[0]: result for name, result in pairs}


@pytest.mark.parametrize(
    ("pages", "result"),
    [(("/", "/1", "/2", "/3", "/private/1"), "OK"), (("/", "/private/1"), "FAIL")],
)
@pytest_twisted.ensureDeferred
async def test_many_denials_are_told(
    sites: Sites, caplog: pytest.LogCaptureFixture, pages: tuple[str, ...], result: str
) -> None:
    host = sites.host("User-agent: *\nDisallow: /private/\n")
    found = await results(caplog, *map(host.url, pages))
    assert found["DeniedMonitor"] == result
    assert found["UnreachableMonitor"].startswith("SKIPPED")


@pytest_twisted.ensureDeferred
async def test_many_denials_for_files_that_cannot_be_read_are_told(
    sites: Sites, caplog: pytest.LogCaptureFixture
) -> None:
    host = sites.host(answer("", 503))
    found = await results(caplog, *(host.url(f"/{number}") for number in range(101)))
    assert found.pop("ChangedMonitor").startswith("SKIPPED")
    assert found == {"DeniedMonitor": "FAIL", "UnreachableMonitor": "FAIL"}


@pytest_twisted.ensureDeferred
async def test_many_changed_files_are_told(
    sites: Sites, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    # More than a hundred with those before, and some that a busy machine may not store.
    hosts = [sites.host("User-agent: *\nDisallow: /a\n") for _ in range(8)]
    urls = [host.url("/") for host in hosts]
    store: dict[str, Any] = {"ROBOTS_STORE": f"sqlite:{tmp_path}/robots.db", "ROBOTS_TTL": (1, 1)}
    first = await results(caplog, *urls, **store)
    assert first["ChangedMonitor"].startswith("SKIPPED")
    for host in hosts:
        host.robots("User-agent: *\nDisallow: /b\n")
    time.sleep(1.1)
    found = await results(caplog, *urls, **store, changed_before=98)
    assert found["ChangedMonitor"] == "FAIL"
