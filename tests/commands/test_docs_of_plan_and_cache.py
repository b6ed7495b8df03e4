"""docs/plan.md and docs/cache-command.md: each command there prints what the page shows."""

from __future__ import annotations

import re
import time
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest

from scrapy_robots_plus.protocol.access import Access
from scrapy_robots_plus.protocol.origin import Origin
from scrapy_robots_plus.storage.sqlite_store import SqliteStore

from ..storage.records import rules
from .running import Robots
from .sessions import Session, sessions

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy_robots_plus.storage.record import RobotsRecord

    from ..sites import Sites

HOUR = 3_600


@pytest.mark.parametrize("session", sessions("docs/plan.md"), ids=lambda each: each.command)
def test_a_plan_is_printed_as_the_page_shows(
    session: Session, sites: Sites, tmp_path: Path
) -> None:
    site, slow = sites.host(), sites.host("User-agent: *\nCrawl-delay: 10\nDisallow: /private/\n")
    site.robots("User-agent: *\nDisallow: /private/\n")
    paths = ["/", "/a", "/private/b"]
    urls = [site.url(path) for path in paths]
    urls = urls * 2 + [slow.url(f"/{number}") for number in range(7)] + [slow.url("/private/c")]
    (tmp_path / "urls.txt").write_text("\n".join(urls))
    shown, done = session.run(Robots(tmp_path), site=site.origin, slow=slow.origin)
    shown = shown.replace(site.address, "site.example").replace(slow.address, "slow.example")
    assert shown == session.output
    assert (done.status, done.errors) == (0, "")


def of_the_page() -> list[RobotsRecord]:
    now = time.time() - 20  # away from where durations change their words
    body = b"User-agent: *\nDisallow: /\n"
    slow = Origin("https", "slow.example", 443)
    return [
        rules(
            1,
            now - HOUR,
            origin=Origin("http", "other.example", 80),
            outcome=404,
            access=Access.UNAVAILABLE,
            lifetime=24.0 * HOUR,
            body=b"",
            sha256="",
            headers={},
        ),
        rules(1, now - 30 * HOUR, origin=Origin("https", "site.example", 443)),
        rules(
            1,
            now - 5 * HOUR,
            origin=slow,
            url=slow.robots_url,
            headers={"content-type": "text/plain"},
            body=body,
            sha256=sha256(body).hexdigest(),
            failure=503,
            failures=2,
            failed_at=now - HOUR,
            retry_in=3.0 * HOUR,
        ),
    ]


def masked(text: str) -> str:
    return re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "DATE", text)


@pytest.mark.parametrize(
    "session", sessions("docs/cache-command.md"), ids=lambda each: each.command
)
def test_a_store_is_shown_as_on_the_page(session: Session, tmp_path: Path) -> None:
    with SqliteStore(tmp_path / "robots.db", 10) as store:
        for record in of_the_page():
            store.put(record)
    shown, done = session.run(Robots(tmp_path))
    assert masked(done.errors + shown) == masked(session.output)
