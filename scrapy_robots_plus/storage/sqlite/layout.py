"""The tables of a store, and how older layouts are upgraded."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from scrapy_robots_plus.storage.base import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

APPLICATION_ID = int.from_bytes(b"RbTs", "big")
"""In the header of every store, to recognize it as ours."""

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
        # Counting rows is a full scan in SQLite; a counter in the file serves all processes.
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


def migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Upgrades the layout in one transaction: a crash leaves the old or the new one.

    A new file is still in rollback mode here, so application_id goes into the file itself.
    """
    newest = len(MIGRATIONS)
    if check_version(connection, path) == newest:
        return
    with transaction(connection):
        # Another process may have been faster.
        for step in MIGRATIONS[pragma(connection, "user_version") :]:
            for statement in step:
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {newest}")


def check_version(connection: sqlite3.Connection, path: Path) -> int:
    """The layout of the file. Raises StoreError if a newer version of this package made it."""
    newest = len(MIGRATIONS)
    version = pragma(connection, "user_version")
    if version > newest:
        raise StoreError(
            f"{path} has layout {version}, made by a newer scrapy-robots-plus; this version knows "
            f"up to {newest}. Upgrade, or use another file"
        )
    return version


def count(connection: sqlite3.Connection) -> int:
    """The number of records, without a scan."""
    row = connection.execute("SELECT records FROM tally").fetchone()
    if row is None or not isinstance(row[0], int):
        raise sqlite3.DatabaseError("the counter is malformed")
    return row[0]


def check_tally(connection: sqlite3.Connection) -> None:
    """Corrects the counter: a damaged one would empty the store, or let it grow for ever.

    This is the only full scan, of an index with some 20 bytes per record.
    """
    both = connection.execute("SELECT records, (SELECT count(*) FROM records) FROM tally")
    if any(told != found for told, found in both.fetchall()):
        connection.execute("UPDATE tally SET records = (SELECT count(*) FROM records)")
    count(connection)


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All or nothing; takes the write lock at once, so that all waiting happens in one place."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):  # some errors have already rolled it back
            connection.execute("ROLLBACK")
        raise


def pragma(connection: sqlite3.Connection, name: str) -> int:
    """A number from the header of the file."""
    value: int = connection.execute(f"PRAGMA {name}").fetchone()[0]
    return value
