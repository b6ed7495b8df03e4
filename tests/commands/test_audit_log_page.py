"""docs/audit-log.md: each command there prints what the page shows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest_twisted

from tests.crawling import crawl, names_rules

from .running import Robots
from .sessions import sessions

if TYPE_CHECKING:
    from pathlib import Path

    from ..sites import Sites

SESSIONS = sessions("docs/audit-log.md")
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
