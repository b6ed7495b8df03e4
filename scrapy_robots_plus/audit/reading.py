"""Reads an audit log, or its parts: in constant memory, with the chain checked.

Each crawl counts its own lines. So what was cut off is missed when its crawl goes on or ends, even
if the chain was sealed anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from scrapy_robots_plus.protocol.printable import counted

from .chain import LONGEST_LINE, START, Checker, Damage, Line, Link, State, parse, place
from .entries import CrawlEntry, EndEntry, Entry, VerdictEntry, from_fields

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence
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

    def follow(self, entry: Entry, line: Line, where: Callable[[], str]) -> Iterator[Wrong]:
        """What is wrong with *entry* for its crawl. *where* says in words where its *line* is."""
        crawl = self._open.get(entry.crawl)
        if isinstance(entry, CrawlEntry):
            crawl = yield from _begun(entry, crawl, line, where())
        elif crawl is None:
            if not self._has_forgotten:
                yield State.CUT, f"the beginning of crawl {entry.crawl:.100} is missing"
            crawl = _Open(where(), line.link, None, None)
        if isinstance(entry, EndEntry):
            self._open.pop(entry.crawl, None)
            yield from _counted_wrongly(entry, crawl)
            return
        self._open[entry.crawl] = crawl
        crawl.last = line.link
        if crawl.lines is not None:
            crawl.lines += 1
        if crawl.denials is not None and isinstance(entry, VerdictEntry):
            crawl.denials += not entry.allowed
        if len(self._open) > MOST_OPEN_CRAWLS:
            self._has_forgotten = True
            yield self._unfinished(next(iter(self._open)))

    def unfinished(self) -> Iterator[Wrong]:
        """After the last line: the crawls that have no end."""
        for name in list(self._open):
            yield self._unfinished(name)

    def _unfinished(self, name: str) -> Wrong:
        what = (
            f"the end of crawl {name:.100}, which begins in {self._open.pop(name).begin}, is "
            "missing: it was killed or still runs, or lines were removed"
        )
        return State.UNFINISHED, what


def _begun(
    begin: CrawlEntry, crawl: _Open | None, line: Line, where: str
) -> Generator[Wrong, None, _Open]:
    """The crawl that begins here, or goes on; and what is wrong with that."""
    if line.continues is None:
        if crawl is not None:
            yield State.DAMAGED, f"crawl {begin.crawl:.100} begins a second time"
        return _Open(where, line.link, 0, 0 if begin.mode == "obey" else None)
    last, lines = line.continues
    if crawl is None:
        after = f"number {last.number}, with the hash {last.hash:.64}"
        yield State.PART, f"crawl {begin.crawl:.100} goes on after {after}, which is not here"
        return _Open(where, last, lines, None)
    missing = lines - (crawl.lines or 0)
    if missing > 0:
        is_, some = "is" if missing == 1 else "are", counted(missing, "line")
        yield State.CUT, f"{some} of crawl {begin.crawl:.100} {is_} missing before it"
    elif (crawl.last, crawl.lines) != (last, lines):
        yield State.DAMAGED, f"crawl {begin.crawl:.100} goes on after another line than its last"
    return _Open(crawl.begin, last, lines, crawl.denials)


def _counted_wrongly(end: EndEntry, crawl: _Open) -> Iterator[Wrong]:
    """Whether the lines of a crawl are those that its *end* counts."""
    said = f"the end of crawl {end.crawl:.100} counts"
    if end.lines is not None and crawl.lines is not None and end.lines != crawl.lines:
        state = State.CUT if end.lines > crawl.lines else State.DAMAGED
        yield state, f"{said} {end.lines} lines before it, not {crawl.lines}"
    elif crawl.denials is not None and end.denied > crawl.denials + end.lost:
        yield State.CUT, f"{said} {end.denied} denials, not {crawl.denials}"


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

    @property
    def place(self) -> dict[str, Any]:
        """Of the last entry: ``log``, None if only one is read, and ``line``, counted from 1."""
        return {"log": self._log or None, "line": max(self._position, 1)}

    def __iter__(self) -> Iterator[Entry]:
        """The entries in the order of the files. One of an unknown type has what all have."""
        for log in _in_order(self._logs):
            self._log, self._position = log.name if len(self._logs) > 1 else "", 0
            self._checker.next_file()
            with log.open("rb") as file:
                # A line that is too long is read as several, and none of them can be right.
                for raw in iter(partial(file.readline, LONGEST_LINE), b""):
                    self._position += 1
                    self.lines += 1
                    entry = self._read(raw)
                    if entry is not None:
                        yield entry
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
        wrong = list(self._checker.check(line, self.crawls.ends if line.continues else ()))
        entry = None
        try:
            entry = from_fields(line.fields)
        except ValueError as error:
            wrong = wrong or [(State.DAMAGED, f"cannot be read: {error}")]
        else:
            self.is_readable = True
            wrong += self.crawls.follow(entry, line, lambda: place(**self.place))
        for each in wrong:
            self.report(*each)
        return entry

    def _unreadable(self, raw: bytes, error: ValueError) -> tuple[State, str]:
        if raw.endswith(b"\n") or not self.is_readable:
            return State.DAMAGED, f"not a line of a log: {error}"
        what = "its end is missing: the crawl was killed or is writing it, or it was cut off"
        return State.UNFINISHED, what

    def report(self, state: State, what: str) -> None:
        """Counts something that is wrong with the last line that was read."""
        self.state = max(self.state, state)
        if state is self._unshown:
            return
        damage = Damage(**self.place, what=what, state=state)
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
