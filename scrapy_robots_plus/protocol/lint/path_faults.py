"""Faults of the paths of rules: what no URL matches, and what was meant in another way."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from scrapy_robots_plus.protocol.lines import Kind

from .findings import Code, Findings

if TYPE_CHECKING:
    from .reading import Reading

_URL = re.compile(rb"(?:https?:/*|www\.)[^/]*(/.*)?", re.IGNORECASE)
_SEVERAL = re.compile(rb"\s([/*]\S*)")
_REGULAR = re.compile(
    rb"^\^"  # ^/private
    rb"|(?<=[^*/])/\.[*+]\??(?=\$?$)"  # /private/.*
    rb"|\\(?:[dwsDWS](?![a-zA-Z])|[./?+*-])"  # /\d
    rb"|\([^()/|]*\|[^()]*\)"  # /(a|b)
    rb"|\[(?=[^][/]*[a-zA-Z0-9]-[a-zA-Z0-9])[^][/]*\]"  # /[0-9]
)
"""Each takes no more than a look or two at each octet, whatever the path."""


def path_faults(reading: Reading, findings: Findings) -> None:
    """Those of each rule of each group, in file order."""
    for section in reading.sections:
        for number in section.rules:
            _, kind, _, value = reading.records[number]
            if value:
                if several := _SEVERAL.search(value):
                    findings.add(number, Code.SEVERAL_PATHS, several[1])
                if special := _REGULAR.search(value):
                    findings.add(number, Code.REGULAR_EXPRESSION, special[0])
                if number not in reading.patterns:
                    findings.add(number, Code.NEVER_MATCHES, *_why_not(value))
            elif kind is Kind.ALLOW or len(section.rules) > 1:
                findings.add(number, Code.EMPTY_RULE, kind.key.capitalize())


def _why_not(value: bytes) -> tuple[str, bytes]:
    """Words, and the path to write instead if they say one."""
    if value[:1] in {b"/", b"*"}:
        return "URLs have no such characters: they are sent percent-encoded.", b""
    if whole := _URL.fullmatch(value):
        return "This is a URL, not a path: write ", whole[1] or b"/"
    return "The path does not begin with / or *, but all paths of URLs begin with /.", b""
