"""Appends the entries of a crawl to an audit log, in batches."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import replace
from shutil import copyfileobj
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from .chain import LONGEST_LINE, START, Link, parse, seal
from .entries import CrawlEntry, EndEntry, Entry, to_fields
from .files import Appender, append, is_at, locked, open_to_append, try_lock

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


_HEAD = b'{"v":'
"""How every line begins."""
_TAILS = 65_536, 2 * LONGEST_LINE
"""Bytes at the end of a log in which its last whole line is looked for."""


class Tail(NamedTuple):
    """Where a log goes on."""

    link: Link
    """The last whole line."""
    end: int
    """Its end, in octets from the start of the file."""
    has_newline: bool = True


def find_tail(file: BinaryIO) -> Tail:
    """The last whole line of *file*, with constant memory however long the file is.

    Raises :exc:`NotALogError` if the file is not a log, or has no line near its end, and OSError if
    it cannot be read.
    """
    file.seek(0)
    head = file.read(len(_HEAD))
    if head != _HEAD[: len(head)]:
        raise NotALogError("it is not an audit log")
    size = stop = file.seek(0, os.SEEK_END)
    for length in _TAILS:
        file.seek(max(0, size - length))
        stop = size
        for raw in reversed(file.read(length).splitlines(keepends=True)):
            with suppress(ValueError):
                return Tail(parse(raw).link, stop, raw.endswith(b"\n"))
            stop -= len(raw)
    if stop:
        raise NotALogError("its end is not that of an audit log")
    return Tail(START, 0)


def repair(file: BinaryIO, tail: Tail, aside: Path) -> str:
    """Ends *file* with the last whole line; returns what had to be done, in words, or nothing.

    What follows that line is moved to the end of the file *aside*. Raises OSError.
    """
    torn = file.seek(0, os.SEEK_END) - tail.end
    if torn:
        where = f"they are now in {aside.name}"
        file.seek(tail.end)
        try:
            with aside.open("ab") as copy:
                copyfileobj(file, copy)
                copy.write(b"\n")
        except OSError:
            where = "they could not be kept"
        file.truncate(tail.end)
    if not tail.has_newline:
        file.seek(0, os.SEEK_END)
        file.write(b"\n")
    if torn:
        return f"its last line was torn: {torn:,} bytes were cut off, {where}"
    return "" if tail.has_newline else "its last line had no end"


class NotALogError(OSError):
    """The file is something else, which must not be touched."""


ROOM = 10_000
"""Lines."""

BATCH = 256
"""Lines that are written at once: so few that the crawl does not notice."""


class AuditLog(Appender):
    """One crawl's access to an audit log.

    Whatever happens to the file, the crawl's next line says which was its last one: that is how
    files that were rotated are tied together, and how a cut shows.
    """

    def __init__(
        self,
        path: Path,
        begin: CrawlEntry,
        warn: Callable[[str], None],
        now: Callable[[], float] = time.time,
    ) -> None:
        """*begin* is written first, and again if the file is replaced. *warn* gets the problems.

        *now* tells seconds since the epoch.
        """
        super().__init__(path, warn, ROOM, "lines")
        self.written = 0
        """Lines."""
        self.repairs = 0
        """Times that its last line was repaired."""
        self._begin = begin
        self._now = now
        self._file: BinaryIO | None = None
        self.last: Link | None = None
        """The last line that this crawl has written."""
        self._is_begun = False
        """Whether the file has the crawl's beginning."""
        self._size = 0
        """That of the file after the crawl's last line."""
        self._before = START
        """The last line that is known of the file before, if this one should be empty."""

    def add(self, entry: Entry) -> None:
        """Takes *entry*, to be written by the next :meth:`flush`.

        An end gets its counts of lines then.
        """
        self._take(entry, is_last=isinstance(entry, EndEntry))

    def close(self) -> None:
        """Closes the file, and waits until it is on the disk. What still waits is lost."""
        super().close()
        if self._file is None:
            return
        try:
            os.fsync(self._file.fileno())
        except OSError as error:
            self._warn_once(f"it may not be on the disk ({error.strerror})")
        self._let_go()

    # The file

    def _opened(self) -> BinaryIO | None:
        """The file at the path; None if somebody else is writing to the one that was there."""
        if self._file is not None and not is_at(self._file, self.path):
            if not try_lock(self._file):
                return None  # its last line is not known yet
            self._before = self._last_of(self._file)
            self.went_wrong("it was removed or replaced; the crawl goes on in a new one")
            self._let_go()
        if self._file is None:
            self._file = open_to_append(self.path)
        return self._file

    def _let_go(self) -> None:
        if self._file is not None:
            self._file.close()
        self._file, self._is_begun = None, False

    def _write(self) -> bool:
        if self._is_begun and not self._waiting:
            return True
        file = self._opened()
        if file is None:
            return False
        with locked(file) as is_ours:
            if not (is_ours and is_at(file, self.path)):
                return False  # somebody else is writing, or has just rotated it
            last = self._end_of(file)
            while self._waiting or not self._is_begun:
                last = self._append(file, last)
        return True

    def _last_of(self, file: BinaryIO) -> Link:
        """The last line of a file that was replaced, whoever wrote it."""
        if self.last is None:
            return START
        return find_tail(file).link if self._has(file, self.last) else self.last

    def _has(self, file: BinaryIO, last: Link) -> bool:
        """Whether the crawl's *last* line is where it was written."""
        end = f'"{last.hash}"}}\n'.encode("ascii")
        file.seek(max(0, self._size - len(end)))
        return file.read(len(end)) == end

    def _end_of(self, file: BinaryIO) -> Link:
        """The line to go on from: the last one of *file*, which is repaired if that is needed."""
        size = file.seek(0, os.SEEK_END)
        if self._is_begun and self.last is not None:
            if self._has(file, self.last):
                if size == self._size:
                    return self.last
            else:
                self._is_begun, self._before = False, self.last
                self._warn_once("it was emptied, cut or overwritten; the crawl's next line says so")
        tail = find_tail(file)
        done = repair(file, tail, self.path.with_name(f"{self.path.name}.torn"))
        if done:
            self.repairs += 1
            self._warn(done)
        return tail.link if tail.end else self._before

    def _beginning(self) -> CrawlEntry:
        """How the crawl begins, or goes on in this file."""
        if self.last is None:
            return self._begin
        continues = {"n": self.last.number, "hash": self.last.hash, "lines": self.written}
        return replace(self._begin, time=self._now(), continues=continues)

    def _append(self, file: BinaryIO, after: Link) -> Link:
        """Appends a batch; returns its last line."""
        waiting = self._waiting[:BATCH]
        entries = waiting if self._is_begun else [self._beginning(), *waiting]
        lines: list[bytes] = []
        for number, entry in enumerate(entries):
            if isinstance(entry, EndEntry):
                entry.lines = self.written + len(lines)
                entry.lost = self.lost + number - len(lines)
            line = self._sealed(entry, after)
            if line is not None:
                lines.append(line[0])
                after = line[1]
        self._size = append(file, b"".join(lines))
        self.last, self._is_begun = after, True
        del self._waiting[: len(waiting)]
        self.written += len(lines)
        self.lost += len(entries) - len(lines)
        return after

    def _sealed(self, entry: Entry, after: Link) -> tuple[bytes, Link] | None:
        """The line of *entry*; None if it cannot be one."""
        try:
            line = seal(to_fields(entry), after)
            if len(line[0]) > LONGEST_LINE:
                raise ValueError(f"it has {len(line[0]):,} bytes")
        except (ValueError, TypeError, OverflowError, RecursionError) as error:
            self._warn_once(f"a line was left out ({type(error).__name__}: {error})")
            return None
        return line
