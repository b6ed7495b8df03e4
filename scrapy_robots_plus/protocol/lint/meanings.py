"""What each line of a robots.txt means to the engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from scrapy_robots_plus.protocol.groups import STAR
from scrapy_robots_plus.protocol.lines import Kind, Line
from scrapy_robots_plus.protocol.octets import text, texts
from scrapy_robots_plus.protocol.preferences.values import signals, usage, usage_rule
from scrapy_robots_plus.protocol.robotstxt import READERS
from scrapy_robots_plus.protocol.rules.matcher import take_apart

from .reading import Reading, can_match

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scrapy_robots_plus.protocol.dialect import Dialect
    from scrapy_robots_plus.protocol.preferences import Preference


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


def group_names(reading: Reading, position: int) -> str:
    """The names of a group, as served, for messages."""
    return ", ".join(texts(reading.sections[position].agents))
