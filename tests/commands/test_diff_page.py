"""docs/diff.md: each command there prints what the page shows."""

from __future__ import annotations

import time
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest

from scrapy_robots_plus.protocol.access import Access
from scrapy_robots_plus.protocol.origin import Origin
from scrapy_robots_plus.storage import open_store
from scrapy_robots_plus.storage.record import RobotsRecord

from ..samples import blocks
from ..sites import answer
from .running import Robots
from .sessions import Session, sessions

if TYPE_CHECKING:
    from pathlib import Path

    from ..sites import Sites

SESSIONS = sessions("docs/diff.md")


def test_there_are_sessions() -> None:
    assert len(SESSIONS) == 3


@pytest.mark.parametrize("session", SESSIONS, ids=lambda session: session.command)
def test_each_prints_what_the_page_shows(session: Session, sites: Sites, tmp_path: Path) -> None:
    old, new, _ = blocks("text", "docs/diff.md")
    (tmp_path / "old.txt").write_text(old)
    (tmp_path / "new.txt").write_text(new)
    site, gone = sites.host(new), sites.host(answer(status=404))
    store(site.origin, old.encode(), f"sqlite:{tmp_path}/known.db")
    robots = Robots.in_project(tmp_path, ROBOTS_STORE="sqlite:known.db", BOT_NAME="scrapybot")
    shown, _ = session.run(robots, site=site.origin, gone=gone.origin)
    assert shown == session.output


def store(site: str, body: bytes, uri: str) -> None:
    """Stores what the *site* had."""
    origin = Origin.of(site)
    assert origin is not None
    digest, now = sha256(body).hexdigest(), time.time()
    record = RobotsRecord(
        origin, Access.RULES, 200, origin.robots_url, now, 9e4, sha256=digest, body=body
    )
    with open_store(uri, 10) as opened:
        assert opened.put(record)
