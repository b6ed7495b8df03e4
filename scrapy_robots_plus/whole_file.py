"""Atomic writing of files: a reader sees the whole old file or the whole new one. Where something
else than a file is, it is refused.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import TextIO


def refuse_odd_file(path: Path) -> None:
    """Raises OSError if *path* is there and is no regular file: opening a pipe may block."""
    if path.exists() and not path.is_file():
        raise OSError("it is not a regular file")


@contextmanager
def whole_file(path: Path, encoding: str = "utf-8") -> Iterator[TextIO]:
    """Yields a stream whose text becomes the file at *path* if the block succeeds.

    If anything is raised, the old file stays. Links are followed, and the new file gets the
    permissions of the old one. A pipe, ``/dev/stdout`` and the like are written to directly.

    Raises OSError that names *path*.
    """
    if path.exists() and not path.is_file():
        with path.open("w", encoding=encoding) as stream:
            yield stream
        return
    target = Path(os.path.realpath(path))
    part = target.with_name(f".{token_hex(8)}.part")  # a suffix could make the name too long
    try:
        with part.open("x", encoding=encoding) as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        with suppress(FileNotFoundError):
            part.chmod(target.stat().st_mode & 0o777)
        part.replace(target)
    except OSError as error:
        error.filename = str(path)  # the user never sees the temporary name
        raise
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)
