"""docs/audit-log.md: each command there prints what the page shows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest_twisted

from scrapy_robots_plus.audit.chain import LogState
from tests.audit.logs import end, open_log, verdict
from tests.crawling import crawl, names_rules
from tests.samples import ROOT

from .running import Robots
from .sessions import sessions

if TYPE_CHECKING:
    from pathlib import Path

    from ..sites import Sites

*SESSIONS, ROTATED = sessions("docs/audit-log.md")
RULES = "User-agent: *\nDisallow: /private/\n\nUser-agent: Barbot\nDisallow: /news/\n"
PATHS = ("/private/diary", "/private/letters", "/news/today", "/")


@names_rules
@pytest_twisted.ensureDeferred
async def test_each_prints_what_the_page_shows(sites: Sites, tmp_path: Path) -> None:
    host, log = sites.host(RULES), tmp_path / "audit.jsonl"
    urls = [host.url(path) for path in PATHS]
    in_order: dict[str, Any] = {"ROBOTS_AUDIT_LOG_ALLOWED": True, "CONCURRENT_REQUESTS": 1}
    await crawl(*urls, ROBOTS_AUDIT_LOG=log, **in_order)
    assert len(SESSIONS) == 3
    for session in SESSIONS:
        shown, _ = session.run(Robots(tmp_path), site=host.origin)
        shown = shown.replace(host.origin, "http://site.example")
        assert re.sub("[0-9a-f]{64}", "HASH", shown) == session.output


def test_files_of_a_rotated_log_are_checked_as_the_page_shows(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    log = open_log(path)
    for number in (2, 1):
        log.add(verdict())
        assert log.flush()
        path.rename(tmp_path / f"audit.jsonl.{number}")
    log.add(end())
    assert log.flush()
    log.close()
    shown, _ = ROTATED.run(Robots(tmp_path))
    assert re.sub("[0-9a-f]{64}", "HASH", shown) == ROTATED.output


def test_the_exit_statuses_are_those_of_the_page() -> None:
    page = (ROOT / "docs/audit-log.md").read_text()
    rows = re.findall(r"^\| (\d) \| (\w*) ?\|", page, re.MULTILINE)
    assert {state: int(status) for status, state in rows if state} == {
        state.name.lower(): state.value for state in LogState
    }
    assert [status for status, state in rows if not state] == ["2", "1"]
