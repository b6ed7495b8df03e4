"""Appends the entries of a crawl to an audit log, in batches."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, BinaryIO

from scrapy_robots_plus.audit.chain import LONGEST_LINE, Link, seal
from scrapy_robots_plus.audit.entries import EndEntry, to_fields

from .appending import append, is_at, open_to_append
from .locks import try_lock, unlock
from .tail import find_tail, repair

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from scrapy_robots_plus.audit.entries import CrawlEntry, Entry

ROOM = 10_000
"""How many lines wait in memory while the file cannot be written; further ones are lost."""

BATCH = 256
"""Lines that are written at once: so few that the crawl does not notice."""


class AuditLog:
    """One crawl's access to an audit log, which others may write to at the same time.

    Nothing here raises OSError: what goes wrong is warned of once, counted, and tried again.
    """

    def __init__(self, path: Path, begin: CrawlEntry, warn: Callable[[str], None]) -> None:
        """*begin* is written first, and again if the file is replaced. *warn* gets the problems."""
        self.path = path
        self.written = 0
        """Lines."""
        self.lost = 0
        """Lines that were not written and will not be."""
        self.errors = 0
        """Times that the file could not be written, or was gone."""
        self.repairs = 0
        """Times that its last line was repaired."""
        self.is_locked_out = False
        """Whether the last :meth:`flush` found somebody else writing."""
        self._begin = begin
        self._warn = warn
        self._warned: set[str] = set()
        self._waiting: list[Entry] = []
        self._file: BinaryIO | None = None
        self.last: Link | None = None
        """The last line that this crawl has written."""
        self._is_begun = False
        """Whether the file has its beginning."""
        self._size = 0
        """That of the file then."""

    @property
    def waiting(self) -> int:
        """Lines in memory."""
        return len(self._waiting)

    def add(self, entry: Entry) -> None:
        """Takes *entry*, to be written by the next :meth:`flush`."""
        if len(self._waiting) < ROOM or isinstance(entry, EndEntry):
            self._waiting.append(entry)
        else:
            self.lost += 1

    def flush(self) -> bool:
        """Writes what waits. False if that was not possible: it waits further."""
        if self._is_begun and not self._waiting:
            return True
        try:
            file = self._opened()
            self.is_locked_out = not try_lock(file)
            if self.is_locked_out:
                return False
            try:
                self._append_all(file)
            finally:
                unlock(file)
        except OSError as error:
            self.errors += 1
            self._warn_once(f"it cannot be written ({error.strerror or error}); {_MEANWHILE}")
            return False
        return True

    def close(self) -> None:
        """Closes the file, and waits until it is on the disk. What still waits is lost."""
        self.lost += len(self._waiting)
        self._waiting.clear()
        if self._file is None:
            return
        try:
            os.fsync(self._file.fileno())
        except OSError as error:
            self._warn_once(f"it may not be on the disk ({error.strerror})")
        self._let_go()

    # The file

    def _opened(self) -> BinaryIO:
        if self._file is not None:
            if is_at(self._file, self.path):
                return self._file
            self.errors += 1
            self._warn_once("it was removed or replaced; the crawl goes on in a new one")
            self._let_go()
        self._file = open_to_append(self.path)
        return self._file

    def _let_go(self) -> None:
        if self._file is not None:
            self._file.close()
        self._file, self._is_begun = None, False

    def _end_of(self, file: BinaryIO) -> Link:
        """The last line of *file*, repaired if that is needed."""
        if self._is_begun and self.last is not None and file.seek(0, os.SEEK_END) == self._size:
            return self.last
        tail = find_tail(file)
        done = repair(file, tail, self.path.with_name(f"{self.path.name}.torn"))
        if done:
            self.repairs += 1
            self._warn(f"{self.path}: {done}")
        return tail.link

    def _append_all(self, file: BinaryIO) -> None:
        last = self._end_of(file)
        if self.last is not None and last.number < self.last.number:
            self._is_begun = False  # somebody has emptied the file
        while self._waiting or not self._is_begun:
            last = self._append(file, last)

    def _append(self, file: BinaryIO, after: Link) -> Link:
        """Appends a batch; returns its last line."""
        waiting = self._waiting[:BATCH]
        entries = waiting if self._is_begun else [self._begin, *waiting]
        lines = []
        for entry in entries:
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
                raise ValueError(f"it has {len(line[0]):,} octets")
        except (ValueError, TypeError, OverflowError, RecursionError) as error:
            self._warn_once(f"a line was left out ({type(error).__name__}: {error})")
            return None
        return line

    def _warn_once(self, text: str) -> None:
        kind = text.partition("(")[0]
        if kind not in self._warned:
            self._warned.add(kind)
            self._warn(f"{self.path}: {text}")


_MEANWHILE = f"up to {ROOM:,} lines wait in memory meanwhile"
