"""The audit log as a crawl writes it: entries are appended in batches."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from typing import TYPE_CHECKING, BinaryIO

from .chain import HEAD, START, seal
from .entries import CrawlEntry, to_fields
from .files import Appender, append, open_to_append

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

BATCH = 256
"""How many lines are written at once: few enough not to hold up the crawl."""


class AuditLog(Appender):
    """One crawl's access to an audit log.

    Whatever happens to the file, the crawl's next line holds the hash of its last one: this ties
    rotated files together, and shows when lines were cut off.
    """

    noun = "line"
    room = 10_000

    def __init__(
        self,
        path: Path,
        begin: CrawlEntry,
        warn: Callable[[str], None],
        now: Callable[[], float] = time.time,
    ) -> None:
        """Takes *begin*, which is written first, and again if the file is replaced.

        *warn* is called with problems. *now* returns seconds since the epoch.
        """
        super().__init__(path, warn)
        self.last = START
        """Number and hash of the last line that this crawl has written."""
        self._begin = begin
        self._now = now
        self._mark: tuple[int, bytes] | None = None
        """Where this crawl's last line ends, in bytes from the start of the file; and that line."""

    def _write(self) -> None:
        while self._waiting or self._mark is None:
            with open_to_append(self.path) as file:
                self._append(file)

    def _append(self, file: BinaryIO) -> None:
        """Appends a batch of what waits. Raises OSError."""
        file.seek(0)
        head = file.read(len(HEAD))
        if head != HEAD[: len(head)]:
            raise OSError("it is not an audit log")
        end, line = self._mark or (0, b"")
        file.seek(end - len(line))
        # The line is compared, not its number: a new file may have that number again.
        is_begun = self._mark is not None and file.read(len(line)) == line
        waiting = self._waiting[:BATCH]
        lines, last, lost = [], self.last, self.lost
        entries = list(waiting)
        if not is_begun:
            is_first = self._mark is None
            entries.insert(0, self._begin if is_first else replace(self._begin, time=self._now()))
            if not is_first:
                self.went_wrong("it was removed, replaced or cut; the crawl's next line says so")
        for entry in entries:
            try:
                line, last = seal(to_fields(entry), last)
            except (ValueError, TypeError, OverflowError, RecursionError) as error:  # noqa: PERF203
                self._warn_once(f"a line was left out ({type(error).__name__}: {error})")
                lost += 1
            else:
                lines.append(line)
        is_torn = file.seek(0, os.SEEK_END) > 0 and _last_byte(file) != b"\n"
        if lines:
            end, line = append(file, b"\n" * is_torn + b"".join(lines)), lines[-1]
        if is_torn and not is_begun:
            self._warn_once("its last line has no end: a crawl was killed while it wrote it")
        self.last, self.lost, self._mark = last, lost, (end, line)
        del self._waiting[: len(waiting)]


def _last_byte(file: BinaryIO) -> bytes:
    file.seek(-1, os.SEEK_END)
    return file.read(1)
