"""A file written back says to each crawler what it said before."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import strategies as st

from scrapy_robots_plus.protocol import (
    DIALECTS,
    FIRST_MATCH,
    GYM2008,
    RFC9309,
    Dialect,
    RobotsTxt,
    dialect,
)
from tests.examples import tried

if TYPE_CHECKING:
    from collections.abc import Iterable

BODY = """\
# for all
user-agent : *
Disallow: /private  # comment
Crawl-Delay: 5
Sitemap: /sitemap.xml

User-agent: Foobot/1.0
Crawl-delay: 1
User-agent: barbot
request-rate: 1/10s 0600-0845
Crawl-delay: never
Visit-time: 0600-0845
allow: /caf\u00e9*$
Disallow:
"""

WRITTEN = """\
User-agent: Foobot/1.0
Crawl-delay: 1
User-agent: barbot
Request-rate: 1/10s 0600-0845
Visit-time: 0600-0845
Allow: /caf\u00e9*$
Disallow: 

User-agent: *
Crawl-delay: 5
Disallow: /private"""  # noqa: W291 - an empty rule


def test_groups_for_all_come_last_and_each_agent_keeps_its_pace() -> None:
    assert RobotsTxt.parse(BODY).as_text() == WRITTEN
    assert RobotsTxt.parse(WRITTEN).as_text() == WRITTEN


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("", ""),
        ("Disallow: /", ""),
        ("User-agent: a", "User-agent: a"),
        ("User-agent: a\nUser-agent: *\nAllow: /", "User-agent: a\nUser-agent: *\nAllow: /"),
        ("User-agent: a\nDisallow: /\x1b", "User-agent: a\nDisallow: /\x1b"),
        ("User-agent: *\nUser-agent: a", "User-agent: *\nUser-agent: a"),
        ("User-agent: a\nCrawl-delay: 2\nUser-agent: b", None),
        ("User-agent: a\nCrawl-delay: soon", "User-agent: a"),
        (
            "User-agent: a\nCrawl-delay: soon\nCrawl-delay: now\nUser-agent: b",
            "User-agent: a\nCrawl-delay: soon\nUser-agent: b",
        ),
    ],
)
def test_of_little(body: str, text: str | None) -> None:
    assert RobotsTxt.parse(body).as_text() == (body if text is None else text)


def test_agents_keep_apart_from_the_next_whose_delay_is_not_theirs() -> None:
    body = "User-agent: a\nCrawl-delay: soon\nUser-agent: b\nCrawl-delay: 2\nDisallow: /x"
    assert written(body).crawl_delay("a") is None
    assert written(body).crawl_delay("b") == 2


def test_a_group_without_rules_gets_none_from_the_next() -> None:
    assert written("User-agent: *\nDisallow: /\nUser-agent: a").allowed("/x", "a")


def test_octets_that_are_not_utf_8_are_escaped() -> None:
    file = written(b"User-agent: *\nDisallow: /caf\xe9%2f\xc3\xa9*$")
    assert file.as_text() == "User-agent: *\nDisallow: /caf%E9%2F%C3%A9*$"
    assert not file.allowed("/caf%E9%2F%C3%A9", "a")


def test_groups_stay_in_order_where_the_first_one_counts() -> None:
    body = "User-agent: *\nDisallow: /\n\nUser-agent: a\nAllow: /"
    assert not written(body, FIRST_MATCH).allowed("/x", "a")
    body = "User-agent: *\nUser-agent: a\nDisallow: /\n\nUser-agent: a\nAllow: /"
    assert not written(body, replace(GYM2008, star_comes_last=False)).allowed("/x", "a")


@pytest.mark.parametrize(
    "dialect",
    [replace(RFC9309, order=dialect.Order.FIRST), replace(RFC9309, allow_wins_ties=False)],
    ids=["the first rule", "the first of equals"],
)
def test_rules_stay_in_order_where_the_first_one_wins(dialect: Dialect) -> None:
    body = "User-agent: *\nUser-agent: a\nDisallow: /x\n\nUser-agent: a\nAllow: /x"
    assert not written(body, dialect).allowed("/x", "a")


def written(body: str | bytes, dialect: Dialect = RFC9309) -> RobotsTxt:
    """The file, written and read again; octets are what they are, in all dialects."""
    return RobotsTxt.parse(RobotsTxt.parse(body, dialect, "utf-8").as_text(), dialect)


AGENTS = ("a", "b", "foo", "f\xe9", "f\ufffdo", "\\xe9", "*", "")

keys = st.sampled_from(
    [
        *(b"User-agent: ", b"User-agent: ", b"useragent ", b"Allow: ", b"Disallow: "),
        *(b"disallow:", b"Dissalow ", b"Crawl-delay: ", b"Request-rate: ", b"Visit-time: "),
        *(b"Sitemap: ", b"Content-Signal: ", b"Other: ", b"", b" ", b"#"),
    ]
)
agent_values = st.sampled_from([*(name.encode() for name in AGENTS), b"f\xe9o", b"* a", b"a/1 #"])
path_pieces = st.sampled_from(
    [
        *(b"/", b"/a", b"a", b"b", b"*", b"$", b"?", b"#", b" ", b"%", b"%4", b"1", b"%2f", b"%41"),
        *(b"\xe9", b"\xc3\xa9", b"\xc3", b"\xed\xa0\x80", b"\\", b"/index.html", b"\x0b", b"\0"),
    ]
)
path_values = st.lists(path_pieces, max_size=6).map(b"".join)
pace_values = st.sampled_from([b"1", b"2.5", b"soon", b"1/5", b"1/5s 0600-0845", b"0600 0845"])
lines = st.tuples(keys, st.one_of(agent_values, agent_values, path_values, pace_values))
files = st.lists(lines.map(b"".join), max_size=16).map(b"\n".join)


@st.composite
def odd_dialects(draw: st.DrawFn) -> Dialect:
    """Dialects of one's own; in none a Sitemap, which is not written, ends a run of agents."""
    flags = ["blank_line_ends_group", "orphans_for_all", "star_comes_last", "allow_wins_ties"]
    flags += ["dollar_counts", "wildcards", "index_is_slash", "empty_decides", "forgiving"]
    changes: dict[str, Any] = {flag: draw(st.booleans()) for flag in flags}
    return replace(
        RFC9309,
        **changes,
        names=draw(st.sampled_from(dialect.Names)),
        choice=draw(st.sampled_from(dialect.Choice)),
        order=draw(st.sampled_from(dialect.Order)),
        escapes=draw(st.sampled_from(dialect.Escapes)),
    )


def answers(file: RobotsTxt, urls: Iterable[bytes]) -> dict[str, object]:
    return {
        agent: (
            [file.allowed(url, agent) for url in urls],
            file.crawl_delay(agent),
            file.request_rate(agent),
            file.visit_time(agent),
        )
        for agent in AGENTS
    }


@tried(
    600,
    files,
    st.one_of(st.sampled_from(list(DIALECTS.values())), odd_dialects()),
    st.lists(path_values, min_size=1, max_size=4),
)
def test_it_gives_the_same_answers(body: bytes, dialect: Dialect, paths: list[bytes]) -> None:
    file = RobotsTxt.parse(body, dialect, "utf-8")
    urls = [b"/", b"/a", b"/caf%C3%A9", *paths]
    assert answers(written(body, dialect), urls) == answers(file, urls)
    assert written(body, dialect).as_text() == file.as_text()
