"""The file of a :class:`~scrapy_robots_plus.storage.sqlite.SqliteStore`.

Is it ours? Which layout has it? What if it is damaged? A file that is not ours is never written
to, moved or locked.
"""

from __future__ import annotations

import logging
import os
import sqlite3
from contextlib import closing, contextmanager, suppress
from time import sleep
from typing import TYPE_CHECKING

from .base import StoreError

try:
    import fcntl
except ImportError:  # Windows, where a file that is open cannot be renamed anyway
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

logger = logging.getLogger(__name__)

APPLICATION_ID = int.from_bytes(b"RbTs", "big")
"""In the header of every store, by which it is known as ours."""

BUSY_SECONDS = 0.25
"""How long another process may keep a caller, often a reactor, waiting."""

_TRIES = 25
"""How often that time is used where SQLite does not wait by itself."""

WAL_BYTES = 16 * 2**20
"""To what the write-ahead log shrinks back after it has grown."""

FAULTS = (sqlite3.Error, UnicodeError)
"""What :mod:`sqlite3` raises: the latter for a message that quotes a damaged file."""

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
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
        # Counting rows is a full scan in SQLite; a counter in the file is right for all processes.
        "CREATE TABLE tally (records INTEGER NOT NULL)",
        "INSERT INTO tally VALUES (0)",
        """
        CREATE TRIGGER records_added AFTER INSERT ON records
        BEGIN UPDATE tally SET records = records + 1; END
        """,
        """
        CREATE TRIGGER records_removed AFTER DELETE ON records
        BEGIN UPDATE tally SET records = records - 1; END
        """,
    ),
)
"""Step *n* turns layout *n* (``user_version``; 0 is an empty file) into layout *n + 1*."""


def connect(path: Path) -> sqlite3.Connection:
    """Opens the store at *path*: makes it, brings it up to date or sets it aside, as need be.

    Raises StoreError where the file is not ours, too new or read-only, and one of :data:`FAULTS` or
    OSError where it cannot be used.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if not is_store(path):
        return _prepared(path)
    if not os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
        # SQLite would open it all the same and leave a log beside it that nobody may write.
        raise StoreError(f"{path} is read-only")
    opened = identity(path)
    try:
        return _prepared(path)
    except FAULTS as error:
        if not is_damage(error):
            raise
        set_aside(path, opened, error)
    return _prepared(path)


def is_store(path: Path) -> bool:
    """True for a store of ours, damaged or not, and False where one may be made.

    Raises StoreError for anything else. Asks SQLite rather than opening the file: closing any
    other descriptor of a file takes away the locks this process holds on it (POSIX).
    """
    if not path.exists():
        return False
    if not path.is_file():
        raise StoreError(f"{path} is not a file")
    if not path.stat().st_size:
        return False
    try:
        # Immutable: not even a lock is taken. The id is never in the log alone (see _migrate).
        uri = f"{path.as_uri()}?mode=ro&immutable=1"
        with closing(sqlite3.connect(uri, uri=True)) as connection:
            # With this, SQLite reads the header of a file that was cut off, too.
            connection.execute("PRAGMA writable_schema = ON")
            ours = _pragma(connection, "application_id") == APPLICATION_ID
    except FAULTS as error:
        raise StoreError(f"{path} is not a store of scrapy-robots-plus: {error}") from error
    if not ours:
        raise StoreError(f"{path} is not a store of scrapy-robots-plus; it is left as it is")
    return True


def is_damage(error: Exception) -> bool:
    """Whether *error* says that the file is damaged, rather than that it cannot be used now."""
    if isinstance(error, UnicodeDecodeError):
        return True
    # Our SQL is fixed: where it does not fit, the schema is no longer what we made.
    if any(words in str(error) for words in ("no such table", "no such column", "already exists")):
        return True
    code: int | None = getattr(error, "sqlite_errorcode", None)  # Python 3.11
    if code is None:
        return type(error) is sqlite3.DatabaseError
    return code & 0xFF in (11, 26)  # SQLITE_CORRUPT, SQLITE_NOTADB


def identity(path: Path) -> tuple[int, int] | None:
    """Which file is at *path* now; None where there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def set_aside(path: Path, damaged: tuple[int, int] | None, why: Exception) -> None:
    """Renames the store at *path*, if it is still the *damaged* one, and warns.

    Another process may see the same damage at the same time and be faster: its new store stays.
    """
    with _alone_with(path):
        if damaged is None or identity(path) != damaged:
            return
        number = 1
        while (aside := path.with_name(f"{path.name}.damaged-{number}")).exists():
            number += 1
        # The file last: until it is gone, nobody makes a new one that these would be taken for.
        for suffix in ("-shm", "-wal", ""):
            with suppress(FileNotFoundError):
                os.rename(f"{path}{suffix}", f"{aside}{suffix}")
    logger.warning("%s is damaged (%s); it is kept as %s, and a new one begun", path, why, aside)


def _prepared(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(
        path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    try:
        _migrate(connection, path)
        _switch_to_wal(connection)
        # In WAL mode a power failure may take the last records, never the file.
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(f"PRAGMA journal_size_limit = {WAL_BYTES}")
        _check_tally(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Brings the layout up to date, in one transaction: a crash leaves the old or the new one.

    A new file is still in rollback mode here, so that application_id goes into the file itself.
    """
    newest = len(MIGRATIONS)
    version = _pragma(connection, "user_version")
    if version > newest:
        raise StoreError(
            f"{path} has layout {version}, made by a newer scrapy-robots-plus; this version knows "
            f"up to {newest}. Upgrade, or name another file"
        )
    if version == newest:
        return
    with transaction(connection):
        # Another process may have been faster.
        for step in MIGRATIONS[_pragma(connection, "user_version") :]:
            for statement in step:
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {newest}")


def count(connection: sqlite3.Connection) -> int:
    """How many records there are, without a scan."""
    row = connection.execute("SELECT records FROM tally").fetchone()
    if row is None or not isinstance(row[0], int):
        raise sqlite3.DatabaseError("the counter is malformed")
    return row[0]


def _check_tally(connection: sqlite3.Connection) -> None:
    """A counter that damage has changed would have the store emptied, or let it grow for ever.

    The one full scan there is, of an index of some 20 bytes a record.
    """
    both = connection.execute("SELECT records, (SELECT count(*) FROM records) FROM tally")
    if any(told != found for told, found in both.fetchall()):
        connection.execute("UPDATE tally SET records = (SELECT count(*) FROM records)")
    count(connection)


def _switch_to_wal(connection: sqlite3.Connection) -> None:
    """Does nothing to a file that is in WAL mode: only who opens a new file at once with others
    has to wait, and for this lock alone SQLite does not wait by itself."""
    wait_for_locks(connection, 0)
    for _ in range(_TRIES):
        with suppress(sqlite3.OperationalError):
            connection.execute("PRAGMA journal_mode = WAL")
            break
        sleep(BUSY_SECONDS / _TRIES)
    else:
        connection.execute("PRAGMA journal_mode = WAL")
    wait_for_locks(connection, BUSY_SECONDS)


def wait_for_locks(connection: sqlite3.Connection, seconds: float) -> None:
    """How long each statement waits for other processes from now on."""
    connection.execute(f"PRAGMA busy_timeout = {int(seconds * 1000)}")


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All or nothing; takes the write lock at once, so that it is waited for in one place."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):  # some errors have already rolled it back
            connection.execute("ROLLBACK")
        raise


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    value: int = connection.execute(f"PRAGMA {name}").fetchone()[0]
    return value


@contextmanager
def _alone_with(path: Path) -> Iterator[None]:
    """Holds a lock on the file itself: it goes with the file when that is renamed."""
    if fcntl is None:
        yield
        return
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        yield
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
