"""The linter takes no more than a small multiple of what a hostile file itself may take to parse.

Times are processor time, in loops of a million simple steps, as in ``test_hostile_files``.
"""

from __future__ import annotations

from itertools import count

import pytest

from scrapy_robots_plus.protocol import FIRST_MATCH, GYM2008, RFC9309, Dialect
from scrapy_robots_plus.protocol.lint import Code, lint

from ..hostile_files import FILES, HEAD, halves, hostile, lines
from ..worst_cases import FILE_OCTETS, full, loop, seconds

LOOPS = 160
"""A file of 500 KiB takes some 40 loops at most, one second where this was written."""


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
    "near keys": lines("disallo{}x: y"),
    "names inside names": lines("User-agent: {}\nDisallow: /", ""),
    "uses": lines("Content-Usage: /{} train-ai=n, x{}\nContent-Signal: search=no, search=yes, y"),
}


@pytest.fixture(scope="module")
def unit() -> float:
    return loop()


def made(name: str, size: int = FILE_OCTETS) -> bytes:
    return hostile(name, size) if name in FILES else MORE[name](size).encode()


@pytest.mark.parametrize("name", [*FILES, *MORE])
def test_an_eighth_of_a_hostile_file_is_linted(name: str) -> None:
    assert lint(made(name, FILE_OCTETS // 8)).lines


@pytest.mark.stress
@pytest.mark.parametrize("dialect", [RFC9309, GYM2008, FIRST_MATCH], ids=lambda each: each.name)
@pytest.mark.parametrize("name", [*FILES, *MORE])
def test_so_is_a_whole_one_in_any_dialect(name: str, dialect: Dialect, unit: float) -> None:
    body = made(name)
    assert seconds(lambda: lint(body, dialect), tries=1) < LOOPS * unit


@pytest.mark.parametrize("name", ["ends", "stars", "shared"])
def test_what_was_left_out_is_told(name: str) -> None:
    assert lint(made(name)).findings[0].code is Code.NOT_CHECKED


def test_equal_rules_are_found_even_then() -> None:
    text = lines("Disallow: /*{}$")(FILE_OCTETS - 100) + "Disallow: /*7$\nAllow: /*8$\nAllow: /a\n"
    findings = {each.line: each.code for each in lint(text).findings}
    last = text.count("\n")
    assert findings[last - 2] is Code.DUPLICATE_RULE
    assert Code.CONTRADICTION in findings.values()
