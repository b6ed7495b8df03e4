"""The chain of a crawl's lines in an audit log: each holds the hash of the crawl's line before.

So a line that was changed, removed, inserted or moved is found. Whoever rewrites all lines of a
crawl from there to its end, with their hashes, is not: keep the last hash elsewhere.

Each crawl has a chain of its own, wherever its lines are: crawls that write to one file do not have
to know of each other, and the files that a log was rotated into are as good as one.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from enum import IntEnum
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from .entries import SHA256, VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping


class State(IntEnum):
    """Of a log, or of parts that were given together. The worse, the greater."""

    WHOLE = 0
    """All lines are there, and each crawl has ended."""
    UNFINISHED = 1
    """What is there is right, but a crawl or a line has no end: it is written, was killed, or was
    cut off."""
    CUT = 2
    """Lines are missing."""
    DAMAGED = 3
    """Something was changed, moved, repeated or inserted."""


LONGEST_LINE = 16 * 1024 * 1024
"""Octets. What is longer is not a line of a log."""
_MOST_LINES = 2**53
"""No crawl writes as many; Python refuses to print numbers of more than 4,300 digits."""

HEAD = b'{"v":'
"""How every line begins."""

_SEAL = re.compile(rb',"hash":"([0-9a-f]{64})"}\n?')
_LENGTH_OF_SEAL = len(f',"hash":"{64 * "0"}"}}')


class Link(NamedTuple):
    """What the next line of a crawl has to know of a line."""

    number: int
    """From 0."""
    hash: str
    """As the line states it."""


START = Link(-1, "0" * 64)
"""Before the first line."""


_ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False, default=dict)
"""Any mapping is an object."""


def seal(fields: Mapping[str, Any], after: Link) -> tuple[bytes, Link]:
    """The line with *fields* that follows *after*, with its newline.

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


@dataclass(frozen=True, slots=True)
class Line:
    """A line that was read."""

    link: Link
    previous: str
    """The hash of its crawl's line before it, as it states it."""
    fields: Mapping[str, Any]
    """All of them."""
    digest: str
    """Its hash, computed."""

    @property
    def is_genuine(self) -> bool:
        """Whether it is as it was written."""
        return self.digest == self.link.hash


def parse(raw: bytes) -> Line:
    """A line, with or without its newline. Raises ValueError if *raw* is not a whole one."""
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
    """Whether *raw* is the beginning of a line, as a kill in the middle of a write leaves it."""
    begin = raw.removesuffix(b"\n")[: len(HEAD)]
    return bool(begin) and HEAD.startswith(begin) and not _SEAL.search(raw)
