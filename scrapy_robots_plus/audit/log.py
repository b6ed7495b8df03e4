"""The audit log as a crawl writes it: entries are appended in batches, whole or not at all.

Several crawls may append to one file.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Any, BinaryIO, ClassVar

from scrapy_robots_plus.crawl.log import Once
from scrapy_robots_plus.protocol.printable import counted
from scrapy_robots_plus.whole_file import refuse_odd_file

from .chain import HEAD, START, seal
from .entries import CrawlEntry, to_fields

LONGEST_WAIT = 0.5
"""Seconds to wait for a lock, as its owner may have been stopped in the middle of a write."""


def open_to_append(path: Path) -> BinaryIO:
    """Opens *path* to read and append; creates it and its folder if needed. Raises OSError.

    Other processes that open it this way wait until it is closed, for ``LONGEST_WAIT`` seconds at
    most. Where there are no locks, on Windows and some network file systems, they do not wait.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    refuse_odd_file(path)
    file = path.open("a+b", buffering=0)
    until = monotonic() + LONGEST_WAIT
    while _is_taken(file) and monotonic() < until:
        sleep(0.005)
    return file


def _is_taken(file: BinaryIO) -> bool:
    """Returns whether another process has the lock; if not, takes it until *file* is closed."""
    with suppress(ImportError, OSError):
        import fcntl

        try:
            # Not flock(): the program of that name may hold its lock as long as a crawl runs.
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            return True
    return False


def append(file: BinaryIO, data: bytes) -> int:
    """Appends *data*; returns where it ends, in bytes from the start of the file.

    Raises OSError, for example if the disk is full. The file is then as it was before, unless
    another process has appended meanwhile: see :func:`open_to_append`.
    """
    file.seek(0, os.SEEK_END)
    rest = memoryview(data)
    try:
        while rest:
            rest = rest[file.write(rest) :]
    except OSError:
        file.truncate(file.tell() - (len(data) - len(rest)))
        raise
    return file.tell()


class Appender:
    """One crawl's access to a file that it appends to. The file is opened for each write.

    The public methods raise no OSError: a failure is warned of once, counted, and tried again.
    """

    noun: ClassVar[str]
    """The word for an entry in messages."""
    room: ClassVar[int]
    """How many entries may wait while the file cannot be written. Further ones are lost."""

    def __init__(self, path: Path, warn: Callable[[str], None]) -> None:
        """Takes *warn*, called with each kind of problem once."""
        self.path = path
        self.lost = 0
        """How many entries were given up without being written."""
        self.errors = 0
        """How often something went wrong: a write failed, or the file was gone."""
        self.waiting: list[Any] = []
        """The entries that wait in memory."""
        self._tell = warn
        self._once = Once()

    def add(self, entry: Any) -> None:
        """Queues *entry* for the next :meth:`flush`."""
        if len(self.waiting) < self.room:
            self.waiting.append(entry)
        else:
            self.lost += 1

    def flush(self) -> bool:
        """Writes what waits. Returns False if that failed: it goes on waiting."""
        try:
            self._write()
        except OSError as error:
            meanwhile = f"up to {self.room:,} {self.noun}s wait in memory meanwhile"
            self.went_wrong(f"it cannot be written ({error.strerror or error}); {meanwhile}")
            return False
        return True

    def _write(self) -> None:
        """Writes what waits. Raises OSError."""
        raise NotImplementedError

    def close(self) -> None:
        """Gives up what still waits, and warns of all that was lost."""
        self.lost += len(self.waiting)
        self.waiting.clear()
        if self.lost:
            self._warn_once(f"lost, as it could not be written: {counted(self.lost, self.noun)}")

    def went_wrong(self, text: str) -> None:
        """Counts an error, and warns of it if it is the first of its kind."""
        self.errors += 1
        self._warn_once(text)

    def _warn_once(self, text: str) -> None:
        if self._once.is_first(text.partition("(")[0]):  # the kind, without details in brackets
            self._tell(f"{self.path}: {text}")


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
        self, path: Path, begin: Callable[[], CrawlEntry], warn: Callable[[str], None]
    ) -> None:
        """Takes *begin*, which makes the first entry, now, and anew if the file is replaced.

        *warn* is called with problems.
        """
        super().__init__(path, warn)
        self.last = START
        """Number and hash of the last line that this crawl has written."""
        self._begin = begin
        self.add(begin())
        self._mark: tuple[int, bytes] | None = None
        """Where this crawl's last line ends, in bytes from the start of the file; and that line."""

    def _write(self) -> None:
        while self.waiting:
            with open_to_append(self.path) as file:
                self._append(file)

    def _append(self, file: BinaryIO) -> None:
        """Appends a batch of what waits. Raises OSError."""
        file.seek(0)
        begin, line_end, _ = file.read(len(HEAD)).partition(b"\n")
        if not HEAD.startswith(begin) or (line_end and not begin):
            raise OSError("it is not an audit log")
        end, line = self._mark or (0, b"")
        file.seek(end - len(line))
        # The line is compared, not its number: a new file may have that number again.
        is_begun = self._mark is not None and file.read(len(line)) == line
        lines, last, lost = [], self.last, self.lost
        entries = self.waiting[:BATCH]
        if self._mark is not None and not is_begun:
            entries.insert(0, self._begin())
            self.went_wrong("it was removed, replaced or cut; the crawl's next line says so")
        for entry in entries:
            try:
                line, last = seal(to_fields(entry), last)
            except (ValueError, TypeError, OverflowError, RecursionError) as error:  # noqa: PERF203
                self._warn_once(f"a line was left out ({type(error).__name__}: {error})")
                lost += 1
            else:
                lines.append(line)
        file.seek(max(file.seek(0, os.SEEK_END) - 1, 0))
        is_torn = file.read(1) not in (b"\n", b"")
        if lines:
            end, line = append(file, b"\n" * is_torn + b"".join(lines)), lines[-1]
        if is_torn and not is_begun:
            self._warn_once("its last line has no end: a crawl was killed while it wrote it")
        self.last, self.lost, self._mark = last, lost, (end, line)
        del self.waiting[:BATCH]
