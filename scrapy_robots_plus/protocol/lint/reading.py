"""A robots.txt as the engine reads it, and what each line means to it."""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from scrapy_robots_plus.protocol.dialect import Dialect, Escapes
from scrapy_robots_plus.protocol.groups import STAR, GroupChoice, Scanner
from scrapy_robots_plus.protocol.lines import Kind, Line, read_line, to_lines
from scrapy_robots_plus.protocol.matcher import Pattern, Rank, line_of, take_apart
from scrapy_robots_plus.protocol.octets import (
    as_octets,
    order_of_utf16,
    text,
    to_utf8,
    whole_lines,
)
from scrapy_robots_plus.protocol.preferences.values import signals, usage, usage_rule
from scrapy_robots_plus.protocol.robotstxt import READERS
from scrapy_robots_plus.protocol.rules import ranked, read_rules

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scrapy_robots_plus.protocol.octets import Body
    from scrapy_robots_plus.protocol.preferences import Preference

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
        self, body: Body, dialect: Dialect, charset: str | None, max_bytes: int | None
    ) -> None:
        """Reads a file as :meth:`.RobotsTxt.parse` does."""
        served, served_in = as_octets(body, charset or dialect.charset)
        known = served if max_bytes is None else whole_lines(served, max_bytes)
        octets = to_utf8(known, served_in)
        self.dialect = dialect
        self.size = len(known)
        """How many octets of the body were read."""
        self.unread = len(served) - len(known)
        """How many octets come after the size limit."""
        self.raw = octets.splitlines()
        """The lines in UTF-8, whole."""
        self.lines = to_lines(octets, dialect)
        """As far as the dialect reads them."""
        self.is_utf16 = bool(order_of_utf16(known, served_in))
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


RULES = frozenset({Kind.ALLOW, Kind.DISALLOW})
PACES = frozenset({Kind.CRAWL_DELAY, Kind.REQUEST_RATE, Kind.VISIT_TIME})
_FILE_WIDE = {
    Kind.SITEMAP: "a sitemap",
    Kind.HOST: "the host name that the site prefers",
    Kind.CLEAN_PARAM: "query parameters that change nothing",
    Kind.LICENSE: "a license",
}


class Meaning(NamedTuple):
    """A line of a robots.txt, and what the engine made of it (RFC 9309 2.2)."""

    number: int
    """Counted from 1, in the file as served."""
    text: str
    """The line as served; octets that are not UTF-8 are shown as ``\\xe9``."""
    role: str
    """What the engine took it for: the key of such lines, as ``crawl-delay``, or ``blank``,
    ``comment``, ``unknown`` (it has a key that the dialect does not know), or ``text`` (it has no
    key, and is not a comment)."""
    key: bytes = b""
    """As served; empty if the line has none."""
    value: bytes = b""
    """Without comment and surrounding white space."""
    group: int | None = None
    """The number of its group, from 1; None if it belongs to none."""
    names: tuple[str, ...] = ()
    """For a user-agent line: the names that the dialect reads in it, in lower case."""
    ignored: str = ""
    """Why it has no effect; empty if it has one."""
    words: str = ""
    """What it means, in a few words; empty for comments and blank lines. May quote the file:
    escape it before printing."""


def meanings(reading: Reading) -> Iterator[Meaning]:
    """The meaning of each line, in file order."""
    for number, (raw, line) in enumerate(zip(reading.raw, reading.lines, strict=True), 1):
        shown = text(raw)
        if line.partition(b"#")[0].strip():
            yield _meaning(number, shown, reading)
        else:
            yield Meaning(number, shown, "comment" if b"#" in line else "blank")


def _meaning(number: int, shown: str, reading: Reading) -> Meaning:
    read = reading.line(number)
    if read is None:
        return Meaning(number, shown, "text", ignored="it has no key")
    if read.kind is Kind.NOTHING:
        return Meaning(number, shown, "unknown", *read[2:], ignored="its key is unknown")
    group = reading.groups.get(number)
    names = reading.agents[number][2] if read.kind is Kind.USER_AGENT else ()
    ignored = why_ignored(read, reading)
    return Meaning(
        number,
        shown,
        read.kind.key,
        read.key,
        read.value,
        None if group is None else group + 1,
        names,
        ignored,
        "" if ignored else _words(read, names, reading),
    )


def why_ignored(line: Line, reading: Reading) -> str:
    """Says why a line with a known key has no effect; empty if it has one."""
    if line.number not in reading.groups and line.number not in reading.file_wide:
        return "it belongs to no group"
    if line.kind in RULES:
        return "" if line.value or reading.dialect.empty_decides else "it has no path"
    if line.kind is Kind.USER_AGENT:
        return ""
    if not line.value:
        return "it has no value"
    if line.kind in PACES and READERS[line.kind](line.value) is None:
        return "its value cannot be understood"
    return ""


def _words(line: Line, names: tuple[str, ...], reading: Reading) -> str:
    if line.kind is Kind.USER_AGENT:
        return f"for {'all crawlers' if STAR in names else names[-1] or 'nobody'}"
    if line.kind in RULES:
        return f"{_verb(line, reading)} {paths(line.value, reading.dialect)}"
    if line.kind in PACES:
        value = READERS[line.kind](line.value)
        return f"{value:g} s between requests" if isinstance(value, float) else str(value)
    if line.kind is Kind.CONTENT_USAGE:
        return _usage(line.value, reading.dialect)
    if line.kind is Kind.CONTENT_SIGNAL:
        return _stated(signals(line.value))
    return _FILE_WIDE[line.kind]


def _verb(line: Line, reading: Reading) -> str:
    allows = line.kind is Kind.ALLOW
    if not line.value:
        # 2.2.2: an empty pattern means nothing, or, in some dialects, the reverse of its rule.
        allows = not (allows and reading.dialect.empty_allow_denies)
    return "allows" if allows else "denies"


def paths(value: bytes, dialect: Dialect) -> str:
    """Which paths a path-pattern matches, in words."""
    pattern = prefix, parts, tail = take_apart(value, dialect.wildcards)
    if not can_match(value, pattern, dialect):
        return "nothing"
    if parts or tail:
        return f"paths like {text(value)}"
    if tail is not None:
        return f"only {text(prefix)}"
    return "everything" if prefix in {b"", b"/"} else f"what begins with {text(prefix)}"


def _usage(value: bytes, dialect: Dialect) -> str:
    path, stated = usage_rule(value)
    where = f", for {paths(path, dialect)}" if path else ""
    return _stated(usage(stated)) + where


def _stated(stated: Iterable[tuple[str, Preference]]) -> str:
    each_once = dict.fromkeys(f"{category}: {preference}" for category, preference in stated)
    return ", ".join(each_once) or "no preference"
