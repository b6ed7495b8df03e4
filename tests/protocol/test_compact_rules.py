"""Compact rules say what the compiled rules say."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from scrapy_robots_plus.protocol import (
    FIRST_MATCH,
    GYM2008,
    MK1996,
    RFC9309,
    Dialect,
    Reason,
    RobotsTxt,
    Verdict,
)
from scrapy_robots_plus.protocol.rules import deciding_pattern
from tests.examples import tried
from tests.protocol.any_file import dialects, loose, mutated, paths, patterns

MOST_RULES, MOST_OCTETS = 128, 8192
NOTHING_DECIDES = {Reason.NO_RULE, Reason.NO_GROUP}

rules = st.lists(st.tuples(st.sampled_from(["Allow", "Disallow"]), patterns), max_size=30)
written = rules.map(
    lambda pairs: "User-agent: bot\n" + "\n".join(f"{key}: {path}" for key, path in pairs)
)


@tried(
    1000,
    st.one_of(written, mutated, loose),
    dialects,
    st.lists(st.one_of(paths, st.text(max_size=30)), min_size=2, max_size=6),
)
def test_urls_with_the_same_pattern_have_the_same_verdict(
    body: bytes, dialect: Dialect, urls: list[str]
) -> None:
    rules = RobotsTxt.parse(body, dialect).rules_for("bot")
    compact = rules.compact()
    assert compact is not None
    known: dict[bytes | None, Verdict] = {}
    for url in urls:
        pattern = deciding_pattern(compact, url, dialect)
        assert known.setdefault(pattern, rules.verdict(url)) == rules.verdict(url)
        assert (pattern is None) is (rules.verdict(url).reason in NOTHING_DECIDES)


@pytest.mark.parametrize("count", [MOST_RULES, MOST_RULES + 1])
def test_many_rules_have_none(count: int) -> None:
    body = "User-agent: bot\n" + "\n".join(f"Disallow: /{number}" for number in range(count))
    compact = RobotsTxt.parse(body).rules_for("bot").compact()
    assert (compact is None) is (count > MOST_RULES)


def test_long_rules_have_none() -> None:
    body = "User-agent: bot\n" + "\n".join(f"Disallow: /{n}{'x' * 900}" for n in range(20))
    assert RobotsTxt.parse(body).rules_for("bot").compact() is None


def compact_of(text: str) -> bytes:
    compact = RobotsTxt.parse(text).rules_for("bot").compact()
    assert compact is not None
    return compact


def test_of_no_rules_none_decides() -> None:
    assert deciding_pattern(compact_of(""), "/x", RFC9309) is None


def test_robots_txt_itself_has_a_verdict_of_its_own() -> None:
    compact = compact_of("User-agent: *\nDisallow: /robots.txt")
    assert deciding_pattern(compact, "https://x.example/robots.txt", RFC9309) == b"\n"
    assert deciding_pattern(compact, "https://x.example/robots.txt?", RFC9309) == b"/robots.txt"


def test_a_star_is_an_octet_like_any_other_in_a_dialect_without_wildcards() -> None:
    rules = RobotsTxt.parse("User-agent: *\nDisallow: /a*b", MK1996).rules_for("bot")
    compact = rules.compact()
    assert compact is not None
    assert deciding_pattern(compact, "/a*b", MK1996) == b"/a*b"
    assert deciding_pattern(compact, "/axb", MK1996) is None


@pytest.mark.parametrize("dialect", [GYM2008, FIRST_MATCH])
@pytest.mark.parametrize("rule", ["Allow: /a%0Ab\nDisallow: /", "Disallow: /a%0Ad"])
def test_a_line_end_in_a_rule_makes_no_other_rule(dialect: Dialect, rule: str) -> None:
    """Some dialects undo its escape."""
    rules = RobotsTxt.parse(f"User-agent: *\n{rule}", dialect).rules_for("bot")
    compact = rules.compact()
    for url in ("/", "/a", "/a/x", "/a%0Ab", "/a%0Ad", "/d"):
        decides = rules.verdict(url).reason is Reason.RULE
        assert compact is None or (deciding_pattern(compact, url, dialect) is not None) is decides


def test_a_rule_takes_its_octets_and_one() -> None:
    compact = compact_of("User-agent: *\nDisallow: /abc\nAllow: /ab*c\nAllow: /\nDisallow: /c$")
    assert compact == b"/ab*c\n/abc\n/c$\n/\n"
    assert compact_of("User-agent: *\nDisallow: /%7e\nDisallow:") == b"/~\n"


@pytest.mark.parametrize("octets", [MOST_OCTETS, MOST_OCTETS + 1])
def test_so_many_octets_at_most(octets: int) -> None:
    rules = [f"Disallow: /{'x' * (octets // 4 - 3)}{n}" for n in range(3)]
    left = octets - sum(len(rule) - len("Disallow: ") + 1 for rule in rules)
    body = "\n".join(["User-agent: bot", *rules, f"Disallow: /{'x' * (left - 2)}"])
    compact = RobotsTxt.parse(body).rules_for("bot").compact()
    assert (compact is None) is (octets > MOST_OCTETS)
    assert compact is None or len(compact) == octets


@pytest.mark.parametrize("pattern", ["/a*b", "/a$", "/a*$", "*"])
@pytest.mark.parametrize("key", ["Allow", "Disallow"])
@pytest.mark.parametrize("dialect", [RFC9309, GYM2008, MK1996])
def test_it_knows_wildcards_from_octets(pattern: str, key: str, dialect: Dialect) -> None:
    other = "Disallow" if key == "Allow" else "Allow"
    body = f"User-agent: bot\n{key}: {pattern}\n{other}: /"
    rules = RobotsTxt.parse(body, dialect).rules_for("bot")
    compact = rules.compact()
    assert compact is not None
    for path in ("/a*b", "/axb", "/a", "/a$", "/ab", "/a*$", "*"):
        is_first = deciding_pattern(compact, path, dialect) == pattern.encode()
        assert is_first is (rules.verdict(path).line == 2), path
