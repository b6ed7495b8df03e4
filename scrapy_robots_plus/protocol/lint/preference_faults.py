"""Faults of Content-Usage and Content-Signal: preferences that are not stated as may be meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_robots_plus.protocol.lines import Kind
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

from .findings import Code, Finding

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from scrapy_robots_plus.protocol.lines import Line

    from .reading import Reading

_OPPOSITE = {Preference.ALLOW: Preference.DISALLOW, Preference.DISALLOW: Preference.ALLOW}
_SIGNAL_OF = {category: key for key, category in CURRENT.signals.items()}
_SIGNALS = {*CURRENT.signals, *CURRENT.levels}
_SHOWN = 40

_Place = tuple[bytes | None, str, Preference]
"""A path of Content-Usage, or None for Content-Signal, which has none; and what is stated."""


def usage_faults(number: int, value: bytes) -> Iterator[Finding]:
    """Those of the value of a Content-Usage line."""
    rule = usage_rule(value)
    if not rule.value:
        yield Finding(number, Code.EMPTY_VALUE, "There is no preference after the path.")
    try:
        found = tokens_in(rule.value)
    except StructuredFieldError as error:
        words = f"It does not look like train-ai=n, search=y ({error}): all is unknown."
        yield Finding(number, Code.BROKEN_PREFERENCE, words)
        return
    yield from _unknown(
        number, (key for key in found if key not in CURRENT.labels), CURRENT.signals
    )
    known = (key for key in found if key in CURRENT.labels)
    unclear = next((key for key in known if found[key] not in USAGE_TOKENS), None)
    if unclear:
        yield _unclear(number, unclear, "neither y nor n")


def signal_faults(number: int, value: bytes) -> Iterator[Finding]:
    """Those of the value of a Content-Signal line."""
    parts = list(signal_parts(value))
    yield from _unknown(number, (key for key, _ in parts if key not in _SIGNALS), _SIGNAL_OF)
    for key, said in parts:
        if key in CURRENT.signals and said not in SIGNAL_WORDS:
            yield _unclear(number, key, "neither yes nor no")
            break
        if key in CURRENT.levels and said not in CURRENT.levels[key]:
            yield _unclear(number, key, f"none of {', '.join(CURRENT.levels[key])}")
            break


def _unknown(number: int, keys: Iterable[str], meant: Mapping[str, str]) -> Iterator[Finding]:
    """The first of them: a line may have thousands."""
    for key in keys:
        hint = f" {meant[key]} may be meant." if key in meant else ""
        shown = key if len(key) <= _SHOWN else f"{key[:_SHOWN]}..."
        yield Finding(number, Code.UNKNOWN_USE, f"{shown!r} is unknown and ignored.{hint}")
        break


def _unclear(number: int, key: str, values: str) -> Finding:
    return Finding(number, Code.UNCLEAR_PREFERENCE, f"{key!r} says {values}: it is unknown.")


def opposite_preferences(reading: Reading) -> Iterator[Finding]:
    """Lines of one group that contradict each other: the use is disallowed."""
    for section in reading.sections:
        for members in section.members:
            yield from _opposites(members.lines, reading)


def _opposites(lines: list[Line], reading: Reading) -> Iterator[Finding]:
    """Content-Signal lines come first: they are for all paths of Content-Usage."""
    first: dict[_Place, int] = {}
    for kind in (Kind.CONTENT_SIGNAL, Kind.CONTENT_USAGE):
        for line in lines:
            if line.kind is kind:
                yield from _opposites_of(line, first, reading)


def _opposites_of(line: Line, first: dict[_Place, int], reading: Reading) -> Iterator[Finding]:
    path, stated = _stated(line, reading)
    for category, preference in stated:
        opposite = _OPPOSITE.get(preference)
        if opposite is None:
            continue
        places = ((None, category, opposite), (path, category, opposite))
        other = next((first[place] for place in places if place in first), None)
        if other is not None:
            where = "the same line" if other == line.number else f"line {other}"
            words = f"It says {preference} to {category}, and {where} says {opposite}."
            yield Finding(line.number, Code.OPPOSITE_PREFERENCES, f"{words} Disallow counts.")
        first.setdefault((path, category, preference), line.number)


def _stated(line: Line, reading: Reading) -> tuple[bytes | None, Iterable[tuple[str, Preference]]]:
    if line.kind is Kind.CONTENT_SIGNAL:
        return None, signals(line.value)
    path, value = usage_rule(line.value)
    return in_form(path, reading.dialect), usage(value).items()
