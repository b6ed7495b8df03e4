"""Verdicts name the rule, the line and the group as they stand in the file."""

from __future__ import annotations

import pytest

from scrapy_robots_plus.protocol import Explanation, Reason, RobotsTxt, Verdict

BODY = """\
# example
User-agent: Foobot/1.0
User-agent: Barbot

Disallow: /        # all but
Allow: /public
disallow : /public/*.pdf$

User-agent: *
Disallow: /caf\xe9

User-agent: foobot
Allow: /public/free.pdf
"""
FILE = RobotsTxt.parse(BODY)


def test_a_rule() -> None:
    verdict = FILE.verdict("https://e.example/public/x.pdf", "Foobot")
    assert verdict == Verdict(
        False, Reason.RULE, "disallow : /public/*.pdf$", 7, ("Foobot/1.0", "Barbot")
    )
    assert not verdict


def test_comments_are_no_part_of_a_rule() -> None:
    assert FILE.verdict("/x", "Foobot").rule == "Disallow: /"


def test_a_rule_of_a_merged_group() -> None:
    verdict = FILE.verdict("/public/free.pdf", "Foobot")
    assert (verdict.allowed, verdict.line, verdict.group) == (True, 13, ("foobot",))
    assert verdict


def test_no_rule_and_no_group() -> None:
    assert FILE.verdict("/x", "Other") == Verdict(True, Reason.NO_RULE)
    assert RobotsTxt.parse("").verdict("/x", "Other") == Verdict(True, Reason.NO_GROUP)
    assert FILE.verdict("/robots.txt", "Foobot") == Verdict(True, Reason.ROBOTS_TXT)


def test_octets_that_are_no_utf8_are_shown() -> None:
    file = RobotsTxt.parse(b"User-agent: \xe9\nUser-agent: *\nDisallow: /caf\xe9")
    verdict = file.verdict("/caf%E9", "x")
    assert (verdict.rule, verdict.group) == ("Disallow: /caf\\xe9", ("\\xe9", "*"))


def test_the_winner_and_the_beaten() -> None:
    told = FILE.explain("/public/free.pdf", "Foobot")
    assert isinstance(told, Explanation)
    assert told
    assert told.verdict.line == 13
    assert [(each.line, each.allowed) for each in told.beaten] == [
        (7, False),
        (6, True),
        (5, False),
    ]


def test_of_equal_rules_the_first_is_named() -> None:
    file = RobotsTxt.parse("User-agent: *\nDisallow: /x\nDisallow: /%78\nDisallow: /x")
    told = file.explain("/x", "bot")
    assert told.verdict.line == 2
    assert [each.line for each in told.beaten] == [3, 4]


def test_an_index_page_is_named_once() -> None:
    file = RobotsTxt.parse("User-agent: *\nAllow: /a/index.html\nDisallow: /a")
    assert [each.line for each in file.explain("/a/index.html", "bot").beaten] == [3]
    assert file.explain("/a/", "bot").verdict.line == 2


def test_groups() -> None:
    assert [(group.agents, len(group.rules)) for group in FILE.groups] == [
        (("Foobot/1.0", "Barbot"), 3),
        (("*",), 1),
        (("foobot",), 1),
    ]
    rule = FILE.groups[0].rules[2]
    assert (rule.allow, rule.pattern, rule.line) == (False, "/public/*.pdf$", 7)


def test_a_file_shows_what_it_is() -> None:
    assert repr(FILE) == "<RobotsTxt RFC9309: groups: 3, rules: 5, octets: 186>"


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_has_words(reason: Reason) -> None:
    verdict = Verdict(False, reason, robots_url="https://x.example/robots.txt")
    assert reason.words in verdict.describe()
    assert verdict.describe().endswith("https://x.example/robots.txt")
    assert Reason(reason.value) is reason  # type: ignore[call-arg]


def test_rules_of_thousands_of_groups_name_their_own() -> None:
    body = "".join(f"User-agent: *\nUser-agent: a{n}\nDisallow: /*{n}\n" for n in range(3000))
    told = RobotsTxt.parse(body).explain("/2999", "bot")
    assert told.verdict.group == ("*", "a2999")
    assert {each.group for each in told.beaten} == {
        ("*", f"a{n}") for n in (2, 29, 299, 9, 99, 999)
    }


def test_many_crawlers_may_ask_one_file() -> None:
    for number in range(200):
        assert not FILE.allowed("/x", f"foobot/{number}")
    assert not FILE.allowed("/x", "foobot")
