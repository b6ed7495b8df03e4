"""Groups: which lines of a robots.txt are for which crawlers (RFC 9309 2.2.1)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from .dialect import Choice, Dialect, Names
from .lines import ABOUT_USES, FILE_WIDE, INITIALS, Kind, Line, read_line
from .product_token import AgentNames, names_of, token_in, word_in

STAR = "*"
"""The name of all crawlers."""
_STAR = (STAR,)
_TOKEN = Names.TOKEN


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
    if dialect.names is not _TOKEN or value.isalpha():  # as most tokens are
        return (text.lower(),)
    if value[:1] == b"*" and value[1:2].isspace():
        return _STAR
    token, word = token_in(text), word_in(text)
    return (token,) if token == word or dialect.tokens_only else (token, word)


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


Chosen = tuple[int, ...]
"""Positions of groups in the file."""


class GroupChoice:
    """The groups of a file by the names in their user-agent lines."""

    __slots__ = ("_by_name", "_dialect", "_sections")

    def __init__(self, sections: list[Section], dialect: Dialect) -> None:
        self._dialect = dialect
        self._sections = sections
        self._by_name: dict[str, list[int]] = {}
        for position, section in enumerate(sections):
            # Dialects that end groups at blank lines ignore groups without rules.
            if section.rules or not dialect.blank_line_ends_group:
                for name in self.names_of(section):
                    self._by_name.setdefault(name, []).append(position)

    def names_of(self, section: Section) -> set[str]:
        """The names under which a group is found."""
        names = set(chain.from_iterable(section.names))
        return {STAR} if self._dialect.star_comes_last and STAR in names else names

    @property
    def by_name(self) -> dict[str, Chosen]:
        """For each name in the file, the groups that count for a crawler that goes by it."""
        return {name: self._counted(tuple(each)) for name, each in self._by_name.items()}

    def names_for(self, agent: AgentNames) -> tuple[str, ...]:
        """The names under which a crawler looks for its groups, in order of preference."""
        return tuple(dict.fromkeys(chain.from_iterable(self._names_of(agent))))

    def _names_of(self, agent: AgentNames) -> tuple[tuple[str, ...], ...]:
        """The names in each header, in order of preference of the headers."""
        if self._dialect.names is Names.TOKEN:
            # The reference parser compares whatever it is given, even an empty name.
            if agent == "" and self._dialect.tokens_only:
                return (("",),)
            return names_of(agent, self._dialect.tokens_only)
        names = (agent,) if isinstance(agent, str) else agent
        return tuple((name.strip().lower(),) for name in names)

    def groups_for(self, agent: AgentNames) -> tuple[Chosen, ...]:
        """The groups whose rules count for a crawler, in file order; empty if none applies.

        2.2.1: all groups that name it, else all groups for ``*``, else none. Of several headers,
        the first with a name that any group names counts. Which of the names in a header is the
        product token is not certain: the groups of each of them are apart, and all must allow.
        """
        if self._dialect.choice is Choice.IN_ORDER:
            return (self._in_order(self.names_for(agent)),)
        for names in self._names_of(agent):
            named = dict.fromkeys(filter(None, map(self._named, names)))
            if named:
                return tuple(map(self._counted, named))
        return (self._counted(tuple(self._by_name.get(STAR, ()))),)

    def _counted(self, chosen: Chosen) -> Chosen:
        return chosen if self._dialect.choice is Choice.MERGED else chosen[:1]

    def _in_order(self, names: tuple[str, ...]) -> Chosen:
        for position, section in enumerate(self._sections):
            for each in chain.from_iterable(section.names):
                if any(self._fits(each, name) for name in names):
                    return (position,)
        return ()

    def _named(self, name: str) -> Chosen:
        exact = self._by_name.get(name, ()) if name != STAR else ()
        if self._dialect.names is Names.TOKEN or (exact and self._dialect.names is Names.EITHER):
            return tuple(exact)
        found: set[int] = set()
        for each, positions in self._by_name.items():
            if each != STAR and self._fits(each, name):
                found.update(positions)
        return tuple(sorted(found))

    def _fits(self, line: str, name: str) -> bool:
        """Whether a user-agent line's name matches a crawler's name, both in lower case."""
        if self._dialect.names is Names.GLOB:
            return name in line or _holds(name, line.split("*"))
        if not line or not name:
            return False
        return line in name or (self._dialect.names is Names.EITHER and name in line)


def _holds(name: str, parts: list[str]) -> bool:
    """Whether the name contains the parts, one after the other."""
    at = 0
    for part in parts:
        at = name.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return True


def lines_apart(lines: list[bytes], dialect: Dialect) -> Iterator[Line]:
    """The Content-Usage and Content-Signal lines above the first user-agent line, or behind a blank
    line that ends a group for whoever reads the file.

    RFC 9309 has them in no group, or in the group above (2.1, 2.2.4).
    """
    apart, has_group, has_only_agents = True, False, False
    for number, text in enumerate(lines, 1):
        line = read_line(number, text, dialect)
        if line is None or line.kind is Kind.NOTHING:
            # A blank line between user-agent lines and the rest of their group does not end it.
            apart = apart or not (text.strip() or has_only_agents)
        elif line.kind is Kind.USER_AGENT:
            apart, has_group, has_only_agents = False, True, True
        elif line.kind in ABOUT_USES and apart:
            yield line
        elif line.kind not in FILE_WIDE:
            apart, has_only_agents = apart and not has_group, False
