"""The Content-Usage lines for one crawler, compiled: which of them are about a path.

The line with the most specific path counts, found by the same matcher as rules (RFC 9309 2.2.2).
Lines with equal paths all count, and so do lines with other paths of that length that match, as
paths with wildcards may.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from scrapy_robots_plus.protocol.rules.escapes import RULE_FORM
from scrapy_robots_plus.protocol.rules.matcher import Matcher, Places
from scrapy_robots_plus.protocol.rules.pattern import NO_RANK, line_of, rank_of, take_apart

from .statements import Source, Statement, first_of_each, of_line
from .values import usage, usage_rule

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy_robots_plus.protocol.dialect import Dialect
    from scrapy_robots_plus.protocol.lines import Line

    from .vocabulary import Vocabulary

Said = dict[bytes, list[Statement]]
"""Statements by path-pattern, in the dialect's form."""


class UsageRules:
    """Statements by path."""

    __slots__ = ("_best", "_equals", "_patterns", "_said")

    def __init__(self, lines: Iterable[Line], dialect: Dialect, vocabulary: Vocabulary) -> None:
        said = _by_path(lines, dialect, vocabulary)
        self._said = [first_of_each(each) for each in said.values()]
        self._patterns = [take_apart(path, dialect.wildcards) for path in said]
        self._equals = _equally_long(said)
        rules = [(path, rank_of(len(path), index, True)) for index, path in enumerate(said)]
        self._best = Matcher({}, rules, dialect.wildcards).best

    def statements(self, path: bytes) -> tuple[Statement, ...]:
        """What is said about a path, which is in the dialect's form."""
        rank = self._best(path)
        if rank == NO_RANK:
            return ()
        index = line_of(rank)
        equals = self._equals.get(index)
        if equals is None:
            return self._said[index]
        places = Places(path)
        matching = (self._said[each] for each in equals if places.match(self._patterns[each]))
        return first_of_each(chain.from_iterable(matching))


def _by_path(lines: Iterable[Line], dialect: Dialect, vocabulary: Vocabulary) -> Said:
    """A line that says nothing still counts: it is what the more specific path says."""
    said: Said = {}
    for line in lines:
        path, value = usage_rule(line.value)
        stated = usage(value, vocabulary).items()
        statements = of_line(line, Source.CONTENT_USAGE, stated)
        said.setdefault(in_form(path, dialect), []).extend(statements)
    return said


def in_form(path: bytes, dialect: Dialect) -> bytes:
    """A path-pattern as rules have it: equal ones are equal octets (RFC 9309 2.2.2)."""
    _, form = RULE_FORM[dialect.escapes]
    return form(path)


def _equally_long(said: Said) -> dict[int, list[int]]:
    """Positions of paths that others of their length may match beside, each with all of those:
    only where there are wildcards, as a URL begins in one way."""
    by_length: dict[int, list[int]] = {}
    for index, path in enumerate(said):
        by_length.setdefault(len(path), []).append(index)
    wild = {len(path) for path in said if b"*" in path or path.endswith(b"$")}
    return {
        index: indices
        for length, indices in by_length.items()
        if length in wild
        for index in indices
    }
