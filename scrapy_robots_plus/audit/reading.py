"""Reads an audit log: in constant memory, with its chain checked or not."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .chain import LONGEST_LINE, START, Checker, Damage, parse
from .entries import CrawlEntry, EndEntry, Entry, from_fields

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from typing import BinaryIO

    Report = Callable[[Damage], None]


MOST_OPEN_CRAWLS = 1_000
"""Crawls without an end that are followed. Of more, the oldest cannot be running still."""


class Read(NamedTuple):
    """An entry, and the line that it stands in."""

    line: int
    """Counted from 1."""
    entry: Entry


class MissingEnd(Damage):
    """A crawl has no end in the log: it was killed, still runs, or its last lines were removed."""


class LogReader:
    """Reads one log. What is wrong with it is reported, and the rest is read.

    Raises OSError if the file cannot be read.
    """

    def __init__(self, path: Path, report: Report, *, verify: bool = False) -> None:
        """*report* gets what is damaged; *verify*: the chain is checked, too."""
        self._path = path
        self._report = report
        self._checker = Checker() if verify else None
        self._position = 0
        self.open_crawls: dict[str, int] = {}
        """If the chain is checked: crawls without an end so far, with the line of their begin."""
        self.last = START
        """The last line that could be read."""

    @property
    def lines(self) -> int:
        """How many were read so far."""
        return self._position

    def __iter__(self) -> Iterator[Read]:
        """The entries in the order of the file. Entries of an unknown type are left out."""
        with self._path.open("rb") as file:
            for raw in _lines(file):
                self._position += 1
                entry = self._read(raw)
                if entry is not None:
                    yield Read(self._position, entry)
        if self._checker is not None:
            self._check_ends()

    def _read(self, raw: bytes) -> Entry | None:
        damages = [] if self._checker is None else list(self._checker.check(raw))
        for damage in damages:
            self._report(damage)
        try:
            line = parse(raw)
            self.last = line.link
            entry = from_fields(line.fields)
        except ValueError as error:
            if not damages:
                self._report(Damage(self._position, f"cannot be read: {error}"))
            return None
        if self._checker is not None:
            self._follow(entry)
        return entry

    def _follow(self, entry: Entry | None) -> None:
        if isinstance(entry, CrawlEntry):
            self.open_crawls[entry.crawl] = self._position
            if len(self.open_crawls) > MOST_OPEN_CRAWLS:
                self._report_open(next(iter(self.open_crawls)))
        elif isinstance(entry, EndEntry):
            self.open_crawls.pop(entry.crawl, None)

    def _check_ends(self) -> None:
        if not self._position:
            self._report(Damage(1, "the log is empty"))
        for crawl in list(self.open_crawls):
            self._report_open(crawl)

    def _report_open(self, crawl: str) -> None:
        what = (
            f"the end of crawl {crawl}, which begins in line {self.open_crawls.pop(crawl)}, is "
            "missing: it was killed or still runs, or lines were removed"
        )
        self._report(MissingEnd(self._position, what))


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """The lines, each with its newline; of one that is too long only its beginning."""
    while raw := file.readline(LONGEST_LINE):
        rest = raw
        while not rest.endswith(b"\n") and len(rest) == LONGEST_LINE:
            rest = file.readline(LONGEST_LINE)
        yield raw
