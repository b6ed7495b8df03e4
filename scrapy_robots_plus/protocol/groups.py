"""Lines to groups (RFC 9309 2.1, 2.2.1): who is spoken to, and on which lines."""

from __future__ import annotations

from itertools import chain
from typing import NamedTuple

from .dialect import Dialect, Names
from .lines import INITIALS, Kind, Line, read_line
from .product_token import token_in, word_in

# The way most rules are written: seen at once, they need no taking apart yet.
_RULES = (b"Disallow:", b"Allow:", b"disallow:", b"allow:")

# What no key that means anything begins with: most lines of an HTML page are left at that.
_COMMENT_OR_MARKUP = frozenset(b"#<{}")

_GLOBAL_KINDS = frozenset({Kind.SITEMAP, Kind.HOST, Kind.CLEAN_PARAM, Kind.LICENSE})
_ENDS_AGENTS = frozenset({Kind.SITEMAP, Kind.CRAWL_DELAY})

STAR = "*"
_STAR = (STAR,)


class Members(NamedTuple):
    """Lines of a group that are no rules, and the names they are meant for.

    ``a, delay 1, b, delay 2`` is one group for its rules (2.2.4), yet each delay was written for
    the agents right above it.
    """

    names: frozenset[str]
    end: int
    """How many agents the group has up to here."""
    lines: list[Line]


class Section:
    """A group as it stands in the file: user-agent lines, and the lines of their rules.

    However many agents it has, its rules are held once.
    """

    __slots__ = ("_closed", "_run", "agents", "members", "names", "rules")

    def __init__(self) -> None:
        self.agents: list[bytes] = []
        """Values of the user-agent lines, as served."""
        self.names: list[tuple[str, ...]] = []
        """What the dialect takes each of them for; ``*`` for all crawlers."""
        self.rules: list[int] = []
        """Numbers of the allow and disallow lines."""
        self.members: list[Members] = []
        self._run = 0
        self._closed = False

    def add_agent(self, value: bytes, names: tuple[str, ...]) -> None:
        """Takes in a user-agent line."""
        if self._closed:
            self._run = len(self.agents)
            self._closed = False
        self.agents.append(value)
        self.names.append(names)

    def add_member(self, line: Line) -> None:
        """Takes in another line: it is for the agents since the last such line."""
        if not self._closed:
            names = frozenset(chain.from_iterable(self.names[self._run :]))
            self.members.append(Members(names, len(self.agents), []))
            self._closed = True
        self.members[-1].lines.append(line)


def names_in(value: bytes, dialect: Dialect) -> tuple[str, ...]:
    """The names that a user-agent value stands for, in lower case: a token, and, where they are
    not the same, a whole word; ``*``; or whatever it is where names are no tokens."""
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
    """Reads lines once, in order, and puts each where it belongs."""

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.sections: list[Section] = []
        self.globals: list[Line] = []
        """Lines that belong to no group (2.2.4)."""
        self._current: Section | None = None
        self._collecting = False

    def scan(self, lines: list[bytes]) -> None:
        """Takes in all lines of a file."""
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
        """Takes a line in; returns where the rules right behind it go, if that is settled."""
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
