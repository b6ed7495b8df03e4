"""Faults of rules: what no URL matches, what another one beats, what was meant in another way."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from scrapy_robots_plus.protocol.fields import Field
from scrapy_robots_plus.protocol.matcher import line_of

from .findings import Code, Finding, finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_robots_plus.protocol.groups import Section
    from scrapy_robots_plus.protocol.matcher import Pattern, Rank

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


def rule_faults(reading: Reading) -> Iterator[Finding]:
    """Those of each rule of each group, in file order."""
    for section in reading.sections:
        strongest = _strongest(section, reading)
        for number in section.rules:
            _, field, _, value = reading.records[number]
            ranked = reading.patterns.get(number, [])
            if ranked and all(rank < strongest[pattern] for rank, pattern in ranked):
                winner = strongest[ranked[0][1]]
                yield finding(number, Code.SHADOWED_RULE, line_of(winner))
            if value:
                if several := _SEVERAL.search(value):
                    yield finding(number, Code.SEVERAL_PATHS, several[1])
                if special := _REGULAR.search(value):
                    yield finding(number, Code.REGULAR_EXPRESSION, special[0])
                if not ranked:
                    yield finding(number, Code.NEVER_MATCHES, *_why_not(value))
            elif field is Field.ALLOW or len(section.rules) > 1:
                yield finding(number, Code.EMPTY_RULE, field.key.capitalize())


def _strongest(section: Section, reading: Reading) -> dict[Pattern, Rank]:
    """For each pattern of a group, the rule that wins of those which have it (RFC 9309 2.2.2)."""
    found: dict[Pattern, Rank] = {}
    for number in section.rules:
        for rank, pattern in reading.patterns.get(number, ()):
            found[pattern] = max(rank, found.get(pattern, rank))
    return found


def _why_not(value: bytes) -> tuple[str, bytes]:
    """Words, and the path to write instead if they say one."""
    if value[:1] in {b"/", b"*"}:
        return "URLs have no such characters: they are sent percent-encoded.", b""
    if whole := _URL.fullmatch(value):
        return "This is a URL, not a path: write ", whole[1] or b"/"
    return "The path does not begin with / or *, but all paths of URLs begin with /.", b""
