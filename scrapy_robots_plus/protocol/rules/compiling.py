"""Rules as written to patterns with ranks, and these to a matcher (RFC 9309 2.2.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_robots_plus.protocol.dialect import Dialect, Order
from scrapy_robots_plus.protocol.lines.kinds import Kind, kind_of
from scrapy_robots_plus.protocol.lines.lines import split_line

from .escapes import RULE_FORM, SIMPLE
from .index import Index
from .pattern import take_apart
from .places import LONGEST
from .rank import PER_LINE, PER_WEIGHT, Rank, rank_of
from .scan import MOST_SCANNED, Scan

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scrapy_robots_plus.protocol.groups.sections import Section

    from .scan import Ranked, Starred

Matcher = Scan | Index
"""Finds the rule that decides about a path."""

WEIGHT_OF_OCTET = 2
"""An allow gets 1 more: it beats a disallow of the same length, but not one that is longer."""


def read_rules(
    numbers: Iterable[int], lines: list[bytes], dialect: Dialect
) -> Iterator[tuple[int, bool, bytes]]:
    """For each rule: its line number, whether it allows, and its path-pattern as served."""
    for number in numbers:
        pair = split_line(lines[number - 1], dialect)
        if pair is not None:  # always true: the scanner found a rule here
            key, value = pair
            yield number, kind_of(key, dialect) is Kind.ALLOW, value


def ranked(
    rules: Iterable[tuple[int, bool, bytes]], dialect: Dialect
) -> Iterator[tuple[bytes, Rank]]:
    """The normalized patterns, each with the rank of its rule.

    2.2.2: the rule with the most octets decides; if an allow and a disallow have the same length,
    the allow does. Among equal rules, the first in the file is named.
    """
    safe, form = RULE_FORM[dialect.escapes]
    for number, allow, value in rules:
        pattern = form(value) if value.translate(None, safe) else value
        weight = _weight(pattern, allow, number, dialect)
        if not pattern:
            # 2.2.2: an empty pattern means nothing, or, in some dialects, the reverse of its rule.
            if dialect.empty_decides:
                yield b"", rank_of(weight, number, _empty_allows(allow, dialect))
            continue
        rank = rank_of(weight, number, allow)
        yield pattern, rank
        if allow and dialect.index_is_slash and b"/index.htm" in pattern:
            yield from _directory_of_index(pattern, number, dialect)
        if dialect.dollar_before_query and pattern.endswith(b"$"):
            yield pattern[:-1] + b"?", rank


def _weight(pattern: bytes, allow: bool, number: int, dialect: Dialect) -> int:
    if dialect.order is Order.FIRST:
        return -number
    length = len(pattern if dialect.dollar_counts else pattern.rstrip(b"$"))
    return length * WEIGHT_OF_OCTET + (1 if allow and dialect.allow_wins_ties else 0)


def _empty_allows(allow: bool, dialect: Dialect) -> bool:
    """``Disallow:`` allows everything; ``Allow:`` does too, or disallows everything."""
    return not (allow and dialect.empty_allow_denies)


def _directory_of_index(
    pattern: bytes, number: int, dialect: Dialect
) -> Iterator[tuple[bytes, Rank]]:
    """The directory, if its index page is allowed: a rule with a length of its own (GoogleOnly)."""
    slash = pattern.rindex(b"/")
    if pattern.startswith(b"/index.htm", slash):
        directory = pattern[: slash + 1] + b"$"
        yield directory, rank_of(_weight(directory, True, number, dialect), number, True)


def compile_rules(sections: Iterable[Section], lines: list[bytes], dialect: Dialect) -> Matcher:
    """Compiles the rules of a crawler's groups."""
    literal: list[Ranked] = []
    others: list[Ranked] = []
    for section in sections:
        numbers = section.rules
        if dialect.order is Order.OCTETS:
            numbers = _add_usual(numbers, lines, dialect, literal, others)
        found = ranked(read_rules(numbers, lines, dialect), dialect)
        others.extend((rank, pattern) for pattern, rank in found)
    return matcher_of(literal, others, dialect.wildcards)


def matcher_of(literal: list[Ranked], others: list[Ranked], wildcards: bool) -> Matcher:
    """Compiles path-patterns in the dialect's form. The first have no wildcards."""
    starred: list[Starred] = []
    for rank, text in others:
        pattern = prefix, parts, tail = take_apart(text, wildcards)
        if parts or tail is not None:
            needed = max((prefix, *parts, tail or b""), key=len)[:LONGEST]
            starred.append((rank, needed, pattern))
        else:
            literal.append((rank, prefix))
    literal.sort(reverse=True)
    starred.sort(reverse=True)
    return (Index if len(literal) + len(starred) > MOST_SCANNED else Scan)(literal, starred)


def _add_usual(
    numbers: list[int],
    lines: list[bytes],
    dialect: Dialect,
    literal: list[Ranked],
    others: list[Ranked],
) -> list[int]:
    """Adds the rules whose octets stay as they are; returns the numbers of the others.

    Nine of ten rules take this shortcut, which gives the same result as :func:`ranked`.
    """
    left = []
    # rank_of() is inlined: a file may have thousands of rules.
    deny, allow = rank_of(0, 0, False), rank_of(1 if dialect.allow_wins_ties else 0, 0, True)
    per_octet = WEIGHT_OF_OCTET * PER_WEIGHT
    for number in numbers:
        line = lines[number - 1]
        if line.startswith((b"Disallow:", b"disallow:")):
            value, rank = line[9:].strip(), deny
        elif line.startswith(b"Allow:") and b"/index.htm" not in line:
            value, rank = line[6:].strip(), allow
        else:
            left.append(number)
            continue
        special = value.translate(None, SIMPLE)
        if not value or special.strip(b"*"):
            left.append(number)
            continue
        rank += len(value) * per_octet + number * PER_LINE
        (others if special else literal).append((rank, value))
    return left
