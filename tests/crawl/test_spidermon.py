"""Monitors for Spidermon, run by the real one in real crawls."""

from __future__ import annotations

import logging
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted

from tests.crawling import StepSpider, crawl
from tests.samples import block_with, blocks, settings_of
from tests.sites import Sites, answer

if TYPE_CHECKING:
    from tests.sites import Host

pytestmark = pytest.mark.filterwarnings(
    r"ignore:Spider\.log\(\) is deprecated"
)  # Spidermon uses it

CLOSED = "User-agent: *\nDisallow: /private/\n"
SUITE = "scrapy_robots_plus.spidermon.RobotsMonitorSuite"
SPIDERMON: dict[str, Any] = {
    "EXTENSIONS": {"spidermon.contrib.scrapy.extensions.Spidermon": 500},
    "SPIDERMON_ENABLED": True,
    "SPIDERMON_SPIDER_CLOSE_MONITORS": [SUITE],
}
DENIED = "Requests denied by robots.txt/Should not be too many"
UNREADABLE = "Hosts whose robots.txt cannot be read/Should not be too many"


class Said:
    """What Spidermon logged."""

    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        self._caplog = caplog

    @property
    def lines(self) -> list[str]:
        found = [record.getMessage() for record in self._caplog.records]
        return [text.removeprefix("[Spidermon] ") for text in found if "[Spidermon]" in text]

    @property
    def results(self) -> dict[str, str]:
        """By monitor: ``OK``, ``FAIL``, ``ERROR`` or ``SKIPPED (why)``."""
        pairs = [line.split("... ", 1) for line in self.lines if "/Should not" in line[:90]]
        return {pair[0]: pair[1] for pair in pairs if len(pair) == 2}

    @property
    def failures(self) -> str:
        return "\n".join(line for line in self.lines if "Traceback" in line)


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> Said:
    caplog.set_level(logging.INFO)
    return Said(caplog)


def half_closed(sites: Sites) -> tuple[Host, list[str]]:
    host = sites.host(CLOSED)
    return host, [host.url(path) for path in ("/", "/1", "/private/1", "/private/2")]


@pytest_twisted.ensureDeferred
async def test_all_is_well_as_long_as_no_limit_is_exceeded(sites: Sites, said: Said) -> None:
    _, urls = half_closed(sites)
    await crawl(*urls, **SPIDERMON)
    assert said.results == {DENIED: "OK", UNREADABLE: "OK"}


@pytest.mark.parametrize(
    ("limit", "result"),
    [
        ("50%", "OK"),
        ("49.9%", "FAIL"),
        ("0%", "FAIL"),
        (2, "OK"),
        ("2", "OK"),
        (1, "FAIL"),
        (0, "FAIL"),
        ("", "ERROR"),
        ("half", "ERROR"),
    ],
)
@pytest_twisted.ensureDeferred
async def test_too_many_denials(sites: Sites, said: Said, limit: object, result: str) -> None:
    host, urls = half_closed(sites)
    await crawl(*urls, **SPIDERMON, SPIDERMON_ROBOTS_MAX_DENIED=limit)
    assert said.results == {DENIED: result, UNREADABLE: "OK"}
    if result == "FAIL":
        assert f"2 of 4 requests are denied: 2 x {host.origin}; " in said.failures
    if result == "ERROR":
        assert f"SPIDERMON_ROBOTS_MAX_DENIED = {limit!r}: expected a number" in said.failures


@pytest_twisted.ensureDeferred
async def test_too_many_unreadable_files(sites: Sites, said: Said) -> None:
    hosts = [sites.host(CLOSED), *(sites.host(answer("", 503)) for _ in range(7))]
    await crawl(*(host.url() for host in hosts), **SPIDERMON, ROBOTS_FETCH_RETRIES=0)
    assert said.results == {DENIED: "FAIL", UNREADABLE: "FAIL"}
    assert "The robots.txt of 7 of 8 hosts cannot be read: 7 x 503, all denied; " in said.failures
    assert "SPIDERMON_ROBOTS_MAX_UNREADABLE is 10%" in said.failures


@pytest_twisted.ensureDeferred
async def test_an_unreadable_file_is_one_even_if_everything_is_allowed(
    sites: Sites, said: Said
) -> None:
    host = sites.host(answer("", 503))
    settings = {"ROBOTS_STATUS_POLICY": "fail-open", "ROBOTS_FETCH_RETRIES": 0}
    await crawl(host.url(), **{**SPIDERMON, **settings})
    assert said.results == {DENIED: "OK", UNREADABLE: "FAIL"}
    assert "1 of 1 hosts cannot be read: 1 x 503, all allowed" in said.failures


@pytest.mark.parametrize(
    "settings",
    [
        {"ROBOTSTXT_OBEY": False},
        {"ADDONS": {}},
        {"DOWNLOADER_MIDDLEWARES": {"scrapy_robots_plus.RobotsMiddleware": None}},
    ],
    ids=["off", "without the add-on", "without the middleware"],
)
@pytest_twisted.ensureDeferred
async def test_where_nothing_is_checked_there_is_nothing_to_judge(
    sites: Sites, said: Said, settings: dict[str, Any]
) -> None:
    _, urls = half_closed(sites)
    await crawl(*urls, **SPIDERMON, **settings)
    assert len(said.results) == 2
    for result in said.results.values():
        assert result.startswith("SKIPPED") or "robots.txt is not checked" in result


@pytest_twisted.ensureDeferred
async def test_a_crawl_of_nothing_exceeds_nothing(said: Said) -> None:
    await crawl(**SPIDERMON, SPIDERMON_ROBOTS_MAX_DENIED="0%", SPIDERMON_ROBOTS_MAX_UNREADABLE=0)
    assert said.results == {DENIED: "OK", UNREADABLE: "OK"}


@pytest.mark.parametrize(
    "when", ["SPIDERMON_SPIDER_OPEN_MONITORS", "SPIDERMON_ENGINE_STOP_MONITORS"]
)
@pytest_twisted.ensureDeferred
async def test_they_run_at_any_time(sites: Sites, said: Said, when: str) -> None:
    _, urls = half_closed(sites)
    own: dict[str, Any] = {**SPIDERMON, "SPIDERMON_SPIDER_CLOSE_MONITORS": [], when: [SUITE]}
    await crawl(*urls, **own, SPIDERMON_ROBOTS_MAX_DENIED=0)
    denied = "FAIL" if "STOP" in when else "OK"
    assert said.results == {DENIED: denied, UNREADABLE: "OK"}


@pytest_twisted.ensureDeferred
async def test_the_settings_of_the_docs_are_enough(sites: Sites, said: Said) -> None:
    host, urls = half_closed(sites)
    await crawl(*urls, **settings_of(block_with("RobotsMonitorSuite", "docs/monitoring.md")))
    assert said.results == {DENIED: "FAIL", UNREADABLE: "OK"}
    (shown,) = (text for text in blocks("text", "docs/monitoring.md") if "are denied" in text)
    assert shown.strip() in said.failures.replace(host.origin, "http://site.example")


@pytest_twisted.ensureDeferred
async def test_they_run_while_the_crawl_does(sites: Sites, said: Said) -> None:
    _, urls = half_closed(sites)
    own: dict[str, Any] = {
        "SPIDERMON_SPIDER_CLOSE_MONITORS": [],
        "SPIDERMON_PERIODIC_MONITORS": {SUITE: 0.2},
    }
    step: dict[str, Any] = {"spider": StepSpider, "spider_attributes": {"pause": 0.5}}
    await crawl(*urls, **step, **{**SPIDERMON, **own}, SPIDERMON_ROBOTS_MAX_DENIED=0)
    assert "requests are denied" in said.failures


@pytest_twisted.ensureDeferred
async def test_a_project_may_choose_among_them(sites: Sites, said: Said) -> None:
    _, urls = half_closed(sites)
    suite = block_with("NightlySuite", "docs/monitoring.md")["NightlySuite"]
    await crawl(*urls, **{**SPIDERMON, "SPIDERMON_SPIDER_CLOSE_MONITORS": [suite]})
    assert said.results == {DENIED: "OK", UNREADABLE: "OK"}


def test_only_those_who_ask_for_it_need_spidermon() -> None:
    code = """
import sys
sys.modules["spidermon"] = None
import scrapy_robots_plus
for name in scrapy_robots_plus.__all__:
    getattr(scrapy_robots_plus, name)
try:
    import scrapy_robots_plus.spidermon
except ImportError:
    print("needed there alone")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "needed there alone\n", done.stderr
