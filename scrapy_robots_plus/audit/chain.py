"""The chain of a crawl's lines in an audit log: each line holds the hash of the one before it.

This reveals a line that was changed, removed, inserted or moved, unless all lines of the crawl from
there on were rewritten with new hashes. To reveal that too, keep the last hash elsewhere.

Each crawl has a chain of its own, wherever its lines are: crawls that write to one file need not
know of each other, and the files that a log was rotated into are as good as one.
"""

from __future__ import annotations

import json
import re
from enum import IntEnum
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from .entries import SHA256, VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping


class State(IntEnum):
    """The state of a log, or of parts that are read together. The worse, the greater."""

    WHOLE = 0
    """All lines are there, and each crawl has ended."""
    UNFINISHED = 1
    """All lines are right, but a crawl or a line has no end: it is being written, was killed, or
    was cut off."""
    CUT = 2
    """Lines are missing."""
    DAMAGED = 3
    """Something was changed, moved, repeated or inserted."""


LONGEST_LINE = 16 * 1024 * 1024
"""The greatest length of a line, in bytes. Anything longer is not a line of a log."""
_MOST_LINES = 2**53
"""More than any crawl writes. A limit is needed: Python prints no number of over 4,300 digits."""

HEAD = b'{"v":'
"""The beginning of every line."""

_SEAL = re.compile(rb',"hash":"([0-9a-f]{64})"}\n?')
_LENGTH_OF_SEAL = len(f',"hash":"{64 * "0"}"}}')


class Link(NamedTuple):
    """What the next line of a crawl needs to know about a line."""

    number: int
    """Its number in its crawl, from 0."""
    hash: str
    """Its hash, as the line states it."""


START = Link(-1, "0" * 64)
"""The link that the first line of a crawl follows."""


_ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False, default=dict)
"""The JSON encoder of lines. It writes any mapping as an object."""


def seal(fields: Mapping[str, Any], after: Link) -> tuple[bytes, Link]:
    """Returns the line with *fields* that follows *after*, newline included, and its link.

    Raises ValueError if it would be too long.
    """
    number = after.number + 1
    whole = {"v": VERSION, "n": number, **fields, "prev": after.hash}
    text = _ENCODER.encode(whole)
    digest = sha256(text.encode("ascii")).hexdigest()
    line = f'{text[:-1]},"hash":"{digest}"}}\n'.encode("ascii")
    if len(line) > LONGEST_LINE:
        raise ValueError(f"it has {len(line):,} bytes")
    return line, Link(number, digest)


class Line(NamedTuple):
    """A line that was parsed."""

    link: Link
    previous: str
    """The hash of the crawl's line before, as this line states it."""
    fields: Mapping[str, Any]
    """All fields of the line, the chain's included."""
    digest: str
    """The hash computed from the line."""

    @property
    def is_genuine(self) -> bool:
        """Whether the hash that the line states is the true one."""
        return self.digest == self.link.hash


def parse(raw: bytes) -> Line:
    """Parses a line, with or without its newline. Raises ValueError if *raw* is not a whole one."""
    seal_at = len(raw.removesuffix(b"\n")) - _LENGTH_OF_SEAL
    stated = _SEAL.fullmatch(raw, max(seal_at, 0))
    if stated is None:
        raise ValueError("it does not end in a hash")
    try:
        fields = json.loads(raw.decode())
    except (ValueError, RecursionError):
        raise ValueError("it is not JSON") from None
    number, previous = fields.get("n"), fields.get("prev")
    if type(number) is not int or not 0 <= number < _MOST_LINES:
        raise ValueError("it has no number")
    if not (isinstance(previous, str) and SHA256.fullmatch(previous)):
        raise ValueError("it does not name the line before it")
    digest = sha256(raw[:seal_at] + b"}").hexdigest()
    return Line(Link(number, stated[1].decode("ascii")), previous, fields, digest)


def is_torn(raw: bytes) -> bool:
    """Returns whether *raw* is only the beginning of a line, left by a kill during a write."""
    begin = raw.removesuffix(b"\n")[: len(HEAD)]
    return bool(begin) and HEAD.startswith(begin) and not _SEAL.search(raw)
