"""A robots.txt as the engine reads it, and what each line means to it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from scrapy_robots_plus.protocol.dialect import Dialect
from scrapy_robots_plus.protocol.fields import ABOUT_USES, RULES, Field, Line, read_line, to_lines
from scrapy_robots_plus.protocol.groups import STAR, Groups
from scrapy_robots_plus.protocol.matcher import Pattern, Rank, line_of, spelled, take_apart
from scrapy_robots_plus.protocol.octets import Body, as_octets, text, to_utf8, whole_lines
from scrapy_robots_plus.protocol.preferences import Preference
from scrapy_robots_plus.protocol.preferences.values import statements_in
from scrapy_robots_plus.protocol.robotstxt import MAX_RULE, READERS
from scrapy_robots_plus.protocol.rules import Rules

_ALWAYS_SENT_ESCAPED = re.compile(rb"[\x00-\x20\"<>\x7f]")
"""Octets that no URI has (RFC 3986 2) and all clients send escaped, in paths and queries."""


class Reading:
    """A file as the engine reads it."""

    def __init__(
        self, body: Body, dialect: Dialect, charset: str | None, max_bytes: int | None
    ) -> None:
        """Reads a file as :meth:`.RobotsTxt.parse` does."""
        served, served_in = as_octets(body, charset or "utf-8")
        known = whole_lines(served, max_bytes)
        octets = to_utf8(known, served_in)
        self.dialect = dialect
        self.unread = len(served) - len(known)
        """The number of octets after the size limit."""
        self.is_utf16 = known.count(0) > octets.count(0)
        """Whether it was served in UTF-16, where ASCII has NULs that are gone now."""
        self.raw = octets.splitlines()
        """The whole lines, in UTF-8."""
        self.lines = to_lines(octets)
        """The lines as far as they are read."""
        read = (read_line(number, line) for number, line in enumerate(self.lines, 1) if line)
        self.records = {line.number: line for line in read if line}
        """The lines that have a key and a value, by their numbers."""
        self.scanned = Groups(self.lines, dialect)
        """The groups, and which of them apply to a crawler."""
        self.sections = self.scanned.sections
        numbers = [line.number for line in self.records.values() if line.field is Field.USER_AGENT]
        agents = [
            (position, value, names)
            for position, section in enumerate(self.sections)
            for value, names in zip(section.agents, section.names, strict=True)
        ]
        # With ``orphans_for_all``, the group of the rules before all others has no line of its own.
        self.agents = dict(zip(numbers, agents[len(agents) - len(numbers) :], strict=True))
        """The user-agent lines, by number: the position of the group, the value, its names."""
        self.groups = {number: position + 1 for number, (position, _, _) in self.agents.items()}
        """The number, from 1, of the group of each line that has one, by the line's number."""
        for group, section in enumerate(self.sections, 1):
            self.groups.update(dict.fromkeys(section.rules, group))
            self.groups.update((line.number, group) for _, line in section.members)
        self.patterns: dict[int, list[tuple[Pattern, Rank]]] = {}
        """The patterns of each rule that a URL can match, by line: a rule may have two, or none."""
        for pattern, rank in Rules(tuple(self.sections), self.lines, dialect).patterns():
            if can_match(pattern, dialect):
                self.patterns.setdefault(line_of(rank), []).append((pattern, rank))

    def is_apart(self, line: Line) -> bool:
        """Returns whether a line that belongs in a group is in none."""
        return line.number not in self.groups and line.field not in _FILE_WIDE


def can_match(pattern: Pattern, dialect: Dialect) -> bool:
    """Returns whether a URL may match *pattern*. All paths begin with ``/`` (RFC 9309 2.2.2)."""
    prefix, _, tail = pattern
    if prefix[:1] not in {b"", b"/"} or (not prefix and tail == b""):
        return False
    return dialect.normal_escapes or not _ALWAYS_SENT_ESCAPED.search(spelled(pattern))


class Meaning(NamedTuple):
    """A line of a robots.txt, and what the engine made of it (RFC 9309 2.2)."""

    number: int
    """The line number, counted from 1, in the file as served."""
    text: str
    """The line as served."""
    role: str
    """What the engine took the line for: the key of such lines, as ``crawl-delay``, or ``blank``,
    ``comment``, ``unknown`` (its key is unknown), or ``text`` (it has no key and no comment)."""
    group: int | None
    """The number of the line's group, from 1; None if it belongs to none."""
    words: str
    """What the line means, in a few words: ``ignored`` if it has no effect; empty for comments and
    blank lines. May quote the file: escape it before printing."""


_IGNORED = "ignored"


def meanings(reading: Reading) -> Iterator[Meaning]:
    """Yields the meaning of each line, in file order."""
    for number, (raw, line) in enumerate(zip(reading.raw, reading.lines, strict=True), 1):
        read = reading.records.get(number)
        if read is not None:
            role = "unknown" if read.field is Field.NOTHING else read.field.key
            words = _words(read, reading)
        elif line.partition(b"#")[0].strip():
            role, words = "text", _IGNORED
        else:
            role, words = "comment" if b"#" in line else "blank", ""
        yield Meaning(number, text(raw), role, reading.groups.get(number), words)


_FILE_WIDE = {
    Field.SITEMAP: "a sitemap",
    Field.HOST: "the host name that the site prefers",
    Field.CLEAN_PARAM: "query parameters that change nothing",
    Field.LICENSE: "a license",
}


def _words(line: Line, reading: Reading) -> str:
    number, field, _, value = line
    if field is Field.USER_AGENT:
        _, _, names = reading.agents[number]
        return f"for {'all crawlers' if STAR in names else names[-1] or 'nobody'}"
    if field in ABOUT_USES:
        return _words_about_uses(line, reading)
    if not value or reading.is_apart(line):
        return _IGNORED
    if field is Field.CLEAN_PARAM and len(value) > MAX_RULE:
        return _IGNORED
    if field in RULES:
        verb = "allows" if field is Field.ALLOW else "denies"
        return f"{verb} {paths(value, reading.dialect)}"
    if field in READERS:
        pace = READERS[field](value)
        words = f"{pace:g} s between requests" if isinstance(pace, float) else str(pace)
        return _IGNORED if pace is None else words
    return _FILE_WIDE[field]


def _words_about_uses(line: Line, reading: Reading) -> str:
    path, stated = statements_in(line)
    where = f", for {paths(path, reading.dialect)}" if path else ""
    if reading.is_apart(line):
        # Sites mean all crawlers by what such a line disallows.
        stated = [each for each in stated if each.preference is Preference.DISALLOW]
        where += ", for all crawlers"
        if not stated:
            return _IGNORED
    each_once = dict.fromkeys(f"{each.category}: {each.preference}" for each in stated)
    return (", ".join(each_once) or "no preference") + where


def paths(value: bytes, dialect: Dialect) -> str:
    """Returns which paths a path-pattern matches, in words."""
    pattern = prefix, parts, tail = take_apart(value)
    if not can_match(pattern, dialect):
        return "nothing"
    if parts or tail:
        return f"paths like {text(value)}"
    if tail is not None:
        return f"only {text(prefix)}"
    return "everything" if prefix in {b"", b"/"} else f"what begins with {text(prefix)}"
