"""Every kind of line has keys, and each is found, however it is written."""

from __future__ import annotations

import pytest

from scrapy_robots_plus.protocol import RFC9309
from scrapy_robots_plus.protocol.groups import Scanner
from scrapy_robots_plus.protocol.lines import _FORGIVEN, _PREFIXES, Kind, kind_of

EXACT = {
    Kind.USER_AGENT: (b"user-agent", b"useragent"),
    Kind.ALLOW: (b"allow",),
    Kind.DISALLOW: (b"disallow",),
    Kind.SITEMAP: (b"sitemap",),
    Kind.CRAWL_DELAY: (b"crawl-delay",),
    Kind.REQUEST_RATE: (b"request-rate",),
    Kind.VISIT_TIME: (b"visit-time",),
    Kind.HOST: (b"host",),
    Kind.CLEAN_PARAM: (b"clean-param",),
    Kind.CONTENT_USAGE: (b"content-usage",),
    Kind.CONTENT_SIGNAL: (b"content-signal", b"content-signals"),
    Kind.LICENSE: (b"license",),
}
PREFIXES = {
    Kind.USER_AGENT: (b"user-agent", b"useragent", b"user agent"),
    Kind.ALLOW: (b"allow",),
    Kind.DISALLOW: (
        *(b"disallow", b"dissallow", b"dissalow", b"disalow", b"diasllow", b"disallaw"),
    ),
    Kind.SITEMAP: (b"sitemap", b"site-map"),
}
FORGIVEN: dict[Kind, tuple[bytes, ...]] = {Kind.CRAWL_DELAY: (b"crawl delay", b"crawldelay")}


def pairs(table: dict[Kind, tuple[bytes, ...]]) -> list[tuple[bytes, Kind]]:
    return [(key, kind) for kind, keys in table.items() for key in keys]


KEYS = sorted({key for table in (EXACT, PREFIXES, FORGIVEN) for key, _ in pairs(table)})


def test_each_kind_has_a_key_and_each_key_is_tested() -> None:
    known = {*_FORGIVEN, *(prefix for prefix, _ in _PREFIXES)}
    assert known == {*KEYS}, "add the keys to the tables above"
    assert {kind_of(key) for key in KEYS} == set(Kind) - {Kind.NOTHING}


@pytest.mark.parametrize(("key", "kind"), [*pairs(EXACT), *pairs(FORGIVEN), *pairs(PREFIXES)])
def test_a_key_is_known_in_any_case(key: bytes, kind: Kind) -> None:
    for written in (key, key.upper(), key.title()):
        assert kind_of(written) is kind
        assert kind_of(written, False) is (kind if key in EXACT.get(kind, ()) else Kind.NOTHING)


@pytest.mark.parametrize(("prefix", "kind"), pairs(PREFIXES))
def test_and_what_follows_the_key(prefix: bytes, kind: Kind) -> None:
    assert kind_of(prefix + b"x") is kind
    assert kind_of(prefix + b"x", False) is Kind.NOTHING
    assert kind_of(b"x" + prefix) is Kind.NOTHING


@pytest.mark.parametrize("key", KEYS)
def test_the_scanner_passes_no_key_over(key: bytes) -> None:
    """It leaves most lines of an HTML page at their first octet."""
    for written in (key, key.upper(), b"  " + key.title()):
        scanner = Scanner([b"User-agent: *", written + b": x"], RFC9309)
        (section,) = scanner.sections
        members = [line for each in section.members for line in each.lines]
        found = [*section.agents[1:], *section.rules, *members, *scanner.globals]
        assert len(found) == 1, written
