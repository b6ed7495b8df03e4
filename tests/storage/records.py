"""Records for tests, each a function of its numbers, so that any process can tell a wrong one."""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha256

from scrapy_robots_plus.protocol.access import Access, Failure
from scrapy_robots_plus.protocol.origin import Origin
from scrapy_robots_plus.storage.record import RobotsRecord

START = 1_750_000_000.0


def origin(number: int) -> Origin:
    return Origin("https", f"host{number}.example", 443)


@lru_cache(300)
def body_of(number: int, fetched_at: float, lines: int) -> bytes:
    return b"User-agent: *\n" + b"".join(
        b"Disallow: /%d/%d/%d\n" % (number, fetched_at, line) for line in range(lines)
    )


def rules(
    number: int, fetched_at: float = START, lines: int = 3, **changes: object
) -> RobotsRecord:
    """The robots.txt of host *number* as it was at *fetched_at*."""
    body = body_of(number, fetched_at, lines)
    values: dict[str, object] = {
        "origin": origin(number),
        "access": Access.RULES,
        "outcome": 200,
        "url": origin(number).robots_url,
        "fetched_at": fetched_at,
        "lifetime": 3_600.0,
        "headers": {"etag": f'"{number}"', "content-type": "text/plain"},
        "sha256": sha256(body).hexdigest(),
        "body": body,
    }
    return RobotsRecord(**{**values, **changes})  # type: ignore[arg-type]


def never_read(number: int, failed_at: float = START, **changes: object) -> RobotsRecord:
    """Host *number* never gave its robots.txt."""
    values: dict[str, object] = {
        "origin": origin(number),
        "access": Access.UNREACHABLE,
        "outcome": Failure.TIMEOUT,
        "url": origin(number).robots_url,
        "fetched_at": 0.0,
        "lifetime": 0.0,
        "failure": Failure.TIMEOUT,
        "failures": 1,
        "failed_at": failed_at,
        "retry_in": 60.0,
    }
    return RobotsRecord(**{**values, **changes})  # type: ignore[arg-type]
