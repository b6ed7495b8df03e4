"""The store that keeps records in an SQLite file, shared by all processes that use it."""

from __future__ import annotations

import logging
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import suppress
from math import inf
from pathlib import Path
from typing import Any, TypeVar

from scrapy_robots_plus.protocol.origin import Origin
from scrapy_robots_plus.protocol.rfc9309 import MAX_BYTES

from . import sqlite_file as file
from .record import CodecError, RobotsRecord, Standing, StoreError, decode, encode, most_bytes
from .store import Store

logger = logging.getLogger(__name__)

_T = TypeVar("_T")

# A record that is too large is not even read: SQLite stores its length separately.
_READ = """
    SELECT readable, fetched_at, failed_at,
        CASE WHEN typeof(data) = 'blob' AND length(data) <= ? THEN data END
    FROM records WHERE origin = ?
"""
_ORIGINS_AFTER = "SELECT origin FROM records WHERE origin > ? ORDER BY origin LIMIT ?"

_ORIGINS = 500
"""How many origins are read at once."""

_PUT = """
    INSERT INTO records (origin, readable, fetched_at, failed_at, data) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (origin) DO UPDATE SET (readable, fetched_at, failed_at, data)
        = (excluded.readable, excluded.fetched_at, excluded.failed_at, excluded.data)
    WHERE (excluded.readable, excluded.fetched_at, excluded.failed_at)
        >= (records.readable, records.fetched_at, records.failed_at)
"""
_DELETE = "DELETE FROM records WHERE origin = ?"
# The expression is that of the index, so SQLite finds the rows without a scan.
_EVICT = """
    DELETE FROM records WHERE rowid IN
        (SELECT rowid FROM records ORDER BY max(fetched_at, failed_at) LIMIT ?)
"""
_PURGE = """
    DELETE FROM records WHERE rowid IN
        (SELECT rowid FROM records
        WHERE max(fetched_at, failed_at) < ? OR max(fetched_at, failed_at) > ? LIMIT ?)
"""

# The most rows that one statement deletes: other processes have to wait for it.
_BATCH = 200


class SqliteStore(Store):
    """A store in an SQLite file. It drops the least recently fetched records first.

    Each put is a transaction: see docs/storage.md for what that costs and guarantees. In WAL mode,
    readers and writers do not wait for each other.
    """

    keeps_failures = False

    def __init__(
        self,
        path: str | os.PathLike[str],
        max_records: int,
        max_body: int = MAX_BYTES,
        *,
        as_it_is: bool = False,
    ) -> None:
        """Opens the file. With *as_it_is*, it is not created, repaired or set aside."""
        self._path = Path(os.path.realpath(path))
        self.name = str(self._path)
        self._max_records = max_records
        self._max_body = max_body
        self._as_it_is = as_it_is
        self._puts_between_counts = max(1, min(max_records // 100, _BATCH))
        self._count_in = 0
        self._connection: sqlite3.Connection | None = None
        self._files: tuple[file.Identity | None, file.Identity | None] = (None, None)
        """The identities of the file and its log when they were last opened."""
        self._patient = True
        self._closed = False
        self.losses = -1  # the first opening counts as none
        self._run(id)  # opens the file

    def __len__(self) -> int:
        return self._run(_count)

    def close(self) -> None:
        self._closed = True
        self._let_go()

    def put(self, record: RobotsRecord) -> bool:
        encoded = encode(record, self._max_body)
        row = (str(record.origin), *Standing.of(record), encoded)

        def work(connection: sqlite3.Connection) -> bool:
            stored = connection.execute(_PUT, row).rowcount > 0
            self._count_in -= stored
            if self._count_in <= 0:
                excess = _count(connection) - self._max_records
                if excess > 0:
                    connection.execute(_EVICT, (min(excess, _BATCH),))
                self._count_in = self._puts_between_counts if excess <= _BATCH else 0
            return stored

        return self._run(work)

    def delete_all(self) -> int:
        return self.purge(inf, inf)

    def purge(self, before: float, after: float = inf, limit: float = inf) -> int:
        deleted, batch = 0, min(_BATCH, limit)
        while batch:
            found = self._change(_PURGE, before, after, batch)
            deleted += found
            batch = min(_BATCH, limit - deleted) if found == batch else 0
        return deleted

    def _found(self, name: str) -> RobotsRecord | None:
        rows = self._rows(_READ, most_bytes(self._max_body), name)
        if not rows:
            return None
        *standing, data = rows[0]
        if data is None:
            raise CodecError("too large, or not a record")
        record = decode(data, self._max_body)
        if str(record.origin) != name or [*Standing.of(record)] != standing:
            raise CodecError("it does not match its row")
        return record

    def _names(self) -> Iterator[str]:
        # Each statement has ended before a name is returned: a read transaction that stays open
        # would keep other processes from emptying the log.
        after = ""
        while rows := self._rows(_ORIGINS_AFTER, after, _ORIGINS):
            for (after,) in rows:
                yield after

    def delete(self, origin: Origin | str) -> bool:
        return self._change(_DELETE, str(origin)) > 0

    def _distrust(self, origin: Origin, error: CodecError) -> None:
        if self._as_it_is:
            super()._distrust(origin, error)
            return
        logger.warning("%s: the record of %s is deleted: %s", self.name, origin, error)
        with suppress(StoreError):  # the record is ignored in any case
            self.delete(origin)

    def _rows(self, query: str, *values: str | float) -> list[Any]:
        return self._run(lambda its: its.execute(query, values).fetchall())

    def _change(self, statement: str, *values: str | float) -> int:
        """Executes *statement*; returns how many rows it has changed."""
        return self._run(lambda its: its.execute(statement, values).rowcount)

    def _run(self, work: Callable[[sqlite3.Connection], _T]) -> _T:
        """Returns the result of *work*, which gets the open connection. Raises StoreError."""
        try:
            return self._attempt(work)
        except (*file.FAULTS, OSError) as error:
            if "locked" in str(error):
                self._be_patient(False)
            elif not file.is_of_the_moment(error):
                self._let_go()  # some errors last as long as the connection
            raise StoreError(f"{self._path}: {error}") from error

    def _attempt(self, work: Callable[[sqlite3.Connection], _T]) -> _T:
        try:
            if self._at_path() != self._files:
                # Another process set the file aside or removed it: what is put there would be lost.
                # If only the log was removed, others get "disk I/O error" while we use it.
                self._let_go()
            result = work(self._connected())
        except file.FAULTS as error:
            if self._as_it_is or not file.is_damage(error):
                raise
            self._let_go()
            file.set_aside(self._path, self._files[0], error)
            return work(self._connected())
        if not self._patient:
            self._be_patient(True)
        return result

    def _connected(self) -> sqlite3.Connection:
        """Returns the connection, opened if needed. If that fails, the next use tries again."""
        if self._closed:
            raise StoreError(f"{self._path}: the store is closed")
        if self._connection is not None:
            return self._connection
        if self._as_it_is and not file.is_store(self._path):
            raise StoreError(f"there is no store at {self._path}")
        for _ in range(file.TRIES):
            self._files = before, log = self._at_path()
            connection = file.connect(self._path, file.BUSY_SECONDS if self._patient else 0)
            self._files = after, its_log = self._at_path()
            if before is not None and before == after and log in (None, its_log):
                self.losses += 1
                self._connection = connection
                return connection
            connection.close()  # a file was replaced meanwhile, or is new
        raise StoreError(f"{self._path} keeps being replaced")

    def _at_path(self) -> tuple[file.Identity | None, file.Identity | None]:
        return file.identity(self._path), file.identity(Path(f"{self._path}-wal"))

    def _let_go(self) -> None:
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None

    def _be_patient(self, patient: bool) -> None:
        """Sets whether statements wait for locks of other processes.

        After one wait in vain they do not until the file is free again: each blocks the crawl.
        """
        self._patient = patient
        if self._connection is not None:
            file.wait_for_locks(self._connection, file.BUSY_SECONDS if patient else 0)


def _count(connection: sqlite3.Connection) -> int:
    """Returns the number of records. Reads an index with some 20 bytes of each."""
    return int(connection.execute("SELECT count(*) FROM records").fetchone()[0])
