"""The chain of the lines of an audit log: each holds the hash of the one before.

So a line that was changed, removed, inserted or moved is found. Whoever rewrites all lines from
there to the end, with their hashes, is not: keep the last hash elsewhere.

A writer goes on from the last line that it knows, whatever happened to the file: the first line of
a new file follows the last one of the file before, and both together are one chain.
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
    from collections.abc import Collection, Iterator, Mapping


class State(IntEnum):
    """Of a log, or of parts that were given together. The worse, the greater."""

    WHOLE = 0
    """All lines are there, and each crawl has ended."""
    UNFINISHED = 1
    """What is there is right, but a crawl has no end: it runs, was killed, or was cut off."""
    PART = 2
    """What is there is right, but it continues lines that are not there."""
    CUT = 3
    """Lines are missing."""
    DAMAGED = 4
    """Something was changed, moved, repeated or inserted."""

    @property
    def word(self) -> str:
        """``whole``, ``damaged``."""
        return self.name.lower()


class Damage(NamedTuple):
    """Something that a whole log would not have."""

    log: str | None
    """The file, if several are read."""
    line: int
    """Where, counted from 1; the last line of the file if something is missing after it."""
    what: str
    state: State
    """The state of a log in which nothing worse is found."""

    def __str__(self) -> str:
        return f"{place(self.log, self.line)}: {self.what}"


def place(log: str | None, line: int) -> str:
    """``line 3``, or ``audit.jsonl.1, line 3``."""
    return f"{log}, line {line}" if log else f"line {line}"


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


_DECODER = json.JSONDecoder()
_ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False, default=dict)
"""Any mapping is an object."""


def seal(fields: Mapping[str, Any], after: Link) -> tuple[bytes, Link]:
    """The line with *fields* that follows *after*, with its newline."""
    number = after.number + 1
    whole = {"v": VERSION, "n": number, **fields, "prev": after.hash}
    text = _ENCODER.encode(whole)
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

    @property
    def continues(self) -> tuple[Link, int] | None:
        """If a crawl goes on here, in another file or after a cut: its last line before, and how
        many lines it had up to there."""
        match self.fields.get("continues"):
            case {"n": int(number), "hash": str(digest), "lines": int(lines)}:
                return Link(number, digest), lines
        return None


def parse(raw: bytes) -> Line:
    """A line, with or without its newline. Raises ValueError if *raw* is not a whole one."""
    seal_at = len(raw.removesuffix(b"\n")) - _LENGTH_OF_SEAL
    stated = _SEAL.fullmatch(raw, max(seal_at, 0))
    if stated is None:
        raise ValueError("it does not end in a hash")
    try:
        text = raw.decode()
        fields, end = _DECODER.raw_decode(text)
    except (ValueError, RecursionError):
        raise ValueError("it is not JSON") from None
    if text[end:] not in ("", "\n"):
        raise ValueError("it is not JSON")
    number, previous = fields.get("n"), fields.get("prev")
    if type(number) is not int or number < 0:
        raise ValueError("it has no number")
    if not (isinstance(previous, str) and SHA256.fullmatch(previous)):
        raise ValueError("it does not name the line before it")
    digest = sha256(raw[:seal_at] + b"}").hexdigest()
    return Line(Link(number, stated[1].decode("ascii")), previous, fields, digest)


class Checker:
    """Checks the lines of one or several files, one after the other.

    A file may begin a log (number 0), or continue the one before it.
    """

    def __init__(self) -> None:
        self.logs = 0
        """How many were begun."""
        self._last = START
        """The line with the highest number so far."""
        self._digest = START.hash
        """Its hash, computed: if the stated one was changed, the next line still has this one."""
        self._unread = 0
        """Lines in a row, just before, that could not be read: they may stand for lines, or not."""
        self._is_first = True
        """Whether the next line is the first of its file."""

    def next_file(self) -> None:
        """The next line is the first of another file."""
        self._is_first, self._unread = True, 0

    def unreadable(self) -> None:
        """Where the next line should be, something else stands."""
        self._unread += 1
        self._is_first = False

    def check(self, line: Line, ends: Collection[Link] = ()) -> Iterator[tuple[State, str]]:
        """What is wrong with the next *line*.

        *ends*: the last lines of the crawls so far. When a file that several crawls write to is
        emptied, the first to go on may not know the last lines of the others.
        """
        is_first, self._is_first = self._is_first, False
        if not line.is_genuine:
            yield State.DAMAGED, "changed: its hash is another one"
            self._go_on(Link(self._last.number + 1 + self._unread, line.link.hash), line.digest)
            return
        before = Link(line.link.number - 1, line.previous)
        if is_first and self._may_follow(before, ends, goes_on=line.continues is not None):
            self.logs += before == START or not self.logs
            self._go_on(before, before.hash)
        yield from self._check_place(line)

    def _may_follow(self, before: Link, ends: Collection[Link], *, goes_on: bool) -> bool:
        """Whether the first line of a file may follow *before* instead of the line before it."""
        return before == START or (goes_on and (not self.logs or before in ends))

    def _check_place(self, line: Line) -> Iterator[tuple[State, str]]:
        expected, number = self._last.number + 1, line.link.number
        if number < expected:
            yield State.DAMAGED, f"out of order: its number is {number}, not {expected}"
            return
        missing = number - expected - self._unread
        if missing > 0:
            lines = "1 line is" if missing == 1 else f"{missing} lines are"
            what = f"{lines} missing before it: its number is {number}, not {number - missing}"
            yield State.CUT, what
        elif number == expected and line.previous not in (self._last.hash, self._digest):
            what = "does not follow the line before it, which was put there later"
            yield State.DAMAGED, what
        self._go_on(line.link, line.digest)

    def _go_on(self, link: Link, digest: str) -> None:
        self._last, self._digest, self._unread = link, digest, 0
