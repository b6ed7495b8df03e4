"""The linter takes no more than a small multiple of what a hostile file itself may take to parse.

Times are processor time, in loops of a million simple steps, as in ``test_hostile_files``.
"""

from __future__ import annotations

from itertools import count

import pytest

from scrapy_robots_plus.protocol import GOOGLE, RFC9309, Dialect
from scrapy_robots_plus.protocol import lint as linter
from scrapy_robots_plus.protocol.lint import lint

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
    assert lint(made(name, FILE_OCTETS // 128)).lines


@pytest.mark.stress
@pytest.mark.parametrize("dialect", [RFC9309, GOOGLE], ids=lambda each: each.name)
@pytest.mark.parametrize("name", [*FILES, *MORE])
def test_so_is_a_whole_one_in_any_dialect(name: str, dialect: Dialect) -> None:
    body = made(name)
    assert takes_less(lambda: lint(body, dialect), LOOPS)


@pytest.mark.stress
@pytest.mark.parametrize("name", [*FILES, *MORE])
def test_a_file_twice_as_long_takes_twice_as_long(name: str) -> None:
    half, whole = made(name, FILE_OCTETS // 2), made(name)
    for _ in range(4):  # what grows too much does so each time; the machine's noise does not
        limit = 3.2 * seconds(lambda: lint(half)) + 0.3 * loop()  # four times would be quadratic
        if seconds(lambda: lint(whole)) < limit:
            return
    pytest.fail("it takes over three times as long")


@pytest.mark.parametrize("most", [500, pytest.param(50_000, marks=pytest.mark.stress)])
def test_fifty_thousand_findings_are_listed(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert linter._MOST == 50_000
    monkeypatch.setattr(linter, "_MOST", most)
    found = lint("User-agent: *\n" + "Allow:a\n" * (most + 1)).findings
    assert [each.line for each in found] == list(range(2, most + 2))
