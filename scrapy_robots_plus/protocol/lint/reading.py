"""A robots.txt as the engine reads it, and what each line means to it."""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from scrapy_robots_plus.protocol.fields import ABOUT_USES, Field, Line, read_line, to_lines
from scrapy_robots_plus.protocol.groups import STAR, GroupChoice, Scanner
from scrapy_robots_plus.protocol.matcher import Pattern, Rank, line_of, take_apart
from scrapy_robots_plus.protocol.octets import as_octets, text, to_utf8, whole_lines
from scrapy_robots_plus.protocol.preferences import Preference
from scrapy_robots_plus.protocol.preferences.values import signals, usage, usage_rule
from scrapy_robots_plus.protocol.robotstxt import READERS
from scrapy_robots_plus.protocol.rules import ranked, read_rules

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scrapy_robots_plus.protocol.dialect import Dialect
    from scrapy_robots_plus.protocol.octets import Body

AgentLine = tuple[int, bytes, tuple[str, ...]]
"""The position of its group, its value, and the names that are read in it."""
Ranked = tuple[Rank, Pattern]
"""A pattern that a URL can match, and the rank of its rule."""

RULES = frozenset({Field.ALLOW, Field.DISALLOW})

_ALWAYS_SENT_ESCAPED = re.compile(rb"[\x00-\x20\"<>\x7f]")
"""No URI has them (RFC 3986 2), and all clients send them escaped, in paths and in queries."""


class Reading:
    """What the engine made of a file."""

    def __init__(
        self, body: Body, dialect: Dialect, charset: str | None, max_bytes: int | None
    ) -> None:
        """Reads a file as :meth:`.RobotsTxt.parse` does."""
        served, served_in = as_octets(body, charset or "utf-8")
        known = served if max_bytes is None else whole_lines(served, max_bytes)
        octets = to_utf8(known, served_in)
        self.dialect = dialect
        self.unread = len(served) - len(known)
        """How many octets come after the size limit."""
        self.is_utf16 = known.count(0) > octets.count(0)
        """Whether it was served in UTF-16, where ASCII has NULs that are gone now."""
        self.raw = octets.splitlines()
        """The lines in UTF-8, whole."""
        self.lines = to_lines(octets)
        """As far as they are read."""
        read = (read_line(number, line) for number, line in enumerate(self.lines, 1) if line)
        self.records = {line.number: line for line in read if line}
        """The lines that have a key and a value."""
        scanner = Scanner(self.lines, dialect)
        self.sections = scanner.sections
        """The groups."""
        self.choice = GroupChoice(scanner.sections, dialect)
        numbers = (line.number for line in self.records.values() if line.field is Field.USER_AGENT)
        named: Iterator[AgentLine] = (
            (position, *value_and_names)
            for position, section in enumerate(self.sections)
            for value_and_names in zip(section.agents, section.names, strict=True)
        )
        self.agents = dict(zip(numbers, named, strict=True))
        """The user-agent lines."""
        self.groups = {number: position for number, (position, _, _) in self.agents.items()}
        """The group of each line that has one, by its position."""
        for position, section in enumerate(scanner.sections):
            self.groups.update(dict.fromkeys(section.rules, position))
            for members in section.members:
                self.groups.update((line.number, position) for line in members.lines)
        self.file_wide = frozenset(line.number for line in scanner.globals)
        """Lines that count for the whole file, such as Sitemap."""
        self.patterns: dict[int, list[Ranked]] = {}
        """The patterns of each rule that a URL can match: one rule may have two, or none."""
        rules = chain.from_iterable(section.rules for section in scanner.sections)
        for served, rank in ranked(read_rules(rules, self.lines), dialect):
            pattern = take_apart(served)
            if can_match(served, pattern, dialect):
                self.patterns.setdefault(line_of(rank), []).append((rank, pattern))


def can_match(value: bytes, pattern: Pattern, dialect: Dialect) -> bool:
    """Whether a URL may match a path, taken apart. All paths begin with ``/`` (RFC 9309 2.2.2)."""
    prefix, _, tail = pattern
    if prefix[:1] not in {b"", b"/"} or (not prefix and tail == b""):
        return False
    return dialect.normal_escapes or not _ALWAYS_SENT_ESCAPED.search(value)


class Meaning(NamedTuple):
    """A line of a robots.txt, and what the engine made of it (RFC 9309 2.2)."""

    number: int
    """Counted from 1, in the file as served."""
    text: str
    """As served."""
    role: str
    """What the engine took it for: the key of such lines, as ``crawl-delay``, or ``blank``,
    ``comment``, ``unknown`` (it has a key that nobody knows), or ``text`` (it has no key, and is
    not a comment)."""
    group: int | None = None
    """The number of its group, from 1; None if it belongs to none."""
    ignored: str = ""
    """Why it has no effect; empty if it has one."""
    words: str = ""
    """What it means, in a few words; empty for comments and blank lines. May quote the file:
    escape it before printing."""


def meanings(reading: Reading) -> Iterator[Meaning]:
    """The meaning of each line, in file order."""
    for number, (raw, line) in enumerate(zip(reading.raw, reading.lines, strict=True), 1):
        shown, read = text(raw), reading.records.get(number)
        if read is not None:
            yield _meaning(shown, read, reading)
        elif line.partition(b"#")[0].strip():
            yield Meaning(number, shown, "text", ignored="it has no key")
        else:
            yield Meaning(number, shown, "comment" if b"#" in line else "blank")


def _meaning(shown: str, line: Line, reading: Reading) -> Meaning:
    if line.field is Field.NOTHING:
        return Meaning(line.number, shown, "unknown", ignored="its key is unknown")
    group = reading.groups.get(line.number)
    _, _, names = reading.agents.get(line.number, (0, b"", ()))
    ignored = why_ignored(line, reading)
    words = "" if ignored else _words(line, names, reading.dialect, group is None)
    number = None if group is None else group + 1
    return Meaning(line.number, shown, line.field.key, number, ignored, words)


def why_ignored(line: Line, reading: Reading) -> str:
    """Says why a line with a known key has no effect; empty if it has one."""
    if line.number not in reading.groups and line.number not in reading.file_wide:
        return "" if _objections(line) else "it belongs to no group"
    if line.field is Field.USER_AGENT:
        return ""
    if not line.value:
        return "it has no path" if line.field in RULES else "it has no value"
    if line.field in READERS and READERS[line.field](line.value) is None:
        return "its value cannot be understood"
    return ""


_FILE_WIDE = {
    Field.SITEMAP: "a sitemap",
    Field.HOST: "the host name that the site prefers",
    Field.CLEAN_PARAM: "query parameters that change nothing",
    Field.LICENSE: "a license",
}


def _uses(line: Line) -> tuple[bytes, Iterable[tuple[str, Preference]]]:
    """The path that a line about uses is for, empty for all, and what it states."""
    if line.field is Field.CONTENT_SIGNAL:
        return b"", signals(line.value)
    path, value = usage_rule(line.value)
    return path, usage(value)


def _objections(line: Line) -> list[tuple[str, Preference]]:
    """What a line disallows that stands in no group: sites mean all crawlers by it."""
    stated = _uses(line)[1] if line.field in ABOUT_USES else ()
    return [each for each in stated if each[1] is Preference.DISALLOW]


def _words(line: Line, names: tuple[str, ...], dialect: Dialect, is_apart: bool) -> str:
    field, value = line.field, line.value
    if field is Field.USER_AGENT:
        return f"for {'all crawlers' if STAR in names else names[-1] or 'nobody'}"
    if field in RULES:
        verb = "allows" if field is Field.ALLOW else "denies"
        return f"{verb} {paths(value, dialect)}"
    if field in READERS:
        pace = READERS[field](value)
        return f"{pace:g} s between requests" if isinstance(pace, float) else str(pace)
    if field not in ABOUT_USES:
        return _FILE_WIDE[field]
    path, stated = _uses(line)
    where = f", for {paths(path, dialect)}" if path else ""
    if is_apart:
        return f"{_stated(_objections(line))}{where}, for all crawlers"
    return _stated(stated) + where


def paths(value: bytes, dialect: Dialect) -> str:
    """Which paths a path-pattern matches, in words."""
    pattern = prefix, parts, tail = take_apart(value)
    if not can_match(value, pattern, dialect):
        return "nothing"
    if parts or tail:
        return f"paths like {text(value)}"
    if tail is not None:
        return f"only {text(prefix)}"
    return "everything" if prefix in {b"", b"/"} else f"what begins with {text(prefix)}"


def _stated(stated: Iterable[tuple[str, Preference]]) -> str:
    each_once = dict.fromkeys(f"{category}: {preference}" for category, preference in stated)
    return ", ".join(each_once) or "no preference"
