"""Among hundreds of rules with wildcards the same one decides as among its rivals alone."""

from __future__ import annotations

import pytest

from scrapy_robots_plus.protocol import RobotsTxt
from scrapy_robots_plus.protocol.matcher import NO_RANK, Matcher, rank_of

MANY = 200
"""More than are tried one by one."""

PART = "0123456789abcdef"
LONG = PART * 3

CASES = [
    # tails
    ("Disallow: /*.pdf$", "/a.pdf", 1),
    ("Disallow: /*.pdf$", "/.pdf", 1),
    ("Disallow: /*.pdf$", "/pdf", None),
    ("Disallow: /*.pdf$", "/a.pdf?b", None),
    ("Disallow: /*/long/tail.html$", "/a", None),
    ("Disallow: /a/*a/b$", "/a/b", None),
    ("Disallow: /a/*a/b$", "/a/a/b", 1),
    # parts, one behind the other
    ("Disallow: /*aa*aa", "/aaa", None),
    ("Disallow: /*aa*aa", "/aaaa", 1),
    ("Disallow: /*aa*a$", "/aaa", 1),
    ("Disallow: /*aa*aa$", "/aaa", None),
    ("Disallow: /*b*a", "/ab", None),
    ("Disallow: /a*b", "/ab", 1),
    ("Disallow: /a*b", "/cab", None),
    ("Disallow: *b", "/ab", 1),
    ("Disallow: /a*", "/a", 1),
    # of several the longest, then the allow, then the first
    ("Disallow: /*a\nAllow: /*ab", "/ab", 2),
    ("Allow: /*ab\nDisallow: /*a", "/ab", 1),
    ("Disallow: /*a\nAllow: /*a", "/a", 2),
    ("Allow: /*a\nDisallow: /*a", "/a", 1),
    ("Disallow: /*a\nAllow: /*b", "/ab", 2),
    ("Disallow: /*a\nDisallow: /*b", "/ab", 1),
    ("Disallow: /*b\nDisallow: /*a", "/ab", 1),
    ("Disallow: /*a\nDisallow: /*a", "/a", 1),
    ("Disallow: /*a$\nAllow: /*a$", "/a", 2),
    ("Disallow: /*a$\nDisallow: /*a$", "/a", 1),
    ("Disallow: /*ba$\nDisallow: /*ab*$", "/aba", 2),
    ("Disallow: /x*a\nDisallow: /*xa", "/xa", 1),
    ("Disallow: /x*a\nAllow: /xa", "/xab", 1),
    ("Disallow: /xab\nAllow: /x*b", "/xab", 2),
    ("Disallow: /x*\nAllow: /x", "/x", 1),
    ("Allow: /x$\nDisallow: /*x", "/x", 1),
    ("Disallow: /a*b*c\nAllow: /a*c", "/abc", 1),
    ("Disallow: /a*b*d\nAllow: /a*c", "/abc", 2),
    # an empty one means nothing
    ("Disallow:\nDisallow: /*a", "/a", 2),
    # long parts, which are looked up piece by piece
    (f"Disallow: /*{PART}", f"/a{PART}", 1),
    (f"Disallow: /*{PART}", f"/a{PART[:-1]}", None),
    (f"Disallow: /*{LONG}", f"/a{LONG}", 1),
    (f"Disallow: /*{LONG}", f"/a{LONG[1:]}", None),
    (f"Disallow: /*{LONG}", f"/a{LONG[:-1]}", None),
    (f"Disallow: /*{LONG}x", f"/a{LONG}{LONG}x", 1),
    (f"Disallow: /*{LONG}*{LONG}", f"/{LONG}{LONG}", 1),
    (f"Disallow: /*{LONG}*{LONG}", f"/{LONG}{LONG[:-1]}", None),
    (f"Disallow: /*{LONG}*a", f"/a{LONG}", None),
    (f"Disallow: /*a*{LONG}", f"/{LONG[1:]}{LONG}", 1),
    (f"Disallow: /*{PART}\nDisallow: /*{PART[1:]}", f"/{PART}", 1),
]

NEVER_MATCH = {
    "other tails": "Disallow: /*~{}$",
    "other parts": "Disallow: /*~{}*",
    "other prefixes": "Disallow: /~{}*a",
    "the same part": "Disallow: /*a*~{}",
    "the same tail": "Disallow: /*~{}*b$",
}


def line_that_decides(rules: str, path: str) -> int | None:
    line = RobotsTxt.parse(f"User-agent: *\n{rules}").verdict(path, "bot").line
    return None if line is None else line - 1


@pytest.mark.parametrize(("rules", "path", "line"), CASES)
def test_of_a_few(rules: str, path: str, line: int | None) -> None:
    assert line_that_decides(rules, path) == line


@pytest.mark.parametrize("pattern", NEVER_MATCH.values(), ids=NEVER_MATCH)
@pytest.mark.parametrize("padding", ["", "?" + "=" * 300], ids=["short path", "long path"])
def test_of_many(pattern: str, padding: str) -> None:
    others = "\n".join(pattern.format(number) for number in range(MANY))
    for rules, path, line in CASES:
        if not padding or "$" not in rules:
            asked = path + padding
            assert line_that_decides(f"{rules}\n{others}", asked) == line, (rules, asked)


def matcher(literal: int = 0, starred: int = 0) -> Matcher:
    lines = [f"Disallow: /{number:05}" for number in range(literal)]
    lines += [f"Disallow: /*{number:05}" for number in range(starred)]
    compiled = RobotsTxt.parse("\n".join(["User-agent: *", *lines])).rules_for("bot").compile()
    assert isinstance(compiled, Matcher)
    return compiled


@pytest.mark.parametrize("literal", [0, 1, 128, 129])
def test_so_many_with_wildcards_are_tried_one_by_one_and_more_are_looked_up(literal: int) -> None:
    few, many = matcher(literal, 128), matcher(literal, 129)
    assert (sum(len(rules) for _, rules in few._tried), few._sought) == (128, {})
    assert (many._tried, sum(map(len, many._sought[4].values()))) == ([], 129)
    for number in (0, 127):
        assert few.best(b"/a%05d" % number) == rank_of(14, number + 2 + literal, allow=False)
    for number in (0, 128):
        assert many.best(b"/a%05d" % number) == rank_of(14, number + 2 + literal, allow=False)
    assert few.best(b"/a00128") == many.best(b"/a00129") == NO_RANK


@pytest.mark.parametrize("literal", [128, 129])
def test_of_a_few_without_wildcards_it_is_seen_at_once_whether_any_matches(literal: int) -> None:
    found = matcher(literal)
    assert (len(found._prefixes) == literal) is (literal == 128)
    assert found.best(b"/x") == NO_RANK
    assert found.best(b"/00001x") == rank_of(12, 3, allow=False)


def test_the_same_rule_a_thousand_times_is_looked_up_once() -> None:
    rules = "Disallow: /*same\n" * 1000
    found = RobotsTxt.parse(f"User-agent: *\n{rules}").rules_for("bot").compile()
    assert isinstance(found, Matcher)
    assert [len(each) for each in found._sought[4].values()] == [1]
    assert line_that_decides(rules, "/same") == 1


@pytest.mark.parametrize(
    ("rules", "path", "line"),
    [
        # A trailing star counts for the length of a rule, but not for what it matches.
        ("Allow: /a*\nDisallow: /ab", "/ab", 1),
        ("Disallow: /a*\nAllow: /ab", "/ab", 2),
        ("Disallow: /a**\nAllow: /ab", "/ab", 1),
        ("Disallow: /a*\nAllow: /a", "/ab", 1),
        ("Disallow: /abc\nAllow: /ab", "/ab", 2),
        ("Disallow: /abc\nAllow: /ab", "/abc", 1),
        ("Disallow: /abc\nAllow: /ab", "/a", None),
        ("Disallow: /ab\nAllow: /ab", "/ab", 2),
        ("Allow: /ab\nDisallow: /ab", "/ab", 1),
        ("Disallow: /ab\nDisallow: /ab", "/ab", 1),
    ],
)
def test_of_those_without_wildcards_the_longest_decides(
    rules: str, path: str, line: int | None
) -> None:
    assert line_that_decides(rules, path) == line
    others = "\n".join(f"Disallow: /other/{number}" for number in range(MANY))
    assert line_that_decides(f"{rules}\n{others}", path) == line
