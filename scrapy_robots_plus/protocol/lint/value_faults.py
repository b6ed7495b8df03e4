"""Faults of values: paths of rules, and preferences that are not stated as may be meant."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

from scrapy_robots_plus.protocol.lines import ABOUT_USES, Kind, Line
from scrapy_robots_plus.protocol.preferences import LABELS, LEVELS, SIGNALS, Preference
from scrapy_robots_plus.protocol.preferences.in_file import in_form
from scrapy_robots_plus.protocol.preferences.structured_fields import (
    StructuredFieldError,
    tokens_in,
)
from scrapy_robots_plus.protocol.preferences.values import (
    SIGNAL_WORDS,
    USAGE_TOKENS,
    signal_parts,
    signals,
    usage,
    usage_rule,
)

from .findings import Code, Findings, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from scrapy_robots_plus.protocol.dialect import Dialect

    from .reading import Reading

    _Place = tuple[bytes | None, str, Preference]
    """A path of Content-Usage, or None for Content-Signal, which has none; and what is stated."""

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


def path_faults(reading: Reading, findings: Findings) -> None:
    """Those of each rule of each group, in file order."""
    for section in reading.sections:
        for number in section.rules:
            allow, value = reading.rules[number]
            if value:
                _faults_of_path(number, value, reading, findings)
            elif not reading.dialect.empty_decides and (allow or len(section.rules) > 1):
                findings.add(number, Code.EMPTY_RULE, "Allow" if allow else "Disallow")


def _faults_of_path(number: int, value: bytes, reading: Reading, findings: Findings) -> None:
    wildcards = reading.dialect.wildcards
    before, mark, after = reading.lines[number - 1].partition(b"#")
    if mark and before == before.rstrip() and after.strip():  # /#!page, /a#b: not sent
        findings.add(number, Code.COMMENT_IN_PATH, value)
    if several := _SEVERAL.search(value):
        findings.add(number, Code.SEVERAL_PATHS, several[1])
    if special := _REGULAR.search(value):
        findings.add(number, Code.REGULAR_EXPRESSION, special[0])
    if number not in reading.patterns:
        findings.add(number, Code.NEVER_MATCHES, *_why_not(value))
    elif not wildcards and (b"*" in value or value.endswith(b"$")):
        findings.add(number, Code.LITERAL_WILDCARD)
    if wildcards and b"$" in value[:-1]:
        findings.add(number, Code.LITERAL_DOLLAR)


def _why_not(value: bytes) -> tuple[str, bytes]:
    """Words, and the path to write instead if they say one."""
    if value[:1] in {b"/", b"*"}:
        return "URLs have no such characters: they are sent percent-encoded.", b""
    if value == b"$":
        return "No path is empty: every path begins with /.", b""
    whole = _URL.fullmatch(value) or _HOST.fullmatch(value)
    if whole:
        return "This is a URL, not a path: write ", whole[1] or b"/"
    return "The path does not begin with / or *, but all paths of URLs begin with /.", b""


_OPPOSITE = {Preference.ALLOW: Preference.DISALLOW, Preference.DISALLOW: Preference.ALLOW}
_SIGNAL_OF = {category: key for key, category in SIGNALS.items()}
_SIGNALS = {*SIGNALS, *LEVELS}


def usage_faults(number: int, value: bytes, findings: Findings) -> None:
    """Those of the value of a Content-Usage line."""
    rule = usage_rule(value)
    if not rule.value:
        words = "There is no preference after the path."
        findings.add(number, Code.EMPTY_VALUE, words=words)
    try:
        found = tokens_in(rule.value)
    except StructuredFieldError as error:
        findings.add(number, Code.BROKEN_PREFERENCE, error)
        return
    unknown = (key for key in found if key not in LABELS)
    unclear = (key for key, token in found.items() if key in LABELS and token not in USAGE_TOKENS)
    _add_unknown(number, unknown, SIGNALS, findings)
    _add_unclear(number, ((key, "neither y nor n") for key in unclear), findings)


def signal_faults(number: int, value: bytes, findings: Findings) -> None:
    """Those of the value of a Content-Signal line."""
    parts = list(signal_parts(value))
    _add_unknown(number, (key for key, _ in parts if key not in _SIGNALS), _SIGNAL_OF, findings)
    _add_unclear(number, _unclear_signals(parts), findings)


def _unclear_signals(parts: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Keys, each with what its value is not."""
    for key, said in parts:
        levels = LEVELS.get(key)
        if key in SIGNALS and said not in SIGNAL_WORDS:
            yield key, "neither yes nor no"
        elif levels and said not in levels:
            yield key, f"none of {', '.join(levels)}"


def _add_unknown(
    number: int, unknown: Iterator[str], meant: Mapping[str, str], findings: Findings
) -> None:
    """The first of them: a line may have thousands."""
    for key in islice(unknown, 1):
        hint = f" {meant[key]} may be meant." if key in meant else ""
        findings.add(number, Code.UNKNOWN_USE, quoted(key), hint)


def _add_unclear(number: int, unclear: Iterator[tuple[str, str]], findings: Findings) -> None:
    """The first of them."""
    for key, values in islice(unclear, 1):
        findings.add(number, Code.UNCLEAR_PREFERENCE, key, values)


def opposite_preferences(reading: Reading, findings: Findings) -> None:
    """Lines of one group that contradict each other: the use is disallowed."""
    for section in reading.sections:
        for members in section.members:
            first: dict[_Place, int] = {}
            lines = [line for line in members.lines if line.kind in ABOUT_USES]
            # Content-Signal lines come first: they are for all paths of Content-Usage.
            lines.sort(key=lambda line: line.kind is Kind.CONTENT_USAGE)
            for line in lines:
                _opposites_of(line, first, reading.dialect, findings)


def _opposites_of(
    line: Line, first: dict[_Place, int], dialect: Dialect, findings: Findings
) -> None:
    path: bytes | None = None
    stated = signals(line.value)
    if line.kind is Kind.CONTENT_USAGE:
        served, value = usage_rule(line.value)
        path, stated = in_form(served, dialect), usage(value)
    for category, preference in dict.fromkeys(stated):
        opposite = _OPPOSITE.get(preference)
        if opposite is None:
            continue
        places = ((None, category, opposite), (path, category, opposite))
        other = next((first[place] for place in places if place in first), None)
        if other is not None:
            where = "the same line" if other == line.number else f"line {other}"
            values = preference, category, where, opposite
            findings.add(line.number, Code.OPPOSITE_PREFERENCES, *values)
        first.setdefault((path, category, preference), line.number)
