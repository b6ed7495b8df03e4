"""The tables of a job's file, what their rows say, and how the file is opened.

``requests`` is the truth: every request that is not finished, with a checksum and all that is
needed to put it back at its place. ``waiting`` and ``lanes`` could be made anew from it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from scrapy_robots_plus.storage.sqlite_file import FAULTS, is_damage, may_write, pragma, transaction

if TYPE_CHECKING:
    from pathlib import Path

Run = Callable[..., sqlite3.Cursor]
"""What executes a statement, through a connection to the file."""

CACHE_KIB = 64 * 1024

SUSPECT_AFTER = 2
"""Kills at which a request was under way, until it has to wait for the end."""

APPLICATION_ID = int.from_bytes(b"RbJb", "big")
"""In the header of every job's file, to recognize it as ours."""

COPIES = ("job", "job_again")
"""The tables of the counters: in different pages, so that one damaged place cannot take both."""


class JobFileError(Exception):
    """The file of a job (``JOBDIR``) cannot be used, or not any longer.

    The message names the file, the reason and what to do. What was committed stays in the file.
    """

    def __init__(self, path: Path, what: str, to_do: str) -> None:
        super().__init__(f"{path}: {what}. {to_do}")
        self.path = path


class State(IntEnum):
    """Where a request stands that does not just wait in a lane."""

    UNDER_WAY = 1
    ALONE = 2
    """Under way while no other is."""
    LAST = 3
    """Waits until nothing else is left."""
    ASIDE = 4
    """Not handed out any more."""
    NEXT = 5
    """Waits in its lane, as one of a group of suspects."""


Contents = dict[tuple[int, bool], int]
"""How many requests wait in a lane, by priority and whether they are start requests."""


class LaneRow(NamedTuple):
    """A lane that holds requests."""

    name: str
    priority: int
    """Of its most urgent request. The lowest number is the most urgent, as in Scrapy's queues."""
    contents: Contents


class StoredRequest(NamedTuple):
    """A request in the file, whatever its state. The crc covers all but the hard ends."""

    id: int
    lane: str
    priority: int
    starts: int
    """1 for a start request."""
    data: bytes
    crc: int
    hard_ends: int = 0
    """How many times the process was killed while this request was under way."""

    @property
    def is_whole(self) -> bool:
        """Whether the checksum fits. Damage may have given any types to the columns."""
        return isinstance(self.data, bytes) and self.crc == checksum(*self[:5])

    @property
    def is_suspect(self) -> bool:
        """Whether it may be the cause of these kills: then it is sent last."""
        return self.hard_ends >= SUSPECT_AFTER


def checksum(id_: int, lane: str, priority: int, starts: int, data: bytes) -> int:
    return crc32(data, crc32(f"{id_} {priority} {int(starts)} {lane}".encode()))


class Counts(NamedTuple):
    """How many requests the file holds, and whether a crawl uses it. Never found by a scan."""

    waiting: int = 0
    """Requests that wait in lanes."""
    stored: int = 0
    """Requests in any state."""
    turns: int = 0
    """Given to lanes so far."""
    running: int = 0
    """1 from when the file is opened until it is closed."""
    generation: int = 0
    """Times that the file was written."""

    @property
    def crc(self) -> int:
        return crc32(repr(tuple(self)).encode())


def read_counts(run: Run) -> Counts:
    """Raises sqlite3.DatabaseError if neither copy can be read."""
    for copy in COPIES:
        try:
            row = run(f"SELECT * FROM {copy}").fetchone()  # noqa: S608
        except FAULTS:
            continue
        if row is not None and (counts := Counts(*row[:-1])).crc == row[-1]:
            return counts
    raise sqlite3.DatabaseError("its counters are malformed")


def write_counts(run: Run, counts: Counts) -> None:
    for copy in COPIES:
        values = ", ".join(f"{name} = ?" for name in (*Counts._fields, "crc"))
        run(f"UPDATE {copy} SET {values}", (*counts, counts.crc))  # noqa: S608


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
            lane TEXT NOT NULL,
            priority INTEGER NOT NULL,
            starts INTEGER NOT NULL,
            id INTEGER NOT NULL,
            PRIMARY KEY (lane, priority, starts, id)
        ) WITHOUT ROWID
        """,
        # Those in which a request waits and that are asleep.
        """
        CREATE TABLE lanes (
            name TEXT PRIMARY KEY NOT NULL,
            priority INTEGER NOT NULL,
            turn INTEGER NOT NULL
        ) WITHOUT ROWID
        """,
        "CREATE INDEX lanes_in_turn ON lanes (priority, turn)",
        # The others, one behind the other: only the crawl knows when it is their turn.
        "CREATE TABLE awake (names TEXT NOT NULL)",
        "INSERT INTO awake VALUES ('')",
        # Of all that do not wait in a lane.
        "CREATE TABLE states (id INTEGER PRIMARY KEY, state INTEGER NOT NULL)",
        "CREATE TABLE notes (key TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL) WITHOUT ROWID",
        # Digests of fingerprints, one behind the other, in the order they came.
        "CREATE TABLE seen (id INTEGER PRIMARY KEY, digests BLOB NOT NULL)",
        *(f"CREATE TABLE {copy} ({', '.join(Counts._fields)}, crc)" for copy in COPIES),
        *(f"INSERT INTO {copy} VALUES {(*Counts(), Counts().crc)}" for copy in COPIES),  # noqa: S608
    ),
)
"""The first step makes layout :data:`OLDEST` (``user_version``) of an empty file, each other one
the layout after it."""

OLDEST = 2
"""Layout 1 was that of code before the first release."""


def newest_layout() -> int:
    return OLDEST - 1 + len(MIGRATIONS)


def migrate(connection: sqlite3.Connection) -> None:
    """Creates the tables, or upgrades an older layout, in one transaction."""
    version = pragma(connection, "user_version")
    if version == newest_layout():
        return
    with transaction(connection):
        for step in MIGRATIONS[max(0, version - OLDEST + 1) :]:
            for statement in step:
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {newest_layout()}")


def journal_of(path: Path) -> Path:
    """Where SQLite keeps what the pages that it changes were before, for a kill meanwhile."""
    return path.with_name(f"{path.name}-journal")


def connect(path: Path) -> sqlite3.Connection:
    """Opens the file at *path*, for this process alone. Creates or upgrades it.

    Raises JobFileError if it is not ours, too new or not writable, and one of
    :data:`~scrapy_robots_plus.storage.sqlite_file.FAULTS` if it is damaged or in use.
    """
    _check_place(path)
    connection = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
    try:
        _prepare(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


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
    connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    check_layout(connection, path)
    # Pages that are new are written once: a write-ahead log would hold each of them again.
    connection.execute("PRAGMA journal_mode = TRUNCATE")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
    migrate(connection)
    connection.execute("BEGIN EXCLUSIVE")  # from now on nobody else may even read
    connection.execute("COMMIT")


def check_layout(connection: sqlite3.Connection, path: Path) -> None:
    """Raises JobFileError if this version cannot read the file."""
    version, newest = pragma(connection, "user_version"), newest_layout()
    if version > newest:
        raise JobFileError(
            path,
            f"has layout {version}, made by a newer scrapy-robots-plus; this version knows up to "
            f"{newest}",
            "Upgrade, or choose another JOBDIR",
        )
    if 0 < version < OLDEST:
        raise JobFileError(
            path,
            f"has layout {version}, made by an older scrapy-robots-plus; this version knows "
            f"{OLDEST} and later",
            "End the job with the version that began it, or choose another JOBDIR",
        )
    empty = not connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
    if pragma(connection, "application_id") != APPLICATION_ID and not empty:
        raise JobFileError(path, "is another program's database", "Choose another JOBDIR")


def explained(path: Path, error: Exception) -> JobFileError:
    """What *error*, which is not damage, means to a user."""
    if is_damage(error):
        what, to_do = f"is damaged ({error})", "The next run mends it as far as it can be read"
    elif "locked" in str(error):
        what, to_do = "is in use by another process", "Wait for that crawl, or stop it"
    elif "full" in str(error):
        what, to_do = "cannot be written: no space is left", "Make room and resume the job"
    elif isinstance(error, MemoryError | sqlite3.InterfaceError):  # the latter in Python 3.10
        what, to_do = "cannot be used: no memory is left", "Resume the job"
    else:
        what, to_do = f"cannot be used ({error})", "Fix the cause and resume the job"
    return JobFileError(path, what, to_do)


def note_of(run: Run, key: str) -> str | None:
    """The note for *key*; None if there is none."""
    row = run("SELECT value FROM notes WHERE key = ?", (key,)).fetchone()
    return None if row is None else str(row[0])
