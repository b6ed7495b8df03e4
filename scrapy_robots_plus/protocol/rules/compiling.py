"""Rules as written to patterns with ranks, and these to a matcher (RFC 9309 2.2.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_robots_plus.protocol.dialect import Dialect, Order
from scrapy_robots_plus.protocol.lines.kinds import Kind, kind_of
from scrapy_robots_plus.protocol.lines.lines import split_line

from .escapes import RULE_FORM, SIMPLE
from .matcher import Compiler, Matcher
from .pattern import take_apart
from .rank import PER_LINE, PER_WEIGHT, Rank, rank_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scrapy_robots_plus.protocol.groups.sections import Section

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
    compiler = Compiler()
    by_octets = dialect.order is Order.OCTETS
    bonus = 1 if dialect.allow_wins_ties else 0
    for section in sections:
        numbers = section.rules
        if by_octets:
            numbers = _add_usual(numbers, lines, compiler, bonus)
        for pattern, rank in ranked(read_rules(numbers, lines, dialect), dialect):
            compiler.add(take_apart(pattern, dialect.wildcards), rank)
    return compiler.seal()


def _add_usual(numbers: list[int], lines: list[bytes], compiler: Compiler, bonus: int) -> list[int]:
    """Adds the rules without special octets; returns the others.

    Four of five rules take this shortcut, which gives the same result as :func:`ranked`.
    """
    others = []
    add = compiler.add_literal
    # rank_of() is inlined: a file may have thousands of rules.
    deny, allow = rank_of(0, 0, False), rank_of(bonus, 0, True)
    per_octet = WEIGHT_OF_OCTET * PER_WEIGHT
    for number in numbers:
        line = lines[number - 1]
        if line.startswith((b"Disallow:", b"disallow:")):
            value = line[9:].strip()
            if value and not value.translate(None, SIMPLE):
                add(value, deny + len(value) * per_octet + number * PER_LINE)
                continue
        elif line.startswith(b"Allow:"):
            value = line[6:].strip()
            if value and not value.translate(None, SIMPLE) and b"/index.htm" not in value:
                add(value, allow + len(value) * per_octet + number * PER_LINE)
                continue
        others.append(number)
    return others
