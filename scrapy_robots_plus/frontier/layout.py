"""The tables of a job's file.

``requests`` is the truth: every request that is not dealt with, with a checksum and all that is
needed to put it back at its place. The other tables say where each of them stands, and could be
made anew from it.
"""

from __future__ import annotations

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
        "CREATE TABLE under_way (id INTEGER PRIMARY KEY, alone INTEGER NOT NULL)",
        "CREATE TABLE last (id INTEGER PRIMARY KEY)",
        "CREATE TABLE set_aside (id INTEGER PRIMARY KEY)",
        "CREATE TABLE seen (fingerprint BLOB PRIMARY KEY NOT NULL) WITHOUT ROWID",
        "CREATE TABLE job (waiting INTEGER, stored INTEGER, turns INTEGER, running INTEGER)",
        # A second copy, in another page: one damaged place cannot take both.
        "CREATE TABLE job_again (waiting INTEGER, stored INTEGER, turns INTEGER, running INTEGER)",
        "INSERT INTO job VALUES (0, 0, 0, 0)",
        "INSERT INTO job_again VALUES (0, 0, 0, 0)",
    ),
)
"""Step *n* turns layout *n* (``user_version``; 0 is an empty file) into layout *n + 1*."""
