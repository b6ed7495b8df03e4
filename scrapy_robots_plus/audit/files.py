"""Files that grow at their end, by all of what is appended or nothing; several crawls may do so."""

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
"""Seconds for a lock: the process that has it may have been stopped while it wrote."""


def open_to_append(path: Path) -> BinaryIO:
    """*path*, to read and append; made if it is missing, with its folder. Raises OSError.

    Other processes that open it so wait for a moment until it is closed, where there are locks: not
    on Windows, and not on every network file system.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and not path.is_file():  # opening a pipe might wait for its other end
        raise OSError("it is not a regular file")
    file = path.open("a+b", buffering=0)
    until = monotonic() + LONGEST_WAIT
    while _is_taken(file) and monotonic() < until:
        sleep(0.005)
    return file


def _is_taken(file: BinaryIO) -> bool:
    """Whether another process has the lock; if none has, this one has it until *file* is closed."""
    with suppress(ImportError, OSError):
        import fcntl

        try:
            # Not flock(): the program of that name may hold it for as long as a crawl runs.
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            return True
    return False


def append(file: BinaryIO, data: bytes) -> int:
    """Appends *data*; returns where it ends, in octets from the start of the file.

    Raises OSError, for a full disk for example; then the file is as it was before, if nobody else
    appends meanwhile: see :func:`open_to_append`.
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
    """One crawl's access to a file that grows. It is opened for each write.

    Nothing here raises OSError: what goes wrong is warned of once, counted, and tried again.
    """

    noun: ClassVar[str]
    """What an entry is."""
    room: ClassVar[int]
    """How many entries wait while the file cannot be written; further ones are lost."""

    def __init__(self, path: Path, warn: Callable[[str], None]) -> None:
        """*warn* gets the problems."""
        self.path = path
        self.lost = 0
        """Entries that were not written and will not be."""
        self.errors = 0
        """Times that the file could not be written, or was gone."""
        self._waiting: list[Any] = []
        self._tell = warn
        self._once = Once()

    def add(self, entry: Any) -> None:
        """Has *entry* written by the next :meth:`flush`."""
        if len(self._waiting) < self.room:
            self._waiting.append(entry)
        else:
            self.lost += 1

    @property
    def waiting(self) -> int:
        """Entries in memory."""
        return len(self._waiting)

    def flush(self) -> bool:
        """Writes what waits. False if that was not possible: it waits further."""
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
        """Gives up what still waits; warns of all that is lost."""
        self.lost += len(self._waiting)
        self._waiting.clear()
        if self.lost:
            self._warn_once(f"lost, as it could not be written: {counted(self.lost, self.noun)}")

    def went_wrong(self, text: str) -> None:
        """Counts an error, and warns of it unless another one was of its kind."""
        self.errors += 1
        self._warn_once(text)

    def _warn_once(self, text: str) -> None:
        if self._once.is_first(text.partition("(")[0]):
            self._tell(f"{self.path}: {text}")
