"""Appends the entries of a crawl to an audit log, in batches."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from typing import TYPE_CHECKING, BinaryIO

from .chain import HEAD, START, seal
from .entries import CrawlEntry, to_fields
from .files import Appender, append, is_at, locked, open_to_append

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

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
        super().__init__(path, warn, ROOM, "line")
        self.last = START
        """The last line that this crawl has written."""
        self._begin = begin
        self._now = now
        self._is_begun = False
        """Whether the file has the crawl's beginning."""
        self._end = 0
        """Where the crawl's last line ends in the file, in octets from its start."""

    def _let_go(self) -> None:
        super()._let_go()
        self._is_begun, self._end = False, 0

    def _write(self) -> None:
        while self._waiting or not self._is_begun:
            self._append(self._opened())

    def _opened(self) -> BinaryIO:
        """The file at the path. Raises OSError."""
        if self._file is not None and not is_at(self._file, self.path):
            self.went_wrong("it was removed or replaced; the crawl goes on in a new one")
            self._let_go()
        if self._file is None:
            file = open_to_append(self.path)
            file.seek(0)
            head = file.read(len(HEAD))
            if head != HEAD[: len(head)]:
                file.close()
                raise OSError("it is not an audit log")
            self._file = file
        return self._file

    def _append(self, file: BinaryIO) -> None:
        """Appends a batch. Raises OSError."""
        if file.seek(0, os.SEEK_END) < self._end:
            self._is_begun = False
            self._warn_once("it was emptied or cut; the crawl's next line says so")
        waiting = self._waiting[:BATCH]
        lines, last, lost = [], self.last, self.lost
        entries = list(waiting)
        if not self._is_begun:
            is_first = self.last == START
            begin = self._begin if is_first else replace(self._begin, time=self._now())
            entries.insert(0, begin)
        for entry in entries:
            try:
                line, last = seal(to_fields(entry), last)
            except (ValueError, TypeError, OverflowError, RecursionError) as error:  # noqa: PERF203
                self._warn_once(f"a line was left out ({type(error).__name__}: {error})")
                lost += 1
            else:
                lines.append(line)
        with locked(file):
            is_torn = file.seek(0, os.SEEK_END) > 0 and _last_byte(file) != b"\n"
            self._end = append(file, b"\n" * is_torn + b"".join(lines))
        if is_torn and not self._is_begun:
            self._warn_once("its last line has no end: a crawl was killed while it wrote it")
        self.last, self.lost, self._is_begun = last, lost, True
        del self._waiting[: len(waiting)]


def _last_byte(file: BinaryIO) -> bytes:
    file.seek(-1, os.SEEK_END)
    return file.read(1)
