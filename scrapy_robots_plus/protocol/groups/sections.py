"""A group as it stands in a file, and the names in its user-agent lines (RFC 9309 2.2.1)."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from scrapy_robots_plus.protocol.dialect import Dialect, Names
from scrapy_robots_plus.protocol.product_token import token_in, word_in

if TYPE_CHECKING:
    from scrapy_robots_plus.protocol.lines.lines import Line

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
