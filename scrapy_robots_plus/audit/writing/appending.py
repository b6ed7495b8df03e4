"""Files that grow at their end: all of what is appended, or nothing of it."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from pathlib import Path


def open_to_append(path: Path) -> BinaryIO:
    """*path*, to read and append; made if it is missing, with its folder. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # Not to wait for the other end of a pipe.
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_NONBLOCK", 0)
    descriptor = os.open(path, flags | getattr(os, "O_BINARY", 0), 0o666)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError("it is not a regular file")
    return os.fdopen(descriptor, "r+b", buffering=0)


def is_at(file: BinaryIO, path: Path) -> bool:
    """Whether *file* is still the one at *path*."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except OSError:
        return False


def append(file: BinaryIO, data: bytes) -> int:
    """Appends *data*; returns the size of the file then, in octets.

    Raises OSError, for a full disk for example; then the file is as it was before.
    """
    size = file.seek(0, os.SEEK_END)
    rest = memoryview(data)
    try:
        while rest:
            rest = rest[file.write(rest) :]
    except OSError:
        file.truncate(size)
        raise
    return size + len(data)
