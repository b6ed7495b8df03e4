"""UTF-8 octets to numbered lines, and lines to keys and values.

A line means what the reference parser makes of it (RFC 9309 2.2 leaves errors to the reader): CR,
LF and CRLF end it, NUL and ``#`` cut it off, and octets after :data:`rfc9309.MAX_LINE` are not
read. Nothing here raises, whatever the octets.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from .kinds import Kind, kind_of

if TYPE_CHECKING:
    from scrapy_robots_plus.protocol.dialect import Dialect


class Line(NamedTuple):
    """A line that has a key and a value (RFC 9309 2.2)."""

    number: int
    """Counted from 1, in the file as served."""
    kind: Kind
    """What it is for."""
    key: bytes
    """As served."""
    value: bytes
    """Without comment and surrounding white space."""


_TIMED = re.compile(rb"(visit[- ]?time|request[- ]?rate)[ \t]+(.+)", re.IGNORECASE)
_SITEMAP = Kind.SITEMAP
_SCHEMES = frozenset({b"https", b" http"})


def to_lines(octets: bytes, dialect: Dialect) -> list[bytes]:
    """The lines of a UTF-8 body, cut at NUL and at the dialect's limit."""
    # bytes.splitlines() ends lines at CR, LF and CRLF; str.splitlines() would also at FF and more.
    lines = octets.splitlines()
    limit = dialect.max_line
    if limit is not None and max(map(len, lines), default=0) > limit:
        lines = [line if len(line) <= limit else line[:limit] for line in lines]
    if b"\0" in octets:
        lines = [line.partition(b"\0")[0] for line in lines]
    return lines


def split_line(line: bytes, dialect: Dialect) -> tuple[bytes, bytes] | None:
    """Key and value of a line; None if it has none (a comment, prose)."""
    if b"#" in line:
        line = line.partition(b"#")[0]
    key, colon, value = line.partition(b":")
    if colon:
        key = key.strip()
        return (key, value.strip()) if key else None
    if not dialect.forgiving:
        return None
    line = line.strip()
    # People forget the colon. Two words, separated by spaces or tabs, are a key and a value; more
    # words are prose.
    words = [word for word in line.replace(b"\t", b" ").split(b" ") if word]
    if len(words) == 2:
        return words[0].strip(), words[1].strip()
    # The values of these keys have several words; the reference parser does not know the keys.
    timed = _TIMED.fullmatch(line)
    return (timed[1], timed[2]) if timed else None


def read_line(number: int, line: bytes, dialect: Dialect) -> Line | None:
    """A numbered line with its key and value; None if it has none."""
    pair = split_line(line, dialect)
    if pair is None:
        return None
    key, value = pair
    kind = kind_of(key, dialect)
    if kind is _SITEMAP and key[-5:].lower() in _SCHEMES:
        # ``Sitemap https://...``: the first colon is the URL's.
        key, _, scheme = key.rpartition(b" ")
        value = scheme + b":" + value
    return Line(number, kind, key, value)
