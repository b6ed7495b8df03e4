"""Faults of the octets and of single lines: encoding, keys, lines outside groups, values."""

from __future__ import annotations

import re
from difflib import get_close_matches
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from scrapy_robots_plus.protocol import rfc9309
from scrapy_robots_plus.protocol.lines import ABOUT_USES, INITIALS, Kind, Line, kind_of
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
from .reading import PACES, RULES, why_ignored

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from scrapy_robots_plus.protocol.dialect import Dialect

    from .reading import Reading

KEYS = tuple(kind.key for kind in Kind if kind not in {Kind.NOTHING, Kind.HOST})
"""As they are spelled. ``host`` is not among them: too many words look like it."""

_LONGEST = 24
"""Longer keys are not compared."""


_ALIKE = 0.8
"""From so much on, two keys are one that is misspelt: of five letters, one may be wrong."""


@lru_cache(maxsize=256)
def meant_by(key: str) -> str | None:
    """The known key that is most like *key*, which has a typing error or two.

    Takes constant time. Only letters are compared, so that ``user_agent`` is found as well.
    """
    if len(key) > _LONGEST:
        return None
    known = {_letters(each): each for each in KEYS}
    near = get_close_matches(_letters(key), known, 1, _ALIKE)
    return known[near[0]] if near else None


def _letters(key: str) -> str:
    return "".join(filter(str.isalpha, key.lower()))


_MARK = b"\xef\xbb\xbf"
_SPOILS = "before the key makes it another, unknown key: delete the mark"
_MISPLACED = "does not belong in the middle of a file: delete it"
_INVISIBLE_NAMES = {
    "\u00a0": "a no-break space",
    "\u00ad": "a soft hyphen",
    "\u200b": "a zero-width space",
    "\u200c": "a zero-width non-joiner",
    "\u200d": "a zero-width joiner",
    "\u2060": "a word joiner",
    "\u3000": "an ideographic space",
}
_INVISIBLE = re.compile(
    "|".join(re.escape(each) for each in _INVISIBLE_NAMES)
    + "|[\u2000-\u200a\u200e\u200f\u2028-\u202f]"
)
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
        words = "The last {:,} bytes are over the size limit and not read."
        last = len(reading.raw) or None
        findings.add(last, Code.FILE_TOO_LONG, reading.unread, words=words)
    elif reading.size > rfc9309.MAX_BYTES:
        findings.add(None, Code.FILE_TOO_LONG, rfc9309.MAX_BYTES)
    if reading.is_utf16:
        findings.add(None, Code.UTF_16)
    for number, (raw, line) in enumerate(zip(reading.raw, reading.lines, strict=True), 1):
        if raw[len(line) : len(line) + 1] == b"\0":
            findings.add(number, Code.NUL)
        elif len(raw) != len(line):
            findings.add(number, Code.LINE_TOO_LONG, len(line), len(raw))
        if not line.isascii():
            _outside_ascii(number, line, findings)


def is_html(reading: Reading) -> bool:
    """Whether the file begins as a web page does."""
    return _HTML.match(b"\n".join(reading.lines[:50])[:_BEGINNING]) is not None


def _outside_ascii(number: int, line: bytes, findings: Findings) -> None:
    if _MARK in line:
        spoils = line.lstrip().startswith(_MARK)
        findings.add(number, Code.BYTE_ORDER_MARK, _SPOILS if spoils else _MISPLACED)
    content = line.partition(b"#")[0]
    try:
        found = _INVISIBLE.search(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        findings.add(number, Code.NOT_UTF_8, content[error.start])
        return
    if found:
        name = _INVISIBLE_NAMES.get(found[0]) or f"the character U+{ord(found[0]):04X}"
        findings.add(number, Code.INVISIBLE_CHARACTER, name)


_COMPARED = 1000
"""So many unknown keys of a file are compared with the known ones: it takes 50 us each."""

_NAMED = 10_000
"""So many lines of a file that are ignored have a finding each."""

_PLAIN = (b"Disallow:", b"Allow:", b"User-agent:", b"disallow:", b"allow:", b"user-agent:")
"""The usual spelling of lines whose values are checked elsewhere."""

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
    compared: set[bytes] = set()
    unknown, most = 0, 0 if is_html(reading) else _NAMED  # a web page has too many to name
    for number, line in enumerate(reading.lines, 1):
        if line.startswith(_PLAIN) and line.count(b":") == 1 and number in reading.groups:
            continue  # nothing is wrong with most lines
        start = line.lstrip()[:1]
        if not start or start == b"#":
            continue
        read = reading.line(number) if start in INITIALS or unknown < most else None
        if read is not None and read.kind is not Kind.NOTHING:
            _faults_of_record(read, line, reading, findings)
            continue
        unknown += 1
        if unknown > most:
            continue
        if read is None:
            _no_key(number, line, reading.dialect, findings)
        else:
            compared.add(read.key)
            _unknown_key(read, len(compared) <= _COMPARED, findings)
    if unknown > most > 0:
        words = "{:,} more lines are unknown and ignored."
        findings.add(None, Code.UNKNOWN_KEY, unknown - most, words=words)


def _faults_of_record(read: Line, line: bytes, reading: Reading, findings: Findings) -> None:
    number, kind, key, value = read
    name = kind.key.capitalize()
    if text(key).lower() != kind.key:
        findings.add(number, Code.MISSPELT_KEY, quoted(key), name)
    if not line.lstrip()[len(key) :].lstrip().startswith(b":"):
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
    elif kind in PACES and number in reading.groups and why_ignored(read, reading):
        seconds = _SECONDS.fullmatch(value) if kind is Kind.CRAWL_DELAY else None
        hint = f" Write {text(seconds[1]).replace(',', '.')}" if seconds else ""
        findings.add(number, Code.UNREADABLE_VALUE, quoted(value), _EXAMPLES[kind], hint)
    elif kind is Kind.SITEMAP and not is_whole_url(value):
        findings.add(number, Code.RELATIVE_SITEMAP)
    elif kind is Kind.LICENSE and not is_whole_url(value):
        findings.add(number, Code.RELATIVE_LICENSE)
    elif kind is Kind.CONTENT_USAGE:
        _usage_faults(number, value, findings)
    elif kind is Kind.CONTENT_SIGNAL:
        _signal_faults(number, value, findings)


def _unknown_key(line: Line, compare: bool, findings: Findings) -> None:
    if compare and (meant := meant_by(text(line.key))):
        findings.add(line.number, Code.MISSPELT_KEY_IGNORED, line.key, meant.capitalize())
    elif line.key.lower() in {b"http", b"https"}:
        words = "A URL alone is ignored. Sitemap: may be missing before it."
        findings.add(line.number, Code.UNKNOWN_KEY, words=words)
    else:
        findings.add(line.number, Code.UNKNOWN_KEY, quoted(line.key))


def _no_key(number: int, line: bytes, dialect: Dialect, findings: Findings) -> None:
    content = line.partition(b"#")[0].strip()
    first = re.split(rb"[\s=;]", content, maxsplit=1)[0]
    if kind_of(first, dialect):
        findings.add(number, Code.MISSING_COLON, quoted(first), ", so the line is ignored")
    else:
        findings.add(number, Code.NOT_A_RECORD)


_SIGNAL_OF = {category: key for key, category in SIGNALS.items()}
_SIGNALS = {*SIGNALS, *LEVELS}


def _usage_faults(number: int, value: bytes, findings: Findings) -> None:
    """Those of the value of a Content-Usage line."""
    rule = usage_rule(value)
    if not rule.value:
        words = "There is no preference after the path."
        findings.add(number, Code.EMPTY_VALUE, words=words)
    try:
        found = tokens_in(rule.value)
    except StructuredFieldError as error:
        findings.add(number, Code.BROKEN_PREFERENCE, error)
        return
    unknown = (key for key in found if key not in LABELS)
    unclear = (key for key, token in found.items() if key in LABELS and token not in USAGE_TOKENS)
    _add_unknown(number, unknown, SIGNALS, findings)
    _add_unclear(number, ((key, "neither y nor n") for key in unclear), findings)


def _signal_faults(number: int, value: bytes, findings: Findings) -> None:
    """Those of the value of a Content-Signal line."""
    parts = list(signal_parts(value))
    _add_unknown(number, (key for key, _ in parts if key not in _SIGNALS), _SIGNAL_OF, findings)
    _add_unclear(number, _unclear_signals(parts), findings)


def _unclear_signals(parts: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Keys, each with what its value is not."""
    for key, said in parts:
        levels = LEVELS.get(key)
        if key in SIGNALS and said not in SIGNAL_WORDS:
            yield key, "neither yes nor no"
        elif levels and said not in levels:
            yield key, f"none of {', '.join(levels)}"


def _add_unknown(
    number: int, unknown: Iterator[str], meant: Mapping[str, str], findings: Findings
) -> None:
    """The first of them: a line may have thousands."""
    for key in islice(unknown, 1):
        hint = f" {meant[key]} may be meant." if key in meant else ""
        findings.add(number, Code.UNKNOWN_USE, quoted(key), hint)


def _add_unclear(number: int, unclear: Iterator[tuple[str, str]], findings: Findings) -> None:
    """The first of them."""
    for key, values in islice(unclear, 1):
        findings.add(number, Code.UNCLEAR_PREFERENCE, key, values)
