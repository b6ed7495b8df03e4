"""The book that the processes of one machine share in a SQLite file."""

from __future__ import annotations

import json
import logging
import sqlite3
import time
from collections.abc import Callable
from contextlib import suppress
from math import inf
from pathlib import Path
from typing import Any

from scrapy_robots_plus.storage import sqlite_file as file

from .book import BookError, Entry

logger = logging.getLogger(__name__)

BUSY_SECONDS = 1.0
"""Seconds to wait for other processes; each needs the file for less than a millisecond."""
LEFT_ALONE = 1.0
"""Seconds for which a file that could not be used is left alone."""
CALLS_BETWEEN_CLEANUPS = 1_000
APPLICATION_ID = 0x526F5062
"""The ID in the header that marks the file as ours ("RoPb"); each layout has another one."""

_LAYOUT = """
CREATE TABLE IF NOT EXISTS book (
    host TEXT PRIMARY KEY,
    state TEXT NOT NULL,
    at REAL NOT NULL,
    useful_until REAL NOT NULL
) WITHOUT ROWID
"""
_PUT = "INSERT OR REPLACE INTO book VALUES (?, ?, ?, ?)"


class BookInFile:
    """A :class:`.Book` in a file, shared by all crawls with the same file and *group*.

    The file can be deleted at any time: it is created again, as it is if it is damaged. A row
    without a host then says when a crawl noticed the loss: from that time, each host is left alone
    for its delay.

    Times are seconds since the machine was started: all of its processes see the same time, and
    nobody can set it. After a restart, what was written before seems more recent than it is, or to
    have just happened: so no delay gets shorter.
    """

    def __init__(self, path: Path, group: str, now: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._group = group
        self._now = now
        self._connection: sqlite3.Connection | None = None
        self._file: file.Identity | None = None
        self._calls = 0
        self._alone_until = 0.0
        self._why = ""

    def change(self, host: str, event: str, *arguments: Any) -> Any:
        if self._now() < self._alone_until:
            raise BookError(self._why)
        key = f"{self._group}:{host}"
        try:
            try:
                return self._changed(key, event, arguments)
            except file.FAULTS as error:
                used = self._file or _identity_of_a_book(self._path)
                is_lost = file.identity(self._path) != used  # while it was in use
                if used is None or not (is_lost or file.is_damage(error)):
                    raise
                self.close()
                file.set_aside(self._path, used, error)
                self._file = used
                return self._changed(key, event, arguments)
        except (*file.FAULTS, OSError) as error:
            self.close()
            self._alone_until = self._now() + LEFT_ALONE
            self._why = f"{self._path}: {error}"
            raise BookError(self._why) from None

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(sqlite3.Error):
                connection.close()

    def _changed(self, key: str, event: str, arguments: tuple[Any, ...]) -> Any:
        connection = self._connected()
        with file.transaction(connection):
            now = self._now()
            entry = _entry(connection, key, now)
            answer = getattr(entry, event)(now, *arguments)
            if entry.useful_until > now:
                state = json.dumps(entry.values)
                connection.execute(_PUT, (key, state, now, entry.useful_until))
            else:
                connection.execute("DELETE FROM book WHERE host = ?", (key,))
            self._calls += 1
            if self._calls % CALLS_BETWEEN_CLEANUPS == 1:  # hosts that nobody has asked lately
                connection.execute("DELETE FROM book WHERE useful_until < ?", (now,))
        return answer

    def _connected(self) -> sqlite3.Connection:
        is_there = file.identity(self._path) == self._file
        if self._connection is not None and is_there:
            return self._connection
        self.close()
        # Others may have an emptied file open, and would not notice that it is filled again.
        is_emptied = self._path.exists() and file.identity(self._path, 1) is None
        self._connection = _opened(self._path, self._now())
        was_lost = self._file is not None and not is_there
        self._file = file.identity(self._path) or self._file
        if was_lost:
            logger.warning(
                "%s was deleted or replaced: each host is left alone for its delay once", self._path
            )
        if was_lost or is_emptied:
            self._connection.execute(_PUT, ("", "", self._now(), inf))
        return self._connection


def _entry(connection: sqlite3.Connection, key: str, now: float) -> Entry:
    """Returns the entry under *key*; a new one if the file has none that can be read."""
    rows = connection.execute("SELECT host, state, at FROM book WHERE host IN (?, '')", (key,))
    found = {host: (state, at) for host, state, at in rows}
    entry = Entry()
    if key in found:
        state, at = found[key]
        with suppress(ValueError, TypeError):
            last, *times = json.loads(state)
            entry = Entry(str(last), *map(float, times))
            entry.move(min(0.0, now - at))
    if "" in found:
        entry.lost_at = max(entry.lost_at, found[""][1])
    return entry


def _identity_of_a_book(path: Path) -> file.Identity | None:
    """Returns which file is at *path* if its header is ours, however damaged the rest is."""
    with suppress(*file.FAULTS):
        if file.header(path)[0] == APPLICATION_ID:
            return file.identity(path)
    return None


def _opened(path: Path, now: float) -> sqlite3.Connection:
    with file.opened(path, BUSY_SECONDS) as connection:
        connection.execute("PRAGMA synchronous = OFF")  # a crash of the machine may lose it
        with file.transaction(connection):
            has_tables = connection.execute("SELECT 1 FROM sqlite_master").fetchone()
            if has_tables and file.pragma(connection, "application_id") != APPLICATION_ID:
                raise sqlite3.DatabaseError(
                    "not a shared-pace file of this version: end the other crawls, then delete it"
                )
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(_LAYOUT)
            # A loss noted before a restart of the machine may seem to lie in the future.
            connection.execute("UPDATE book SET at = ? WHERE host = '' AND at > ?", (now, now))
    return connection
