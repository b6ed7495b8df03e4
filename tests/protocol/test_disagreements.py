"""Where RFC9309 answers otherwise than a test of another suite: an example for each row of the
tables in docs/compliance.md, in the same order.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from scrapy_robots_plus.protocol import GOOGLE, RobotsTxt

PAGE = Path(__file__).resolve().parents[2] / "docs" / "compliance.md"


class Case(NamedTuple):
    """*file*: its lines, joined by ``|``."""

    row: str
    """What the cell "they expect" begins with."""
    file: str
    agent: str | list[str]
    url: str
    allowed: bool


CASES = [
    Case("`ツ` in a URL", "User-agent: *|Disallow: /bar/ツ", "Foobot", "/bar/%E3%83%84", False),
    Case("`ツ` in a URL", "User-agent: *|Disallow: /bar/baz", "Foobot", "/bar/%62%61%7A", False),
    Case("crawler `Foo Bar`", "User-agent: Foo|Disallow: /", "Foo Bar", "/x", False),
    Case("several names", "User-agent: agent5|Disallow: /5", "agent5 agent2 *", "/5", False),
    Case("several names", "User-agent: agent2|Disallow: /2", "agent5 agent2 *", "/2", True),
    Case("several names", "User-agent: agent2|Disallow: /2", ["agent5", "agent2"], "/2", False),
    Case("`User-agent: a b`", "User-agent: a b|Disallow: /", "a", "/x", False),
    Case("`User-agent: a b`", "User-agent: a b|Disallow: /", "b", "/x", True),
    Case("`%24`, `%2A` match", "User-agent: *|Disallow: /a%24", "Foobot", "/a$", True),
    Case("`%24`, `%2A` match", "User-agent: *|Disallow: /a%24", "Foobot", "/a%24", False),
    Case("a final `$`", "User-agent: *|Disallow: /a$", "Foobot", "/a$", True),
    Case("a final `$`", "User-agent: *|Disallow: /a$", "Foobot", "/a", False),
    Case("`%3D` is `=`", "User-agent: *|Disallow: /a%3D", "Foobot", "/a=", True),
    Case("`desallow`", "User-agent: *|Desallow: /", "Foobot", "/x", True),
    Case("`desallow`", "Useg-agent: *|Disallow: /", "Foobot", "/x", True),
    Case("tags are stripped", "User-agent: *|<b>Disallow: /x</b>", "Foobot", "/x", True),
    Case("over 300 s", "User-agent: *|Crawl-delay: 600", "Foobot", "/x", True),
    Case("an unknown line", "User-agent: a|Unknown: 1|User-agent: b|Disallow: /", "a", "/x", False),
    Case("`user agent` alone", "User-agent: a|user agent|Disallow: /", "a", "/x", False),
    Case("`hedwig` is for", "User-agent: hedwig|Disallow: /", "hedwig-images", "/x", True),
    Case(
        "`user agent harry", "User-agent: a|user agent harry potter|Disallow: /", "a", "/x", False
    ),
    Case("`foo*bot` has", "User-agent: foo*bot|Disallow: /", "foo", "/x", False),
    Case("`foo*bot` has", "User-agent: foo*bot|Disallow: /", "foobot", "/x", True),
    Case("`Disallow: http", "User-agent: *|Disallow: http://a.example/x", "a", "/x", True),
    Case("rules without", "Disallow: /", "Foobot", "/x", True),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rules(case: Case) -> None:
    file = RobotsTxt.parse(case.file.replace("|", "\n"))
    assert file.allowed(case.url, case.agent) is case.allowed


@pytest.mark.parametrize(
    ("text", "agent", "url"),
    [
        ("User-agent: Foo\nDisallow: /", "Foo Bar", "/x"),
        ("User-agent: *\nDisallow: /bar/baz", "Foobot", "/bar/%62%61%7A"),
    ],
)
def test_google_agrees_with_google(text: str, agent: str, url: str) -> None:
    assert not RobotsTxt.parse(text).allowed(url, agent)
    assert RobotsTxt.parse(text, GOOGLE).allowed(url, agent)


def delay(file: str, agent: str) -> float | None:
    return RobotsTxt.parse(file.replace("|", "\n")).crawl_delay(agent)


FIELDS = {
    "for all": lambda: delay("Crawl-delay: 5|User-agent: *|Disallow: /x", "a") is None,
    "a negative delay": lambda: (
        delay("User-agent: a|Crawl-delay: -5|User-agent: *|Crawl-delay: 2", "a") is None
    ),
    "too many digits": lambda: delay(f"User-agent: *|Crawl-delay: {'9' * 40}", "a") == 1e40,
    "names as above": lambda: delay("User-agent: b|Crawl-delay: 2", "a b") is None,
    "`user agent harry potter` as": lambda: (
        delay("User-agent: a|Crawl-delay: 1|user agent harry potter|Crawl-delay: 2", "a") == 2
    ),
    "a bare URL": lambda: RobotsTxt.parse("http://a.example/sitemap.xml").sitemaps == (),
    "resolved": lambda: RobotsTxt.parse("Sitemap: /sitemap.xml").sitemaps == ("/sitemap.xml",),
    "octets that are": lambda: (
        RobotsTxt.parse(b"Sitemap: http://a.example/\xc2").sitemaps == ("http://a.example/\\xc2",)
    ),
    "`Sitemap index:`": lambda: (
        RobotsTxt.parse("Sitemap index: http://a.example/s").sitemaps == ("http://a.example/s",)
    ),
}


@pytest.mark.parametrize("row", FIELDS)
def test_other_fields(row: str) -> None:
    assert FIELDS[row]()


def test_each_row_has_an_example() -> None:
    section = PAGE.read_text().partition("## Where RFC9309")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| .*? \| (.*?) \| .*? \| .*? \|$", section, re.MULTILINE)
    expected = [row for row in rows if row not in ("they expect", "---")]
    named = [*dict.fromkeys(case.row for case in CASES), *FIELDS]
    assert len(expected) == len(named)
    assert [
        row for row, start in zip(expected, named, strict=True) if not row.startswith(start)
    ] == []
