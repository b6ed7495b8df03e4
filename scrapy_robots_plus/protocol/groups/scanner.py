"""Lines to groups (RFC 9309 2.1, 2.2.1): which crawlers are addressed, and on which lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_robots_plus.protocol.lines.kinds import ABOUT_USES, FILE_WIDE, INITIALS, Kind
from scrapy_robots_plus.protocol.lines.lines import Line, read_line

from .sections import STAR, Section, names_in

if TYPE_CHECKING:
    from scrapy_robots_plus.protocol.dialect import Dialect

# The usual spelling of rules: recognized at once, without splitting the line.
_RULES = (b"Disallow:", b"Allow:", b"disallow:", b"allow:")

# The usual spelling of a line that names one token.
_AGENT = (b"User-agent: ", b"User-Agent: ")

# Lines that begin with no known key are skipped at once, such as most lines of an HTML page.
_BEGINNINGS = frozenset(b"".join(INITIALS) + b" \t\v\f")

_NOTHING, _USER_AGENT = Kind.NOTHING, Kind.USER_AGENT
_ARE_RULES = frozenset({Kind.ALLOW, Kind.DISALLOW})
_ENDS_AGENTS = frozenset({Kind.SITEMAP, Kind.CRAWL_DELAY})


class Scanner:
    """Reads lines once, in order, and sorts them into groups."""

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.sections: list[Section] = []
        self.globals: list[Line] = []
        """Lines that belong to no group (2.2.4)."""
        self.is_about_uses = False
        """Whether there is a Content-Usage or Content-Signal line anywhere."""
        self._current: Section | None = None
        self._collecting = False  # whether another agent would belong to this group

    def scan(self, lines: list[bytes]) -> None:
        """Reads all lines of a file."""
        blank_ends = self.dialect.blank_line_ends_group
        rules: list[int] | None = None
        for number, line in enumerate(lines, 1):
            if line.startswith(_RULES):
                if rules is not None:
                    rules.append(number)
                else:
                    rules = self._rule(number)
            elif line.startswith(_AGENT) and line[12:].isalpha():
                self._agent(number, line[12:])
                rules = None
            elif line and line[0] in _BEGINNINGS:
                rules = self._read(number, line)
            elif blank_ends and not line:
                rules = self._current = None

    def _read(self, number: int, text: bytes) -> list[int] | None:
        """Reads a line; returns the list that directly following rules go to, if known."""
        start = text.lstrip()[:1]
        if start not in INITIALS:
            if not start and self.dialect.blank_line_ends_group:
                self._current = None
        else:
            line = self._line(number, text)
            if line is None:
                pass
            elif line.kind is _USER_AGENT:
                self._agent(number, line.value)
            elif line.kind in _ARE_RULES:
                return self._rule(number)
            else:
                self._other(line)
        return None

    def _line(self, number: int, text: bytes) -> Line | None:
        return read_line(number, text, self.dialect)

    def _rule(self, number: int) -> list[int] | None:
        self._collecting = False
        section = self._current
        if section is None:
            if not self.dialect.orphans_for_all:
                # 2.2.2: rules before any user-agent line SHOULD be ignored.
                return None
            section = self._begin()
            section.add_agent(b"*", (STAR,))
        section.rules.append(number)
        return section.rules

    def _begin(self) -> Section:
        section = self._current = Section()
        self.sections.append(section)
        return section

    def _agent(self, _number: int, value: bytes, /) -> None:
        section = self._current
        if section is None or not self._collecting:
            # 2.1: a user-agent line after a rule starts a new group; another line does not (2.2.4).
            section = self._begin()
            self._collecting = True
        section.add_agent(value, names_in(value, self.dialect))

    def _other(self, line: Line) -> None:
        if line.kind is _NOTHING:
            # 2.2.4: other records MUST NOT interfere with the groups.
            return
        if self.dialect.delay_ends_agents and line.kind in _ENDS_AGENTS:
            self._collecting = False
        self.is_about_uses = self.is_about_uses or line.kind in ABOUT_USES
        if line.kind in FILE_WIDE:
            self.globals.append(line)
        elif self._current is not None:
            self._current.add_member(line)
