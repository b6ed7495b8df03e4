"""The fields of a robots.txt, and how lines are read: UTF-8 octets to lines with key and value.

A line means what the reference parser makes of it (RFC 9309 2.2 leaves errors to the parser): CR,
LF and CRLF end it, NUL and ``#`` cut it off, and octets after :data:`rfc9309.MAX_LINE` are not
read. Nothing here raises, whatever the octets.
"""

from __future__ import annotations

import re
from enum import IntEnum
from typing import NamedTuple

from .rfc9309 import MAX_LINE

__all__ = ["Field", "Line"]


class Field(IntEnum):
    """The kinds of lines: records of RFC 9309 2.2, and others in use (2.2.4).

    The name of a field gives its key, such as ``crawl-delay``; other spellings are further below. A
    field for all agents is in ``FILE_WIDE``. tests/test_one_home.py says what else a new one needs.
    """

    NOTHING = 0
    USER_AGENT = 1
    ALLOW = 2
    DISALLOW = 3
    SITEMAP = 4
    CRAWL_DELAY = 5
    REQUEST_RATE = 6
    VISIT_TIME = 7
    HOST = 8
    CLEAN_PARAM = 9
    CONTENT_USAGE = 10
    CONTENT_SIGNAL = 11
    LICENSE = 12

    @property
    def key(self) -> str:
        """The key of such lines, in lower case: ``crawl-delay``."""
        return self.name.lower().replace("_", "-")


RULES = frozenset({Field.ALLOW, Field.DISALLOW})
"""The fields that say what may be fetched."""

FILE_WIDE = frozenset({Field.SITEMAP, Field.HOST, Field.CLEAN_PARAM, Field.LICENSE})
"""The fields that belong to no group, wherever they stand (2.2.4)."""

ABOUT_USES = frozenset({Field.CONTENT_USAGE, Field.CONTENT_SIGNAL})
"""The fields that say what pages may be used for."""

_BEGINNINGS = {
    Field.USER_AGENT: (b"user-agent", b"useragent", b"user agent"),
    Field.ALLOW: (b"allow",),
    Field.DISALLOW: (b"disallow", b"dissallow", b"dissalow", b"disalow", b"diasllow", b"disallaw"),
    Field.SITEMAP: (b"sitemap", b"site-map"),
}
"""The beginnings of keys that the reference parser takes for these fields."""
_ALL_BEGINNINGS = sum(_BEGINNINGS.values(), ())

_KEYS: dict[bytes, Field] = {
    **{field.key.encode(): field for field in Field if field is not Field.NOTHING},
    b"useragent": Field.USER_AGENT,
    b"content-signals": Field.CONTENT_SIGNAL,
}
_FORGIVEN = {**_KEYS, b"crawl delay": Field.CRAWL_DELAY, b"crawldelay": Field.CRAWL_DELAY}
"""All keys, and others as many write them."""

INITIALS = frozenset(case(key[:1]) for key in _FORGIVEN for case in (bytes.lower, bytes.upper))
"""The first octets of all known keys, in lower and upper case."""


def field_of(key: bytes, forgiving: bool = True) -> Field:
    """Returns the field that a key names; ``Field.NOTHING`` if it is unknown (2.2.4)."""
    key = key.lower()
    field = (_FORGIVEN if forgiving else _KEYS).get(key)
    if field is None and forgiving and key.startswith(_ALL_BEGINNINGS):
        field = next(each for each in _BEGINNINGS if key.startswith(_BEGINNINGS[each]))
    return field or Field.NOTHING


class Line(NamedTuple):
    """A line that has a key and a value (RFC 9309 2.2)."""

    number: int
    """The line number, counted from 1, in the file as served."""
    field: Field
    """The field of the line."""
    key: bytes
    """The key, as served."""
    value: bytes
    """The value, without comment and surrounding white space."""


_SITEMAP = Field.SITEMAP
_BEFORE_A_URL = re.compile(rb"(\S+)[ \t]+(https?)", re.IGNORECASE)


def to_lines(octets: bytes, forgiving: bool = True) -> list[bytes]:
    """Returns the lines of a UTF-8 body, cut at NUL and, if *forgiving*, at the length limit."""
    # bytes.splitlines() ends lines at CR, LF and CRLF; str.splitlines() would also at FF and more.
    lines = octets.splitlines()
    if forgiving and max(map(len, lines), default=0) > MAX_LINE:
        lines = [line[:MAX_LINE] for line in lines]
    if b"\0" in octets:
        lines = [line.partition(b"\0")[0] for line in lines]
    return lines


def split_line(line: bytes, forgiving: bool = True) -> tuple[bytes, bytes] | None:
    """Returns key and value of a line; None if it has none (a comment, prose)."""
    if b"#" in line:
        line = line.partition(b"#")[0]
    key, colon, value = line.partition(b":")
    if colon:
        key = key.strip()
        return (key, value.strip()) if key else None
    if not forgiving:
        return None
    # People forget the colon. Two words, separated by spaces or tabs, are a key and a value; more
    # words are prose.
    line = line.strip()
    words = [word for word in line.replace(b"\t", b" ").split(b" ") if word]
    return (words[0].strip(), words[1].strip()) if len(words) == 2 else None


def read_line(number: int, line: bytes, forgiving: bool = True) -> Line | None:
    """Returns a numbered line with its key and value; None if it has none."""
    pair = split_line(line, forgiving)
    if pair is None:
        return None
    key, value = pair
    field = field_of(key, forgiving)
    if field is _SITEMAP and (parts := _BEFORE_A_URL.fullmatch(key)):
        # ``Sitemap https://...``: the first colon is the URL's.
        key, value = parts[1], parts[2] + b":" + value
    return Line(number, field, key, value)
