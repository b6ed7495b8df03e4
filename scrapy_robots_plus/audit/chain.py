"""The chain of a crawl's lines in an audit log: each line holds the hash of the one before it.

This reveals a line that was changed, removed, inserted or moved, unless all lines of the crawl from
there on were rewritten with new hashes. To reveal that too, keep the last hash elsewhere.

Each crawl has a chain of its own, wherever its lines are: crawls that write to one file need not
know of each other, and the files that a log was rotated into are as good as one. A reader checks
the chain of each crawl in constant memory.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import IntEnum
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from scrapy_robots_plus.crawl.recent import Recent
from scrapy_robots_plus.protocol.printable import counted

from .entries import SHA256, VERSION, EndEntry, Entry, from_fields


class LogState(IntEnum):
    """The state of a log, or of parts that are read together. The worse, the greater.

    The values are the exit statuses of the commands that read a log.
    """

    WHOLE = 0
    """All lines are there, and each crawl has ended."""
    UNFINISHED = 3
    """All lines are right, but a crawl or a line has no end: it is written, killed or cut off. Or
    one of several files is empty: it is new, or was emptied."""
    CUT = 4
    """Lines are missing."""
    DAMAGED = 5
    """Something was changed, moved, repeated or inserted."""


LONGEST_LINE = 16 * 1024 * 1024
"""The greatest length of a line, in bytes. Anything longer is not a line of a log."""
_MOST_LINES = 2**53
"""More than any crawl writes. A limit is needed: Python prints no number of over 4,300 digits."""

HEAD = b'{"v":'
"""The beginning of every line."""

_SEAL = re.compile(rb',"hash":"[0-9a-f]{64}"}\n?')
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


def parse(raw: bytes) -> tuple[Mapping[str, Any], str]:
    """Returns the fields of a line, the chain's included, and the hash computed from the line.

    *raw* may end in a newline. Raises ValueError if it is not a whole line.
    """
    seal_at = len(raw.removesuffix(b"\n")) - _LENGTH_OF_SEAL
    if not _SEAL.fullmatch(raw, max(seal_at, 0)):
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
    return fields, sha256(raw[:seal_at] + b"}").hexdigest()


def is_torn(raw: bytes) -> bool:
    """Returns whether *raw* is only the beginning of a line, left by a kill during a write."""
    begin = raw.removesuffix(b"\n")[: len(HEAD)]
    if not begin or not HEAD.startswith(begin) or _SEAL.search(raw):
        return False
    with suppress(ValueError, RecursionError):
        json.loads(raw.decode())
        return False  # the beginning of an object is none
    return True


SHOWN = 20
"""How many of the problems found in a log are shown."""

MOST_OPEN_CRAWLS = 1_000
"""How many unfinished crawls are followed. Beyond that, the oldest cannot still be running."""


@dataclass(slots=True)
class _Chain:
    """The chain of a crawl's lines so far."""

    begin: str
    """The place of the first line, in words."""
    number: int = START.number
    """The number of the last line."""
    hashes: tuple[str, ...] = (START.hash,)
    """The hash of the last line, as stated and as computed: the next line has one of them."""

    def take(
        self, fields: Mapping[str, Any], digest: str, report: Callable[[LogState, str], None]
    ) -> None:
        """Adds the next line; calls *report* with what is wrong with it, if anything."""
        expected, number, stated = self.number + 1, fields["n"], fields["hash"]
        if digest != stated:
            report(LogState.DAMAGED, "changed: its hash does not match")
            number = expected
        elif number < expected:
            what = f"out of order: its number in its crawl is {number}, not {expected}"
            report(LogState.DAMAGED, what)
            return
        elif number > expected:
            missing = counted(number - expected, "line")
            report(LogState.CUT, f"{missing} of its crawl missing before it")
        elif fields["prev"] not in self.hashes:
            what = "does not follow the crawl's line before it, which was inserted later"
            report(LogState.DAMAGED, what)
        self.number, self.hashes = number, (stated, digest)


class LogReader:
    """A reader of a log, or of parts of one, that reports what is wrong and reads the rest.

    Raises OSError if a file cannot be read.
    """

    def __init__(self, logs: Sequence[Path]) -> None:
        """Takes *logs*, in any order unless one of them is a pipe."""
        self._logs = logs
        self.names = [log.name for log in logs]
        """The names of the files, without their folders."""
        self.log = Path()
        """The file of the last line."""
        self._position = 0
        self.open_crawls: dict[str, _Chain] = {}
        """The chains of crawls without an end so far, by the name of the crawl."""
        self._ended: Recent[str, _Chain] = Recent(MOST_OPEN_CRAWLS)
        self.lines = 0
        self.is_readable = False
        """Whether any line so far is one of an audit log of this version."""
        self.state = LogState.WHOLE
        """The worst state that was found so far."""
        self.last = START
        """Number and hash of the last line that could be read."""
        self.damaged = 0
        self._damages: list[str] = []

    @property
    def damages(self) -> list[str]:
        """The problems, each with its place: the first few, and how many more there are."""
        more = self.damaged - len(self._damages)
        return [*self._damages, *([f"and {more:,} more"] if more else [])]

    @property
    def place(self) -> str:
        """The place of the last line: ``line 3``, or ``audit.jsonl.1, line 3`` in several files."""
        file = f"{self.log.name}, " if len(self._logs) > 1 else ""
        return f"{file}line {max(self._position, 1)}"

    def __iter__(self) -> Iterator[Entry]:
        """Yields the entries, file by file; a plain :class:`Entry` for one of an unknown type."""
        for log in _in_order(self._logs):
            self.log, self._position = log, 0
            with log.open("rb") as file:
                # A line that is too long is read in pieces, none of which is a valid line.
                while raw := file.readline(LONGEST_LINE):
                    if not self._position and raw.startswith(b"\x1f\x8b"):  # as logrotate leaves it
                        raise OSError(f"{log} is compressed (gzip): decompress it first")
                    entry = self.take(raw)
                    if entry is not None:
                        yield entry
            if not self._position and len(self._logs) > 1:  # by a rotation, or by somebody
                self.report(LogState.UNFINISHED, "the file is empty")
        if not self.lines:
            self.report(LogState.CUT, "the log is empty")
        for name in list(self.open_crawls):
            self._report_unfinished(name)

    def take(self, raw: bytes) -> Entry | None:
        """Returns the entry in the next line; None if it holds none."""
        self._position += 1
        self.lines += 1
        if raw == b"\n" and self.is_readable:
            return None  # ends what looked torn to a crawl while another one was writing it
        try:
            fields, digest = parse(raw)
        except ValueError as error:
            if is_torn(raw):
                what = "has no end: its crawl was killed or is writing it, or it was cut off"
                self.report(LogState.UNFINISHED, what)
            else:
                self.report(LogState.DAMAGED, f"not a line of a log: {error}")
            return None
        self.last = Link(fields["n"], fields["hash"])
        self._follow(fields, digest)
        try:
            entry = from_fields(fields)
        except ValueError as error:
            self.report(LogState.DAMAGED, f"cannot be read: {error}")
            return None
        self.is_readable = True
        return entry

    def _follow(self, fields: Mapping[str, Any], digest: str) -> None:
        """Adds a line to the chain of its crawl, and reports what is wrong with it there."""
        name = str(fields.get("crawl"))
        chain = self.open_crawls.get(name)
        if chain is None and (chain := self._ended.get(name)) is not None:
            self.report(LogState.DAMAGED, "comes after the end of its crawl")
        if chain is None:
            chain = _Chain(self.place)
            if digest == fields["hash"]:  # else the name of the crawl may have been changed
                self.open_crawls[name] = chain
        chain.take(fields, digest, self.report)
        if fields.get("type") == EndEntry.type and name in self.open_crawls:
            self._ended.put(name, self.open_crawls.pop(name))
        if len(self.open_crawls) > MOST_OPEN_CRAWLS:
            self._report_unfinished(next(iter(self.open_crawls)))

    def _report_unfinished(self, name: str) -> None:
        begin = self.open_crawls.pop(name).begin
        what = (
            f"the end of crawl {name:.100}, which begins at {begin}, is missing: it was killed or "
            "still runs, or lines were removed"
        )
        self.report(LogState.UNFINISHED, what)

    def report(self, state: LogState, what: str) -> None:
        """Counts a problem of the last line that was read; *state* is what it makes of the log."""
        self.state = max(self.state, state)
        self._damages += [f"{self.place}: {what}"] if self.damaged < SHOWN else []
        self.damaged += 1


def _in_order(logs: Sequence[Path]) -> Sequence[Path]:
    """Returns *logs* in the order in which they were begun, if all are regular files.

    The time in the first line counts; among those of one crawl, the number of the line, as clocks
    may be set back.
    """
    if len(logs) < 2 or not all(log.is_file() for log in logs):
        return logs
    latest: dict[str, str] = {}
    places: dict[Path, tuple[str, int]] = {}
    for crawl, number, time, log in sorted(map(_began, logs)):
        latest[crawl] = max(latest.get(crawl, ""), time)
        places[log] = latest[crawl], number
    return sorted(logs, key=places.__getitem__)


def _began(log: Path) -> tuple[str, int, str, Path]:
    """Returns crawl, number and time of the first line, and *log*. Raises OSError.

    If a kill has torn the first line, the next one is read; if that cannot be read either, all are
    empty or 0.
    """
    with log.open("rb") as file:
        for _ in range(2):
            with suppress(ValueError):
                fields, _ = parse(file.readline(LONGEST_LINE))
                return str(fields.get("crawl")), fields["n"], str(fields.get("time")), log
    return "", 0, "", log
