"""Reads an audit log, or its parts: in constant memory, with the chain checked.

Each crawl counts its own lines. So what was cut off is missed when its crawl goes on or ends, even
if the chain was sealed anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from scrapy_robots_plus.protocol.printable import counted

from .chain import LONGEST_LINE, START, Checker, Damage, Line, Link, State, parse, place
from .entries import CrawlEntry, EndEntry, Entry, VerdictEntry, from_fields

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    Wrong = tuple[State, str]

SHOWN = 20
"""How many damages are shown, or other findings of a log."""

MOST_OPEN_CRAWLS = 1_000
"""Crawls without an end that are followed. Of more, the oldest cannot be running still."""


@dataclass(slots=True)
class _Open:
    """A crawl without an end so far."""

    begin: str
    """Where that is, in words."""
    last: Link
    lines: int | None
    """How many it has; None if that is not known."""
    denials: int | None
    """How many lines say that a request was denied; None if that is not known, or is no matter."""


class Crawls:
    """Follows the crawls of a log."""

    def __init__(self) -> None:
        self._open: dict[str, _Open] = {}
        self._has_forgotten = False
        """Whether there were too many of them."""

    def __len__(self) -> int:
        """How many have no end so far."""
        return len(self._open)

    @property
    def ends(self) -> list[Link]:
        """The last line of each."""
        return [each.last for each in self._open.values()]

    def follow(self, line: Line, number: int, log: str) -> Iterator[Wrong]:
        """What is wrong with *line*, which is number *number* of the file *log*, for its crawl."""
        kind, name = line.fields.get("type"), line.fields.get("crawl")
        if not isinstance(name, str):
            return
        crawl = self._open.get(name)
        if kind == CrawlEntry.type:
            yield from self._begin(name, crawl, line, place(number, log))
        elif crawl is None:
            yield from self._unknown(name, line, place(number, log))
        crawl = self._open[name]
        if kind == EndEntry.type:
            del self._open[name]
            yield from _counted_wrongly(name, crawl, line)
            return
        crawl.last = line.link
        if crawl.lines is not None:
            crawl.lines += 1
        if crawl.denials is not None and kind == VerdictEntry.type:
            crawl.denials += line.fields.get("allowed") is False
        if len(self._open) > MOST_OPEN_CRAWLS:
            self._has_forgotten = True
            yield self._unfinished(next(iter(self._open)))

    def unfinished(self) -> Iterator[Wrong]:
        """After the last line: the crawls that have no end."""
        for name in list(self._open):
            yield self._unfinished(name)

    def _begin(self, name: str, crawl: _Open | None, line: Line, where: str) -> Iterator[Wrong]:
        continues = line.continues
        if continues is None:
            if crawl is not None:
                yield State.DAMAGED, f"crawl {name:.100} begins a second time"
            counts = 0 if line.fields.get("mode") == "obey" else None
            self._open[name] = _Open(where, line.link, 0, counts)
            return
        before = _whole_number(line.fields["continues"].get("lines"))
        if crawl is None:
            last = f"number {continues.number}, with the hash {continues.hash:.64}"
            yield State.PART, f"crawl {name:.100} goes on after {last}, which is not here"
        elif (crawl.last, crawl.lines) != (continues, before):
            missing = (before or 0) - (crawl.lines or 0)
            if missing > 0:
                is_, lines = "is" if missing == 1 else "are", counted(missing, "line")
                yield State.CUT, f"{lines} of crawl {name:.100} {is_} missing before it"
            else:
                yield State.DAMAGED, f"crawl {name:.100} goes on after another line than its last"
        begin, denials = (where, None) if crawl is None else (crawl.begin, crawl.denials)
        self._open[name] = _Open(begin, continues, before, denials)

    def _unknown(self, name: str, line: Line, where: str) -> Iterator[Wrong]:
        if not self._has_forgotten:
            yield State.CUT, f"the beginning of crawl {name:.100} is missing"
        self._open[name] = _Open(where, line.link, None, None)

    def _unfinished(self, name: str) -> Wrong:
        what = (
            f"the end of crawl {name:.100}, which begins in {self._open.pop(name).begin}, is "
            "missing: it was killed or still runs, or lines were removed"
        )
        return State.UNFINISHED, what


def _counted_wrongly(name: str, crawl: _Open, end: Line) -> Iterator[Wrong]:
    """Whether the lines of a crawl are those that its *end* counts."""
    lines, denied = (_whole_number(end.fields.get(key)) for key in ("lines", "denied"))
    lost = _whole_number(end.fields.get("lost")) or 0
    if None not in (lines, crawl.lines) and lines != crawl.lines:
        what = f"the end of crawl {name:.100} counts {lines} lines before it, not {crawl.lines}"
        yield (State.CUT if lines > crawl.lines else State.DAMAGED), what  # type: ignore[operator]
    elif denied is not None and crawl.denials is not None and denied > crawl.denials + lost:
        what = f"the end of crawl {name:.100} counts {denied} denials, not {crawl.denials}"
        yield State.CUT, what


def _whole_number(value: object) -> int | None:
    return value if type(value) is int else None


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

    def __init__(
        self,
        logs: Sequence[Path],
        tell: Callable[[Damage], object],
        unshown: State | None = None,
    ) -> None:
        """*logs*: in any order, if none of them is a pipe. *tell* gets what is damaged, but for
        what is *unshown*.
        """
        self._logs = logs
        self._tell = tell
        self._unshown = unshown
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
        self.damages: list[Damage] = []
        """The first few."""
        self.damaged = 0
        """How many there are."""

    @property
    def names(self) -> list[str]:
        """Of the files, without their folders."""
        return [log.name for log in self._logs]

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
                self.report(state, "the log is empty")
        for wrong in self.crawls.unfinished():
            self.report(*wrong)

    def _read(self, raw: bytes) -> Entry | None:
        try:
            line = parse(raw)
        except ValueError as error:
            self._checker.unreadable()
            self.report(*self._unreadable(raw, error))
            return None
        self.last = line.link
        is_right = True
        for wrong in self._wrong_with(line):
            is_right = False
            self.report(*wrong)
        try:
            entry = from_fields(line.fields)
        except ValueError as error:
            if is_right:
                self.report(State.DAMAGED, f"cannot be read: {error}")
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

    def report(self, state: State, what: str) -> None:
        """Counts something that is wrong with the last line that was read."""
        self.state = max(self.state, state)
        if state is self._unshown:
            return
        damage = Damage(max(self._position, 1), what, state, self._log)
        self.damaged += 1
        self.damages += [damage] if self.damaged <= SHOWN else []
        self._tell(damage)


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
