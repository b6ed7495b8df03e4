"""The tables of a job's file, the meaning of their rows, and how the file is opened.

``requests`` is authoritative: every request that is not finished, with a checksum and all that is
needed to put it back in its place.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection
from enum import IntEnum
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

from scrapy_robots_plus.storage import sqlite_file
from scrapy_robots_plus.storage.sqlite_file import create, is_damage, opened, pragma

Run = Callable[..., sqlite3.Cursor]
"""A function that executes a statement through a connection to the file."""

FAULTS = (*sqlite_file.FAULTS, OSError)
"""The errors that may be raised when the files of a job are used."""

CACHE_KIB = 64 * 1024

SUSPECT_AFTER = 2
"""How many kills while it is under way make a request a suspect, which is sent last."""
_MOST_KILLS = 1 << 31
"""The lowest number of kills that can only be damage."""

APPLICATION_ID = int.from_bytes(b"RbJb", "big")
"""The number in the header of every job's file by which it is recognized as ours."""

LAYOUT = 5
"""The ``user_version`` of the file. Lower ones are of code before the first release."""

COPIES = ("job", "job_2", "job_3", "job_4")
"""The tables of the counters, in different pages, so that one damaged place rarely takes all."""


class JobFileError(Exception):
    """An error for a job's file (``JOBDIR``) that cannot be used, or can no longer be used.

    The message names the file, the reason and what to do. What was committed stays in the file.
    """

    def __init__(self, path: Path, what: str, to_do: str) -> None:
        super().__init__(f"{path}: {what}. {to_do}")
        self.path = path


class RequestState(IntEnum):
    """The state of a request."""

    WAITING = 0
    """Waiting in its lane."""
    UNDER_WAY = 1
    LAST = 2
    """Waiting until nothing else is left."""
    SET_ASIDE = 3
    """Kept, but not handed out any more."""


Contents = dict[int, int]
"""The number of requests that wait in a lane, by rank."""


def rank_of(priority: int, starts: bool) -> int:
    """Returns the rank of a request in its lane: the lowest goes first.

    Start requests go after the others of their priority. The lowest priority is the most urgent,
    as in Scrapy's queues.
    """
    return 2 * priority + starts


class StoredRequest(NamedTuple):
    """A request in the file. Its ``crc`` covers the fields before it."""

    id: int
    lane: str
    rank: int
    data: bytes
    crc: int
    hard_ends: int = 0
    """How many times the process was killed while this request was under way."""
    state: int = RequestState.WAITING

    @classmethod
    def read(cls, fields: Collection[Any], *states: RequestState) -> StoredRequest:
        """Returns the request of *fields*. Raises sqlite3.DatabaseError if it is malformed.

        Its state must be one of *states*, if any are given.
        """
        if len(fields) == len(cls._fields):
            row = cls(*fields)
            if row.is_whole and row.has_kills and row.state in (states or set(RequestState)):
                return row
        raise sqlite3.DatabaseError(f"request {next(iter(fields))} is malformed")

    @property
    def priority(self) -> int:
        return self.rank >> 1

    @property
    def is_whole(self) -> bool:
        """Whether the checksum matches. Damage may have put any types into the columns."""
        return isinstance(self.data, bytes) and self.crc == checksum(*self[:4])

    @property
    def has_kills(self) -> bool:
        """Whether ``hard_ends`` is a possible number: the checksum does not cover it."""
        return isinstance(self.hard_ends, int) and 0 <= self.hard_ends < _MOST_KILLS

    @property
    def is_suspect(self) -> bool:
        """Whether the request may be the cause of kills: then it is sent last."""
        return self.hard_ends >= SUSPECT_AFTER


def checksum(id_: int, lane: str, rank: int, data: bytes) -> int:
    return crc32(data, crc32(f"{id_} {rank} {lane}".encode()))


UNKNOWN = -1


class Counts(NamedTuple):
    """The counters of the file, kept so that no scan is needed, and whether a run uses it."""

    waiting: int = 0
    """The number of requests that wait in lanes."""
    stored: int = 0
    """The number of requests in any state; UNKNOWN if it was lost in a damaged file."""
    running: int = 0
    """1 from when the file is opened until it is closed, else 0."""
    generation: int = 0
    """The number of times that the file was written."""

    @classmethod
    def read(cls, run: Run) -> Counts:
        """Reads the first copy that is intact. Raises sqlite3.DatabaseError if there is none."""
        for copy in COPIES:
            try:
                row = run(f"SELECT * FROM {copy}").fetchone()  # noqa: S608
            except FAULTS:
                continue
            if row is None or len(row) != len(cls._fields) + 1:
                continue
            if (counts := cls(*row[:-1])).crc == row[-1]:
                return counts
        raise sqlite3.DatabaseError("its counters are malformed")

    def write(self, run: Run) -> None:
        """Writes all copies."""
        values = ", ".join(f"{name} = ?" for name in (*self._fields, "crc"))
        for copy in COPIES:
            run(f"UPDATE {copy} SET {values}", (*self, self.crc))  # noqa: S608

    @property
    def crc(self) -> int:
        return crc32(repr(tuple(self)).encode())


_APART = f"state <> {RequestState.WAITING} OR hard_ends >= {SUSPECT_AFTER}"
ELSEWHERE = f"SELECT * FROM requests WHERE {_APART}"  # noqa: S608
"""The query for requests that do not just wait: they are few, and found by an index."""

TABLES = (
    # In the order they came: a new one is written at the end, and the space of finished ones
    # becomes free page by page.
    """
    CREATE TABLE requests (
        id INTEGER PRIMARY KEY,
        lane TEXT NOT NULL,
        rank INTEGER NOT NULL,
        data BLOB NOT NULL,
        crc INTEGER NOT NULL,
        hard_ends INTEGER NOT NULL,
        state INTEGER NOT NULL
    )
    """,
    # The next request of a lane is one lookup, and entries are small: all lanes fit into the cache.
    "CREATE INDEX in_lanes ON requests (lane, rank)",
    f"CREATE INDEX elsewhere ON requests (state) WHERE {_APART}",
    "CREATE TABLE notes (key TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL) WITHOUT ROWID",
    # Digests of fingerprints, concatenated in the order they came.
    "CREATE TABLE seen (id INTEGER PRIMARY KEY, digests BLOB NOT NULL)",
    *(f"CREATE TABLE {copy} ({', '.join(Counts._fields)}, crc)" for copy in COPIES),
    *(f"INSERT INTO {copy} VALUES {(*Counts(), Counts().crc)}" for copy in COPIES),  # noqa: S608
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {LAYOUT}",
)


def journal_of(path: Path) -> Path:
    """Returns the path of SQLite's rollback journal: what pages were before, in case of a kill."""
    return path.with_name(f"{path.name}-journal")


def connect(path: Path) -> sqlite3.Connection:
    """Opens the file at *path* for this process alone. Creates it if there is none.

    Raises JobFileError if it is not ours or of another layout, and one of :data:`FAULTS` if it is
    damaged, in use or not writable.
    """
    with opened(path, wait=0) as connection:
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        check_layout(connection, path)
        # New pages are written once; a write-ahead log would hold each of them a second time.
        connection.execute("PRAGMA journal_mode = TRUNCATE")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        create(connection, TABLES)
        connection.execute("BEGIN EXCLUSIVE")  # from now on nobody else may even read
        connection.execute("COMMIT")
        return connection


def check_layout(connection: sqlite3.Connection, path: Path) -> None:
    """Raises JobFileError if the file is of another layout, or another program's."""
    version = pragma(connection, "user_version")
    if version not in (0, LAYOUT):
        what = f"has layout {version}; this version of scrapy-robots-plus knows {LAYOUT}"
        to_do = "End the job with the version that began it, or choose another JOBDIR"
        raise JobFileError(path, what, to_do)
    empty = not connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
    if pragma(connection, "application_id") != APPLICATION_ID and not empty:
        raise JobFileError(path, "is another program's database", "Choose another JOBDIR")


def explained(path: Path, error: Exception) -> JobFileError:
    """Returns a JobFileError that says what *error* means to a user."""
    if is_damage(error):
        what, to_do = f"is damaged ({error})", "The next run mends it as far as it can be read"
    elif isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
        what, to_do = "is in use by another crawl or command", "Wait for it, or stop it"
    else:  # no space or memory is left, or anything else
        what = f"cannot be used ({str(error) or repr(error)})"
        to_do = "Fix the cause and resume the job"
    return JobFileError(path, what, to_do)
