"""What changed between two files: every example changed, and what rules change is found."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from contextlib import redirect_stdout
from io import StringIO
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_robots_plus.protocol import (
    FIRST_MATCH,
    GYM2008,
    MK1996,
    RFC9309,
    Dialect,
    RobotsTxt,
)
from scrapy_robots_plus.protocol.difference import PathChange, Terms, difference
from tests.protocol.any_file import dialects
from tests.protocol.hostile_files import hostile
from tests.protocol.worst_cases import FILE_OCTETS, takes_less, untraced

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy_robots_plus.protocol import Verdict
    from scrapy_robots_plus.protocol.difference import Difference

SITE = "http://site.example"
ROOT = Path(__file__).parent.parent.parent

# Few octets, so that most rules interact; escapes that dialects read in different ways.
LITERAL = ["a", "b", "/", "?", "~", "%7e", "%41", "é", "%2f", "'", "%25"]
OF_PATHS = ["a", "b", "/", "?", "~", "%7E", "A", "%41", "%C3%A9", "%2F", "'", "%27", "%25", "z"]


def files(octets: list[str]) -> st.SearchStrategy[str]:
    """Texts of files whose rules are made of these."""
    patterns = st.one_of(
        st.lists(st.sampled_from(octets), max_size=6).map(lambda parts: "/" + "".join(parts)),
        st.sampled_from(["", "/", "/robots.txt", "/a/index.html"]),
    )
    rules = st.tuples(st.sampled_from(["Allow", "Disallow"]), patterns).map(": ".join)
    groups = st.tuples(
        st.sampled_from(["User-agent: *", "User-agent: bot", "User-agent: bot\nUser-agent: *", ""]),
        st.lists(rules, max_size=6),
    ).map(lambda group: "\n".join([group[0], *group[1]]))
    return st.lists(groups, min_size=1, max_size=3).map("\n".join)


literal, bodies = files(LITERAL), files([*LITERAL, "*", "*", "$"])
paths = st.lists(st.sampled_from(OF_PATHS), max_size=8).map(lambda parts: "/" + "".join(parts))
asked = st.lists(st.one_of(paths, st.just("/robots.txt")), min_size=30, max_size=30)


@st.composite
def edited(draw: st.DrawFn, body: str) -> str:
    """*body* with a line taken out, put elsewhere, or repeated: most of two versions is alike."""
    lines = body.split("\n")
    line = lines.pop(draw(st.integers(0, len(lines) - 1)))
    kept = draw(st.sampled_from([0, 1, 2]))
    for _ in range(kept):
        lines.insert(draw(st.integers(0, len(lines))), line)
    return "\n".join(lines)


@st.composite
def pairs(draw: st.DrawFn, texts: st.SearchStrategy[str]) -> tuple[str, str]:
    first = draw(texts)
    return first, draw(st.one_of(texts, edited(first), st.just(first)))


def verdict(file: RobotsTxt, path: str) -> Verdict:
    return file.verdict(SITE + path, "bot")


def check(before: RobotsTxt, after: RobotsTxt, sampled: Iterable[str]) -> Difference:
    found = difference(before, after, "bot")
    assert found.complete
    classes = set()
    for change in found.paths:
        assert 1 <= len(change.examples) == len(set(change.examples)) <= 3
        for path in change.examples:
            assert verdict(before, path) == change.before
            assert verdict(after, path) == change.after
        assert change.before.allowed is not change.after.allowed
        assert (change.before, change.after) not in classes
        classes.add((change.before, change.after))
    for path in sampled:
        told = verdict(before, path), verdict(after, path)
        if told[0].allowed is not told[1].allowed:
            assert told in classes, path
    return found


@given(pairs(literal), asked)
def test_of_rules_without_wildcards_no_change_is_missed(
    texts: tuple[str, str], sampled: list[str]
) -> None:
    before, after = map(RobotsTxt.parse, texts)
    check(before, after, sampled)


open_ended = st.lists(
    st.from_regex(r"(Allow|Disallow): /[ab]{0,2}\*{0,3}", fullmatch=True), min_size=1, max_size=4
).map(lambda rules: "\n".join(["User-agent: *", *rules]))


@given(pairs(open_ended))
def test_nor_of_those_with_wildcards_at_their_ends_alone(texts: tuple[str, str]) -> None:
    before, after = map(RobotsTxt.parse, texts)
    paths = (f"/{''.join(letters)}" for n in range(4) for letters in product("abc", repeat=n))
    check(before, after, paths)


@given(pairs(bodies), dialects, dialects)
def test_every_example_changed(texts: tuple[str, str], one: Dialect, other: Dialect) -> None:
    check(RobotsTxt.parse(texts[0], one), RobotsTxt.parse(texts[1], other), [])


@given(bodies, dialects)
def test_a_file_does_not_differ_from_itself(body: str, dialect: Dialect) -> None:
    found = difference(RobotsTxt.parse(body, dialect), RobotsTxt.parse(body, dialect), "bot")
    assert not found
    assert (found.paths, found.complete) == ((), True)


@given(pairs(bodies))
def test_there_and_back_are_the_same_paths(texts: tuple[str, str]) -> None:
    before, after = map(RobotsTxt.parse, texts)
    there, back = difference(before, after, "bot"), difference(after, before, "bot")
    assert {(each.before, each.after) for each in there.paths} == {
        (each.after, each.before) for each in back.paths
    }


def changes(before: str, after: str, dialect: Dialect = RFC9309) -> list[tuple[str, ...]]:
    """Each class in words, with its examples."""
    head = "User-agent: *\n"
    one, other = (RobotsTxt.parse(head + body, dialect) for body in (before, after))
    found = difference(one, other, "bot")
    assert found.complete
    return [(_told(each.before), _told(each.after), *each.examples) for each in found.paths]


def _told(verdict: Verdict) -> str:
    return verdict.rule or str(verdict.reason)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("", "Disallow: /a", [("no_rule", "Disallow: /a", "/a")]),
        ("Disallow: /a/", "", [("Disallow: /a/", "no_rule", "/a/")]),
        ("Disallow: /a", "Disallow: /a\nDisallow: /ab", []),
        ("Disallow: /a", "Allow: /a", [("Disallow: /a", "Allow: /a", "/a")]),
        ("Allow: /*a", "Disallow: /*a", [("Allow: /*a", "Disallow: /*a", "/a")]),
        ("Disallow: /ab\nDisallow: /a", "Disallow: /a", []),
        ("Disallow: /*.pdf$", "Disallow: /*.pdf", [("no_rule", "Disallow: /*.pdf", "/a.pdfa")]),
        ("Disallow: /a*", "Disallow: /a", []),
        ("Disallow: /%61", "Disallow: /a", []),
        ("Disallow: *", "Disallow: /", []),
        # A star at the end is an octet more.
        ("Allow: /*\nDisallow: /b", "Disallow: /b", [("Allow: /*", "Disallow: /b", "/b")]),
        ("Disallow: /b", "Allow: /*\nDisallow: /b", [("Disallow: /b", "Allow: /*", "/b")]),
        (
            "Disallow: /a/*$\nAllow: /a/b",
            "Disallow: /a/\nAllow: /a/b",
            [("Disallow: /a/*$", "Allow: /a/b", "/a/b")],
        ),
        (
            "Disallow: /a**c\nAllow: /ab*",
            "Disallow: /a*c\nAllow: /ab*",
            [("Disallow: /a**c", "Allow: /ab*", "/abc")],
        ),
        ("Disallow: nothing", "", []),  # no path begins with an n
        ("Disallow: /%zz", "", []),  # no URL has such an escape
        ("Disallow: /100%", "", [("Disallow: /100%", "no_rule", "/100%25")]),
        ("Disallow: /robots.txt$", "", []),  # is always allowed
    ],
)
def test_changes_of_a_rule(before: str, after: str, expected: list[tuple[str, ...]]) -> None:
    assert [each[:3] for each in changes(before, after)] == expected


def test_a_rule_for_an_index_page_is_also_one_for_its_folder() -> None:
    found = changes("Disallow: /a\nAllow: /a/index.html", "Disallow: /a")
    assert found == [
        ("Allow: /a/index.html", "Disallow: /a", "/a/", "/a/index.html", "/a/index.htmlb")
    ]


def test_each_rule_that_decides_is_named_with_its_line() -> None:
    before = RobotsTxt.parse("User-agent: *\nDisallow: /a\nDisallow: /b\n")
    after = RobotsTxt.parse("User-agent: *\n\nAllow: /a/open\nDisallow: /c\n")
    found = difference(before, after, "bot")
    lines = [(each.before.line, each.after.line, each.allowed) for each in found.paths]
    assert lines == [(2, None, True), (3, None, True), (2, 3, True), (None, 4, False)]
    assert found.paths[3].after.group == ("*",)


def test_what_else_changed() -> None:
    before = RobotsTxt.parse(
        "User-agent: *\nCrawl-delay: 2\nRequest-rate: 1/5s\nVisit-time: 0600-0700\n"
        "Sitemap: /old\nSitemap: /both"
    )
    after = RobotsTxt.parse("User-agent: Bot/2\nUser-agent: x\nSitemap: /both\nSitemap: /new")
    found = difference(before, after, "bot")
    assert found
    assert found.paths == ()
    assert (found.before.names, found.after.names) == (("*",), ("bot",))
    assert (found.before.crawl_delay, found.after.crawl_delay) == (2, None)
    assert found.before.request_rate == before.request_rate("bot")
    assert found.before.visit_time == before.visit_time("bot")
    assert found.after == Terms(("bot",), sitemaps=frozenset({"/both", "/new"}))
    assert difference(before, RobotsTxt.parse(""), "bot").after == Terms()


@pytest.mark.parametrize(
    "line", ["Crawl-delay: 1", "Request-rate: 1/5s", "Visit-time: 0600-0700", "Sitemap: /a"]
)
def test_each_of_these_alone_is_a_difference(line: str) -> None:
    plain = RobotsTxt.parse("User-agent: *\n")
    other = RobotsTxt.parse(f"User-agent: *\n{line}")
    assert difference(plain, other, "bot")
    assert difference(other, plain, "bot")


def test_the_order_of_sitemaps_is_no_difference() -> None:
    one, other = (RobotsTxt.parse(f"Sitemap: /{a}\nSitemap: /{b}") for a, b in ("ab", "ba"))
    assert not difference(one, other, "bot")


def versions(size: int) -> tuple[str, str]:
    """A file of *size* rules, some with wildcards, and its next version."""
    word = random.Random(5).randrange
    kinds = ["Disallow: /{}/", "Disallow: /*?p{}=", "Disallow: /{}/*.css$", "Disallow: /a/{}.html"]
    lines = [kinds[number % 4].format(word(10**6)) for number in range(size)]
    return "\n".join(lines), "\n".join(
        [*lines[: size // 2], "Disallow: /*&new=", *lines[size // 2 + 3 :]]
    )


def test_a_changed_version_of_a_long_file_is_compared_completely() -> None:
    before, after = versions(100)
    found = changes(before, after)
    assert len(found) >= 4
    assert {"Disallow: /*&new="} == {each[1] for each in found} - {"no_rule"}


@untraced()
def test_thousands_of_literal_rules_are_compared_completely() -> None:
    before, after = ("\n".join(f"Disallow: /{step * n}/" for n in range(3000)) for step in (7, 11))
    found = changes(before, after)
    both = set(range(0, 21_000, 7)) ^ set(range(0, 33_000, 11))
    assert {each[2] for each in found} >= {f"/{number}/" for number in both}


@pytest.mark.parametrize(
    ("name", "octets"),
    [
        ("stars", FILE_OCTETS // 4),
        *(
            pytest.param(each, FILE_OCTETS, marks=pytest.mark.stress)
            for each in ("stars", "chains", "escapes")
        ),
    ],
)
@untraced()
def test_a_search_that_would_take_too_long_ends_and_says_so(name: str, octets: int) -> None:
    file = RobotsTxt.parse(hostile(name, octets))
    other = RobotsTxt.parse("User-agent: *\nDisallow: /z\n")
    searches: list[Difference] = []
    most = 100 * octets / FILE_OCTETS
    assert takes_less(lambda: searches.append(difference(file, other, "bot")), most)
    found = searches[0]
    assert not found.complete
    for change in found.paths:
        assert verdict(file, change.examples[0]) == change.before


@untraced()
def test_so_does_a_search_among_rules_that_meet_nowhere() -> None:
    both = "User-agent: *" + "".join(f"\nDisallow: /a{n}/" for n in range(9000))
    starred = "".join(f"\nDisallow: /{n}/*x" for n in range(400))
    before, after = RobotsTxt.parse(both), RobotsTxt.parse(both + starred)
    assert not difference(before, after, "bot").complete


def test_what_is_shown_of_an_incomplete_search_is_the_same_in_each_process() -> None:
    code = """if True:
        from scrapy_robots_plus.protocol import RobotsTxt
        from scrapy_robots_plus.protocol.difference import difference
        text = "User-agent: *" + "".join(f"\\nDisallow: /*{n}*x" for n in range(900))
        found = difference(RobotsTxt.parse(text), RobotsTxt.parse(""), "bot")
        print(found.complete, found.paths)
    """
    with redirect_stdout(StringIO()) as here:
        exec(code, {})
    elsewhere = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONHASHSEED": "1"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert elsewhere.stdout == here.getvalue()
    assert elsewhere.stdout.startswith("False (PathChange")


def test_the_change_says_which_way_it_went() -> None:
    allowed, denied = (
        RobotsTxt.parse(f"User-agent: *\n{word}: /").verdict("/", "bot")
        for word in ("Allow", "Disallow")
    )
    assert PathChange(denied, allowed, ("/",)).allowed
    assert not PathChange(allowed, denied, ("/",)).allowed


@pytest.mark.parametrize("dialect", [GYM2008, MK1996, FIRST_MATCH], ids=str)
@pytest.mark.parametrize(
    ("before", "after", "path"),
    [
        ("Disallow: /a\nAllow: /", "Allow: /\nDisallow: /a", "/a"),
        ("Disallow: /\nAllow: /a%20b", "Disallow: /a%20c", "/a%20b"),
        ("Allow: /a%25\nDisallow: /", "Disallow: /", "/a%25"),
        ("Disallow:", "Disallow: /a", "/a"),
        ("Disallow: /a%23b", "", "/a%23b"),
        ("Disallow: /\nAllow: /ab", "Disallow: /z\nAllow: /ab", "/ab"),
    ],
)
def test_where_the_first_rule_decides(dialect: Dialect, before: str, after: str, path: str) -> None:
    one, other = (RobotsTxt.parse(f"User-agent: *\n{rules}", dialect) for rules in (before, after))
    found = difference(one, other, "bot")
    changed = {each for change in found.paths for each in change.examples}
    assert path in changed
    assert found.complete
