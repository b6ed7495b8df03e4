"""Verdicts name the rule, the line and the group as they stand in the file."""

from __future__ import annotations

from dataclasses import fields

import pytest

from scrapy_robots_plus.protocol import (
    FIRST_MATCH,
    MK1996,
    Explanation,
    Reason,
    RobotsTxt,
    Verdict,
)

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


def test_a_verdict_leaves_out_what_it_does_not_know() -> None:
    verdict = Verdict(True, Reason.NO_GROUP)
    known = {field.name: getattr(verdict, field.name) for field in fields(verdict)}
    assert {name for name, value in known.items() if value is not None} == {"allowed", "reason"}
    assert Explanation(verdict).beaten == ()


def test_robots_txt_itself_beats_a_rule_on_the_first_line() -> None:
    file = RobotsTxt.parse("Disallow: /", FIRST_MATCH._replace(robots_txt_allowed=True))
    told = file.explain("/robots.txt", "bot")
    assert told.verdict == Verdict(True, Reason.ROBOTS_TXT)
    assert [each.line for each in told.beaten] == [1]


def test_only_rules_that_match_in_the_dialect_are_named() -> None:
    file = RobotsTxt.parse("User-agent: *\nDisallow: /a*b\nDisallow: /", MK1996)
    assert [each.line for each in file.explain("/a*b", "bot").beaten] == [3]
    assert file.explain("/axb", "bot").verdict.line == 3
    assert file.explain("/axb", "bot").beaten == ()


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
    assert FILE.groups == (("Foobot/1.0", "Barbot"), ("*",), ("foobot",))
    assert FILE.groups_for("Foobot") == (("Foobot/1.0", "Barbot"), ("foobot",))


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_has_words(reason: Reason) -> None:
    verdict = Verdict(False, reason, robots_url="https://x.example/robots.txt")
    assert verdict.describe() == reason.words.format("https://x.example/robots.txt")
    assert Reason(reason.value) is reason


def test_rules_of_thousands_of_groups_name_their_own() -> None:
    body = "".join(f"User-agent: *\nUser-agent: a{n}\nDisallow: /*{n}\n" for n in range(3000))
    told = RobotsTxt.parse(body).explain("/2999", "bot")
    assert told.verdict.group == ("*", "a2999")
    assert {each.group for each in told.beaten} == {
        ("*", f"a{n}") for n in (2, 29, 299, 9, 99, 999)
    }


def test_sixty_four_rules_that_have_decided_are_remembered() -> None:
    rules = "".join(f"Disallow: /{n}/\n" for n in range(65))
    file = RobotsTxt.parse(f"User-agent: *\n{rules}")
    first = file.verdict("/0/", "bot")
    for number in range(64):
        file.verdict(f"/{number}/", "bot")
    assert file.verdict("/0/", "bot") is first
    file.verdict("/64/", "bot")
    again = file.verdict("/0/", "bot")
    assert again == first
    assert again is not first


def test_many_crawlers_may_ask_one_file() -> None:
    for number in range(200):
        assert not FILE.allowed("/x", f"foobot/{number}")
    assert not FILE.allowed("/x", "foobot")


ROBOTS_URL = "https://x.example/robots.txt"
LONG = "/" + 999 * "x"
CUT = "/" + 499 * "x" + "..."


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        (
            Verdict(False, Reason.RULE, "Disallow: /a", 3, ("*",), ROBOTS_URL, "200"),
            f"Disallow: /a, line 3 of {ROBOTS_URL}",
        ),
        (
            Verdict(False, Reason.RULE, "Disallow: /b", 1, robots_url=ROBOTS_URL, form="/b/../b"),
            f"Disallow: /b, line 1 of {ROBOTS_URL}, because it may be sent as /b/../b",
        ),
        (Verdict(False, Reason.RULE, "Disallow: /a", 3), "Disallow: /a, line 3 of robots.txt"),
        (Verdict(False, Reason.RULE, robots_url=ROBOTS_URL), f"a rule of {ROBOTS_URL}"),
        (Verdict(False, Reason.RULE), "a rule of robots.txt"),
        (Verdict(False, Reason.RULE, LONG, 1, form=LONG), None),
        (Verdict(True, Reason.NO_RULE, robots_url=ROBOTS_URL), f"no rule of {ROBOTS_URL} matches"),
        (Verdict(True, Reason.NO_GROUP), "no group of robots.txt applies to this crawler"),
        (Verdict(True, Reason.ROBOTS_TXT), "robots.txt itself is always allowed"),
        (
            Verdict(True, Reason.UNAVAILABLE, robots_url=ROBOTS_URL, outcome="404"),
            f"{ROBOTS_URL} is unavailable (404)",
        ),
        (
            Verdict(False, Reason.UNREACHABLE, robots_url=ROBOTS_URL, outcome="timeout"),
            f"{ROBOTS_URL} cannot be read (timeout)",
        ),
        (
            Verdict(False, Reason.CRAWL_DELAY, robots_url=ROBOTS_URL, outcome="200", delay=90.5),
            f"the Crawl-delay of {ROBOTS_URL} is too long (90.5 s)",
        ),
        (
            Verdict(False, Reason.CRAWL_DELAY, robots_url=ROBOTS_URL),
            f"the Crawl-delay of {ROBOTS_URL} is too long",
        ),
        (Verdict(False, Reason.CLOSING, delay=5), "the spider closed before robots.txt was read"),
        (
            Verdict(False, Reason.WALLED, robots_url=ROBOTS_URL),
            f"the site refuses pages that {ROBOTS_URL} allows",
        ),
        (Verdict(True, Reason.NOT_HTTP), "not an HTTP URL"),
        (Verdict(False, Reason.RULE, "Disallow: /a"), "Disallow: /a, robots.txt"),
        (
            Verdict(True, Reason.NOT_OBEYED, override="partner\n"),
            "robots.txt is not obeyed; override: partner\\n",
        ),
        (Verdict(True, Reason.NOT_HTTP, override=LONG), f"not an HTTP URL; override: {CUT}"),
        (Verdict(True, Reason.NOT_HTTP, override=""), "not an HTTP URL"),
        (Verdict(False, Reason.AI_PREFERENCE), "the site does not want it used so"),
        (
            Verdict(
                False,
                Reason.AI_PREFERENCE,
                "Content-Usage: train-ai=n\n",
                3,
                robots_url=ROBOTS_URL,
                use="train-ai",
            ),
            f"Content-Usage: train-ai=n\\n, line 3 of {ROBOTS_URL}, disallows train-ai",
        ),
        (
            Verdict(
                False,
                Reason.AI_PREFERENCE,
                "noai",
                use="train-ai",
                source="X-Robots-Tag\x1b",
            ),
            "noai, X-Robots-Tag\\x1b, disallows train-ai",
        ),
    ],
)
def test_what_decided_in_words(verdict: Verdict, words: str | None) -> None:
    if words is None:
        words = f"{CUT}, line 1 of robots.txt, because it may be sent as {CUT}"
    assert verdict.describe() == words


def test_words_of_a_site_cannot_forge_a_line_nor_fill_the_screen() -> None:
    verdict = Verdict(False, Reason.RULE, "a\nb", 1, robots_url="http://x/\x1b", form="/\u202e")
    place = "line 1 of http://x/\\x1b"
    assert verdict.describe() == f"a\\nb, {place}, because it may be sent as /\\u202e"
    unreachable = Verdict(False, Reason.UNREACHABLE, robots_url=LONG)
    assert unreachable.describe() == f"{CUT} cannot be read"
    exactly = Verdict(False, Reason.UNREACHABLE, robots_url=LONG[:500])
    assert exactly.describe() == f"{LONG[:500]} cannot be read"


def test_what_a_site_says_of_uses_is_cut_short_as_well() -> None:
    header = Verdict(False, Reason.AI_PREFERENCE, LONG, source=LONG, use=LONG)
    assert header.describe() == f"{CUT}, {CUT}, disallows {CUT}"


def test_a_host_that_is_given_up_is_named() -> None:
    verdict = Verdict(False, Reason.GIVEN_UP, robots_url=ROBOTS_URL)
    assert verdict.describe() == f"the host of {ROBOTS_URL} has answered nothing but 429"


def test_reasons_are_what_stats_are_named_by() -> None:
    assert [f"{reason}" for reason in Reason] == [
        *("rule", "no_rule", "no_group", "robots_txt", "unavailable", "unreachable"),
        *("crawl_delay", "given_up", "walled", "closing", "ai_preference", "not_obeyed"),
        "not_http",
    ], "the names of stats and the values in audit logs: add one, and change none"


def test_a_verdict_and_its_explanation_are_as_true_as_what_they_allow() -> None:
    for allowed in (True, False):
        verdict = Verdict(allowed, Reason.RULE)
        assert bool(verdict) is bool(Explanation(verdict)) is allowed
    assert Explanation(Verdict(True, Reason.RULE)).beaten == ()


@pytest.mark.parametrize(
    ("body", "size"),
    [("", 0), ("\n\n", 0), ("a: b", 4), ("a: b\r\nc: d\n", 8), ("é: x\n#\n", 6), ("x\0yz\na", 2)],
)
def test_its_size_is_that_of_its_lines_in_octets(body: str, size: int) -> None:
    assert RobotsTxt.parse(body).size == size


def test_which_reasons_say_that_the_file_was_not_read() -> None:
    unread = [reason for reason in Reason if reason.is_unread]
    assert unread == [Reason.UNREACHABLE, Reason.CLOSING]
