"""Faults of the path of a single rule."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from scrapy_robots_plus.protocol.lines.octets import text
from scrapy_robots_plus.protocol.lint.findings import Code, Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_robots_plus.protocol.dialect import Dialect
    from scrapy_robots_plus.protocol.lint.reading import Reading
    from scrapy_robots_plus.protocol.rules.pattern import Pattern
    from scrapy_robots_plus.protocol.rules.rank import Rank

_URL = re.compile(rb"https?:/*[^/]*(/.*)?", re.IGNORECASE)
_HOST = re.compile(rb"www\.[^/]*(/.*)?", re.IGNORECASE)
_SEVERAL = re.compile(rb"[\s,]\s*((?<=\s)[/*]\S*)")
_REGULAR = re.compile(
    rb"^\^"  # ^/private
    rb"|(?<=[^*/])/\.[*+]\??(?=\$?$)"  # /private/.*
    rb"|\\(?:[dwsDWS](?![a-zA-Z])|[./?+*-])"  # /\d
    rb"|\([^()/]*\|[^()]*\)"  # /(a|b)
    rb"|\[[^\]/]*[a-zA-Z0-9]-[a-zA-Z0-9][^\]/]*\]"  # /[0-9]
)


def path_faults(reading: Reading) -> Iterator[Finding]:
    """Those of each rule of each group, in file order."""
    for section in reading.sections:
        for number in section.rules:
            allow, value, ranked = reading.rules[number]
            yield from _comment_in_path(number, value, reading)
            if value:
                yield from _other_syntax(number, value)
                yield from _faults(number, value, ranked, reading.dialect)
            elif not reading.dialect.empty_decides and (allow or len(section.rules) > 1):
                name = "Allow" if allow else "Disallow"
                yield Finding(number, Code.EMPTY_RULE, f"{name} without a path means nothing.")


def _faults(
    number: int, value: bytes, ranked: list[tuple[Rank, Pattern]], dialect: Dialect
) -> Iterator[Finding]:
    if not ranked:
        yield Finding(number, Code.NEVER_MATCHES, _why_not(value))
    elif not dialect.wildcards and (b"*" in value or value.endswith(b"$")):
        words = "This dialect has no wildcards: * and $ stand for themselves."
        yield Finding(number, Code.LITERAL_WILDCARD, words)
    if dialect.wildcards and b"$" in value[:-1]:
        words = "Only a $ at the very end is special: this one stands for itself."
        yield Finding(number, Code.LITERAL_DOLLAR, words)


def _other_syntax(number: int, value: bytes) -> Iterator[Finding]:
    """A path that may have been meant as several, or as a regular expression."""
    several = _SEVERAL.search(value)
    if several:
        words = f"A rule has one path: write a line of its own for {text(several[1])}"
        yield Finding(number, Code.SEVERAL_PATHS, words)
    found = _REGULAR.search(value)
    if found:
        words = (
            f"{text(found[0])!r} is no regular expression: only * and a $ at the end are special."
        )
        yield Finding(number, Code.REGULAR_EXPRESSION, words)


def _why_not(value: bytes) -> str:
    if value[:1] in {b"/", b"*"}:
        return "URLs have no such characters: they are sent percent-encoded."
    if value == b"$":
        return "No path is empty: every path begins with /."
    whole = _URL.fullmatch(value) or _HOST.fullmatch(value)
    if whole:
        return f"This is a URL, not a path: write {text(whole[1] or b'/')}"
    return "The path does not begin with / or *, but all paths of URLs begin with /."


def _comment_in_path(number: int, value: bytes, reading: Reading) -> Iterator[Finding]:
    """A path that goes on after ``#``, such as ``/#!page`` or ``/a#b``, which are not sent."""
    if not value:
        return
    before, mark, after = reading.lines[number - 1].partition(b"#")
    if mark and before == before.rstrip() and after.strip():
        words = f"# begins a comment: the path is {text(value)}"
        yield Finding(number, Code.COMMENT_IN_PATH, words)
