"""A lock on a file, between processes and within one."""

from __future__ import annotations

import errno
from contextlib import suppress
from typing import TYPE_CHECKING

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from typing import BinaryIO

_TAKEN = (errno.EWOULDBLOCK, errno.EACCES)


def try_lock(file: BinaryIO) -> bool:
    """Locks *file*; False if somebody else has locked it now.

    Also true where a file system or Windows has no such locks: then two crawls that write in the
    same moment may damage the chain.
    """
    if fcntl is None:
        return True
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in _TAKEN
    return True


def unlock(file: BinaryIO) -> None:
    if fcntl is not None:
        with suppress(OSError):  # there are no locks here, so it was not locked
            fcntl.flock(file.fileno(), fcntl.LOCK_UN)
