"""Faults of the path of a single rule."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from scrapy_robots_plus.protocol.lint.findings import Code, Findings

if TYPE_CHECKING:
    from scrapy_robots_plus.protocol.lint.reading import Reading

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

_USUAL = bytes(octet for octet in range(256) if octet not in b"\t\n\v\f\r ^.\\([")
"""A path of these alone is neither several nor a regular expression."""


def path_faults(reading: Reading, findings: Findings) -> None:
    """Those of each rule of each group, in file order."""
    for section in reading.sections:
        for number in section.rules:
            allow, value = reading.rules[number]
            if value:
                _comment_in_path(number, value, reading, findings)
                _other_syntax(number, value, findings)
                _faults(number, value, reading, findings)
            elif not reading.dialect.empty_decides and (allow or len(section.rules) > 1):
                name = "Allow" if allow else "Disallow"
                findings.add(number, Code.EMPTY_RULE, "{} without a path means nothing.", name)


def _faults(number: int, value: bytes, reading: Reading, findings: Findings) -> None:
    wildcards = reading.dialect.wildcards
    if number not in reading.patterns:
        findings.add(number, Code.NEVER_MATCHES, *_why_not(value))
    elif not wildcards and (b"*" in value or value.endswith(b"$")):
        words = "This dialect has no wildcards: * and $ stand for themselves."
        findings.add(number, Code.LITERAL_WILDCARD, words)
    if wildcards and b"$" in value[:-1]:
        words = "Only a $ at the very end is special: this one stands for itself."
        findings.add(number, Code.LITERAL_DOLLAR, words)


def _other_syntax(number: int, value: bytes, findings: Findings) -> None:
    """A path that may have been meant as several, or as a regular expression."""
    if not value.translate(None, _USUAL):
        return
    several = _SEVERAL.search(value)
    if several:
        words = "A rule has one path: write a line of its own for {}"
        findings.add(number, Code.SEVERAL_PATHS, words, several[1])
    found = _REGULAR.search(value)
    if found:
        words = "{!r} is no regular expression: only * and a $ at the end are special."
        findings.add(number, Code.REGULAR_EXPRESSION, words, found[0])


def _why_not(value: bytes) -> tuple[str, bytes]:
    """Words, and the path to write instead if they say one."""
    if value[:1] in {b"/", b"*"}:
        return "URLs have no such characters: they are sent percent-encoded.", b""
    if value == b"$":
        return "No path is empty: every path begins with /.", b""
    whole = _URL.fullmatch(value) or _HOST.fullmatch(value)
    if whole:
        return "This is a URL, not a path: write {}", whole[1] or b"/"
    return "The path does not begin with / or *, but all paths of URLs begin with /.", b""


def _comment_in_path(number: int, value: bytes, reading: Reading, findings: Findings) -> None:
    """A path that goes on after ``#``, such as ``/#!page`` or ``/a#b``, which are not sent."""
    before, mark, after = reading.lines[number - 1].partition(b"#")
    if mark and before == before.rstrip() and after.strip():
        findings.add(number, Code.COMMENT_IN_PATH, "# begins a comment: the path is {}", value)
