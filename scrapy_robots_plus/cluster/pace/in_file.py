"""A pace that processes of one machine keep in a SQLite file."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing, suppress
from typing import TYPE_CHECKING, TypeVar

from scrapy_robots_plus.storage.sqlite.file import identity
from scrapy_robots_plus.storage.sqlite.layout import pragma

from .keeper import PaceError
from .machine_clock import THIS_MACHINE
from .saved import restored, saved
from .turns import Turns

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from scrapy_robots_plus.storage.sqlite.file import Identity

    from .machine_clock import MachineClock, Moment

_T = TypeVar("_T")

BUSY_SECONDS = 1.0
"""How long to wait for another process. Each is done in less than a millisecond."""
LEFT_ALONE = 1.0
"""Seconds for which a file is left alone that could not be used."""
CALLS_BETWEEN_CLEANUPS = 1_000
APPLICATION_ID = 0x526F5061
"""Says that the file is ours ("RoPa")."""

_LAYOUT = """
CREATE TABLE IF NOT EXISTS turns (
    host TEXT PRIMARY KEY,
    state TEXT NOT NULL,
    boot TEXT NOT NULL,
    monotonic REAL NOT NULL,
    wall REAL NOT NULL,
    useful_for REAL NOT NULL
) WITHOUT ROWID
"""


class PaceInFile:
    """See :class:`.PaceKeeper`. All crawls with the same *group* and file keep one pace.

    The file can be deleted at any time: it is made again.
    """

    def __init__(self, path: Path, group: str, clock: MachineClock = THIS_MACHINE) -> None:
        self._path = path
        self._group = group
        self._clock = clock
        self._connection: sqlite3.Connection | None = None
        self._file: Identity | None = None
        self._calls = 0
        self._alone_until = 0.0
        self._why = ""

    def ask(self, host: str, ticket: str, delay: float, patience: float | None) -> float:
        return self._change(host, lambda turns: turns.ask(ticket, delay, patience, 0.0))

    def left(self, host: str, ticket: str, ago: float, delay: float) -> None:
        self._change(host, lambda turns: turns.left(ticket, ago, delay, 0.0))

    def unused(self, host: str, ticket: str, ago: float) -> None:
        self._change(host, lambda turns: turns.unused(ticket, ago, 0.0))

    def leave_alone(self, host: str, seconds: float) -> None:
        self._change(host, lambda turns: turns.leave_alone(seconds, 0.0))

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(sqlite3.Error):
                connection.close()

    def _change(self, host: str, change: Callable[[Turns], _T]) -> _T:
        if time.monotonic() < self._alone_until:
            raise PaceError(self._why)
        try:
            return self._changed(f"{self._group}:{host}", change)
        except (sqlite3.Error, UnicodeError, OSError) as error:
            self.close()
            self._alone_until = time.monotonic() + LEFT_ALONE
            self._why = f"{self._path}: {error}"
            raise PaceError(self._why) from None

    def _changed(self, key: str, change: Callable[[Turns], _T]) -> _T:
        connection = self._connected()
        connection.execute("BEGIN IMMEDIATE")
        try:
            now = self._clock.now()
            turns = self._turns(connection, key, now)
            answer = change(turns)
            self._put(connection, key, turns, now)
            self._clean_up(connection, now)
            connection.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            raise
        return answer

    def _turns(self, connection: sqlite3.Connection, key: str, now: Moment) -> Turns:
        """With times that count from *now*."""
        found = connection.execute(
            "SELECT state, boot, monotonic, wall FROM turns WHERE host = ?", (key,)
        ).fetchone()
        if found is None:
            return Turns()
        state, *written = found
        return restored(state, now.since(*written))

    def _put(self, connection: sqlite3.Connection, key: str, turns: Turns, now: Moment) -> None:
        useful_for = turns.useful_until
        if useful_for <= 0:
            connection.execute("DELETE FROM turns WHERE host = ?", (key,))
            return
        connection.execute(
            "INSERT OR REPLACE INTO turns VALUES (?, ?, ?, ?, ?, ?)",
            (key, saved(turns), *now, useful_for),
        )

    def _clean_up(self, connection: sqlite3.Connection, now: Moment) -> None:
        """Deletes hosts that nobody has asked lately, now and then."""
        self._calls += 1
        if self._calls % CALLS_BETWEEN_CLEANUPS == 1:
            connection.execute("DELETE FROM turns WHERE wall + useful_for < ?", (now.wall,))

    def _connected(self) -> sqlite3.Connection:
        if self._connection is not None and identity(self._path) == self._file:
            return self._connection
        self.close()
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._connection = _opened(self._path)
        self._file = identity(self._path)
        return self._connection


def _opened(path: Path) -> sqlite3.Connection:
    if path.exists() and path.stat().st_size:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as reader:
            is_ours = pragma(reader, "application_id") == APPLICATION_ID
        if not is_ours:
            raise sqlite3.DatabaseError("the file is not a shared pace of scrapy-robots-plus")
    connection = sqlite3.connect(
        path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    try:
        connection.execute("PRAGMA synchronous = OFF")  # nothing in it outlives the machine
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(_LAYOUT)
        connection.execute("COMMIT")
    except BaseException:
        connection.close()
        raise
    return connection
