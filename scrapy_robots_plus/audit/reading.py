"""Reads an audit log, or its parts: in constant memory, with the chain checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .chain import LONGEST_LINE, START, Checker, Line, parse
from .crawls import Crawls
from .damage import Damage, State
from .entries import Entry, from_fields

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path
    from typing import BinaryIO

    Report = Callable[[Damage], None]


class Read(NamedTuple):
    """An entry, and the line that it stands in."""

    line: int
    """Counted from 1."""
    entry: Entry
    log: str
    """The name of the file, if several are read."""


class LogReader:
    """Reads a log, or parts of one. What is wrong with it is reported, and the rest is read.

    Raises OSError if a file cannot be read.
    """

    def __init__(self, logs: Sequence[Path], report: Report) -> None:
        """*logs*: in any order, if none of them is a pipe. *report* gets what is damaged."""
        self._logs = logs
        self._report_to = report
        self._checker = Checker()
        self._log = ""
        self._position = 0
        self.crawls = Crawls()
        self.lines = 0
        """How many were read so far."""
        self.is_readable = False
        """Whether any of them is one of an audit log of this version."""
        self.state = State.WHOLE
        """The worst that was found so far."""
        self.last = START
        """The last line that could be read."""

    @property
    def logs(self) -> int:
        """How many logs were begun: a file may be one of its own, or continue the one before."""
        return self._checker.logs

    def __iter__(self) -> Iterator[Read]:
        """The entries in the order of the files. Entries of an unknown type are left out."""
        for log in _in_order(self._logs):
            self._log, self._position = log.name if len(self._logs) > 1 else "", 0
            self._checker.next_file()
            with log.open("rb") as file:
                for raw in _lines(file):
                    self._position += 1
                    self.lines += 1
                    entry = self._read(raw)
                    if entry is not None:
                        yield Read(self._position, entry, self._log)
            if not self._position:  # of several, the last may have been rotated just now
                state = State.UNFINISHED if self._log else State.CUT
                self._report(state, "the log is empty")
        for wrong in self.crawls.unfinished():
            self._report(*wrong)

    def _read(self, raw: bytes) -> Entry | None:
        try:
            line = parse(raw)
        except ValueError as error:
            self._checker.unreadable()
            self._report(*self._unreadable(raw, error))
            return None
        self.last = line.link
        is_right = True
        for wrong in self._wrong_with(line):
            is_right = False
            self._report(*wrong)
        try:
            entry = from_fields(line.fields)
        except ValueError as error:
            if is_right:
                self._report(State.DAMAGED, f"cannot be read: {error}")
            return None
        self.is_readable = True
        return entry

    def _unreadable(self, raw: bytes, error: ValueError) -> tuple[State, str]:
        if raw.endswith(b"\n") or not self.is_readable:
            return State.DAMAGED, f"not a line of a log: {error}"
        what = "its end is missing: the crawl was killed or is writing it, or it was cut off"
        return State.UNFINISHED, what

    def _wrong_with(self, line: Line) -> Iterator[tuple[State, str]]:
        yield from self._checker.check(line, self.crawls.ends if line.continues else ())
        yield from self.crawls.follow(line, self._position, self._log)

    def _report(self, state: State, what: str) -> None:
        self.state = max(self.state, state, key=lambda each: each.severity)
        self._report_to(Damage(max(self._position, 1), what, state, self._log))


def _in_order(logs: Sequence[Path]) -> Sequence[Path]:
    """Parts in the order in which they were begun: by the time in their first line."""
    is_sortable = len(logs) > 1 and all(log.is_file() for log in logs)
    return sorted(logs, key=_began) if is_sortable else logs


def _began(log: Path) -> str:
    """The time in the first line; nothing if that cannot be read. Raises OSError."""
    with log.open("rb") as file:
        try:
            return str(parse(file.readline(LONGEST_LINE)).fields.get("time"))
        except ValueError:
            return ""


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """The lines, each with its newline; of one that is too long only its beginning."""
    while raw := file.readline(LONGEST_LINE):
        rest = raw
        while not rest.endswith(b"\n") and len(rest) == LONGEST_LINE:
            rest = file.readline(LONGEST_LINE)
        yield raw
