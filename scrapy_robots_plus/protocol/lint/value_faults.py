"""Faults of values: paths of rules, and preferences that are not stated as may be meant."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

from scrapy_robots_plus.protocol.lines import Kind, Line
from scrapy_robots_plus.protocol.preferences import CURRENT, Preference
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
                findings.add(number, Code.EMPTY_RULE, name)


def _faults(number: int, value: bytes, reading: Reading, findings: Findings) -> None:
    wildcards = reading.dialect.wildcards
    if number not in reading.patterns:
        findings.add(number, Code.NEVER_MATCHES, *_why_not(value))
    elif not wildcards and (b"*" in value or value.endswith(b"$")):
        findings.add(number, Code.LITERAL_WILDCARD)
    if wildcards and b"$" in value[:-1]:
        findings.add(number, Code.LITERAL_DOLLAR)


def _other_syntax(number: int, value: bytes, findings: Findings) -> None:
    """A path that may have been meant as several, or as a regular expression."""
    if not value.translate(None, _USUAL):
        return
    several = _SEVERAL.search(value)
    if several:
        findings.add(number, Code.SEVERAL_PATHS, several[1])
    found = _REGULAR.search(value)
    if found:
        findings.add(number, Code.REGULAR_EXPRESSION, found[0])


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


def _comment_in_path(number: int, value: bytes, reading: Reading, findings: Findings) -> None:
    """A path that goes on after ``#``, such as ``/#!page`` or ``/a#b``, which are not sent."""
    before, mark, after = reading.lines[number - 1].partition(b"#")
    if mark and before == before.rstrip() and after.strip():
        findings.add(number, Code.COMMENT_IN_PATH, value)


_OPPOSITE = {Preference.ALLOW: Preference.DISALLOW, Preference.DISALLOW: Preference.ALLOW}
_SIGNAL_OF = {category: key for key, category in CURRENT.signals.items()}
_SIGNALS = {*CURRENT.signals, *CURRENT.levels}


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
    labels = CURRENT.labels
    _unknown(number, (key for key in found if key not in labels), CURRENT.signals, findings)
    unclear = (key for key, token in found.items() if key in labels and token not in USAGE_TOKENS)
    _unclear(number, ((key, "neither y nor n") for key in unclear), findings)


def signal_faults(number: int, value: bytes, findings: Findings) -> None:
    """Those of the value of a Content-Signal line."""
    parts = list(signal_parts(value))
    _unknown(number, (key for key, _ in parts if key not in _SIGNALS), _SIGNAL_OF, findings)
    _unclear(number, _unclear_signals(parts), findings)


def _unclear_signals(parts: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Keys, each with what its value is not."""
    for key, said in parts:
        levels = CURRENT.levels.get(key)
        if key in CURRENT.signals and said not in SIGNAL_WORDS:
            yield key, "neither yes nor no"
        elif levels and said not in levels:
            yield key, f"none of {', '.join(levels)}"


def _unknown(
    number: int, keys: Iterator[str], meant: Mapping[str, str], findings: Findings
) -> None:
    """The first of them: a line may have thousands."""
    key = next(keys, None)
    if key is not None:
        hint = f" {meant[key]} may be meant." if key in meant else ""
        findings.add(number, Code.UNKNOWN_USE, quoted(key), hint)


def _unclear(number: int, keys: Iterator[tuple[str, str]], findings: Findings) -> None:
    """The first of them."""
    for key, values in islice(keys, 1):
        findings.add(number, Code.UNCLEAR_PREFERENCE, key, values)


def opposite_preferences(reading: Reading, findings: Findings) -> None:
    """Lines of one group that contradict each other: the use is disallowed."""
    for section in reading.sections:
        for members in section.members:
            _opposites(members.lines, reading, findings)


def _opposites(lines: list[Line], reading: Reading, findings: Findings) -> None:
    """Content-Signal lines come first: they are for all paths of Content-Usage."""
    first: dict[_Place, int] = {}
    for kind in (Kind.CONTENT_SIGNAL, Kind.CONTENT_USAGE):
        for line in lines:
            if line.kind is kind:
                _opposites_of(line, first, reading, findings)


def _opposites_of(
    line: Line, first: dict[_Place, int], reading: Reading, findings: Findings
) -> None:
    path, stated = _stated(line, reading)
    for category, preference in stated:
        opposite = _OPPOSITE[preference]
        places = ((None, category, opposite), (path, category, opposite))
        other = next((first[place] for place in places if place in first), None)
        if other is not None:
            where = "the same line" if other == line.number else f"line {other}"
            values = preference, category, where, opposite
            findings.add(line.number, Code.OPPOSITE_PREFERENCES, *values)
        first.setdefault((path, category, preference), line.number)


def _stated(line: Line, reading: Reading) -> tuple[bytes | None, list[tuple[str, Preference]]]:
    """The path, and what is known of uses, each once."""
    if line.kind is Kind.CONTENT_SIGNAL:
        return None, _known(signals(line.value))
    path, value = usage_rule(line.value)
    return in_form(path, reading.dialect), _known(usage(value))


def _known(stated: Iterable[tuple[str, Preference]]) -> list[tuple[str, Preference]]:
    return [each for each in dict.fromkeys(stated) if each[1] in _OPPOSITE]
