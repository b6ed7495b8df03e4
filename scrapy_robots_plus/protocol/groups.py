"""Groups: which lines of a robots.txt are for which crawlers (RFC 9309 2.2.1)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from .dialect import Dialect
from .fields import ABOUT_USES, FILE_WIDE, INITIALS, RULES, Field, Line, read_line
from .matcher import matches
from .octets import text
from .product_token import AgentNames, names_of, token_in, word_in

STAR = "*"
"""The name that stands for all crawlers."""


class Section:
    """A group as written in the file: user-agent lines, and the numbers of its rule lines.

    Its rules are stored once, however many agents it has.
    """

    __slots__ = ("_shown", "agents", "members", "names", "rules")

    def __init__(self) -> None:
        self.agents: list[bytes] = []
        """The values of the user-agent lines, as served."""
        self.names: list[tuple[str, ...]] = []
        """The names that the dialect reads in each of :attr:`agents`; ``*`` for all crawlers."""
        self.rules: list[int] = []
        """The line numbers of the allow and disallow lines."""
        self.members: list[tuple[int, Line]] = []
        """The other lines of the group, each with the number of agents above it: ``a, delay 1, b,
        delay 2`` is one group for its rules (2.2.4), but each delay is for those right above it."""
        self._shown: tuple[str, ...] = ()

    @property
    def shown(self) -> tuple[str, ...]:
        """The agents as text: one tuple for all that show them."""
        self._shown = self._shown or tuple(map(text, self.agents))
        return self._shown


def names_in(value: bytes, dialect: Dialect) -> tuple[str, ...]:
    """Returns the names in a user-agent value, in lower case: ``*``, or a token and its whole word.

    The word is left out if it is the token. If the dialect's names are not tokens, the whole value
    is the name.
    """
    name = value.decode("utf-8", "replace")
    if value.isalpha() or dialect.names_are_parts:  # as most tokens are
        return (name.lower(),)
    if value[:1] == b"*" and not value[1:2].strip():
        return (STAR,)
    token, word = token_in(name), word_in(name)
    return (token,) if token == word or dialect.tokens_only else (token, word)


# The usual spelling of rules: recognized at once, without splitting the line.
_RULES = (b"Disallow:", b"Allow:", b"disallow:", b"allow:")

# The usual spelling of a line that names one token.
_AGENT = (b"User-agent: ", b"User-Agent: ")

# A line that begins otherwise has no known key and is skipped at once: most of an HTML page.
_BEGINNINGS = frozenset(b"".join(INITIALS) + b" \t\v\f")

_NOTHING, _USER_AGENT = Field.NOTHING, Field.USER_AGENT
_ENDS_AGENTS = frozenset({Field.SITEMAP, Field.CRAWL_DELAY})


class Groups:
    """The groups of a file, and which of them apply to a crawler.

    Reads the lines once, in order. A group is identified by its position in the file.
    """

    def __init__(self, lines: list[bytes], dialect: Dialect) -> None:
        self._dialect = dialect
        self.sections: list[Section] = []
        self.globals: list[Line] = []
        """The lines that belong to no group (2.2.4)."""
        self.is_about_uses = False
        """Whether there is a Content-Usage or Content-Signal line anywhere."""
        self._current: Section | None = None
        self._collecting = False  # whether another user-agent line would belong to this group
        self._scan(lines)
        self.by_name = self._by_name()
        """Each name in the file, with the positions of the groups that have it."""

    def _scan(self, lines: list[bytes]) -> None:
        blank_ends = self._dialect.blank_line_ends_group
        rules: list[int] | None = None
        for number, line in enumerate(lines, 1):
            if line.startswith(_RULES):
                if rules is not None:
                    rules.append(number)
                else:
                    rules = self._rule(number)
            elif line.startswith(_AGENT) and line[12:].isalpha():
                self._agent(line[12:])
                rules = None
            elif line and line[0] in _BEGINNINGS:
                rules = self._read(number, line)
            elif blank_ends and not line:
                rules = self._current = None

    def _read(self, number: int, served: bytes) -> list[int] | None:
        """Reads a line; returns the list that directly following rules go to, if known."""
        start, line = served.lstrip()[:1], None
        if start in INITIALS:
            line = read_line(number, served, self._dialect.forgiving)
        elif self._dialect.blank_line_ends_group and not start:
            self._current = None
        if line is None or line.field is _NOTHING:
            # 2.2.4: other records MUST NOT interfere with the groups.
            return None
        if line.field in RULES:
            return self._rule(number)
        if line.field is _USER_AGENT:
            self._agent(line.value)
        else:
            self._other(line)
        return None

    def _rule(self, number: int) -> list[int] | None:
        if self._current is None and self._dialect.orphans_for_all:
            self._agent(b"*")
        self._collecting = False
        section = self._current
        if section is None:
            # 2.2.2: rules before any user-agent line SHOULD be ignored.
            return None
        section.rules.append(number)
        return section.rules

    def _agent(self, value: bytes) -> None:
        section = self._current
        if section is None or not self._collecting:
            # 2.1: a user-agent line after a rule starts a new group; another line does not (2.2.4).
            section = self._current = Section()
            self.sections.append(section)
            self._collecting = True
        section.agents.append(value)
        section.names.append(names_in(value, self._dialect))

    def _other(self, line: Line) -> None:
        if self._dialect.blank_line_ends_group and line.field in _ENDS_AGENTS:
            self._collecting = False
        self.is_about_uses = self.is_about_uses or line.field in ABOUT_USES
        if line.field in FILE_WIDE:
            self.globals.append(line)
        elif self._current is not None:
            self._current.members.append((len(self._current.agents), line))

    def _by_name(self) -> dict[str, list[int]]:
        dialect, found = self._dialect, dict[str, list[int]]()
        for position, section in enumerate(self.sections):
            names = set(chain.from_iterable(section.names))
            if dialect.blank_line_ends_group and not section.rules:
                continue
            if STAR in names and dialect.names_are_parts and not dialect.first_group_decides:
                names = {STAR}
            for name in names:
                found.setdefault(name, []).append(position)
        return found

    def names_for(self, agent: AgentNames) -> tuple[str, ...]:
        """Returns the names under which a crawler looks for its groups, in order of preference.

        They are those in each header, the likeliest first, or the headers themselves.
        """
        if self._dialect.names_are_parts:
            headers = (agent,) if isinstance(agent, str) else agent
            return tuple([header.strip().lower() for header in headers])
        # The reference parser compares whatever it is given, even an empty name.
        strict = self._dialect.tokens_only
        if agent == "" and strict:
            return ("",)
        return names_of(agent, strict)

    def groups_for(self, agent: AgentNames) -> tuple[int, ...]:
        """Returns the positions of the groups whose rules count for a crawler, in file order.

        2.2.1: all groups that name it, else all groups for ``*``, else none. Of several names, the
        first that any group has counts.
        """
        if self._dialect.names_are_parts:
            return self._first_for(self.names_for(agent))
        names = (name for name in self.names_for(agent) if name in self.by_name and name != STAR)
        return tuple(self.by_name.get(next(names, STAR), ()))

    def _first_for(self, headers: tuple[str, ...]) -> tuple[int, ...]:
        """Returns the first group for a crawler, in dialects whose names are parts of headers."""
        if self._dialect.first_group_decides:
            fitting = [
                positions[0]
                for name, positions in self.by_name.items()
                if any(header in name or _holds(header, name) for header in headers)
            ]
            return tuple(sorted(fitting)[:1])
        names = [name for name in self.by_name if name and name != STAR]
        for header in headers:
            named = [self.by_name[name][0] for name in names if name in header]
            if named:
                return (min(named),)
        return tuple(self.by_name.get(STAR, ())[:1])


def _holds(header: str, name: str) -> bool:
    """Returns whether a header contains a name, in which ``*`` stands for any characters."""
    return matches((b"", tuple(name.encode().split(b"*")), None), header.encode())


def lines_apart(lines: list[bytes], forgiving: bool) -> Iterator[Line]:
    """Yields the Content-Usage and Content-Signal lines that look as if they were in no group.

    They are above the first user-agent line, or behind a blank line that ends a group for a human
    reader. RFC 9309 has them in no group, or in the group above (2.1, 2.2.4).
    """
    apart, has_group, has_only_agents = True, False, False
    for number, served in enumerate(lines, 1):
        line = read_line(number, served, forgiving)
        if line is None or line.field is Field.NOTHING:
            # A blank line between user-agent lines and the rest of their group does not end it.
            apart = apart or not (served.strip() or has_only_agents)
        elif line.field is Field.USER_AGENT:
            apart, has_group, has_only_agents = False, True, True
        elif line.field in ABOUT_USES and apart:
            yield line
        elif line.field not in FILE_WIDE:
            apart, has_only_agents = apart and not has_group, False
