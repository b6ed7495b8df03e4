"""The tables of a job's file.

``requests`` is the truth: every request that is not dealt with, with a checksum and all that is
needed to put it back at its place. The other tables say where each of them stands, and could be
made anew from it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_robots_plus.storage.sqlite.layout import pragma, transaction

from .counts import COPIES, begin_counts

if TYPE_CHECKING:
    import sqlite3

APPLICATION_ID = int.from_bytes(b"RbJb", "big")
"""In the header of every job's file, to recognize it as ours."""

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        # In the order they came: a new one is written at the end, and the space of those that are
        # dealt with becomes free page by page.
        """
        CREATE TABLE requests (
            id INTEGER PRIMARY KEY,
            lane TEXT NOT NULL,
            priority INTEGER NOT NULL,
            starts INTEGER NOT NULL,
            data BLOB NOT NULL,
            crc INTEGER NOT NULL,
            hard_ends INTEGER NOT NULL DEFAULT 0
        )
        """,
        # The next of a lane is one lookup, and the row is small: all lanes fit into the cache.
        """
        CREATE TABLE waiting (
            lane INTEGER NOT NULL,
            priority INTEGER NOT NULL,
            starts INTEGER NOT NULL,
            id INTEGER NOT NULL,
            PRIMARY KEY (lane, priority, starts, id)
        ) WITHOUT ROWID
        """,
        # Those in which a request waits.
        """
        CREATE TABLE lanes (
            name TEXT PRIMARY KEY NOT NULL,
            id INTEGER NOT NULL,
            awake INTEGER NOT NULL,
            priority INTEGER NOT NULL,
            turn INTEGER NOT NULL
        ) WITHOUT ROWID
        """,
        "CREATE INDEX lanes_in_turn ON lanes (awake, priority, turn)",
        # Of all that do not wait in a lane.
        "CREATE TABLE states (id INTEGER PRIMARY KEY, state INTEGER NOT NULL)",
        "CREATE TABLE notes (key TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL) WITHOUT ROWID",
        # Digests of fingerprints, one behind the other, in the order they came.
        "CREATE TABLE seen (id INTEGER PRIMARY KEY, digests BLOB NOT NULL)",
        # A second copy, in another page: one damaged place cannot take both.
        *(
            f"CREATE TABLE {copy} (waiting, stored, turns, running, generation, crc)"
            for copy in COPIES
        ),
        *(begin_counts(copy) for copy in COPIES),
    ),
)
"""Step *n* turns layout *n* (``user_version``; 0 is an empty file) into layout *n + 1*."""


def migrate(connection: sqlite3.Connection) -> None:
    """Creates the tables, or upgrades an older layout, in one transaction."""
    version = pragma(connection, "user_version")
    if version == len(MIGRATIONS):
        return
    with transaction(connection):
        for step in MIGRATIONS[version:]:
            for statement in step:
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
