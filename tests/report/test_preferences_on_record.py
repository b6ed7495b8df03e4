"""Preferences in the table, the summary and the audit log of a crawl, and in what reads that."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

import pytest
import pytest_twisted

from scrapy_robots_plus.audit.entries import CrawlEntry, EndEntry, VerdictEntry
from tests.audit.logs import damages_in, entries_in
from tests.commands.running import Robots
from tests.crawling import crawl, names_rules
from tests.pages.stamping import StampSpider, StampStepSpider
from tests.sites import answer

if TYPE_CHECKING:
    from pathlib import Path

    from tests.sites import Host, Sites

pytestmark = names_rules

RULES = """\
User-agent: *
Disallow: /closed
Content-Usage: search=y
Content-Usage: /no-train train-ai=n

User-agent: Google-Extended
Disallow: /gallery
"""
SKIP: dict[str, Any] = {
    "ROBOTS_AI_USES": ["train-ai"],
    "ROBOTS_AI_POLICY": "skip",
    "ROBOTS_AI_TOKENS": ["Google-Extended"],
}
HEADERS: dict[str, dict[str, str]] = {
    "/usage": {"content_usage": "train-ai=n, search=n"},
    "/signal": {"content_signal": "ai-train=no"},
    "/noai": {"x_robots_tag": "foobot: noai"},
}
PATHS = ("/", "/closed", "/no-train/1", "/gallery/1", *HEADERS)


@pytest.fixture
def robots(tmp_path: Path) -> Robots:
    return Robots(tmp_path)


def site(sites: Sites) -> Host:
    host = sites.host(RULES)
    for path, headers in HEADERS.items():
        host.pages[path] = answer("A page", 200, **headers)
    return host


async def crawled(host: Host, log: Path, **settings: Any) -> None:
    urls = [host.url(path) for path in PATHS]
    all_ = {"ROBOTS_AUDIT_LOG": log, "ROBOTS_AUDIT_LOG_ALLOWED": True}
    await crawl(*urls, spider=StampStepSpider, **{**all_, **SKIP, **settings})


@pytest_twisted.ensureDeferred
async def test_the_audit_log_says_what_was_declared_observed_and_skipped(
    sites: Sites, tmp_path: Path
) -> None:
    host, log = site(sites), tmp_path / "audit.jsonl"
    await crawled(host, log)
    assert damages_in(log) == []
    entries = entries_in(log)
    begin, end = entries[0], entries[-1]
    assert isinstance(begin, CrawlEntry)
    assert isinstance(end, EndEntry)
    assert (begin.ai_uses, begin.ai_policy) == (("train-ai",), "skip")
    assert begin.use_tokens == ("Google-Extended",)
    assert (end.allowed, end.denied) == (4, 6)
    verdicts = [entry for entry in entries if isinstance(entry, VerdictEntry)]
    denied = {entry.url: entry for entry in verdicts if not entry.allowed}
    allowed = {entry.url: entry for entry in verdicts if entry.allowed}
    assert set(allowed) == {host.url(path) for path in ("/", *HEADERS)}
    told = {path: denied[host.url(path)] for path in PATHS if host.url(path) in denied}
    assert {path: (entry.reason, entry.source, entry.rule, entry.line) for path, entry in
            told.items()} == {
        "/closed": ("rule", None, "Disallow: /closed", 2),
        "/no-train/1": (
            *("ai_preference", "robots.txt Content-Usage"),
            *("Content-Usage: /no-train train-ai=n", 4),
        ),
        "/gallery/1": (
            *("ai_preference", "robots.txt group"),
            *("User-agent: Google-Extended, Disallow: /gallery", 7),
        ),
        "/usage": (
            *("ai_preference", "Content-Usage header"),
            *("Content-Usage: train-ai=n, search=n", None),
        ),
        "/signal": (
            *("ai_preference", "Content-Signal header"),
            *("Content-Signal: ai-train=no", None),
        ),
        "/noai": ("ai_preference", "X-Robots-Tag", "noai", None),
    }  # fmt: skip
    (one,) = allowed[host.url("/")].statements or []
    assert (one["category"], one["preference"]) == ("search", "allow")
    said = told["/usage"].statements or []
    assert {each["preference"] for each in said} == {"allow", "disallow"}
    assert told["/closed"].statements is None
    assert all(entry.sent is None for entry in told.values())
    # What was skipped for what it says had been sent, and has a line for that.
    assert all(allowed[host.url(path)].sent for path in HEADERS)


@pytest.mark.parametrize("mode", ["obey", "observe"])
@pytest_twisted.ensureDeferred
async def test_replay_comes_to_the_same(
    sites: Sites, tmp_path: Path, robots: Robots, mode: str
) -> None:
    log = tmp_path / "audit.jsonl"
    await crawled(site(sites), log, ROBOTS_MODE=mode)
    done = robots("replay", str(log))
    assert done.status == 0, done.output
    assert done.lines[-1].endswith(" 0 differ")


@pytest_twisted.ensureDeferred
async def test_or_says_that_somebody_has_changed_the_reason(
    sites: Sites, tmp_path: Path, robots: Robots
) -> None:
    log = tmp_path / "audit.jsonl"
    await crawled(site(sites), log)
    log.write_text(log.read_text().replace('"rule":"noai"', '"rule":"noarchive"'))
    done = robots("replay", str(log))
    assert done.status == 5
    assert ": changed: its hash does not match" in done.lines[0]
    assert done.lines[-1].startswith("damaged: ")


@pytest.mark.parametrize(
    "override",
    [
        {"ai_policy": "observe"},
        {"ai_uses": "search"},
        {"ai_tokens": []},
        {"obey": False, "reason": "ours"},
    ],
)
@pytest_twisted.ensureDeferred
async def test_replay_knows_what_overrides_have_changed(
    sites: Sites, tmp_path: Path, robots: Robots, override: dict[str, Any]
) -> None:
    host, log = site(sites), tmp_path / "audit.jsonl"
    await crawled(host, log, ROBOTS_OVERRIDES={host.address: override})
    done = robots("replay", str(log))
    assert (done.status, done.lines[-1][-8:]) == (0, "0 differ"), done.output


@pytest_twisted.ensureDeferred
async def test_the_table_ends_with_what_was_skipped(
    sites: Sites, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        await crawled(site(sites), tmp_path / "audit.jsonl")
    (table,) = [each.getMessage() for each in caplog.records if "1 site," in each.getMessage()]
    assert "1 site, 1 request allowed, 6 denied\n" in table
    last = table.splitlines()[-1]
    assert last == "objections to train-ai: 2 requests and 3 pages skipped"


TOLD: list[tuple[dict[str, Any], str | None]] = [
    ({"ROBOTS_AI_POLICY": "observe"}, "objections to train-ai: 5 pages crawled anyway"),
    (
        {"ROBOTS_MODE": "observe"},
        "objections to train-ai: 2 requests and 3 pages would be skipped",
    ),
    ({"ROBOTS_AI_USES": ["ai-use"]}, "objections to ai-use: 0 requests and 0 pages skipped"),
    ({"ROBOTS_AI_USES": [], "ROBOTS_AI_POLICY": "observe"}, None),
]


@pytest.mark.parametrize(("settings", "expected"), TOLD)
@pytest_twisted.ensureDeferred
async def test_or_with_what_was_not(
    sites: Sites,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    settings: dict[str, Any],
    expected: str | None,
) -> None:
    with caplog.at_level(logging.INFO):
        await crawled(site(sites), tmp_path / "audit.jsonl", **settings)
    (table,) = [each.getMessage() for each in caplog.records if "1 site," in each.getMessage()]
    last = table.splitlines()[-1]
    assert last == expected if expected else not last.startswith("objections")


@pytest_twisted.ensureDeferred
async def test_the_summary_file_has_it_in_numbers(sites: Sites, tmp_path: Path) -> None:
    summary = tmp_path / "summary.json"
    await crawled(site(sites), tmp_path / "a.jsonl", ROBOTS_SUMMARY_FILE=str(summary))
    found = json.loads(summary.read_text())
    assert found["denied_by_reason"] == {"rule": 1, "ai_preference": 5}
    assert found["uses"] == {
        "ai_uses": ["train-ai"],
        "content_use": None,
        "ai_policy": "skip",
        "preferences": {"search/allow": 3, "search/disallow": 1, "train-ai/disallow": 3},
        "contradictions": 1,
        "objections": 0,
        "skipped_requests": 2,
        "skipped_pages": 3,
    }


@pytest_twisted.ensureDeferred
async def test_the_report_shows_it(sites: Sites, tmp_path: Path, robots: Robots) -> None:
    log, page = tmp_path / "audit.jsonl", tmp_path / "report.html"
    await crawled(site(sites), log)
    assert robots("report", str(log), "-o", str(page)).status == 0
    text = page.read_text()
    for words in ("What sites want done with their pages", "Content-Usage header"):
        assert words in text


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {**SKIP, "ROBOTS_AI_USES": []},
            "ROBOTS_AI_POLICY has no effect without ROBOTS_AI_USES or ROBOTS_CONTENT_USE",
        ),
        (
            {**SKIP, "ROBOTSTXT_PARSER": "scrapy.robotstxt.ProtegoRobotParser"},
            "ROBOTS_AI_USES finds nothing in robots.txt files, because ROBOTSTXT_PARSER",
        ),
    ],
)
@pytest_twisted.ensureDeferred
async def test_settings_without_effect_are_told_at_the_start(
    sites: Sites, caplog: pytest.LogCaptureFixture, settings: dict[str, Any], message: str
) -> None:
    with caplog.at_level(logging.WARNING):
        await crawl(sites.host(RULES).url("/"), spider=StampSpider, **settings)
    assert message in caplog.text


@pytest.mark.parametrize("settings", [SKIP, {}])
@pytest_twisted.ensureDeferred
async def test_others_are_not(
    sites: Sites, caplog: pytest.LogCaptureFixture, settings: dict[str, Any]
) -> None:
    with caplog.at_level(logging.WARNING):
        await crawl(sites.host(RULES).url("/"), spider=StampSpider, **settings)
    assert "ROBOTS_AI" not in caplog.text
