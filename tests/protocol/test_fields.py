"""Every field has keys, and each is found, however it is written."""

from __future__ import annotations

import pytest

from scrapy_robots_plus.protocol import RFC9309
from scrapy_robots_plus.protocol.fields import _BEGINNINGS, _FORGIVEN, Field, field_of, read_line
from scrapy_robots_plus.protocol.groups import Groups

EXACT = {
    Field.USER_AGENT: (b"user-agent", b"useragent"),
    Field.ALLOW: (b"allow",),
    Field.DISALLOW: (b"disallow",),
    Field.SITEMAP: (b"sitemap",),
    Field.CRAWL_DELAY: (b"crawl-delay",),
    Field.REQUEST_RATE: (b"request-rate",),
    Field.VISIT_TIME: (b"visit-time",),
    Field.HOST: (b"host",),
    Field.CLEAN_PARAM: (b"clean-param",),
    Field.CONTENT_USAGE: (b"content-usage",),
    Field.CONTENT_SIGNAL: (b"content-signal", b"content-signals"),
    Field.LICENSE: (b"license",),
}
PREFIXES = {
    Field.USER_AGENT: (b"user-agent", b"useragent", b"user agent"),
    Field.ALLOW: (b"allow",),
    Field.DISALLOW: (
        *(b"disallow", b"dissallow", b"dissalow", b"disalow", b"diasllow", b"disallaw"),
    ),
    Field.SITEMAP: (b"sitemap", b"site-map"),
}
FORGIVEN: dict[Field, tuple[bytes, ...]] = {Field.CRAWL_DELAY: (b"crawl delay", b"crawldelay")}


def pairs(table: dict[Field, tuple[bytes, ...]]) -> list[tuple[bytes, Field]]:
    return [(key, field) for field, keys in table.items() for key in keys]


KEYS = sorted({key for table in (EXACT, PREFIXES, FORGIVEN) for key, _ in pairs(table)})


def test_each_kind_has_a_key_and_each_key_is_tested() -> None:
    known = {*_FORGIVEN, *(key for keys in _BEGINNINGS.values() for key in keys)}
    assert known == {*KEYS}, "add the keys to the tables above"
    assert {field_of(key) for key in KEYS} == set(Field) - {Field.NOTHING}


@pytest.mark.parametrize(("key", "field"), [*pairs(EXACT), *pairs(FORGIVEN), *pairs(PREFIXES)])
def test_a_key_is_known_in_any_case(key: bytes, field: Field) -> None:
    for written in (key, key.upper(), key.title()):
        assert field_of(written) is field
        assert field_of(written, False) is (field if key in EXACT.get(field, ()) else Field.NOTHING)


@pytest.mark.parametrize(("prefix", "field"), pairs(PREFIXES))
def test_and_what_follows_the_key(prefix: bytes, field: Field) -> None:
    assert field_of(prefix + b"x") is field
    assert field_of(prefix + b"x", False) is Field.NOTHING
    assert field_of(b"x" + prefix) is Field.NOTHING


@pytest.mark.parametrize("key", KEYS)
def test_no_key_is_passed_over(key: bytes) -> None:
    """It leaves most lines of an HTML page at their first octet."""
    for written in (key, key.upper(), b"  " + key.title()):
        groups = Groups([b"User-agent: *", written + b": x"], RFC9309)
        (section,) = groups.sections
        found = [*section.agents[1:], *section.rules, *section.members, *groups.globals]
        assert len(found) == 1, written


@pytest.mark.parametrize("between", [" ", "\t", "  ", " \t "])
@pytest.mark.parametrize("url", ["https://x.example/s.xml", "http://x.example/s.xml"])
def test_a_sitemap_without_a_colon_of_its_own(between: str, url: str) -> None:
    line = read_line(1, f"Sitemap{between}{url}".encode())
    assert line == (1, Field.SITEMAP, b"Sitemap", url.encode())


def test_a_key_that_only_ends_in_a_scheme_is_none() -> None:
    line = read_line(1, b"sitemap-https: /x")
    assert line is not None
    assert (line.key, line.value) == (b"sitemap-https", b"/x")
