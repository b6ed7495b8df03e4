"""What is different between two versions of a file, found in time for the crawl to go on."""

from __future__ import annotations

import hashlib
import itertools
import time

from scrapy.settings import Settings
from scrapy.utils.test import get_crawler

from scrapy_robots_plus import RobotsParser
from scrapy_robots_plus.crawl.clock import DEFAULT_CLOCK
from scrapy_robots_plus.crawl.parsers.parsed_file import ParsedFile
from scrapy_robots_plus.crawl.policies.changes import RobotsChange, change_between
from scrapy_robots_plus.crawl.policies.policy import Policy
from scrapy_robots_plus.crawl.settings import RobotsSettings
from scrapy_robots_plus.policy.access import Access
from scrapy_robots_plus.policy.origin import Origin
from scrapy_robots_plus.policy.record import RobotsRecord

SETTINGS = RobotsSettings.from_settings(Settings({"ROBOTSTXT_OBEY": True}))
ORIGIN = Origin("http", "x.example", 80)
LARGEST = 512_000


def policy_of(body: bytes) -> Policy:
    record = RobotsRecord(
        *(ORIGIN, Access.RULES, 200, ORIGIN.robots_url, time.time(), 60.0),
        sha256=hashlib.sha256(body).hexdigest(),
    )
    file = ParsedFile(RobotsParser.from_crawler(None, body))
    return Policy(record, file, SETTINGS, DEFAULT_CLOCK, get_crawler().stats)


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
