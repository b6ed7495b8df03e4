"""Faults of the octets and of single lines: encoding, keys, lines outside groups, values."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from scrapy_robots_plus.protocol.fields import Field, Line, field_of
from scrapy_robots_plus.protocol.octets import text
from scrapy_robots_plus.protocol.preferences import Preference
from scrapy_robots_plus.protocol.preferences.values import signals, usage, usage_rule
from scrapy_robots_plus.protocol.robotstxt import READERS, is_whole_url

from .findings import Code, Finding, finding, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .reading import Reading

_INVISIBLE = re.compile("[\u00a0\u00ad\u2000-\u200f\u2028-\u202f\u2060\u3000\ufeff]")
_HTML = re.compile(
    rb"\s*(?:<!--.*?-->\s*)?<(?:!doctype\s+html|html|head|body|title|meta)\b",
    re.IGNORECASE | re.DOTALL,
)
_BEGINNING = 2048


def octet_faults(reading: Reading) -> Iterator[Finding]:
    """Those of the whole file, then those of each line."""
    if is_html(reading):
        yield finding(1, Code.HTML)
    if reading.is_utf16:
        yield finding(None, Code.UTF_16)
    if reading.unread:
        yield finding(len(reading.raw) or None, Code.FILE_TOO_LONG, reading.unread)
    for number, (raw, line) in enumerate(zip(reading.raw, reading.lines, strict=True), 1):
        if len(raw) != len(line):
            yield finding(number, Code.LINE_TOO_LONG, len(line), len(raw))
        if not line.isascii():
            yield from _outside_ascii(number, line.partition(b"#")[0])


def is_html(reading: Reading) -> bool:
    """Whether the file begins as a web page does."""
    return _HTML.match(b"\n".join(reading.lines[:50])[:_BEGINNING]) is not None


def _outside_ascii(number: int, content: bytes) -> Iterator[Finding]:
    try:
        found = _INVISIBLE.search(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        yield finding(number, Code.NOT_UTF_8, content[error.start])
        return
    if found:
        yield finding(number, Code.INVISIBLE_CHARACTER, ord(found[0]))


_ANOTHER_KEY = re.compile(rb"(?:user-?agent|disallow|crawl-delay|sitemap)[ \t]*:", re.IGNORECASE)
_EXPECTED = {
    Field.CRAWL_DELAY: "a number of seconds, such as 5 or 0.5",
    Field.REQUEST_RATE: "a rate such as 1/5 or 10/60m",
    Field.VISIT_TIME: "a time such as 0600-0845",
    Field.SITEMAP: "a whole URL, with https:// and the host",
    Field.LICENSE: "a whole URL, with https:// and the host",
    Field.CONTENT_USAGE: "uses with y or n, such as train-ai=n, search=y",
    Field.CONTENT_SIGNAL: "uses with yes or no, such as ai-train=no, search=yes",
}
"""What the values of these have to be."""


def record_faults(reading: Reading) -> Iterator[Finding]:
    """Those of each line, in file order."""
    skips_others = is_html(reading)  # a web page has too many to name
    for number, line in enumerate(reading.lines, 1):
        content, read = line.partition(b"#")[0].strip(), reading.records.get(number)
        if read is not None and read.field is not Field.NOTHING:
            yield from _faults_of_record(read, content, reading)
        elif content and not skips_others:
            yield from _ignored(number, content, read)


def _faults_of_record(read: Line, content: bytes, reading: Reading) -> Iterator[Finding]:
    number, field, key, value = read
    name = field.key.capitalize()
    if text(key).lower() != field.key:
        yield finding(number, Code.MISSPELT_KEY, quoted(key), name)
    if not content[len(key) :].lstrip().startswith(b":"):
        but = ". The line is read, but others may not"
        yield finding(number, Code.MISSING_COLON, quoted(key), but)
    if another := _ANOTHER_KEY.search(value):
        yield finding(number, Code.SEVERAL_RECORDS, text(another[0]))
    if number not in reading.groups and number not in reading.file_wide:
        yield finding(number, Code.OUTSIDE_GROUP, name)
    elif field in _EXPECTED and not _is_understood(field, value):
        yield finding(number, Code.UNREADABLE_VALUE, quoted(value), _EXPECTED[field])


def _is_understood(field: Field, value: bytes) -> bool:
    """Whether all of the value has an effect."""
    if field in READERS:
        return READERS[field](value) is not None
    if field is Field.CONTENT_USAGE:
        return _is_clear(usage(usage_rule(value)[1]))
    return _is_clear(signals(value)) if field is Field.CONTENT_SIGNAL else is_whole_url(value)


def _is_clear(stated: Iterable[tuple[str, Preference]]) -> bool:
    preferences = {preference for _, preference in stated}
    return bool(preferences) and Preference.UNKNOWN not in preferences


def _ignored(number: int, content: bytes, read: Line | None) -> Iterator[Finding]:
    """Adds the fault of a line that has no key, or one that nobody knows."""
    if read is not None:
        yield finding(number, Code.UNKNOWN_KEY, quoted(read.key))
        return
    first = re.split(rb"[\s=;]", content, maxsplit=1)[0]
    if field_of(first):
        yield finding(number, Code.MISSING_COLON, quoted(first), ", so the line is ignored")
    else:
        yield finding(number, Code.NOT_A_RECORD)
