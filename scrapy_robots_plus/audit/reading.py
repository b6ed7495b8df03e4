"""A reader of audit logs that checks the chain of each crawl, in constant memory."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from scrapy_robots_plus.crawl.recent import Recent
from scrapy_robots_plus.protocol.printable import counted

from .chain import LONGEST_LINE, START, Line, State, is_torn, parse
from .entries import EndEntry, Entry, from_fields

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

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
    """The hash of the last line, as stated and as computed. If one was changed, the next line has
    the other."""

    def take(self, line: Line, report: Callable[[State, str], None]) -> None:
        """Adds the next *line*; calls *report* with what is wrong with it, if anything."""
        expected, number = self.number + 1, line.link.number
        if not line.is_genuine:
            report(State.DAMAGED, "changed: its hash does not match")
            number = expected
        elif number < expected:
            what = f"out of order: its number in its crawl is {number}, not {expected}"
            report(State.DAMAGED, what)
            return
        elif number > expected:
            missing = counted(number - expected, "line")
            report(State.CUT, f"{missing} of its crawl missing before it")
        elif line.previous not in self.hashes:
            what = "does not follow the crawl's line before it, which was inserted later"
            report(State.DAMAGED, what)
        self.number, self.hashes = number, (line.link.hash, line.digest)


class LogReader:
    """A reader of a log, or of parts of one, that reports what is wrong and reads the rest.

    Raises OSError if a file cannot be read.
    """

    def __init__(self, logs: Sequence[Path]) -> None:
        """Takes *logs*, in any order unless one of them is a pipe."""
        self._logs = logs
        self.names = [log.name for log in logs]
        """The names of the files, without their folders."""
        self._log = ""
        self._position = 0
        self.open_crawls: dict[str, _Chain] = {}
        """The chains of crawls without an end so far, by the name of the crawl."""
        self._ended: Recent[str, _Chain] = Recent(MOST_OPEN_CRAWLS)
        self.lines = 0
        """How many lines were read so far."""
        self.is_readable = False
        """Whether any line so far is one of an audit log of this version."""
        self.state = State.WHOLE
        """The worst state that was found so far."""
        self.last = START
        """Number and hash of the last line that could be read."""
        self.damaged = 0
        """How many problems were found."""
        self._damages: list[str] = []

    @property
    def damages(self) -> list[str]:
        """The problems, each with its place: the first few, and how many more there are."""
        more = self.damaged - len(self._damages)
        return [*self._damages, *([f"and {more:,} more"] if more else [])]

    @property
    def place(self) -> str:
        """The place of the last line: ``line 3``, or ``audit.jsonl.1, line 3`` in several files."""
        line = f"line {max(self._position, 1)}"
        return f"{self._log}, {line}" if self._log else line

    def __iter__(self) -> Iterator[Entry]:
        """Yields the entries, file by file; a plain :class:`Entry` for one of an unknown type."""
        for log in _in_order(self._logs):
            self._log, self._position = log.name if len(self._logs) > 1 else "", 0
            with log.open("rb") as file:
                # A line that is too long is read in pieces, none of which is a valid line.
                for raw in iter(partial(file.readline, LONGEST_LINE), b""):
                    entry = self.take(raw)
                    if entry is not None:
                        yield entry
            if not self._position:  # one of several may be new, after a rotation
                state = State.UNFINISHED if self._log else State.CUT
                self.report(state, "the log is empty")
        for name in list(self.open_crawls):
            self._report_unfinished(name)

    def take(self, raw: bytes) -> Entry | None:
        """Returns the entry in the next line; None if it holds none."""
        self._position += 1
        self.lines += 1
        if raw == b"\n" and self.is_readable:
            return None  # ends what looked torn to a crawl while another one was writing it
        try:
            line = parse(raw)
        except ValueError as error:
            if is_torn(raw):
                what = "has no end: its crawl was killed or is writing it, or it was cut off"
                self.report(State.UNFINISHED, what)
            else:
                self.report(State.DAMAGED, f"not a line of a log: {error}")
            return None
        self.last = line.link
        self._follow(line)
        try:
            entry = from_fields(line.fields)
        except ValueError as error:
            self.report(State.DAMAGED, f"cannot be read: {error}")
            return None
        self.is_readable = True
        return entry

    def _follow(self, line: Line) -> None:
        """Adds *line* to the chain of its crawl, and reports what is wrong with it there."""
        name = str(line.fields.get("crawl"))
        chain = self.open_crawls.get(name) or self._ended.get(name)
        if chain is None:
            chain = _Chain(self.place)
            if line.is_genuine:  # else the name of the crawl may have been changed
                self.open_crawls[name] = chain
        chain.take(line, self.report)
        if line.fields.get("type") == EndEntry.type and name in self.open_crawls:
            self._ended.put(name, self.open_crawls.pop(name))
        if len(self.open_crawls) > MOST_OPEN_CRAWLS:
            self._report_unfinished(next(iter(self.open_crawls)))

    def _report_unfinished(self, name: str) -> None:
        begin = self.open_crawls.pop(name).begin
        what = (
            f"the end of crawl {name:.100}, which begins at {begin}, is missing: it was killed or "
            "still runs, or lines were removed"
        )
        self.report(State.UNFINISHED, what)

    def report(self, state: State, what: str) -> None:
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
        for raw in islice(iter(partial(file.readline, LONGEST_LINE), b""), 2):
            with suppress(ValueError):
                fields = parse(raw).fields
                return str(fields.get("crawl")), fields["n"], str(fields.get("time")), log
    return "", 0, "", log
