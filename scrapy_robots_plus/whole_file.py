"""Files that are written as a whole: a reader sees the old one or the new one."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def whole_file(path: Path, encoding: str = "utf-8") -> Iterator[TextIO]:
    """Opens a stream that becomes the file at *path*, links followed, when all went well.

    The old file stays if anything is raised. A new one has the permissions of the old one. What is
    no regular file, such as a pipe or ``/dev/stdout``, is written to directly.

    Raises OSError, which has the name of *path*.
    """
    if path.exists() and not path.is_file():
        with path.open("w", encoding=encoding) as stream:
            yield stream
        return
    target = Path(os.path.realpath(path))
    part = target.with_name(f".{token_hex(8)}.part")  # a longer name may be too long
    try:
        with part.open("x", encoding=encoding) as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        with suppress(FileNotFoundError):
            part.chmod(target.stat().st_mode & 0o777)
        part.replace(target)
    except OSError as error:
        error.filename = str(path)  # the other name means nothing to anybody
        raise
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)
