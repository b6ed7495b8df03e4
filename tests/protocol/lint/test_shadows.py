"""Rules that change nothing: removing them changes no verdict, in any dialect."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest
from hypothesis import strategies as st

from scrapy_robots_plus.protocol import GOOGLE, RFC9309, Dialect, RobotsTxt
from scrapy_robots_plus.protocol.lint import Code, lint
from tests.examples import tried

CHANGE_NOTHING = {Code.SHADOWED_RULE, Code.NEVER_MATCHES}

dialects = st.sampled_from([RFC9309, GOOGLE])
patterns = st.one_of(
    st.text("/a*", max_size=6).map(lambda text: f"/{text}"),
    st.text("/ab*$%?", max_size=7),
    st.sampled_from(["/a/index.html", "/*/index.htm", "/%61", "/%2Fa", "*", "/", "/a b", "/*$"]),
)
rules = st.tuples(st.sampled_from(["Allow", "Disallow"]), patterns).map(": ".join)
agents = st.sampled_from(["User-agent: *", "User-agent: a", "User-agent: b"])
files = st.lists(st.one_of(rules, rules, rules, rules, agents), max_size=14).map(
    lambda lines: ["User-agent: *", *lines]
)
# In normal form: a raw space is never sent.
paths = st.one_of(
    st.text("/ab", max_size=7), st.text("/ab?$*%", max_size=9), st.just("a/index.html")
).map(lambda text: f"/{text}")
AGENTS = ("a", "b", "other")


def without(lines: list[str], numbers: set[int]) -> bytes:
    """The file, with a rule that matches nothing in place of each of these lines: a group without
    rules would mean something else."""
    kept = ("Disallow: -" if number in numbers else line for number, line in enumerate(lines, 1))
    return "\n".join(kept).encode()


def verdicts(body: bytes, dialect: Dialect, asked: list[str]) -> list[bool]:
    file = RobotsTxt.parse(body, dialect)
    return [file.allowed(path, agent) for path, agent in product(asked, AGENTS)]


def numbers_of(lines: list[str], dialect: Dialect) -> Iterator[int]:
    for finding in lint("\n".join(lines), dialect).findings:
        if finding.code in CHANGE_NOTHING:
            assert finding.line
            yield finding.line


@tried(400, files, dialects, st.lists(paths, min_size=20, max_size=40), st.data())
def test_what_changes_nothing_can_be_removed_alone_together_and_in_part(
    lines: list[str], dialect: Dialect, asked: list[str], data: st.DataObject
) -> None:
    found = set(numbers_of(lines, dialect))
    before = verdicts("\n".join(lines).encode(), dialect, asked)
    some = data.draw(st.sets(st.sampled_from(sorted(found)))) if found else set()
    for removed in ({number} for number in found), (found, some):
        for numbers in removed:
            assert verdicts(without(lines, numbers), dialect, asked) == before, numbers


@tried(400, files, dialects, st.lists(paths, min_size=20, max_size=40))
def test_a_rule_that_another_one_beats_or_that_never_matches_never_decides(
    lines: list[str], dialect: Dialect, asked: list[str]
) -> None:
    body = "\n".join(lines).encode()
    beaten = set(numbers_of(lines, dialect))
    file = RobotsTxt.parse(body, dialect)
    for path, agent in product(asked, AGENTS):
        assert file.verdict(path, agent).line not in beaten


def shadowed(rules: str, dialect: Dialect = RFC9309) -> dict[int | None, str]:
    findings = lint(f"User-agent: *\n{rules}", dialect).findings
    return {each.line: each.text for each in findings if each.code is Code.SHADOWED_RULE}


@pytest.mark.parametrize("path", ["/a", "/*a", "/a$", "/*a$", "/a*b", "*"])
def test_of_two_equal_rules_the_first_is_named(path: str) -> None:
    words = "Line 2 is about the same paths and wins."
    rule = f"Disallow: {path}\n"
    assert shadowed(rule * 3) == {3: words, 4: words}


def test_rules_are_equal_if_they_mean_the_same() -> None:
    assert list(shadowed("Disallow: /a\nDisallow: /%61\ndisallow: /a*")) == [2, 3]
    assert list(shadowed("Disallow: /a'\nDisallow: /a%27")) == [3]
    assert shadowed("Disallow: /a'\nDisallow: /a%27", GOOGLE) == {}


def test_of_an_allow_and_a_disallow_the_allow_wins_unless_it_is_shorter() -> None:
    assert list(shadowed("Disallow: /a\nAllow: /a")) == [2]
    assert list(shadowed("Allow: /a\nDisallow: /a*")) == [2]


@pytest.mark.parametrize("other", ["/", "/b", "/a/b", "/a$", "/*a"])
def test_rules_about_other_paths_are_no_finding(other: str) -> None:
    for keys in ("Disallow", "Disallow"), ("Allow", "Disallow"), ("Disallow", "Allow"):
        assert shadowed(f"{keys[0]}: /a\n{keys[1]}: {other}") == {}


def test_groups_are_looked_at_one_by_one() -> None:
    assert shadowed("Disallow: /a\nUser-agent: b\nDisallow: /a\nUser-agent: *\nAllow: /a") == {}


def test_a_rule_that_stands_for_two_patterns_is_shadowed_if_both_are() -> None:
    """``Allow: /a/index.html`` also allows ``/a/``, as Google reads it."""
    index = "Allow: /a/index.html"
    assert shadowed(f"{index}\nDisallow: /a/index.html*") == {}
    assert list(shadowed(f"{index}\nDisallow: /a/$")) == [3]
    both = "Disallow: /a/index.html*\nAllow: /a/$"
    assert list(shadowed(f"{both}\n{index}")) == [4]
