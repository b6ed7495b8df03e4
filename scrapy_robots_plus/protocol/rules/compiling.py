"""Rules as written to patterns with ranks, and these to a matcher (RFC 9309 2.2.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_robots_plus.protocol.dialect import Dialect, Order
from scrapy_robots_plus.protocol.lines import Kind, kind_of, split_line

from .escapes import RULE_FORM, SIMPLE
from .matcher import PER_WEIGHT, Matcher, Rank, rank_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scrapy_robots_plus.protocol.groups import Section

WEIGHT_OF_OCTET = 2
"""An allow gets 1 more: it beats a disallow of the same length, but not one that is longer."""

_PER_OCTET = WEIGHT_OF_OCTET * PER_WEIGHT


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
    literal: dict[bytes, Rank] = {}
    others: list[tuple[bytes, Rank]] = []
    by_length = dialect.order is Order.OCTETS and dialect.dollar_counts
    for section in sections:
        numbers = section.rules
        if by_length:
            numbers = _add_usual(numbers, lines, dialect, literal, others)
        others += ranked(read_rules(numbers, lines, dialect), dialect)
    return Matcher(literal, others, dialect.wildcards, _PER_OCTET if by_length else 0)


def _add_usual(
    numbers: list[int],
    lines: list[bytes],
    dialect: Dialect,
    literal: dict[bytes, Rank],
    others: list[tuple[bytes, Rank]],
) -> list[int]:
    """Adds the rules whose octets stay as they are; returns the numbers of the others.

    Nine of ten rules take this shortcut, which gives the same result as :func:`ranked`. The ranks
    in *literal* are those of an empty pattern.
    """
    left = []
    allow = rank_of(1 if dialect.allow_wins_ties else 0, 0, True)
    wild = b"*" if dialect.dollar_before_query else b"*$"
    put = literal.setdefault
    for number in numbers:
        line = lines[number - 1]
        # rank_of() is inlined: a file may have thousands of rules.
        if line.startswith((b"Disallow:", b"disallow:")):
            value, rank = line[9:].strip(), number * -2
        elif line.startswith(b"Allow:") and b"/index.htm" not in line:
            value, rank = line[6:].strip(), allow - number * 2
        else:
            left.append(number)
            continue
        special = value.translate(None, SIMPLE)
        if not special and value:
            if put(value, rank) < rank:
                literal[value] = rank
        elif not value or special.strip(wild):
            left.append(number)
        else:
            others.append((value, rank + len(value) * _PER_OCTET))
    return left
