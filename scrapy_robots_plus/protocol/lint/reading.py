"""A robots.txt as the engine reads it, with what the engine itself does not keep."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from scrapy_robots_plus.protocol.groups.group_choice import GroupChoice
from scrapy_robots_plus.protocol.groups.scanner import Scanner
from scrapy_robots_plus.protocol.lines.lines import to_lines
from scrapy_robots_plus.protocol.lines.octets import order_of_utf16, to_utf8, whole_lines
from scrapy_robots_plus.protocol.rules.compiling import ranked, read_rules
from scrapy_robots_plus.protocol.rules.pattern import take_apart

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_robots_plus.protocol.dialect import Dialect
    from scrapy_robots_plus.protocol.groups.group_choice import Chosen
    from scrapy_robots_plus.protocol.groups.sections import Section
    from scrapy_robots_plus.protocol.lines import Line
    from scrapy_robots_plus.protocol.rules.pattern import Pattern
    from scrapy_robots_plus.protocol.rules.rank import Rank


class _NotingScanner(Scanner):
    """Also notes what it has read, and where the user-agent lines are."""

    def __init__(self, dialect: Dialect) -> None:
        super().__init__(dialect)
        self.agents: dict[int, tuple[int, int]] = {}
        self.read: dict[int, Line | None] = {}

    def _line(self, number: int, text: bytes) -> Line | None:
        line = self.read[number] = super()._line(number, text)
        return line

    def _agent(self, line: Line) -> None:
        super()._agent(line)
        section = len(self.sections) - 1
        self.agents[line.number] = section, len(self.sections[section].agents) - 1


class Rule(NamedTuple):
    """A rule, as the engine compiles it."""

    allow: bool
    value: bytes
    """As served."""
    ranked: list[tuple[Rank, Pattern]]
    """Its patterns: one rule may have two, or none."""


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
        dict(_rules(scanner.sections, lines, dialect)),
    )


def _rules(
    sections: list[Section], lines: list[bytes], dialect: Dialect
) -> Iterator[tuple[int, Rule]]:
    for section in sections:
        for rule in read_rules(section.rules, lines, dialect):
            number, allow, value = rule
            found = ranked((rule,), dialect)
            patterns = [(rank, take_apart(text, dialect.wildcards)) for text, rank in found]
            yield number, Rule(allow, value, patterns)
