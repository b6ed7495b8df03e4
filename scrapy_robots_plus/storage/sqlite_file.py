"""The file of a :class:`~scrapy_robots_plus.storage.sqlite_store.SqliteStore`.

The functions find out whether it is ours, which layout it has, and whether it is damaged. A file
that is not ours is never written to, moved or locked.
"""

from __future__ import annotations

import logging
import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from time import sleep

from scrapy_robots_plus.whole_file import refuse_odd_file

from .record import StoreError

logger = logging.getLogger(__name__)

BUSY_SECONDS = 0.25
"""How many seconds a caller, often the reactor, waits for a lock of another process."""

TRIES = 25
"""How many attempts :data:`BUSY_SECONDS` is divided into where SQLite does not wait itself."""

WAL_PAGES = 4_000
"""The size at which the write-ahead log is copied into the file, in pages of 4 KiB: by one put in a
thousand, in some ten milliseconds. With SQLite's default of 1,000 pages, one in a hundred does."""

FAULTS = (sqlite3.Error, UnicodeError, MemoryError)
"""The exceptions of :mod:`sqlite3`: UnicodeError if a message quotes a damaged file, MemoryError if
SQLite has no memory left, which ends the transaction."""


Identity = tuple[int, int]
"""The device and inode of a file."""


@contextmanager
def opened(path: Path, wait: float) -> Iterator[sqlite3.Connection]:
    """Yields a connection to the file at *path*, for a block that prepares it, and creates its
    folder. If the block fails, the connection is closed.

    *wait*: seconds that a statement waits for locks of other processes.

    Raises OSError if *path* is no regular file.
    """
    refuse_odd_file(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path, timeout=wait, isolation_level=None, check_same_thread=False)
    try:
        yield connection
    except BaseException:
        connection.close()
        raise


def connect(path: Path, wait: float) -> sqlite3.Connection:
    """Opens the store at *path*; creates it if needed.

    *wait*: seconds that a statement waits for locks of other processes.

    Raises StoreError if the file is not ours, of another layout or read-only, and one of
    :data:`FAULTS` or OSError if it cannot be used.
    """
    effective = os.access in os.supports_effective_ids
    if is_store(path) and not os.access(path, os.W_OK, effective_ids=effective):
        # SQLite would open it anyway and leave a log beside it that nobody may write to.
        raise StoreError(f"{path} is read-only")
    with opened(path, wait) as connection:
        create(connection, _TABLES)
        _switch_to_wal(connection, wait)
        # In WAL mode, a power failure may cost the last records but never damages the file.
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(f"PRAGMA wal_autocheckpoint = {WAL_PAGES}")
        # The log shrinks back to this size.
        connection.execute(f"PRAGMA journal_size_limit = {WAL_PAGES * 4_096}")
        return connection


def is_store(path: Path) -> bool:
    """Returns True for one of our stores, damaged or not; False if one may be created there.

    Raises StoreError or OSError for anything else. Asks SQLite rather than opening the file:
    closing any descriptor of a file releases all locks that the process holds on it (POSIX).
    """
    if not path.exists():
        return False
    refuse_odd_file(path)
    if not path.stat().st_size:
        return False
    try:
        is_ours = header(path) == (APPLICATION_ID, LAYOUT)
    except FAULTS as error:
        raise StoreError(f"{path} is not a store of scrapy-robots-plus: {error}") from error
    if not is_ours:
        what = "is not a store of this version of scrapy-robots-plus; it is left unchanged"
        raise StoreError(f"{path} {what}")
    return True


def header(path: Path) -> tuple[int, int]:
    """Returns the ``application_id`` and ``user_version`` of a file, even of a damaged one.

    Raises one of :data:`FAULTS` if it has none.
    """
    # Immutable, so no lock is taken. Neither number is ever in the log alone (see _TABLES).
    uri = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
    with closing(sqlite3.connect(uri, uri=True)) as connection:
        # With this, SQLite reads the header even of a file that was cut off.
        connection.execute("PRAGMA writable_schema = ON")
        return pragma(connection, "application_id"), pragma(connection, "user_version")


def is_damage(error: Exception) -> bool:
    """Returns whether *error* means that the file is damaged, rather than unusable for now."""
    # Our SQL is fixed: if it does not match, the schema is no longer the one that we created. We
    # never write invalid text either, nor violate a constraint.
    if isinstance(error, UnicodeDecodeError | sqlite3.IntegrityError):
        return True
    signs = ("no such table", "no such column", "already exists", "Could not decode")
    # A plain DatabaseError: SQLITE_CORRUPT, SQLITE_NOTADB, or our own.
    return type(error) is sqlite3.DatabaseError or any(words in str(error) for words in signs)


def is_of_the_moment(error: Exception) -> bool:
    """Returns whether *error* is about one statement only, so that the connection is still good.

    Goes by the message, as error codes need Python 3.11.
    """
    return any(words in str(error) for words in ("locked", "readonly", "is full", "encode"))


def identity(path: Path, least_size: int = 0) -> Identity | None:
    """Returns which file is at *path* now; None if none, or one shorter than *least_size* bytes."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if found.st_size >= least_size else None


def set_aside(path: Path, damaged: Identity | None, why: Exception) -> None:
    """Renames the store at *path* and warns, if it is still the *damaged* one.

    Another process that sees the same damage may be faster: its new store stays.
    """
    if damaged is None or identity(path) != damaged:
        return
    aside = keep_aside(path)
    logger.warning(
        "%s is damaged (%s); it is kept as %s, and a new one is created", path, why, aside
    )


def keep_aside(path: Path) -> Path:
    """Renames a damaged file and those that SQLite keeps beside it; returns its new path."""
    number = 1
    while (aside := path.with_name(f"{path.name}.damaged-{number}")).exists():
        number += 1
    # The file itself last: while it is there, nobody creates a new one that would adopt these.
    for suffix in ("-journal", "-shm", "-wal", ""):
        with suppress(FileNotFoundError):
            os.rename(f"{path}{suffix}", f"{aside}{suffix}")
    return aside


def _switch_to_wal(connection: sqlite3.Connection, wait: float) -> None:
    """Switches the file to WAL mode, waiting up to *wait* seconds for the lock.

    SQLite does not wait for this lock by itself. It is needed only if the file is not in WAL mode
    yet, so only processes that open a new file at the same time compete for it.
    """
    wait_for_locks(connection, 0)
    for _ in range(TRIES if wait else 0):
        with suppress(sqlite3.OperationalError):
            connection.execute("PRAGMA journal_mode = WAL")
            break
        sleep(wait / TRIES)
    else:
        connection.execute("PRAGMA journal_mode = WAL")
    wait_for_locks(connection, wait)


def wait_for_locks(connection: sqlite3.Connection, seconds: float) -> None:
    """Sets how many *seconds* each statement waits for locks of other processes."""
    connection.execute(f"PRAGMA busy_timeout = {int(seconds * 1000)}")


APPLICATION_ID = int.from_bytes(b"RbTs", "big")
"""The ``application_id`` of a store, which marks it as ours."""

LAYOUT = 1
"""The ``user_version`` of a store, which stands for its tables."""

_TABLES = (
    """
    CREATE TABLE records (
        origin TEXT PRIMARY KEY NOT NULL,
        readable INTEGER NOT NULL,
        fetched_at REAL NOT NULL,
        failed_at REAL NOT NULL,
        data BLOB NOT NULL
    )
    """,
    "CREATE INDEX records_touched_at ON records (max(fetched_at, failed_at))",
    # A new file is still in rollback mode, so these go into the file itself.
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {LAYOUT}",
)


def create(connection: sqlite3.Connection, tables: Iterable[str]) -> None:
    """Creates *tables* in an empty file, in one transaction. They must set ``user_version``."""
    if pragma(connection, "user_version"):
        return
    with transaction(connection):
        if not pragma(connection, "user_version"):  # another process may have been faster
            for statement in tables:
                connection.execute(statement)


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Runs the block as one transaction. Takes the write lock at once: only that has to wait."""
    connection.execute("BEGIN IMMEDIATE")
    with connection:
        yield


def pragma(connection: sqlite3.Connection, name: str) -> int:
    """Returns the pragma *name*, a number from the header of the file."""
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])
