"""Records in an SQLite file, shared by all processes that use it."""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
from contextlib import suppress
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from scrapy_robots_plus.protocol.rfc9309 import MAX_BYTES
from scrapy_robots_plus.storage import codec
from scrapy_robots_plus.storage.base import Scanned, Standing, Store, StoreError, checked_maximum

from . import file, layout, rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scrapy_robots_plus.protocol.origin import Origin
    from scrapy_robots_plus.storage.record import RobotsRecord

logger = logging.getLogger(__name__)

_T = TypeVar("_T")

_PUT = """
    INSERT INTO records (origin, readable, fetched_at, failed_at, data) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (origin) DO UPDATE SET
        readable = excluded.readable,
        fetched_at = excluded.fetched_at,
        failed_at = excluded.failed_at,
        data = excluded.data
    WHERE (excluded.readable, excluded.fetched_at, excluded.failed_at)
        >= (records.readable, records.fetched_at, records.failed_at)
"""
_DELETE = "DELETE FROM records WHERE origin = ?"
# The expression is the index's, so SQLite finds the rows without a scan.
_EVICT = """
    DELETE FROM records WHERE rowid IN
        (SELECT rowid FROM records ORDER BY max(fetched_at, failed_at) LIMIT ?)
"""
_PURGE_BEFORE = """
    DELETE FROM records WHERE rowid IN
        (SELECT rowid FROM records WHERE max(fetched_at, failed_at) < ? LIMIT ?)
"""
_PURGE_AFTER = """
    DELETE FROM records WHERE rowid IN
        (SELECT rowid FROM records WHERE max(fetched_at, failed_at) > ? LIMIT ?)
"""

# Rows that one statement deletes at most: other processes have to wait for it.
_BATCH = 200

# Connections of a parent process. SQLite forbids using or closing them after a fork.
_inherited: list[sqlite3.Connection] = []


class SqliteStore(Store):
    """Drops the least recently fetched records first.

    Each put is a transaction: see docs/storage.md for what that costs and guarantees. Any thread
    may use the store, one at a time; after a fork, the child reopens the file.
    """

    keeps_failures = False

    def __init__(
        self, path: str | os.PathLike[str], max_records: int, max_body: int = MAX_BYTES
    ) -> None:
        self._path = Path(os.path.realpath(path))
        self._log = file.log_of(self._path)
        self._max_records = checked_maximum(max_records)
        self._max_body = max_body
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._log_identity: file.Identity | None = None
        """Of the log that our first change went to; None before that."""
        self._closed = False
        self._patient = True
        self._pid = os.getpid()
        try:
            self._connect()
        except (*file.FAULTS, OSError) as error:
            raise StoreError(f"{self._path}: {error}") from error

    def get(self, origin: Origin) -> RobotsRecord | None:
        row = self._run(lambda connection: rows.read(connection, str(origin), self._max_body))
        if row is None:
            return None
        try:
            return rows.record_in(row, str(origin), self._max_body)
        except codec.NewerVersionError as error:
            logger.warning("%s: %s: %s; the record is ignored", self._path, origin, error)
        except codec.CodecError as error:
            self._drop(origin, str(error))
        return None

    def scan(self, after: str = "") -> Iterator[Scanned]:
        return rows.scan(self._run, after, self._max_body)

    def faults(self) -> Iterator[str]:
        return iter(self._run(rows.faults))

    def put(self, record: RobotsRecord) -> bool:
        try:
            encoded = codec.encode(record, self._max_body)
        except codec.CodecError as error:
            raise StoreError(str(error)) from error
        row = (str(record.origin), *Standing.of(record), encoded)

        def work(connection: sqlite3.Connection) -> bool:
            stored = connection.execute(_PUT, row).rowcount > 0
            excess = layout.count(connection) - self._max_records
            if excess > 0:
                connection.execute(_EVICT, (min(excess, _BATCH),))
            return stored

        return self._run(work, writes=True)

    def delete(self, origin: Origin) -> None:
        self._run(lambda connection: connection.execute(_DELETE, (str(origin),)), writes=True)

    def purge(self, before: float, after: float = inf, limit: int | None = None) -> int:
        removed = 0
        for statement, time in ((_PURGE_BEFORE, before), (_PURGE_AFTER, after)):
            batch = found = _BATCH
            while found == batch:
                batch = _BATCH if limit is None else min(_BATCH, limit - removed)
                if not batch:
                    return removed
                found = self._purge_batch(statement, time, batch)
                removed += found
        return removed

    def __len__(self) -> int:
        return self._run(layout.count)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._let_go()

    def _purge_batch(self, statement: str, time: float, batch: int) -> int:
        return self._run(
            lambda connection: connection.execute(statement, (time, batch)).rowcount, writes=True
        )

    def _drop(self, origin: Origin, why: str) -> None:
        logger.warning("%s: the record of %s is deleted: %s", self._path, origin, why)
        with suppress(StoreError):  # the record is ignored in any case
            self.delete(origin)

    def _run(self, work: Callable[[sqlite3.Connection], _T], *, writes: bool = False) -> _T:
        if self._pid != os.getpid():
            self._start_over_after_fork()
        with self._lock:
            try:
                return self._attempt(work, writes=writes)
            except (*file.FAULTS, OSError) as error:
                if "locked" in str(error):
                    self._be_patient(False)
                elif not file.is_of_the_moment(error):
                    self._let_go()  # some such errors last as long as the connection
                raise StoreError(f"{self._path}: {error}") from error

    def _attempt(self, work: Callable[[sqlite3.Connection], _T], *, writes: bool) -> _T:
        connection = self._opened()
        if writes and not self._is_in_place(connection):
            # Another process set the file aside or removed it: writes to it would be lost. And
            # while we held a removed log, nobody else could open the store.
            connection = self._reopened()
        try:
            result = work(connection)
        except file.FAULTS as error:
            if not file.is_damage(error):
                raise
            damaged, damage = self._identity, error
        else:
            if not self._patient:
                self._be_patient(True)
            return result
        self._let_go()
        file.set_aside(self._path, damaged, damage)
        return work(self._reopened())

    def _opened(self) -> sqlite3.Connection:
        if self._closed:
            raise StoreError(f"{self._path}: the store is closed")
        return self._connection or self._reopened()

    def _connect(self) -> sqlite3.Connection:
        wait = file.BUSY_SECONDS if self._patient else 0
        self._connection, self._identity = file.connect_surely(self._path, wait)
        self._log_identity = None
        return self._connection

    def _is_in_place(self, connection: sqlite3.Connection) -> bool:
        """Whether the open file and log are still the ones at the store's path."""
        if file.identity(self._path) != self._identity:
            return False
        if not connection.total_changes:
            return True  # we wrote nothing to the log, and it may be empty
        log = file.identity(self._log, least_size=1)
        self._log_identity = self._log_identity or log
        return log is not None and log == self._log_identity

    def _reopened(self) -> sqlite3.Connection:
        """Opens the file again. If that fails, the next use of the store tries again."""
        self._let_go()
        connection = self._connect()
        self.losses += 1
        return connection

    def _let_go(self) -> None:
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None

    def _be_patient(self, patient: bool) -> None:
        """After one wait in vain, stops waiting until the file is free again.

        Each wait would block the whole crawl.
        """
        self._patient = patient
        if self._connection is not None:
            seconds = file.BUSY_SECONDS if patient else 0
            file.wait_for_locks(self._connection, seconds)

    def _start_over_after_fork(self) -> None:
        self._lock = threading.Lock()  # a thread of the parent process may hold the old one
        self._pid = os.getpid()
        if self._connection is not None:
            _inherited.append(self._connection)
            self._connection = None
            try:
                self._connect()
            except (*file.FAULTS, OSError) as error:
                raise StoreError(f"{self._path}: {error}") from error
