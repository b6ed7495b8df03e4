"""What is different between two versions of a file, found in time for the crawl to go on."""

from __future__ import annotations

import hashlib
import itertools
import time
from typing import Any

import pytest
from scrapy.settings import Settings
from scrapy.utils.test import get_crawler

from scrapy_robots_plus.crawl.clock import DEFAULT_CLOCK
from scrapy_robots_plus.origins.changes import RobotsChange, change_between
from scrapy_robots_plus.origins.policy import Policy
from scrapy_robots_plus.protocol.access import Access, access_of
from scrapy_robots_plus.protocol.origin import Origin
from scrapy_robots_plus.settings.robots_settings import RobotsSettings
from scrapy_robots_plus.storage.record import RobotsRecord
from tests.crawl.parsers_in_use import OURS, PlainParser, read

SETTINGS = RobotsSettings.from_settings(Settings({"ROBOTSTXT_OBEY": True}))
STATS = get_crawler().stats
ORIGIN = Origin("http", "x.example", 80)
LARGEST = 512_000


def policy_of(body: bytes, parser: Any = OURS) -> Policy:
    record = RobotsRecord(
        *(ORIGIN, Access.RULES, 200, ORIGIN.robots_url, time.time(), 60.0),
        sha256=hashlib.sha256(body).hexdigest(),
    )
    return Policy(record, read(body, parser), SETTINGS, DEFAULT_CLOCK, STATS)


def without_file(status: int) -> Policy:
    access = access_of(status, SETTINGS.status_policy)
    record = RobotsRecord(ORIGIN, access, status, ORIGIN.robots_url, time.time(), 60.0)
    return Policy(record, None, SETTINGS, DEFAULT_CLOCK, STATS)


@pytest.mark.parametrize(
    ("before", "after", "tightened", "loosened"),
    [
        ("Disallow: /a", "Disallow: /b", ["Disallow: /b"], ["Disallow: /a"]),
        ("Disallow: /a\nAllow: /a/b", "Disallow: /a", ["Allow: /a/b"], []),
        ("Disallow: /a", "Disallow: /a\nAllow: /a/b", [], ["Allow: /a/b"]),
        ("Disallow:", "Disallow: /", ["Disallow: /"], []),
        ("Disallow: /a", "# the same\nDisallow: /a", [], []),
    ],
)
def test_what_is_tightened_and_what_is_loosened(
    before: str, after: str, tightened: list[str], loosened: list[str]
) -> None:
    change = change_between(
        policy_of(f"User-agent: *\n{before}".encode()),
        policy_of(f"User-agent: *\n{after}".encode()),
        "Foobot",
    )
    assert change == RobotsChange(tuple(tightened), tuple(loosened))


def test_rules_for_others_are_not_told() -> None:
    before = policy_of(b"User-agent: Foobot\nDisallow: /a\n")
    after = policy_of(b"User-agent: Foobot\nDisallow: /a\n\nUser-agent: *\nDisallow: /\n")
    assert change_between(before, after, "Foobot") == RobotsChange()
    assert change_between(before, after, "Barbot") == RobotsChange(("Disallow: /",))


def test_a_file_that_is_gone_loosens_all_and_one_that_cannot_be_read_closes_all() -> None:
    rules = policy_of(b"User-agent: *\nDisallow: /a\n")
    assert change_between(rules, without_file(404), "Foobot") == RobotsChange((), ("Disallow: /a",))
    closed = without_file(503)
    assert change_between(rules, closed, "Foobot") == RobotsChange(
        ("Disallow: /",), ("Disallow: /a",)
    )
    assert change_between(closed, rules, "Foobot") == RobotsChange(
        ("Disallow: /a",), ("Disallow: /",)
    )


def test_what_is_found_unchanged_is_no_change() -> None:
    before = policy_of(b"User-agent: *\nDisallow: /a\n")
    renewed = Policy(before.record, before.file, SETTINGS, DEFAULT_CLOCK, STATS)
    assert change_between(before, renewed, "Foobot") is None
    assert change_between(without_file(404), without_file(410), "Foobot") is None


def test_of_another_parser_no_rules_are_told_but_the_change_is() -> None:
    before, after = (policy_of(body, PlainParser) for body in (b"/a", b"/b"))
    assert change_between(before, after, "Foobot") == RobotsChange()


MANY = b"User-agent: *\n" + b"Disallow: /a\n" * 100
FEW = b"User-agent: *\nDisallow: /a\n"


def largest(line: str, mark: str) -> bytes:
    """As many lines as are read of a file, no two of them the same."""
    lines = (f"{line}{mark}{number:x}\n" for number in itertools.count())
    octets, found = LARGEST - 14, ["User-agent: *\n"]
    while (octets := octets - len(text := next(lines))) >= 0:
        found.append(text)
    return "".join(found).encode()


def test_new_sitemaps_are_told_and_known_ones_are_not() -> None:
    before, after = policy_of(b"Sitemap: /a\nSitemap: /b\n"), policy_of(b"Sitemap: /b\nSitemap: /c")
    assert change_between(before, after, "Foobot") == RobotsChange(added=("/c",))


def test_a_file_of_nothing_but_new_sitemaps_or_rules_is_compared_in_seconds() -> None:
    for line in ("Sitemap:", "Allow:/", "Disallow:/*"):
        before, after = policy_of(largest(line, "a")), policy_of(largest(line, "b"))
        began = time.process_time()
        change = change_between(before, after, "Foobot")
        assert time.process_time() - began < 15
        assert change is not None
        assert len(change.added + change.tightened + change.loosened) > 20_000
