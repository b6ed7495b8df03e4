"""Faults of Content-Usage and Content-Signal: preferences that are not stated as may be meant."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from scrapy_robots_plus.protocol.lines import Kind
from scrapy_robots_plus.protocol.lint.findings import Code, Findings, quoted
from scrapy_robots_plus.protocol.preferences import CURRENT, Preference
from scrapy_robots_plus.protocol.preferences.structured_fields import (
    StructuredFieldError,
    tokens_in,
)
from scrapy_robots_plus.protocol.preferences.usage_rules import in_form
from scrapy_robots_plus.protocol.preferences.values import (
    SIGNAL_WORDS,
    USAGE_TOKENS,
    signal_parts,
    signals,
    usage,
    usage_rule,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from scrapy_robots_plus.protocol.lines import Line
    from scrapy_robots_plus.protocol.lint.reading import Reading

    _Place = tuple[bytes | None, str, Preference]
    """A path of Content-Usage, or None for Content-Signal, which has none; and what is stated."""

_OPPOSITE = {Preference.ALLOW: Preference.DISALLOW, Preference.DISALLOW: Preference.ALLOW}
_SIGNAL_OF = {category: key for key, category in CURRENT.signals.items()}
_SIGNALS = {*CURRENT.signals, *CURRENT.levels}


def usage_faults(number: int, value: bytes, findings: Findings) -> None:
    """Those of the value of a Content-Usage line."""
    rule = usage_rule(value)
    if not rule.value:
        findings.add(number, Code.EMPTY_VALUE, "There is no preference after the path.")
    try:
        found = tokens_in(rule.value)
    except StructuredFieldError as error:
        words = "It does not look like train-ai=n, search=y ({}): all is unknown."
        findings.add(number, Code.BROKEN_PREFERENCE, words, error)
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
        words = "{} is unknown and ignored.{}"
        findings.add(number, Code.UNKNOWN_USE, words, quoted(key), hint)


def _unclear(number: int, keys: Iterator[tuple[str, str]], findings: Findings) -> None:
    """The first of them."""
    for key, values in islice(keys, 1):
        words = "{!r} says {}: it is unknown."
        findings.add(number, Code.UNCLEAR_PREFERENCE, words, key, values)


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
            words = "It says {} to {}, and {} says {}. Disallow counts."
            values = preference, category, where, opposite
            findings.add(line.number, Code.OPPOSITE_PREFERENCES, words, *values)
        first.setdefault((path, category, preference), line.number)


def _stated(line: Line, reading: Reading) -> tuple[bytes | None, list[tuple[str, Preference]]]:
    """The path, and what is known of uses, each once."""
    if line.kind is Kind.CONTENT_SIGNAL:
        return None, _known(signals(line.value))
    path, value = usage_rule(line.value)
    return in_form(path, reading.dialect), _known(usage(value).items())


def _known(stated: Iterable[tuple[str, Preference]]) -> list[tuple[str, Preference]]:
    return [each for each in dict.fromkeys(stated) if each[1] in _OPPOSITE]
