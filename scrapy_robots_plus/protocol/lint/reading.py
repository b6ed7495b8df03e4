"""A robots.txt as the engine reads it, with what the engine itself does not keep."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from scrapy_robots_plus.protocol.dialect import Escapes
from scrapy_robots_plus.protocol.groups.group_choice import GroupChoice
from scrapy_robots_plus.protocol.groups.scanner import Scanner
from scrapy_robots_plus.protocol.lines.kinds import Kind
from scrapy_robots_plus.protocol.lines.lines import read_line, to_lines
from scrapy_robots_plus.protocol.lines.octets import order_of_utf16, to_utf8, whole_lines
from scrapy_robots_plus.protocol.rules.compiling import ranked
from scrapy_robots_plus.protocol.rules.pattern import take_apart
from scrapy_robots_plus.protocol.rules.rank import line_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_robots_plus.protocol.dialect import Dialect
    from scrapy_robots_plus.protocol.groups.group_choice import Chosen
    from scrapy_robots_plus.protocol.groups.sections import Section
    from scrapy_robots_plus.protocol.lines import Line
    from scrapy_robots_plus.protocol.rules.pattern import Pattern
    from scrapy_robots_plus.protocol.rules.rank import Rank

_ALWAYS_SENT_ESCAPED = re.compile(rb"[\x00-\x20\"<>\x7f]")
"""No URI has them (RFC 3986 2), and all clients send them escaped, in paths and in queries."""


class _NotingScanner(Scanner):
    """Also notes what it has read, and where the user-agent lines are."""

    def __init__(self, dialect: Dialect) -> None:
        super().__init__(dialect)
        self.agents: dict[int, tuple[int, int]] = {}
        self.read: dict[int, Line | None] = {}

    def _line(self, number: int, text: bytes) -> Line | None:
        line = self.read[number] = super()._line(number, text)
        return line

    def _agent(self, number: int, value: bytes, /) -> None:
        super()._agent(number, value)
        section = len(self.sections) - 1
        self.agents[number] = section, len(self.sections[section].agents) - 1


class Rule(NamedTuple):
    """A rule, as the engine compiles it."""

    allow: bool
    value: bytes
    """As served."""
    ranked: list[tuple[Rank, Pattern]]
    """Its patterns that a URL can match: one rule may have two, or none."""


class Reading(NamedTuple):
    """What the engine made of a file."""

    dialect: Dialect
    size: int
    """How many octets of the body were read."""
    unread: int
    """How many octets come after the size limit."""
    raw: list[bytes]
    """The lines in UTF-8, whole."""
    lines: list[bytes]
    """As far as the dialect reads them."""
    is_ascii: bool
    """Whether the file is."""
    is_utf16: bool
    """Whether it was served in UTF-16."""
    sections: list[Section]
    """The groups."""
    groups: dict[int, int]
    """The group of each line that has one, by its position."""
    agents: dict[int, tuple[int, int]]
    """For each user-agent line: the position of its group, and its own in the group."""
    file_wide: frozenset[int]
    """Lines that count for the whole file, such as Sitemap."""
    choice: GroupChoice
    by_name: dict[str, Chosen]
    """The groups that count for a crawler that goes by a name, for each name."""
    read: dict[int, Line | None]
    """What the engine has read in some lines."""
    rules: dict[int, Rule]
    """The rules of all groups, by their lines."""

    def line(self, number: int) -> Line | None:
        """A line with its key and value; None if it has none."""
        if number in self.read:
            return self.read[number]
        return read_line(number, self.lines[number - 1], self.dialect)

    def names(self, number: int) -> tuple[str, ...]:
        """The names that the dialect reads in a user-agent line."""
        section, position = self.agents[number]
        return self.sections[section].names[position]


def read(
    body: bytes | str, dialect: Dialect, charset: str | None, max_bytes: int | None
) -> Reading:
    """Reads a file as :meth:`.RobotsTxt.parse` does."""
    known = body if max_bytes is None else whole_lines(body, max_bytes)
    served_in = charset or dialect.charset
    octets = to_utf8(known, served_in)
    lines = to_lines(octets, dialect)
    scanner = _NotingScanner(dialect)
    scanner.scan(lines)
    groups = {number: section for number, (section, _) in scanner.agents.items()}
    for position, section in enumerate(scanner.sections):
        groups.update(dict.fromkeys(section.rules, position))
        for members in section.members:
            groups.update((line.number, position) for line in members.lines)
    choice = GroupChoice(scanner.sections, dialect)
    return Reading(
        dialect,
        len(known),
        len(body) - len(known),
        octets.splitlines(),
        lines,
        octets.isascii(),
        isinstance(known, bytes) and order_of_utf16(known, served_in) is not None,
        scanner.sections,
        groups,
        scanner.agents,
        frozenset(line.number for line in scanner.globals),
        choice,
        choice.by_name,
        scanner.read,
        dict(_rules(scanner, lines)),
    )


def _rules(scanner: _NotingScanner, lines: list[bytes]) -> Iterator[tuple[int, Rule]]:
    dialect, read = scanner.dialect, scanner.read
    for section in scanner.sections:
        rules: list[tuple[int, bool, bytes]] = []
        for number in section.rules:
            line = read[number] if number in read else read_line(number, lines[number - 1], dialect)
            if line is not None:  # always true: the scanner found a rule here
                rules.append((number, line.kind is Kind.ALLOW, line.value))
        patterns: dict[int, list[tuple[Rank, Pattern]]] = {}
        for served, rank in ranked(rules, dialect):
            pattern = take_apart(served, dialect.wildcards)
            if can_match(pattern, dialect):
                patterns.setdefault(line_of(rank), []).append((rank, pattern))
        for number, allow, value in rules:
            yield number, Rule(allow, value, patterns.get(number, []))


def can_match(pattern: Pattern, dialect: Dialect) -> bool:
    """Whether a URL may match a pattern. All paths begin with ``/`` (RFC 9309 2.2.2)."""
    prefix, parts, tail = pattern
    if prefix[:1] not in {b"", b"/"} or (not prefix and tail == b""):
        return False
    if dialect.escapes is not Escapes.NONE:
        return True
    return not any(map(_ALWAYS_SENT_ESCAPED.search, (prefix, *parts, tail or b"")))
