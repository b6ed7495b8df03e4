"""Faults of single lines: keys, colons, lines outside groups, values other than paths."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from scrapy_robots_plus.protocol.lines.kinds import ABOUT_USES, Kind, kind_of
from scrapy_robots_plus.protocol.lines.octets import text
from scrapy_robots_plus.protocol.lint.findings import Code, Finding, quoted
from scrapy_robots_plus.protocol.lint.meanings import PACES, RULES, Meaning, Role, record
from scrapy_robots_plus.protocol.robotstxt.values import is_whole_url

from .octets import is_html
from .preferences import signal_faults, usage_faults
from .spelling import meant_by

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_robots_plus.protocol.lines import Line
    from scrapy_robots_plus.protocol.lint.reading import Reading

_COMPARED = 1000
"""So many unknown keys of a file are compared with the known ones: it takes 50 us each."""

_NAMED = 10_000
"""So many lines of a file that are ignored have a finding each."""

_PLAIN = (b"Disallow:", b"Allow:", b"User-agent:", b"disallow:", b"allow:", b"user-agent:")
"""The usual spelling of lines whose values are checked elsewhere."""

_ANOTHER_KEY = re.compile(rb"(?:user-?agent|disallow|crawl-delay|sitemap)[ \t]*:", re.IGNORECASE)
_SECONDS = re.compile(rb"(\d+(?:[.,]\d+)?)\s*(?:s|secs?|seconds?)?\.?", re.IGNORECASE)
_EXAMPLES = {
    Role.CRAWL_DELAY: "a number of seconds, such as 5 or 0.5",
    Role.REQUEST_RATE: "a rate such as 1/5 or 10/60m",
    Role.VISIT_TIME: "a time such as 0600-0845",
}


def record_faults(reading: Reading) -> Iterator[Finding]:
    """Those of each line, in file order."""
    unknown = _Unknown(reading)
    for number, line in enumerate(reading.lines, 1):
        if number in reading.groups and line.startswith(_PLAIN) and line.count(b":") == 1:
            continue  # nothing is wrong with most lines
        if not line.partition(b"#")[0].strip():
            continue
        read = reading.line(number)
        if read is None or read.kind is Kind.NOTHING:
            yield from unknown.of(number, read)
        else:
            yield from _known(record(read, None, reading), reading)
    yield from unknown.unnamed()


class _Unknown:
    """Lines that are ignored. A web page has too many to name, and so have some other files."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._html = is_html(reading)
        self._compared: set[bytes] = set()
        self._lines = 0

    def of(self, number: int, read: Line | None) -> Iterator[Finding]:
        if self._html:
            return
        self._lines += 1
        if self._lines > _NAMED:
            return
        yield self._text(number) if read is None else self._key(read)

    def unnamed(self) -> Iterator[Finding]:
        if self._lines > _NAMED:
            words = f"{self._lines - _NAMED:,} more lines are unknown and ignored."
            yield Finding(None, Code.UNKNOWN_KEY, words)

    def _key(self, line: Line) -> Finding:
        shown, meant = text(line.key), self._meant(line.key)
        if meant:
            words = f"{shown!r} is ignored. {meant.capitalize()} may be meant."
            return Finding(line.number, Code.MISSPELT_KEY_IGNORED, words)
        words = f"{quoted(shown)} is unknown and ignored."
        if shown.lower() in {"http", "https"}:
            words = "A URL alone is ignored. Sitemap: may be missing before it."
        return Finding(line.number, Code.UNKNOWN_KEY, words)

    def _meant(self, key: bytes) -> str | None:
        self._compared.add(key)
        return meant_by(text(key)) if len(self._compared) <= _COMPARED else None

    def _text(self, number: int) -> Finding:
        content = self._reading.lines[number - 1].partition(b"#")[0].strip()
        first = re.split(rb"[\s=;]", content, maxsplit=1)[0]
        if kind_of(first, self._reading.dialect):
            words = f"There is no colon after {text(first)!r}, so the line is ignored."
            return Finding(number, Code.MISSING_COLON, words)
        words = "Neither a comment nor a key with a value: ignored."
        return Finding(number, Code.NOT_A_RECORD, words)


def _known(line: Meaning, reading: Reading) -> Iterator[Finding]:
    yield from _key_fault(line, reading)
    if line.group is None and line.number not in reading.file_wide:
        words = "so it is ignored."
        if Kind[line.role.name] in ABOUT_USES:
            words = "so most ignore it. What it disallows, a crawl with this package takes for all."
        words = f"{line.role.capitalize()} belongs to no group, {words}"
        yield Finding(line.number, Code.OUTSIDE_GROUP, words)
    another = _ANOTHER_KEY.search(line.value)
    if another:
        words = f"A line break may be missing before {text(another.group())!r}."
        yield Finding(line.number, Code.SEVERAL_RECORDS, words)
    if line.role not in RULES and line.role is not Role.USER_AGENT:
        yield from _value_fault(line)


def _key_fault(line: Meaning, reading: Reading) -> Iterator[Finding]:
    shown = text(line.key)
    if shown.lower() != line.role:
        words = f"{quoted(shown)} is read as {line.role.capitalize()}, but others may ignore it."
        yield Finding(line.number, Code.MISSPELT_KEY, words)
    content = reading.lines[line.number - 1].partition(b"#")[0].lstrip()
    if not content[len(line.key) :].lstrip().startswith(b":"):
        words = f"There is no colon after {quoted(shown)}. The line is read, but others may not."
        yield Finding(line.number, Code.MISSING_COLON, words)


def _value_fault(line: Meaning) -> Iterator[Finding]:
    if not line.value:
        words = f"{line.role.capitalize()} has no value."
        yield Finding(line.number, Code.EMPTY_VALUE, words)
    elif line.role in PACES and line.ignored and line.group is not None:
        words = f"{quoted(text(line.value))} is ignored: it is not {_EXAMPLES[line.role]}."
        seconds = _SECONDS.fullmatch(line.value) if line.role is Role.CRAWL_DELAY else None
        if seconds:
            number = text(seconds[1]).replace(",", ".")
            words += f" Write {number}"
        yield Finding(line.number, Code.UNREADABLE_VALUE, words)
    elif line.role is Role.SITEMAP and not is_whole_url(line.value):
        words = "A sitemap needs a whole URL, with https:// and the host."
        yield Finding(line.number, Code.RELATIVE_SITEMAP, words)
    elif line.role is Role.LICENSE and not is_whole_url(line.value):
        words = "A license needs a whole URL, with https:// and the host."
        yield Finding(line.number, Code.RELATIVE_LICENSE, words)
    elif line.role is Role.CONTENT_USAGE:
        yield from usage_faults(line.number, line.value)
    elif line.role is Role.CONTENT_SIGNAL:
        yield from signal_faults(line.number, line.value)
