"""Files that several crawls may append to: what is appended is written whole or not at all."""

from __future__ import annotations

import os
from contextlib import suppress
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar

from scrapy_robots_plus.crawl.log import Once
from scrapy_robots_plus.protocol.printable import counted

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LONGEST_WAIT = 0.5
"""Seconds to wait for a lock, as its owner may have been stopped in the middle of a write."""


def open_to_append(path: Path) -> BinaryIO:
    """Opens *path* to read and append; creates it and its folder if needed. Raises OSError.

    Other processes that open it this way wait until it is closed, for ``LONGEST_WAIT`` seconds at
    most. Where there are no locks, on Windows and some network file systems, they do not wait.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and not path.is_file():  # opening a pipe may block
        raise OSError("it is not a regular file")
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
        self._waiting: list[Any] = []
        self._tell = warn
        self._once = Once()

    def add(self, entry: Any) -> None:
        """Queues *entry* for the next :meth:`flush`."""
        if len(self._waiting) < self.room:
            self._waiting.append(entry)
        else:
            self.lost += 1

    @property
    def waiting(self) -> int:
        """How many entries wait in memory."""
        return len(self._waiting)

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
        self.lost += len(self._waiting)
        self._waiting.clear()
        if self.lost:
            self._warn_once(f"lost, as it could not be written: {counted(self.lost, self.noun)}")

    def went_wrong(self, text: str) -> None:
        """Counts an error, and warns of it if it is the first of its kind."""
        self.errors += 1
        self._warn_once(text)

    def _warn_once(self, text: str) -> None:
        if self._once.is_first(text.partition("(")[0]):  # the kind, without details in brackets
            self._tell(f"{self.path}: {text}")
