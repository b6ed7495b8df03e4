"""A pace that processes of one machine keep in a SQLite file."""

from __future__ import annotations

import logging
import sqlite3
import time
from contextlib import closing, suppress
from math import inf
from typing import TYPE_CHECKING, TypeVar

from scrapy_robots_plus.storage.sqlite.file import FAULTS, identity, is_damage, set_aside
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

logger = logging.getLogger(__name__)

_T = TypeVar("_T")

BUSY_SECONDS = 1.0
"""How long to wait for another process. Each is done in less than a millisecond."""
LEFT_ALONE = 1.0
"""Seconds for which a file is left alone that could not be used."""
CALLS_BETWEEN_CLEANUPS = 1_000
LEAST_SILENCE = 1.0
"""Seconds for which hosts are left alone at least after the file was lost: somebody may have been
allowed to send something just before.
"""
FOREVER = 1e12
"""Seconds for which the row without a host is of use."""
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

    The file can be deleted at any time: it is made again, and so it is if it is damaged. A row
    without a host says when whoever used the one before noticed it: hosts are left alone for their
    delay from then on.
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
        silence = max(delay, LEAST_SILENCE)
        return self._change(host, lambda turns: turns.ask(ticket, delay, patience, 0.0), silence)

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

    def _change(self, host: str, change: Callable[[Turns], _T], silence: float = 0.0) -> _T:
        """*silence*: seconds for which the host is left alone since all that was known is lost."""
        if time.monotonic() < self._alone_until:
            raise PaceError(self._why)
        key = f"{self._group}:{host}"
        try:
            try:
                return self._changed(key, change, silence)
            except FAULTS as error:
                if self._file is None or not is_damage(error):
                    raise
                self.close()
                set_aside(self._path, self._file, error)
                return self._changed(key, change, silence)
        except (*FAULTS, OSError) as error:
            self.close()
            self._alone_until = time.monotonic() + LEFT_ALONE
            self._why = f"{self._path}: {error}"
            raise PaceError(self._why) from None

    def _changed(self, key: str, change: Callable[[Turns], _T], silence: float) -> _T:
        connection = self._connected()
        connection.execute("BEGIN IMMEDIATE")
        try:
            now = self._clock.now()
            turns = self._turns(connection, key, now, silence)
            answer = change(turns)
            self._put(connection, key, turns, now)
            self._clean_up(connection, now)
            connection.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            raise
        return answer

    def _turns(
        self, connection: sqlite3.Connection, key: str, now: Moment, silence: float
    ) -> Turns:
        """With times that count from *now*."""
        found = {
            host: (state, now.since(*written))
            for host, state, *written in connection.execute(
                "SELECT host, state, boot, monotonic, wall FROM turns WHERE host IN (?, '')", (key,)
            )
        }
        turns = restored(*found[key]) if key in found else Turns()
        _, lost_ago = found.get("", ("", inf))
        if lost_ago < silence:
            turns.leave_alone(silence - lost_ago, 0.0)
        return turns

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
        is_there = identity(self._path) == self._file
        if self._connection is not None and is_there:
            return self._connection
        self.close()
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._connection = _opened(self._path)
        was_lost, self._file = self._file is not None and not is_there, identity(self._path)
        if was_lost:
            logger.warning(
                "%s was deleted or replaced: each host is left alone for its delay once", self._path
            )
            lost = ("", "", *self._clock.now(), FOREVER)
            self._connection.execute("INSERT OR REPLACE INTO turns VALUES (?, ?, ?, ?, ?, ?)", lost)
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
