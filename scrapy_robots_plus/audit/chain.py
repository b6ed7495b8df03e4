"""The chain of the lines of an audit log: each holds the hash of the one before.

So a line that was changed, removed, inserted or moved is found. Whoever rewrites all lines from
there to the end, with their hashes, is not: keep the last hash elsewhere.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from .entries import VERSION
from .fields import SHA256

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

LONGEST_LINE = 16 * 1024 * 1024
"""Octets. What is longer is not a line of a log."""

_SEAL = re.compile(rb',"hash":"([0-9a-f]{64})"}\n?')
_LENGTH_OF_SEAL = len(f',"hash":"{64 * "0"}"}}')


class Link(NamedTuple):
    """What the next line has to know of a line."""

    number: int
    """From 0."""
    hash: str
    """As the line states it."""


START = Link(-1, "0" * 64)
"""Before the first line."""


def seal(fields: Mapping[str, Any], after: Link) -> tuple[bytes, Link]:
    """The line with *fields* that follows *after*, with its newline."""
    number = after.number + 1
    whole = {"v": VERSION, "n": number, **fields, "prev": after.hash}
    text = json.dumps(whole, separators=(",", ":"), allow_nan=False)
    digest = sha256(text.encode("ascii")).hexdigest()
    return f'{text[:-1]},"hash":"{digest}"}}\n'.encode("ascii"), Link(number, digest)


@dataclass(frozen=True, slots=True)
class Line:
    """A line that was read."""

    link: Link
    previous: str
    """The hash of the line before it, as it states it."""
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
        fields = json.loads(raw)
    except (ValueError, RecursionError):
        raise ValueError("it is not JSON") from None
    number, previous = fields.get("n"), fields.get("prev")
    if type(number) is not int or number < 0:
        raise ValueError("it has no number")
    if not (isinstance(previous, str) and SHA256.fullmatch(previous)):
        raise ValueError("it does not name the line before it")
    digest = sha256(raw[:seal_at] + b"}").hexdigest()
    return Line(Link(number, stated[1].decode("ascii")), previous, fields, digest)


class Damage(NamedTuple):
    """Something that is wrong with a log."""

    line: int
    """Where, counted from 1; the last line if something is missing after it."""
    what: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.what}"


class Checker:
    """Checks the lines of a log, one after the other."""

    def __init__(self) -> None:
        self._last = START
        """The line with the highest number so far."""
        self._digest = START.hash
        """Its hash, computed: if the stated one was changed, the next line still has this one."""
        self._unread = 0
        """Lines in a row, just before, that could not be read: they may stand for lines, or not."""
        self._position = 0

    def check(self, raw: bytes) -> Iterator[Damage]:
        """What is wrong with the next line."""
        self._position += 1
        try:
            line = parse(raw)
        except ValueError as error:
            self._unread += 1
            yield Damage(self._position, f"not a line of a log: {error}")
            return
        for what in self._check(line):
            yield Damage(self._position, what)

    def _check(self, line: Line) -> Iterator[str]:
        expected = self._last.number + 1
        if not line.is_genuine:
            yield "changed: its hash is another one"
            self._go_on(Link(expected + self._unread, line.link.hash), line.digest)
            return
        number = line.link.number
        if number < expected:
            twice = line.link == self._last
            yield (
                "stands twice" if twice else f"out of order: its number is {number}, not {expected}"
            )
            return
        missing = number - expected - self._unread
        if missing > 0:
            lines = "1 line is" if missing == 1 else f"{missing} lines are"
            yield f"{lines} missing before it: its number is {number}, not {number - missing}"
        elif not self._unread and line.previous not in (self._last.hash, self._digest):
            yield "does not follow the line before it, which was put there later"
        self._go_on(line.link, line.digest)

    def _go_on(self, link: Link, digest: str) -> None:
        self._last, self._digest, self._unread = link, digest, 0
