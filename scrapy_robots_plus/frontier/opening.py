"""Opening the file of a job, for one process alone."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from scrapy_robots_plus.storage.sqlite.file import FAULTS, is_damage, may_write
from scrapy_robots_plus.storage.sqlite.layout import pragma

from .errors import JobFileError
from .tables import layout

if TYPE_CHECKING:
    from pathlib import Path

CACHE_KIB = 64 * 1024


def connect(path: Path) -> sqlite3.Connection:
    """Opens the file at *path*, for this process alone. Creates or upgrades it.

    Raises JobFileError if it is in use, not ours, too new or not writable, and one of
    :data:`~scrapy_robots_plus.storage.sqlite.file.FAULTS` if it is damaged.
    """
    _check_place(path)
    connection = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
    try:
        _prepare(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def explained(path: Path, error: Exception) -> JobFileError:
    """What *error*, which is not damage, means to a user."""
    if is_damage(error):
        what, to_do = f"is damaged ({error})", "The next run mends it as far as it can be read"
    elif "locked" in str(error):
        what, to_do = "is in use by another process", "Wait for that crawl, or stop it"
    elif "full" in str(error):
        what, to_do = "cannot be written: no space is left", "Make room and resume the job"
    elif isinstance(error, MemoryError):
        what, to_do = "cannot be used: no memory is left", "Resume the job"
    else:
        what, to_do = f"cannot be used ({error})", "Mend the cause and resume the job"
    return JobFileError(path, what, to_do)


def _check_place(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise JobFileError(path, f"cannot be created ({error})", "Choose another JOBDIR") from error
    if not path.exists():
        return
    if not path.is_file():
        raise JobFileError(path, "is not a file", "Move it away")
    if not may_write(path):
        raise JobFileError(path, "is read-only", "Allow writing, or work on a copy of JOBDIR")


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    try:
        # Before the log is used: its index then needs no file and no lock of its own.
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        check_layout(connection, path)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        # The log is copied into the file after each commit: there are few.
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        layout.migrate(connection)
    except FAULTS as error:
        if is_damage(error):
            raise
        raise explained(path, error) from error


def check_layout(connection: sqlite3.Connection, path: Path) -> None:
    """Raises JobFileError if this version cannot read the file."""
    version, newest = pragma(connection, "user_version"), len(layout.MIGRATIONS)
    if version > newest:
        raise JobFileError(
            path,
            f"has layout {version}, made by a newer scrapy-robots-plus; this version knows up to "
            f"{newest}",
            "Upgrade, or choose another JOBDIR",
        )
    empty = not connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
    if pragma(connection, "application_id") != layout.APPLICATION_ID and not empty:
        raise JobFileError(path, "is another program's database", "Choose another JOBDIR")
