"""Files that grow at their end, by all of what is appended or nothing; several crawls may do so."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, BinaryIO

from scrapy_robots_plus.crawl.log import Once
from scrapy_robots_plus.protocol.printable import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


def open_to_append(path: Path) -> BinaryIO:
    """*path*, to read and append; made if it is missing, with its folder. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and not path.is_file():  # opening a pipe might wait for its other end
        raise OSError("it is not a regular file")
    return path.open("a+b", buffering=0)


def is_at(file: BinaryIO, path: Path) -> bool:
    """Whether *file* is still the one at *path*."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except OSError:
        return False


LONGEST_WAIT = 0.5
"""Seconds for a lock: the process that has it may have been stopped while it wrote."""


@contextmanager
def locked(file: BinaryIO) -> Iterator[None]:
    """Has other processes that lock *file* wait, for a moment, where there are such locks: not on
    Windows, and not on every network file system.
    """
    until = monotonic() + LONGEST_WAIT
    while _is_taken(file) and monotonic() < until:
        sleep(0.005)
    try:
        yield
    finally:
        with suppress(ImportError, OSError):
            import fcntl

            fcntl.lockf(file, fcntl.LOCK_UN)


def _is_taken(file: BinaryIO) -> bool:
    """Whether another process has the lock; if none has, it is this one's now."""
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
    appends meanwhile: see :func:`locked`.
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
    """One crawl's access to a file that grows.

    Nothing here raises OSError: what goes wrong is warned of once, counted, and tried again.
    """

    def __init__(self, path: Path, warn: Callable[[str], None], room: int, noun: str) -> None:
        """*warn* gets the problems; *room*: how many entries wait while the file cannot be written;
        further ones are lost. *noun*: what an entry is.
        """
        self.path = path
        self.lost = 0
        """Entries that were not written and will not be."""
        self.errors = 0
        """Times that the file could not be written, or was gone."""
        self._file: BinaryIO | None = None
        self._waiting: list[Any] = []
        self._room = room
        self._noun = noun
        self._tell = warn
        self._once = Once()

    def add(self, entry: Any) -> None:
        """Has *entry* written by the next :meth:`flush`."""
        if len(self._waiting) < self._room:
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
            meanwhile = f"up to {self._room:,} {self._noun}s wait in memory meanwhile"
            self.went_wrong(f"it cannot be written ({error.strerror or error}); {meanwhile}")
            return False
        return True

    def _write(self) -> None:
        """Writes what waits. Raises OSError."""
        raise NotImplementedError

    def close(self) -> None:
        """Closes the file. What still waits is lost, and warned of with all that is."""
        self.lost += len(self._waiting)
        self._waiting.clear()
        self._let_go()
        if self.lost:
            self._warn_once(f"lost, as it could not be written: {counted(self.lost, self._noun)}")

    def _let_go(self) -> None:
        if self._file is not None:
            self._file.close()
        self._file = None

    def went_wrong(self, text: str) -> None:
        """Counts an error, and warns of it unless another one was of its kind."""
        self.errors += 1
        self._warn_once(text)

    def _warn_once(self, text: str) -> None:
        if self._once.is_first(text.partition("(")[0]):
            self._tell(f"{self.path}: {text}")
