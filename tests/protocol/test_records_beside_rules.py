"""Lines that are not rules: kept with their numbers, and without any effect on groups or rules."""

from __future__ import annotations

import pytest

from scrapy_robots_plus.protocol import DIALECTS, CleanParam, Dialect, RobotsTxt
from scrapy_robots_plus.protocol.fields import FILE_WIDE as FIELDS_OF_THE_FILE
from scrapy_robots_plus.protocol.fields import Field
from scrapy_robots_plus.protocol.robotstxt import clean_param

RULES = (
    "User-agent: a",
    "User-agent: b",
    "Disallow: /x",
    "Allow: /x/y",
    "User-agent: *",
    "Disallow: /z",
)
URLS = ("/", "/x", "/x/y", "/z")
MEMBERS = {
    Field.REQUEST_RATE: "Request-rate: 1/5",
    Field.VISIT_TIME: "Visit-time: 0600-0845",
    Field.CONTENT_USAGE: "Content-Usage: /x train-ai=n",
    Field.CONTENT_SIGNAL: "Content-Signal: search=yes, ai-train=no",
}
FILE_WIDE = {
    Field.LICENSE: "License: https://rsl.example/license.xml",
    Field.HOST: "Host: www.example",
    Field.CLEAN_PARAM: "Clean-param: sid /shop/",
}
OTHERS = {
    *(Field.NOTHING, Field.USER_AGENT, Field.ALLOW, Field.DISALLOW),
    *(Field.SITEMAP, Field.CRAWL_DELAY),
}
"""Lines that make the groups, and those that end the agents of one in some dialects."""


def answers(lines: tuple[str, ...], dialect: Dialect) -> tuple[object, ...]:
    """What the rules of a file say to all its crawlers."""
    file = RobotsTxt.parse("\n".join(lines), dialect)
    names = ("a", "b", "c")
    return (
        [[file.allowed(url, name) for url in URLS] for name in names],
        [file.groups_for(name) for name in names],
        file.groups,
        [file.rules_for(name).compact() for name in names],
    )


def test_every_kind_of_record_is_tested_here() -> None:
    fields = {*MEMBERS, *FILE_WIDE, *OTHERS}
    assert fields == set(Field), "add a line of the new field to MEMBERS or FILE_WIDE above"
    assert set(FILE_WIDE) == FIELDS_OF_THE_FILE - OTHERS, "what is for all agents is in FILE_WIDE"


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=str)
@pytest.mark.parametrize("record", [*MEMBERS.values(), *FILE_WIDE.values()])
def test_a_record_between_any_two_lines_changes_no_verdict(record: str, dialect: Dialect) -> None:
    without = answers(RULES, dialect)
    for at in range(len(RULES) + 1):
        lines = (*RULES[:at], record, *RULES[at:])
        assert answers(lines, dialect) == without, at


@pytest.mark.parametrize(("field", "record"), FILE_WIDE.items())
def test_records_for_the_whole_file_are_kept_with_their_numbers(field: Field, record: str) -> None:
    key, _, value = record.partition(": ")
    for at in range(len(RULES) + 1):
        lines = [*RULES[:at], record, *RULES[at:], f"{key}:"]
        found = list(RobotsTxt.parse("\n".join(lines)).file_wide(field))
        assert [(line.number, line.value.decode()) for line in found] == [(at + 1, value)]


@pytest.mark.parametrize(("field", "record"), MEMBERS.items())
@pytest.mark.parametrize(
    ("at", "names"),
    [(0, ""), (1, "a"), (2, "ab"), (3, "ab"), (4, "ab"), (5, "c"), (6, "c")],
)
def test_records_of_a_group_are_kept_with_their_numbers(
    field: Field, record: str, at: int, names: str
) -> None:
    """Those between user-agent lines were written for the agents above them."""
    file = RobotsTxt.parse("\n".join((*RULES[:at], record, *RULES[at:])))
    for name in "abc":
        numbers = [line.number for line in file.members(name, field)]
        assert numbers == ([at + 1] if name in names else [])


def test_a_license_may_be_repeated_and_is_a_whole_url() -> None:
    file = RobotsTxt.parse(
        "License: https://a.example/l\nUser-agent: *\nLICENSE:https://b.example/l # why\n"
        "license: https://a.example/l\nLicense: /relative\nLicense:\nLicense: none\n"
        "License: HTTP://C.example\n"
    )
    assert file.licenses == ("https://a.example/l", "https://b.example/l", "HTTP://C.example")
    assert [line.number for line in file.file_wide(Field.LICENSE)] == [1, 3, 4, 5, 7, 8]
    assert RobotsTxt.parse("").licenses == ()


@pytest.mark.parametrize(
    ("value", "want"),
    [
        ("sid", CleanParam(("sid",))),
        ("sid /shop/", CleanParam(("sid",), "/shop/")),
        ("sid&ref\t /shop/*.php", CleanParam(("sid", "ref"), "/shop/*.php")),
        ("sid /a b  c", CleanParam(("sid",), "/a b  c")),
        ("sid&&ref&", CleanParam(("sid", "ref"))),
        ("&", CleanParam(())),
        ("", CleanParam(())),
    ],
)
def test_a_clean_param_has_names_and_a_path(value: str, want: CleanParam) -> None:
    assert clean_param(value) == want


SIGNAL, USAGE = "Content-Signal: search=yes", "Content-Usage: train-ai=n"


@pytest.mark.parametrize(
    ("lines", "apart"),
    [
        ((SIGNAL,), [1]),
        ((USAGE, SIGNAL), [1, 2]),
        ((SIGNAL, "User-agent: *", "Disallow: /"), [1]),
        (("Disallow: /x", SIGNAL, "User-agent: *"), [2]),
        (("Sitemap: /x", SIGNAL), [2]),
        (("User-agent: *", SIGNAL), []),
        (("User-agent: *", "Disallow: /", SIGNAL), []),
        (("User-agent: *", "Disallow: /", "Sitemap: /x", SIGNAL), []),
        (("User-agent: *", "Disallow: /", "", SIGNAL), [4]),
        (("User-agent: *", "Disallow: /", "# x", SIGNAL), []),
        (("User-agent: *", "Disallow: /", "Nonsense: x", SIGNAL), []),
        (("User-agent: *", "Disallow: /", "", SIGNAL, "", USAGE), [4, 6]),
        (("User-agent: *", "Disallow: /", "", "Sitemap: /x", SIGNAL), [5]),
        (("User-agent: *", "Disallow: /", "", "Nonsense: x", SIGNAL), [5]),
        (("User-agent: *", "Disallow: /", "", "Crawl-delay: 1", SIGNAL), []),
        (("User-agent: *", "Disallow: /", "", "User-agent: a", SIGNAL), []),
        (("User-agent: *", "", SIGNAL), []),
        (("User-agent: *", "", "Disallow: /", SIGNAL), []),
        (("User-agent: *", SIGNAL, "", USAGE), [4]),
        (("User-agent: *", "Crawl-delay: 1", "", USAGE), [4]),
    ],
)
def test_lines_about_uses_are_for_all_above_the_groups_and_behind_a_blank_line(
    lines: tuple[str, ...], apart: list[int]
) -> None:
    file = RobotsTxt.parse("\n".join(lines))
    assert [line.number for line in file.uses_for_all] == apart
