"""The linter takes no more than a small multiple of what a hostile file itself may take to parse.

Times are processor time, in loops of a million simple steps, as in ``test_hostile_files``.
"""

from __future__ import annotations

from itertools import count

import pytest

from scrapy_robots_plus.protocol import GOOGLE, RFC9309, Dialect
from scrapy_robots_plus.protocol.lint import Code, lint
from scrapy_robots_plus.protocol.lint import shadows as covers
from scrapy_robots_plus.protocol.lint.shadows import text_of
from scrapy_robots_plus.protocol.matcher import Pattern, matches

from ..hostile_files import FILES, HEAD, halves, hostile, lines
from ..worst_cases import FILE_OCTETS, full, loop, seconds, takes_less

LOOPS = 24
"""Twenty are half a second where this was written, and more than the worst file below takes there
if nothing else runs."""


def nested(size: int) -> str:
    """Rules that are all prefixes of each other, of both outcomes."""
    keys = ("Allow", "Disallow")
    return full((f"{keys[n % 2]}: /{'a' * n}" for n in count()), size=size)


def shared(size: int) -> str:
    """One large group, and a small one for each of its crawlers: each crawler has other rules."""
    agents = lines("User-agent: b{}", "")(size // 4)
    rules = lines("Disallow: /x{}", "")(size // 2)
    return agents + rules + lines("User-agent: b{}\nDisallow: /", "")(size // 4)


MORE = {
    "nested": nested,
    "shared": shared,
    "stars and literals": halves("Disallow: /x{}", "Allow: /*{}a", HEAD),
    "both outcomes": lines("Disallow: /x{}\nAllow: /y{}", f"{HEAD}Allow: /\nDisallow: /\n"),
    "joined groups": lines("User-agent: a{}\n\n", ""),
    "misspelt agents and rules": lines("useragent b{}c/1\nallow /", ""),
    "no colons": lines("allow /{}"),
    "no-break spaces": lines("\u00a0"),
    "two agents again and again": lines("user-agent:a\nallow:/", ""),
    "near keys": lines("disallo{}x: y"),
    "star lines": lines("Disallow: /" + "*a" * 7_990 + "{}"),
    "other stars": lines("Disallow: /" + "*a*b" * 3_990 + "{}\nDisallow: /*{}"),
    "long parts": lines("Disallow: /*" + "a" * 15_000 + "*b{}"),
    "names inside names": lines("User-agent: {}\nDisallow: /", ""),
    "all wrong with a rule": lines("dissalow /[a-z]$\u00a0{}"),
    "several paths": lines("Allow:/{} /b"),
    "contradictions": lines("disallow:/{}\nallow:/{}"),
    "the same agents": lines("user-agent:a\nuser-agent:a\nallow:/", ""),
    "joined by delays": lines("user-agent:a{}\ncrawl delay x\n", ""),
    "sitemaps without a colon": lines("sitemap {}", ""),
    "unknown keys": lines("x{}:", ""),
    "odd characters": lines("\u00a0{}", ""),
    "regular expressions": lines("allow:/.*{}|/.*"),
    "ranges that do not end": lines("Disallow: /" + "[a-b" * 3_990 + "{}"),
    "a range of ranges": lines("Disallow: /[" + "a-b" * 5_300 + "{}"),
    "alternatives that do not end": lines("Disallow: /(" + "|" * 15_900 + "{}"),
    "a path and much space": lines("Disallow: /a" + " " * 15_900 + "{}"),
    "two keys": lines("allow:{}sitemap:"),
    "uses": lines("Content-Usage: /{} train-ai=n, x{}\nContent-Signal: search=no, search=yes, y"),
}


def made(name: str, size: int = FILE_OCTETS) -> bytes:
    return hostile(name, size) if name in FILES else MORE[name](size).encode()


@pytest.mark.parametrize("name", [*FILES, *MORE])
def test_a_part_of_a_hostile_file_is_linted(name: str) -> None:
    assert lint(made(name, FILE_OCTETS // 32)).lines


@pytest.mark.stress
@pytest.mark.parametrize("dialect", [RFC9309, GOOGLE], ids=lambda each: each.name)
@pytest.mark.parametrize("name", [*FILES, *MORE])
def test_so_is_a_whole_one_in_any_dialect(name: str, dialect: Dialect) -> None:
    body = made(name)
    assert takes_less(lambda: lint(body, dialect), LOOPS)


def compared(body: bytes, monkeypatch: pytest.MonkeyPatch) -> int:
    """Octets of rules times octets of the rules that they are compared with."""
    octets = 0

    def count_and_match(pattern: Pattern, text: bytes) -> bool:
        nonlocal octets
        octets += len(text) * len(text_of(pattern))
        return matches(pattern, text)

    monkeypatch.setattr(covers, "matches", count_and_match)
    lint(body)
    return octets


@pytest.mark.parametrize("name", ["star lines", "other stars", "long parts", "very many stars"])
def test_long_rules_with_wildcards_are_compared_as_long_as_that_costs_little(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert compared(made(name), monkeypatch) <= 2 * 2_000_000_000


@pytest.mark.stress
@pytest.mark.parametrize("name", [*FILES, *MORE])
def test_a_file_twice_as_long_takes_twice_as_long(name: str) -> None:
    half, whole = made(name, FILE_OCTETS // 2), made(name)
    for _ in range(4):  # what grows too much does so each time; the machine's noise does not
        limit = 3.2 * seconds(lambda: lint(half)) + 0.3 * loop()  # four times would be quadratic
        if seconds(lambda: lint(whole)) < limit:
            return
    pytest.fail("it takes over three times as long")


@pytest.mark.parametrize("name", ["ends", "stars", "shared", "star lines"])
def test_what_was_left_out_is_told(name: str) -> None:
    assert lint(made(name)).findings[0].code is Code.NOT_CHECKED


def test_of_very_many_findings_of_a_kind_ten_thousand_are_listed() -> None:
    for more in (0, 1, 7):
        found = lint("User-agent: *\n" + "Disallow /a b\n" * 3 + "Disallow:a\n" * (10_000 + more))
        never = [each for each in found.findings if each.code is Code.NEVER_MATCHES]
        assert [each.line for each in never[more > 0 :]] == list(range(5, 10_005))
        if more:
            assert never[0].line is None
            assert never[0].text == f"{more} more findings of this kind are not listed."
