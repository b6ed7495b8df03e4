"""Which groups of a file apply to a crawler (RFC 9309 2.2.1)."""

from __future__ import annotations

from itertools import chain

from scrapy_robots_plus.protocol.dialect import Choice, Dialect, Names
from scrapy_robots_plus.protocol.product_token import AgentNames, names_of

from .sections import STAR, Section

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
