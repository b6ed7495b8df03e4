"""Lines to groups (RFC 9309 2.1, 2.2.1): which crawlers are addressed, and on which lines."""

from __future__ import annotations

from itertools import chain
from typing import NamedTuple

from scrapy_robots_plus.protocol.dialect import Dialect, Names
from scrapy_robots_plus.protocol.lines.lines import INITIALS, Kind, Line, read_line
from scrapy_robots_plus.protocol.product_token import token_in, word_in

# The usual spelling of rules: recognized at once, without splitting the line.
_RULES = (b"Disallow:", b"Allow:", b"disallow:", b"allow:")

# Lines that begin with no known key are skipped at once, such as most lines of an HTML page.
_COMMENT_OR_MARKUP = frozenset(b"#<{}")

_GLOBAL_KINDS = frozenset({Kind.SITEMAP, Kind.HOST, Kind.CLEAN_PARAM, Kind.LICENSE})
_ENDS_AGENTS = frozenset({Kind.SITEMAP, Kind.CRAWL_DELAY})

STAR = "*"
_STAR = (STAR,)


class Members(NamedTuple):
    """Lines of a group other than rules, and the names they apply to.

    ``a, delay 1, b, delay 2`` is one group for its rules (2.2.4), but each delay was written for
    the agents directly above it.
    """

    names: frozenset[str]
    end: int
    """How many agents the group has up to this point."""
    lines: list[Line]


class Section:
    """A group as written in the file: user-agent lines, and the numbers of its rule lines.

    Its rules are stored once, however many agents it has.
    """

    __slots__ = ("_closed", "_run", "agents", "members", "names", "rules")

    def __init__(self) -> None:
        self.agents: list[bytes] = []
        """Values of the user-agent lines, as served."""
        self.names: list[tuple[str, ...]] = []
        """The names that the dialect reads in each of them; ``*`` for all crawlers."""
        self.rules: list[int] = []
        """Line numbers of the allow and disallow lines."""
        self.members: list[Members] = []
        self._run = 0
        """Where the agents begin to which the next other line applies."""
        self._closed = False  # whether such a line stands below them

    def add_agent(self, value: bytes, names: tuple[str, ...]) -> None:
        """Adds a user-agent line."""
        if self._closed:
            self._run = len(self.agents)
            self._closed = False
        self.agents.append(value)
        self.names.append(names)

    def add_member(self, line: Line) -> None:
        """Adds another line: it applies to the agents since the last such line."""
        if not self._closed:
            names = frozenset(chain.from_iterable(self.names[self._run :]))
            self.members.append(Members(names, len(self.agents), []))
            self._closed = True
        self.members[-1].lines.append(line)


def names_in(value: bytes, dialect: Dialect) -> tuple[str, ...]:
    """The names in a user-agent value, in lower case: ``*``, or a token and, if it differs, the
    whole word; the value as it is in dialects whose names are not tokens."""
    if value == b"*":
        return _STAR
    text = value.decode("utf-8", "replace")
    if dialect.names is not Names.TOKEN:
        return (text.lower(),)
    if value[:1] == b"*" and value[1:2].isspace():
        return _STAR
    token, word = token_in(text), word_in(text)
    return (token,) if token == word or dialect.tokens_only else (token, word)


class Scanner:
    """Reads lines once, in order, and sorts them into groups."""

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.sections: list[Section] = []
        self.globals: list[Line] = []
        """Lines that belong to no group (2.2.4)."""
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
            elif line and line[0] not in _COMMENT_OR_MARKUP:
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
            line = read_line(number, text, self.dialect)
            if line is None:
                pass
            elif line.kind is Kind.USER_AGENT:
                self._agent(line)
            elif line.kind is Kind.ALLOW or line.kind is Kind.DISALLOW:
                return self._rule(number)
            else:
                self._other(line)
        return None

    def _rule(self, number: int) -> list[int] | None:
        self._collecting = False
        section = self._current
        if section is None:
            if not self.dialect.orphans_for_all:
                # 2.2.2: rules before any user-agent line SHOULD be ignored.
                return None
            section = self._begin()
            section.add_agent(b"*", _STAR)
        section.rules.append(number)
        return section.rules

    def _begin(self) -> Section:
        section = self._current = Section()
        self.sections.append(section)
        return section

    def _agent(self, line: Line) -> None:
        section = self._current
        if section is None or not self._collecting:
            # 2.1: a user-agent line after a rule starts a new group; another line does not (2.2.4).
            section = self._begin()
            self._collecting = True
        section.add_agent(line.value, names_in(line.value, self.dialect))

    def _other(self, line: Line) -> None:
        if line.kind is Kind.NOTHING:
            # 2.2.4: other records MUST NOT interfere with the groups.
            return
        if self.dialect.delay_ends_agents and line.kind in _ENDS_AGENTS:
            self._collecting = False
        if line.kind in _GLOBAL_KINDS:
            self.globals.append(line)
        elif self._current is not None:
            self._current.add_member(line)
