"""Rules that change nothing: removing them changes no verdict, in any dialect."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import product

import pytest
from hypothesis import strategies as st

from scrapy_robots_plus.protocol import GOOGLE, RFC9309, Dialect, RobotsTxt
from scrapy_robots_plus.protocol.lint import Code, Finding, lint, shadows
from scrapy_robots_plus.protocol.lint.shadows import _disjoint
from scrapy_robots_plus.protocol.matcher import take_apart
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
    beaten = {each.line for each in lint(body, dialect).findings if _never_decides(each)}
    file = RobotsTxt.parse(body, dialect)
    for path, agent in product(asked, AGENTS):
        assert file.verdict(path, agent).line not in beaten


def _never_decides(finding: Finding) -> bool:
    if finding.code is Code.SHADOWED_RULE:
        return "wins" in finding.text
    return finding.code in CHANGE_NOTHING


def found_in(text: str, dialect: Dialect = RFC9309) -> list[tuple[int | None, str, str]]:
    findings = lint(text, dialect).findings
    return [(each.line, str(each.code), each.text) for each in findings]


def codes(text: str, dialect: Dialect = RFC9309) -> dict[int | None, str]:
    return {line: code for line, code, _ in found_in(text, dialect)}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Disallow: /", "Disallow: /a"),
        ("Disallow: *", "Disallow: /a*b$"),
        ("Disallow: /a", "Disallow: /a*b"),
        ("Disallow: /a", "Disallow: /a$"),
        ("Disallow: /*.php", "Disallow: /*x.php$"),
        ("Disallow: /*?", "Disallow: /a?b"),
        ("Disallow: /*a*b", "Disallow: /*a*c*b"),
        ("Disallow: *a", "Disallow: /b*a"),
        ("Allow: /a", "Allow: /a/b"),
        ("Disallow: */b", "Disallow: /*/b"),
    ],
)
def test_a_narrower_rule_that_says_the_same_is_found(first: str, second: str) -> None:
    text = f"User-agent: *\n{first}\n{second}"
    words = f"Line 2 says the same about these paths: {first}"
    assert found_in(text) == [(3, "shadowed-rule", words)]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Disallow: /a", "Disallow: /b"),
        ("Disallow: /*a", "Disallow: /*b"),
        ("Disallow: /*a*b", "Disallow: /*b*a"),
        ("Disallow: /a$", "Disallow: /a/b"),
        ("Disallow: /*/b", "Disallow: /b"),
        ("Disallow: /*.php$", "Disallow: /*.php5"),
        ("Disallow: /", "Allow: /a"),
        ("Allow: /a", "Disallow: /a$"),
        ("Allow: /", "Disallow: /a"),
    ],
)
def test_rules_that_both_count_are_not_found(first: str, second: str) -> None:
    assert found_in(f"User-agent: *\n{first}\n{second}") == []


def test_a_longer_pattern_for_the_same_paths_or_more_wins() -> None:
    text = "User-agent: *\nAllow: /a\nDisallow: /b\nDisallow: /a*"
    assert found_in(text) == [
        (
            2,
            "shadowed-rule",
            "Line 4 matches all these paths and wins: Disallow: /a*",
        ),
    ]
    assert codes("User-agent: *\nAllow: /a.b\nDisallow: /*.b*****") == {2: "shadowed-rule"}


def test_an_allow_in_between_keeps_a_narrower_disallow_alive() -> None:
    assert found_in("User-agent: *\nDisallow: /\nAllow: /a\nDisallow: /a/b") == []
    assert found_in("User-agent: *\nDisallow: /\nAllow: /*b\nDisallow: /a/bc") == []
    assert found_in("User-agent: *\nDisallow: /\nAllow: /a/*c$\nDisallow: /a/*b*d") == []
    for allow in ("/c", "/c*b"):
        text = f"User-agent: *\nDisallow: /\nAllow: {allow}\nDisallow: /a/b"
        assert codes(text) == {4: "shadowed-rule"}


def test_so_it_does_among_others_that_have_nothing_to_do_with_it() -> None:
    for others in ("Allow: /0", "Allow: /z", "Allow: /0\nAllow: /z"):
        text = f"User-agent: *\nDisallow: /\n{others}\nAllow: /a/x\nDisallow: /a*****b"
        assert codes(text) == {}


def test_what_is_in_between_may_end_differently() -> None:
    text = "User-agent: *\nDisallow: /\nAllow: /*.js$\nDisallow: /lib*.css$"
    assert codes(text) == {4: "shadowed-rule"}


def test_a_duplicate_is_named_with_the_first_of_its_kind() -> None:
    text = "User-agent: *\nDisallow: /a\nDisallow: /%61\ndisallow: /a"
    words = "Line 2 matches all these paths and wins: Disallow: /a"
    assert found_in(text) == [(3, "shadowed-rule", words), (4, "shadowed-rule", words)]


@pytest.mark.parametrize("path", ["/a", "/*a", "/a$", "/*a$", "/a*b", "*"])
def test_of_two_equal_rules_one_changes_nothing(path: str) -> None:
    rule = f"Disallow: {path}\n"
    assert codes(f"User-agent: *\n{rule}{rule}") == {3: "shadowed-rule"}


def test_the_same_rule_is_named_in_each_process() -> None:
    """Of two that say the same: line 4 to the crawler ``a*``, and line 6 to ``a``."""
    text = "User-agent: a*\nAllow: /a$\nSitemap: /\nAllow: /a\nUser-agent: a\nAllow: /*a"
    code = f"from {lint.__module__} import lint; print(lint({text!r}).findings)"
    said = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            check=True,
            capture_output=True,
        ).stdout
        for seed in range(6)
    }
    assert len(said) == 1


def test_groups_that_are_merged_are_looked_at_together() -> None:
    text = "User-agent: a\nDisallow: /\n\nUser-agent: a\nDisallow: /x\nUser-agent: b\nDisallow: /x"
    assert codes(text) == {4: "duplicate-user-agent", 5: "shadowed-rule"}


def test_a_rule_that_counts_for_one_of_two_crawlers_counts() -> None:
    shared = "User-agent: a\nUser-agent: b\nDisallow: /x\nUser-agent: a\nDisallow: /"
    assert codes(shared) == {4: "duplicate-user-agent"}


@pytest.mark.parametrize(
    ("between", "changes_nothing"),
    [
        ("Allow: /a*x", True),
        ("Allow: /a*c", False),
        ("Allow: /abcd", False),
        ("Allow: /*cd$", False),
        ("Allow: /*e$", True),
        ("Allow: /*d$", False),
    ],
)
def test_a_rule_for_a_single_path(between: str, changes_nothing: bool) -> None:
    text = f"User-agent: *\nDisallow: /\n{between}\nDisallow: /abcd$"
    assert (4 in codes(text)) is changes_nothing


@pytest.mark.parametrize(
    ("between", "changes_nothing"), [("Allow: /a/x$", True), ("Allow: /a/b$", False)]
)
def test_a_single_path_between_two_rules(between: str, changes_nothing: bool) -> None:
    text = f"User-agent: *\nDisallow: /\n{between}\nDisallow: /a*****b"
    assert (4 in codes(text)) is changes_nothing


def test_a_rule_that_stands_for_two_patterns() -> None:
    """``Allow: /a/index.html`` also allows ``/a/``, as Google reads it."""
    both = "User-agent: *\nDisallow: /\nAllow: /*/index.htm\nAllow: /a/index.html"
    words = "Line 3 says the same about these paths: Allow: /*/index.htm"
    assert found_in(both) == [(4, "shadowed-rule", words)]
    beaten_as_written = "User-agent: *\nAllow: /a\nAllow: /a/index.html\nDisallow: /a/index.htm**"
    words = "Line 2 says the same about these paths: Allow: /a"
    assert found_in(beaten_as_written) == [(3, "shadowed-rule", words)]
    one = "User-agent: *\nDisallow: /\nAllow: /a/index.h\nAllow: /a/index.html"
    assert found_in(one) == []


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("Disallow: /*.php\nDisallow: /*x.php$", 3),  # says the same as a weaker one
        ("Allow: /*a.b\nDisallow: /*.b*****", 2),  # is beaten by a stronger one
    ],
)
def test_rules_are_compared_up_to_a_limit(
    text: str, line: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    octets = len(text.replace("Disallow: ", "").replace("Allow: ", "")) + 2 * 20 + 1
    monkeypatch.setattr(shadows, "_MOST_STEPS", octets**2)
    assert codes(f"User-agent: *\n{text}") == {line: "shadowed-rule"}
    monkeypatch.setattr(shadows, "_MOST_STEPS", 40**2)
    assert codes(f"User-agent: *\n{text}") == {None: "not-checked"}


@pytest.mark.parametrize(
    ("first", "second", "disjoint"),
    [
        (b"/a*b", b"/axb$", False),
        (b"/a*b", b"/axc$", True),
        (b"/axb$", b"/a*b", False),
        (b"/axb$", b"/b*", True),
        (b"/a*b", b"/c*d", True),
    ],
)
def test_patterns_that_end_exactly_are_compared_as_paths(
    first: bytes, second: bytes, disjoint: bool
) -> None:
    patterns = (take_apart(pattern) for pattern in (first, second))
    assert _disjoint(*patterns) is disjoint


def test_rules_that_lead_to_each_other_are_all_found() -> None:
    text = "User-agent: *\nDisallow: /a\nDisallow: /a/b\nDisallow: /a/b/*c\nDisallow: /a/b/xc$"
    assert [line for line, code, _ in found_in(text) if code == "shadowed-rule"] == [3, 4, 5]
    assert codes(f"{text}\nAllow: /a/b") == {3: "shadowed-rule", 5: "shadowed-rule"}
