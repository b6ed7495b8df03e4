"""Faults of the octets: length, byte order marks, invisible characters, NUL, encoding, HTML."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from scrapy_robots_plus.protocol import rfc9309
from scrapy_robots_plus.protocol.lint.findings import Code, Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_robots_plus.protocol.lint.reading import Reading

_MARK = b"\xef\xbb\xbf"
_NAMES = {
    "\u00a0": "a no-break space",
    "\u00ad": "a soft hyphen",
    "\u200b": "a zero-width space",
    "\u200c": "a zero-width non-joiner",
    "\u200d": "a zero-width joiner",
    "\u2060": "a word joiner",
    "\u3000": "an ideographic space",
}
_INVISIBLE = re.compile(
    "|".join(re.escape(each) for each in _NAMES) + "|[\u2000-\u200a\u200e\u200f\u2028-\u202f]"
)
_HTML = re.compile(
    rb"\s*(?:<!--.*?-->\s*)?<(?:!doctype\s+html|html|head|body|title|meta)\b",
    re.IGNORECASE | re.DOTALL,
)
_HEAD = 2048


def octet_faults(reading: Reading) -> Iterator[Finding]:
    """Those of the whole file, then those of each line."""
    if is_html(reading):
        yield Finding(1, Code.HTML, "This is a web page. Everything that is not a rule is ignored.")
    yield from _too_long(reading)
    if reading.is_utf16:
        text = "The file is UTF-16. Others may find no rule in it: save it as UTF-8."
        yield Finding(None, Code.UTF_16, text)
    if reading.raw != reading.lines:
        for number, (raw, line) in enumerate(zip(reading.raw, reading.lines, strict=True), 1):
            if len(raw) != len(line):
                yield from _cut(number, raw, line)
    if not reading.is_ascii:
        for number, line in enumerate(reading.lines, 1):
            if not line.isascii():
                yield from _outside_ascii(number, line)


def is_html(reading: Reading) -> bool:
    """Whether the file begins as a web page does."""
    return _HTML.match(b"\n".join(reading.lines[:50])[:_HEAD]) is not None


def _too_long(reading: Reading) -> Iterator[Finding]:
    if reading.unread:
        text = f"The last {reading.unread:,} octets are over the size limit and not read."
        yield Finding(len(reading.raw) or None, Code.FILE_TOO_LONG, text)
    elif reading.size > rfc9309.MAX_BYTES:
        text = f"Crawlers need not read more than {rfc9309.MAX_BYTES:,} octets."
        yield Finding(None, Code.FILE_TOO_LONG, text)


def _cut(number: int, raw: bytes, line: bytes) -> Iterator[Finding]:
    if raw[len(line) : len(line) + 1] == b"\0":
        yield Finding(number, Code.NUL, "What follows the NUL is not read.")
    else:
        text = f"Only the first {len(line):,} of {len(raw):,} octets are read."
        yield Finding(number, Code.LINE_TOO_LONG, text)


def _outside_ascii(number: int, line: bytes) -> Iterator[Finding]:
    if _MARK in line:
        yield Finding(number, Code.BYTE_ORDER_MARK, _mark(line))
    content = line.partition(b"#")[0]
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        octet = content[error.start]
        yield Finding(number, Code.NOT_UTF_8, f"Octet 0x{octet:02X} is not UTF-8.")
        return
    found = _INVISIBLE.search(text)
    if found:
        name = _NAMES.get(found.group(), f"the character U+{ord(found.group()):04X}")
        text = f"There is {name}, which cannot be seen and counts as part of the text."
        yield Finding(number, Code.INVISIBLE_CHARACTER, text)


def _mark(line: bytes) -> str:
    if line.lstrip().startswith(_MARK):
        return "A byte order mark before the key makes it another, unknown key: delete the mark."
    return "A byte order mark does not belong in the middle of a file: delete it."
