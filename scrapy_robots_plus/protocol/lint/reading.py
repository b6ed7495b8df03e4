"""A robots.txt as the engine reads it, with what the engine itself does not keep."""

from __future__ import annotations

import re
from itertools import chain

from scrapy_robots_plus.protocol.dialect import Dialect, Escapes
from scrapy_robots_plus.protocol.groups import GroupChoice, Scanner
from scrapy_robots_plus.protocol.lines import Line, read_line, to_lines
from scrapy_robots_plus.protocol.octets import order_of_utf16, to_utf8, whole_lines
from scrapy_robots_plus.protocol.rules.matcher import Pattern, Rank, line_of, take_apart
from scrapy_robots_plus.protocol.rules.rules import ranked, read_rules

AgentLine = tuple[int, bytes, tuple[str, ...]]
"""The position of its group, its value, and the names that the dialect reads in it."""
Ranked = tuple[Rank, Pattern]
"""A pattern that a URL can match, and the rank of its rule."""

_ALWAYS_SENT_ESCAPED = re.compile(rb"[\x00-\x20\"<>\x7f]")
"""No URI has them (RFC 3986 2), and all clients send them escaped, in paths and in queries."""


class _NotingScanner(Scanner):
    """Also notes what it has read, and where the user-agent lines are."""

    def __init__(self, dialect: Dialect) -> None:
        super().__init__(dialect)
        self.agents: dict[int, AgentLine] = {}
        self.read: dict[int, Line | None] = {}

    def _line(self, number: int, text: bytes) -> Line | None:
        line = self.read[number] = super()._line(number, text)
        return line

    def _agent(self, number: int, value: bytes, /) -> None:
        super()._agent(number, value)
        self.agents[number] = len(self.sections) - 1, value, self.sections[-1].names[-1]


class Reading:
    """What the engine made of a file."""

    def __init__(
        self, body: bytes | str, dialect: Dialect, charset: str | None, max_bytes: int | None
    ) -> None:
        """Reads a file as :meth:`.RobotsTxt.parse` does."""
        known = body if max_bytes is None else whole_lines(body, max_bytes)
        served_in = charset or dialect.charset
        octets = to_utf8(known, served_in)
        self.dialect = dialect
        self.size = len(known)
        """How many octets of the body were read."""
        self.unread = len(body) - len(known)
        """How many octets come after the size limit."""
        self.raw = octets.splitlines()
        """The lines in UTF-8, whole."""
        self.lines = to_lines(octets, dialect)
        """As far as the dialect reads them."""
        self.is_ascii = octets.isascii()
        """Whether the file is."""
        self.is_utf16 = isinstance(known, bytes) and bool(order_of_utf16(known, served_in))
        """Whether it was served in UTF-16."""
        scanner = _NotingScanner(dialect)
        scanner.scan(self.lines)
        self.sections = scanner.sections
        """The groups."""
        self.agents = scanner.agents
        """The user-agent lines."""
        self.groups = {number: section for number, (section, _, _) in scanner.agents.items()}
        """The group of each line that has one, by its position."""
        for position, section in enumerate(scanner.sections):
            self.groups.update(dict.fromkeys(section.rules, position))
            for members in section.members:
                self.groups.update((line.number, position) for line in members.lines)
        self.file_wide = frozenset(line.number for line in scanner.globals)
        """Lines that count for the whole file, such as Sitemap."""
        self.choice = GroupChoice(scanner.sections, dialect)
        self.by_name = self.choice.by_name
        """The groups that count for a crawler that goes by a name, for each name."""
        self.read = scanner.read
        """What the scanner has read in lines that may have a known key; not rules of the usual
        spelling."""
        numbers = chain.from_iterable(section.rules for section in scanner.sections)
        rules = list(read_rules(numbers, self.lines, dialect))
        self.rules = {number: (allow, value) for number, allow, value in rules}
        """For each rule of a group, by its line: whether it allows, and its path as served."""
        self.patterns = _patterns(rules, dialect)
        """The patterns of each rule that a URL can match: one rule may have two, or none."""

    def line(self, number: int) -> Line | None:
        """A line with its key and value; None if it has none."""
        if number in self.read:
            return self.read[number]
        return read_line(number, self.lines[number - 1], self.dialect)


def _patterns(
    rules: list[tuple[int, bool, bytes]], dialect: Dialect
) -> dict[int, tuple[Ranked, ...]]:
    found: dict[int, tuple[Ranked, ...]] = {}
    for served, rank in ranked(rules, dialect):
        pattern = take_apart(served, dialect.wildcards)
        if can_match(served, pattern, dialect):
            number = line_of(rank)
            found[number] = (*found.get(number, ()), (rank, pattern))
    return found


def can_match(value: bytes, pattern: Pattern, dialect: Dialect) -> bool:
    """Whether a URL may match a path, taken apart. All paths begin with ``/`` (RFC 9309 2.2.2)."""
    prefix, _, tail = pattern
    if prefix[:1] not in {b"", b"/"} or (not prefix and tail == b""):
        return False
    return dialect.escapes is not Escapes.NONE or not _ALWAYS_SENT_ESCAPED.search(value)
