"""Faults of the octets and of single lines: encoding, keys, lines outside groups, values."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import TYPE_CHECKING

from scrapy_robots_plus.protocol.lines import ABOUT_USES, Kind, Line, kind_of
from scrapy_robots_plus.protocol.octets import text
from scrapy_robots_plus.protocol.preferences import LABELS, LEVELS, SIGNALS
from scrapy_robots_plus.protocol.preferences.structured_fields import (
    StructuredFieldError,
    tokens_in,
)
from scrapy_robots_plus.protocol.preferences.values import (
    SIGNAL_WORDS,
    USAGE_TOKENS,
    signal_parts,
    usage_rule,
)
from scrapy_robots_plus.protocol.robotstxt import is_whole_url

from .findings import Code, Findings, quoted
from .reading import RULES, why_ignored

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from .reading import Reading

KEYS = tuple(kind.key for kind in Kind if kind not in {Kind.NOTHING, Kind.HOST})
"""As they are spelled. ``host`` is not among them: too many words look like it."""

_LONGEST = 24
"""Longer keys are not compared."""

_ALIKE = 0.8
"""From so much on, two keys are one that is misspelt: of five letters, one may be wrong."""

_INVISIBLE_NAMES = {
    "\u00a0": "a no-break space",
    "\u00ad": "a soft hyphen",
    "\u200b": "a zero-width space",
    "\ufeff": "a byte order mark",
}
_INVISIBLE = re.compile("[\u00a0\u00ad\u2000-\u200f\u2028-\u202f\u2060\u3000\ufeff]")
_HTML = re.compile(
    rb"\s*(?:<!--.*?-->\s*)?<(?:!doctype\s+html|html|head|body|title|meta)\b",
    re.IGNORECASE | re.DOTALL,
)
_BEGINNING = 2048


def octet_faults(reading: Reading, findings: Findings) -> None:
    """Those of the whole file, then those of each line."""
    if is_html(reading):
        findings.add(1, Code.HTML)
    if reading.unread:
        findings.add(len(reading.raw) or None, Code.FILE_TOO_LONG, reading.unread)
    if reading.is_utf16:
        findings.add(None, Code.UTF_16)
    for number, (raw, line) in enumerate(zip(reading.raw, reading.lines, strict=True), 1):
        if len(raw) != len(line):
            findings.add(number, Code.LINE_TOO_LONG, len(line), len(raw))
        if not line.isascii():
            _outside_ascii(number, line.partition(b"#")[0], findings)


def is_html(reading: Reading) -> bool:
    """Whether the file begins as a web page does."""
    return _HTML.match(b"\n".join(reading.lines[:50])[:_BEGINNING]) is not None


def _outside_ascii(number: int, content: bytes, findings: Findings) -> None:
    try:
        found = _INVISIBLE.search(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        findings.add(number, Code.NOT_UTF_8, content[error.start])
        return
    if found:
        name = _INVISIBLE_NAMES.get(found[0]) or f"the character U+{ord(found[0]):04X}"
        findings.add(number, Code.INVISIBLE_CHARACTER, name)


_NAMED = 1_000
"""So many lines of a file that are ignored have a finding each: to compare a key with the known
ones takes 50 us."""

_ANOTHER_KEY = re.compile(rb"(?:user-?agent|disallow|crawl-delay|sitemap)[ \t]*:", re.IGNORECASE)
_SECONDS = re.compile(rb"(\d+(?:[.,]\d+)?)\s*(?:s|secs?|seconds?)?\.?", re.IGNORECASE)
_USES_OUTSIDE = (
    "{} belongs to no group, so most ignore it. What it disallows, a crawl with this package takes "
    "for all."
)
_EXAMPLES = {
    Kind.CRAWL_DELAY: "a number of seconds, such as 5 or 0.5",
    Kind.REQUEST_RATE: "a rate such as 1/5 or 10/60m",
    Kind.VISIT_TIME: "a time such as 0600-0845",
}


def record_faults(reading: Reading, findings: Findings) -> None:
    """Those of each line, in file order."""
    unknown, most = 0, 0 if is_html(reading) else _NAMED  # a web page has too many to name
    for number, line in enumerate(reading.lines, 1):
        content, read = line.partition(b"#")[0].strip(), reading.records.get(number)
        if read is not None and read.kind is not Kind.NOTHING:
            _faults_of_record(read, content, reading, findings)
        elif content:
            unknown += 1
            if unknown <= most:
                _ignored(number, content, read, findings)
    if unknown > most > 0:
        words = "{:,} more lines are unknown and ignored."
        findings.add(None, Code.UNKNOWN_KEY, unknown - most, words=words)


def _faults_of_record(read: Line, content: bytes, reading: Reading, findings: Findings) -> None:
    number, kind, key, value = read
    name = kind.key.capitalize()
    if text(key).lower() != kind.key:
        findings.add(number, Code.MISSPELT_KEY, quoted(key), name)
    if not content[len(key) :].lstrip().startswith(b":"):
        but = ". The line is read, but others may not"
        findings.add(number, Code.MISSING_COLON, quoted(key), but)
    if number not in reading.groups and number not in reading.file_wide:
        words = _USES_OUTSIDE if kind in ABOUT_USES else ""
        findings.add(number, Code.OUTSIDE_GROUP, name, words=words)
    if another := _ANOTHER_KEY.search(value):
        findings.add(number, Code.SEVERAL_RECORDS, text(another[0]))
    if kind in RULES or kind is Kind.USER_AGENT:
        return
    if not value:
        findings.add(number, Code.EMPTY_VALUE, name)
    elif kind in _EXAMPLES and number in reading.groups and why_ignored(read, reading):
        seconds = _SECONDS.fullmatch(value) if kind is Kind.CRAWL_DELAY else None
        hint = f" Write {text(seconds[1]).replace(',', '.')}" if seconds else ""
        findings.add(number, Code.UNREADABLE_VALUE, quoted(value), _EXAMPLES[kind], hint)
    elif kind in {Kind.SITEMAP, Kind.LICENSE} and not is_whole_url(value):
        findings.add(number, Code.RELATIVE_URL, f"A {kind.key}")
    elif kind is Kind.CONTENT_USAGE:
        _usage_faults(number, usage_rule(value).value, findings)
    elif kind is Kind.CONTENT_SIGNAL:
        _preference_faults(number, signal_parts(value), _SIGNAL_VALUES, findings)


def _ignored(number: int, content: bytes, read: Line | None, findings: Findings) -> None:
    """Adds the fault of a line that has no key, or one that nobody knows."""
    if read is None:
        first = re.split(rb"[\s=;]", content, maxsplit=1)[0]
        if kind_of(first):
            findings.add(number, Code.MISSING_COLON, quoted(first), ", so the line is ignored")
        else:
            findings.add(number, Code.NOT_A_RECORD)
    elif meant := meant_by(text(read.key)):
        findings.add(number, Code.MISSPELT_KEY_IGNORED, read.key, meant.capitalize())
    elif read.key.lower() in {b"http", b"https"}:
        words = "A URL alone is ignored. Sitemap: may be missing before it."
        findings.add(number, Code.UNKNOWN_KEY, words=words)
    else:
        findings.add(number, Code.UNKNOWN_KEY, quoted(read.key))


def meant_by(key: str) -> str | None:
    """The known key that is most like *key*, which has a typing error or two. Takes constant
    time."""
    near = get_close_matches(key.lower(), KEYS, 1, _ALIKE) if len(key) <= _LONGEST else []
    return near[0] if near else None


_USAGE_VALUES = dict.fromkeys(LABELS, tuple(USAGE_TOKENS))
_SIGNAL_VALUES = {**dict.fromkeys(SIGNALS, tuple(SIGNAL_WORDS)), **LEVELS}
"""The values that each key may have."""


def _usage_faults(number: int, value: bytes, findings: Findings) -> None:
    """Those of the value of a Content-Usage line, without its path."""
    if not value:
        words = "There is no preference after the path."
        findings.add(number, Code.EMPTY_VALUE, words=words)
    try:
        found = tokens_in(value)
    except StructuredFieldError as error:
        findings.add(number, Code.BROKEN_PREFERENCE, error)
    else:
        _preference_faults(number, found.items(), _USAGE_VALUES, findings)


def _preference_faults(
    number: int,
    parts: Iterable[tuple[str, str | None]],
    known: Mapping[str, Sequence[str]],
    findings: Findings,
) -> None:
    """Those of the first faulty part, a key and its value: a line may have thousands."""
    for key, said in parts:
        if key not in known:
            findings.add(number, Code.UNKNOWN_USE, quoted(key.encode()), ", ".join(known))
            return
        if said not in known[key]:
            findings.add(number, Code.UNCLEAR_PREFERENCE, key, ", ".join(known[key]))
            return
