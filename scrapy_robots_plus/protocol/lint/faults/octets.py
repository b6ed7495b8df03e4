"""Faults of the octets: length, byte order marks, invisible characters, NUL, encoding, HTML."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from scrapy_robots_plus.protocol import rfc9309
from scrapy_robots_plus.protocol.lint.findings import Code, Findings

if TYPE_CHECKING:
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


def octet_faults(reading: Reading, findings: Findings) -> None:
    """Those of the whole file, then those of each line."""
    if is_html(reading):
        words = "This is a web page. Everything that is not a rule is ignored."
        findings.add(1, Code.HTML, words)
    _too_long(reading, findings)
    if reading.is_utf16:
        words = "The file is UTF-16. Others may find no rule in it: save it as UTF-8."
        findings.add(None, Code.UTF_16, words)
    if reading.raw != reading.lines:
        for number, (raw, line) in enumerate(zip(reading.raw, reading.lines, strict=True), 1):
            if len(raw) != len(line):
                _cut(number, raw, line, findings)
    if not reading.is_ascii:
        for number, line in enumerate(reading.lines, 1):
            if not line.isascii():
                _outside_ascii(number, line, findings)


def is_html(reading: Reading) -> bool:
    """Whether the file begins as a web page does."""
    return _HTML.match(b"\n".join(reading.lines[:50])[:_HEAD]) is not None


def _too_long(reading: Reading, findings: Findings) -> None:
    if reading.unread:
        words = "The last {:,} bytes are over the size limit and not read."
        findings.add(len(reading.raw) or None, Code.FILE_TOO_LONG, words, reading.unread)
    elif reading.size > rfc9309.MAX_BYTES:
        words = "Crawlers need not read more than {:,} bytes."
        findings.add(None, Code.FILE_TOO_LONG, words, rfc9309.MAX_BYTES)


def _cut(number: int, raw: bytes, line: bytes, findings: Findings) -> None:
    if raw[len(line) : len(line) + 1] == b"\0":
        findings.add(number, Code.NUL, "What follows the NUL is not read.")
    else:
        words = "Only the first {:,} of {:,} bytes are read."
        findings.add(number, Code.LINE_TOO_LONG, words, len(line), len(raw))


def _outside_ascii(number: int, line: bytes, findings: Findings) -> None:
    if _MARK in line:
        findings.add(number, Code.BYTE_ORDER_MARK, _mark(line))
    content = line.partition(b"#")[0]
    try:
        found = _INVISIBLE.search(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        findings.add(number, Code.NOT_UTF_8, "Byte 0x{:02X} is not UTF-8.", content[error.start])
        return
    if found:
        name = _NAMES.get(found[0]) or f"the character U+{ord(found[0]):04X}"
        words = "There is {}, which cannot be seen and counts as part of the text."
        findings.add(number, Code.INVISIBLE_CHARACTER, words, name)


def _mark(line: bytes) -> str:
    if line.lstrip().startswith(_MARK):
        return "A byte order mark before the key makes it another, unknown key: delete the mark."
    return "A byte order mark does not belong in the middle of a file: delete it."
