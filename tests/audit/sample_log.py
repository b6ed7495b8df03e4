"""An invented audit log that has everything a report shows, and the figures that it must show."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from scrapy_robots_plus.audit.chain import START
from scrapy_robots_plus.audit.entries import (
    CrawlEntry,
    EndEntry,
    Entry,
    FileEntry,
    VerdictEntry,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

BEGIN = 1_795_201_080.0
"""2026-11-20 18:58:00 UTC."""
SHOP, NEWS, SLOW, BROKEN, GONE, PARTNER = (
    f"https://{name}.example" for name in ("shop", "news", "slow", "broken", "gone", "partner")
)
HOSTILE = "https://hostile.example"
HOSTILE_TEXT = (
    "/<script>alert('x')</script>?a=\u202egnp.exe\x00\x1b[31m&b=\"'></style></title>\ud800"
)
CONTRACT = "Contract of 2026-03-01 with Partner Ltd"


def begin(crawl: str = "1a2b3c4d", at: float = 0, **changed: Any) -> CrawlEntry:
    fields: dict[str, Any] = {
        "time": BEGIN + at,
        "crawl": crawl,
        "spider": "prices",
        "version": "1.0",
        "mode": "obey",
        "obey": True,
        "agent": "examplebot",
        "parser": "scrapy_robots_plus.RobotsParser",
        "dialect": {"name": "RFC9309"},
        "status_policy": {},
        "crawl_delay_max": 60.0,
        "crawl_delay_too_long": "clamp",
        "stale_max": 2_592_000.0,
        "allowed_share": 1.0,
    }
    return CrawlEntry(**{**fields, **changed})


def read(origin: str, at: float = 0, **changed: Any) -> FileEntry:
    fields: dict[str, Any] = {
        "time": BEGIN + at,
        "crawl": "1a2b3c4d",
        "origin": origin,
        "robots_url": f"{origin}/robots.txt",
        "source": "network",
        "status": "200",
        "access": "rules",
        "sha256": "ab" * 32,
        "fetched_at": BEGIN + at,
        "changed": False,
    }
    return FileEntry(**{**fields, **changed})


def allowed(origin: str, path: str, at: float = 0, **changed: Any) -> VerdictEntry:
    fields: dict[str, Any] = {
        "time": BEGIN + at,
        "crawl": "1a2b3c4d",
        "url": f"{origin}{path}",
        "origin": origin,
        "agent": "examplebot",
        "allowed": True,
        "reason": "no_rule",
        "robots_url": f"{origin}/robots.txt",
        "status": "200",
        "access": "rules",
        "sent": BEGIN + at,
        "mode": "obey",
    }
    return VerdictEntry(**{**fields, **changed})


def denied(origin: str, path: str, at: float = 0, **changed: Any) -> VerdictEntry:
    fields: dict[str, Any] = {
        "allowed": False,
        "reason": "rule",
        "rule": "Disallow: /private/",
        "line": 3,
        "sent": None,
    }
    return allowed(origin, path, at, **{**fields, **changed})


def end(crawl: str = "1a2b3c4d", at: float = 1_600, **changed: Any) -> EndEntry:
    counts = {"allowed": 0, "denied": 0, "dont_obey": 0, "lost": 0}
    fields: dict[str, Any] = {"reason": "finished", **counts, **changed}
    return EndEntry(time=BEGIN + at, crawl=crawl, **fields)


def entries() -> list[Entry]:
    """Those of a crawl with denials, delays, failures, a change and overrides."""
    return sorted(_entries(), key=lambda entry: entry.time)


def _entries() -> Iterator[Entry]:
    yield begin()
    yield from (read(SHOP, 1), read(NEWS, 1), read(SLOW, 1, delay_asked=2.0))
    yield read(GONE, 2, status="404", access="unavailable", sha256=None)
    for number in range(40):
        yield allowed(SHOP, f"/item/{number}", 3 + 38 * number)
        yield denied(SHOP, f"/private/{number}", 3 + 38 * number)
    for number in range(12):
        yield denied(NEWS, f"/search?q={number}", 50 + number, rule="Disallow: /search", line=7)
    for number in range(100):
        late = 0.1 * (number % 4) - (0.8 if number == 50 else 0)
        yield allowed(SLOW, f"/page/{number}", 60 + 2.5 * number + late, delay=2.0)
    for number in range(5):
        failure = {"status": "503", "failure": "503", "access": "unreachable", "sha256": None}
        yield read(BROKEN, 100 + 200 * number, **failure, detail="Service Unavailable")
        unread = {"reason": "unreachable", "rule": None, "line": None, "access": "unreachable"}
        yield denied(BROKEN, f"/{number}", 101 + 200 * number, status="503", **unread)
    yield allowed(GONE, "/", 700, reason="unavailable", status="404", access="unavailable")
    yield read(NEWS, 900, changed=True, previous="cd" * 32)
    override = {"obey": False, "reason": CONTRACT}
    for number in range(7):
        yield allowed(PARTNER, f"/private/{number}", 1_000 + number, override=override)
    rule = f"Disallow: {HOSTILE_TEXT}"
    yield denied(HOSTILE, HOSTILE_TEXT + "a" * 5_000, 1_100, rule=rule, line=66)
    yield end(allowed=148, denied=58)


FIGURES = {"denied": 58, "allowed": 148, "hosts": 7, "failures": 5, "changes": 1}
"""Of :func:`entries`."""


def sealed(fields: dict[str, Any]) -> bytes:
    """The first line of a log with these fields, whatever they are."""
    own = {"n": 0, "prev": START.hash}
    text = json.dumps({**fields, **own, "hash": ""}, separators=(",", ":"))
    text = text.removesuffix(',"hash":""}')
    digest = hashlib.sha256(f"{text}}}".encode()).hexdigest()
    return f'{text},"hash":"{digest}"}}\n'.encode()
