"""What each line means: what the engine used is told as used, in every dialect."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from scrapy_robots_plus.protocol import DIALECTS, GOOGLE, RFC9309, Dialect, RobotsTxt
from scrapy_robots_plus.protocol.fields import Field
from scrapy_robots_plus.protocol.lint import Meaning, lint
from tests.examples import tried

from ..any_file import agents, bodies, charsets

RULES = {"allow", "disallow"}
MEAN_NOTHING = {"unknown", "text", "blank", "comment"}


dialects = st.sampled_from([RFC9309, GOOGLE])


@tried(400, bodies, dialects, charsets, agents)
def test_lines_are_what_the_engine_made_of_them(
    body: bytes, dialect: Dialect, charset: str | None, agent: str
) -> None:
    file = RobotsTxt.parse(body, dialect, charset, max_bytes=250)
    linted = lint(body, dialect, charset, max_bytes=250)
    lines = {line.number: line for line in linted.lines}
    assert list(lines) == list(range(1, len(lines) + 1))
    known = [line.number for line in file.lines if line.field is not Field.NOTHING]
    assert known == [number for number, line in lines.items() if line.role not in MEAN_NOTHING]
    for number, values in enumerate(file.groups, 1):
        named = [
            line for line in linted.lines if line.group == number and line.role == "user-agent"
        ]
        assert len(named) == len(values)
    used = {number for section in file.rules_for(agent).chosen for number in section.rules}
    groups = linted.groups_of(agent)
    told = {line.number for line in linted.lines if line.role in RULES and line.group in groups}
    assert told == used
    for field in (Field.CRAWL_DELAY, Field.REQUEST_RATE, Field.VISIT_TIME):
        for line in file.members(agent, field):
            assert lines[line.number].role == field.key
            assert lines[line.number].group in groups


@tried(200, bodies, dialects, charsets)
def test_findings_are_of_lines_that_there_are_and_sorted(
    body: bytes, dialect: Dialect, charset: str | None
) -> None:
    linted = lint(body, dialect, charset)
    numbers = [finding.line or 0 for finding in linted.findings]
    assert numbers == sorted(numbers)
    assert all(0 <= number <= max(1, len(linted.lines)) for number in numbers)


def meaning(line: str, before: str = "User-agent: *\n", dialect: Dialect = RFC9309) -> Meaning:
    """The meaning of a line below another one."""
    return lint(before + line, dialect).lines[-1]


@pytest.mark.parametrize(
    ("line", "role", "words"),
    [
        ("User-agent: *", "user-agent", "for all crawlers"),
        ("User-agent: Foobot/1", "user-agent", "for foobot"),
        ("User-agent: MJ12bot", "user-agent", "for mj12bot"),
        ("User-agent:", "user-agent", "for nobody"),
        ("Allow: /a", "allow", "allows what begins with /a"),
        ("Disallow: /", "disallow", "denies everything"),
        ("Disallow: *", "disallow", "denies everything"),
        ("Disallow: a", "disallow", "denies nothing"),
        ("Disallow: /a*", "disallow", "denies what begins with /a"),
        ("Disallow: /a$", "disallow", "denies only /a"),
        ("Disallow: /*.php$", "disallow", "denies paths like /*.php$"),
        ("Disallow: /*?", "disallow", "denies paths like /*?"),
        ("Crawl-delay: 2.50", "crawl-delay", "2.5 s between requests"),
        ("Request-rate: 3/1m", "request-rate", "3 in 60 s"),
        ("Request-rate: 1/5 0600-0845", "request-rate", "1 in 5 s, 06:00-08:45 UTC"),
        ("Visit-time: 0600-0845", "visit-time", "06:00-08:45 UTC"),
        ("Sitemap: https://x.example/s", "sitemap", "a sitemap"),
        ("Host: x.example", "host", "the host name that the site prefers"),
        ("Clean-param: a /b", "clean-param", "query parameters that change nothing"),
        (f"Clean-param: {500 * 'a'} /b", "clean-param", "ignored"),
        ("License: https://x.example/l", "license", "a license"),
        ("Sitemap\thttps://x.example/s", "sitemap", "a sitemap"),
        (
            "Content-Usage: ai-use=n, search=y",
            "content-usage",
            "ai-use: disallow, search: allow",
        ),
        (
            "Content-Usage: /a search=n",
            "content-usage",
            "search: disallow, for what begins with /a",
        ),
        ("Content-Usage: / search=n", "content-usage", "search: disallow, for everything"),
        ("Content-Usage: /a$ search", "content-usage", "search: unknown, for only /a"),
        ("Content-Usage: ai=n", "content-usage", "no preference"),
        ("Content-Usage: /a", "content-usage", "no preference, for what begins with /a"),
        (
            "Content-Signal: ai-input=no, search=yes",
            "content-signal",
            "ai-use: disallow, search: allow",
        ),
        ("Content-Signal: search=no,search=no", "content-signal", "search: disallow"),
        ("Content-Signal: ai=no", "content-signal", "no preference"),
    ],
)
def test_what_a_line_means_in_words(line: str, role: str, words: str) -> None:
    found = meaning(line)
    assert (found.role, found.words) == (role, words)


@pytest.mark.parametrize(
    ("line", "role"),
    [
        ("Disallow:", "disallow"),
        ("Crawl-delay: soon", "crawl-delay"),
        ("Request-rate: 1", "request-rate"),
        ("Visit-time: 99", "visit-time"),
        ("Crawl-delay:", "crawl-delay"),
        ("Sitemap:", "sitemap"),
        ("Foo: bar", "unknown"),
        ("a b c", "text"),
    ],
)
def test_a_line_without_effect_is_ignored(line: str, role: str) -> None:
    found = meaning(line)
    assert (found.role, found.words) == (role, "ignored")


def test_lines_outside_of_groups_are_ignored() -> None:
    for line in ("Disallow: /a", "Crawl-delay: 1", "Content-Signal: search=yes"):
        assert meaning(line, before="").words == "ignored"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("Content-Signal: search=yes,ai-train=no", "train-ai: disallow, for all crawlers"),
        (
            "Content-Usage: /a train-ai=n, search=y",
            "train-ai: disallow, for what begins with /a, for all crawlers",
        ),
    ],
)
def test_but_for_what_they_disallow(line: str, words: str) -> None:
    found = meaning(line, before="")
    assert (found.words, found.group) == (words, None)


def test_blank_lines_and_comments_mean_nothing() -> None:
    assert [meaning(line).role for line in ("  ", "# a", " #")] == [
        "blank",
        "comment",
        "comment",
    ]


def test_a_line_without_a_key_has_nothing_else_either() -> None:
    found = meaning("# a")
    assert found == Meaning(2, "# a", "comment", None, "")


def test_a_file_is_checked_as_rfc_9309_or_google_says() -> None:
    text = "Disallow: /a\nUser-agent: *\n\nDisallow: /*b\nDisallow:"
    assert lint(text, GOOGLE).dialect is GOOGLE
    for dialect in DIALECTS.values():
        if dialect is not GOOGLE:
            assert lint(text, dialect).dialect is RFC9309
            assert lint(text, dialect).findings == lint(text).findings


def test_text_and_number_are_as_served() -> None:
    found = meaning("  DISALLOW :  /\u00e9 # why")
    assert (found.number, found.text) == (2, "  DISALLOW :  /\u00e9 # why")
    assert lint(b"Sitemap: \xe9").lines[0].text == "Sitemap: \\xe9"


def test_the_groups_of_a_crawler_have_the_numbers_of_their_lines() -> None:
    text = "User-agent: a\nDisallow: /\nUser-agent: *\nAllow: /\nUser-agent: a\nDisallow: /b"
    linted = lint(text)
    assert [line.group for line in linted.lines] == [1, 1, 2, 2, 3, 3]
    assert linted.groups_of("a/1.0") == (1, 3)
    assert linted.groups_of("other") == (2,)
    assert lint("").groups_of("a") == ()


def test_a_role_is_its_word() -> None:
    """Users read them in JSON: one may be added, none renamed."""
    words = [
        *("user-agent", "allow", "disallow", "sitemap", "crawl-delay", "request-rate"),
        *("visit-time", "host", "clean-param", "content-usage", "content-signal", "license"),
        *("unknown", "blank", "comment", "text"),
    ]
    lines = [*(f"{word}: 1" for word in words[:13]), "", "# a comment", "some more words"]
    assert [line.role for line in lint("\n".join(lines)).lines] == words


def test_rules_before_all_groups_may_be_for_all() -> None:
    body = "Disallow: /x\nUser-agent: a\nDisallow: /y\n"
    rule, agent, other = lint(body, RFC9309._replace(name="mine", orphans_for_all=True)).lines
    assert (rule.group, rule.words) == (1, "denies what begins with /x")
    assert (agent.group, agent.words, other.group) == (2, "for a", 2)
