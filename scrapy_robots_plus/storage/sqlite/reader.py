"""Reading the file of a store that may be in use, read-only or damaged, without changing it."""

from __future__ import annotations

import logging
import os
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from scrapy_robots_plus.protocol.rfc9309 import MAX_BYTES
from scrapy_robots_plus.storage import codec
from scrapy_robots_plus.storage.base import Scanned, StoreDamagedError, StoreError, StoreReader

from . import file, rows
from .layout import check_version, count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scrapy_robots_plus.protocol.origin import Origin
    from scrapy_robots_plus.storage.record import RobotsRecord

logger = logging.getLogger(__name__)

_T = TypeVar("_T")

WAIT_SECONDS = 5.0
"""How long a statement waits for a process that has the file to itself, as recovery after a kill
does."""


class SqliteReader(StoreReader):
    """Never creates, repairs, upgrades or sets aside a file, and deletes nothing from it.

    Crawls that use the file notice nothing: in WAL mode, readers and writers do not wait for each
    other.
    """

    def __init__(self, path: str | os.PathLike[str], max_body: int = MAX_BYTES) -> None:
        self._path = Path(os.path.realpath(path))
        self._max_body = max_body
        if not file.is_store(self._path):
            raise StoreError(f"there is no store at {self._path}")
        self._connection: sqlite3.Connection | None = None
        try:
            self._connection = sqlite3.connect(
                _uri(self._path), timeout=WAIT_SECONDS, isolation_level=None, uri=True
            )
            self._connection.execute("PRAGMA query_only = ON")
            check_version(self._connection, self._path)
        except StoreError:
            self.close()
            raise
        except file.FAULTS as error:
            self.close()
            raise self._explained(error) from error

    def get(self, origin: Origin) -> RobotsRecord | None:
        row = self._run(lambda connection: rows.read(connection, str(origin), self._max_body))
        if row is None:
            return None
        try:
            return rows.record_in(row, str(origin), self._max_body)
        except codec.CodecError as error:
            logger.warning("%s: the record of %s is ignored: %s", self._path, origin, error)
            return None

    def scan(self, after: str = "") -> Iterator[Scanned]:
        return rows.scan(self._run, after, self._max_body)

    def faults(self) -> Iterator[str]:
        return iter(self._run(rows.faults))

    def __len__(self) -> int:
        return self._run(count)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _run(self, work: Callable[[sqlite3.Connection], _T]) -> _T:
        if self._connection is None:
            raise StoreError(f"{self._path}: the store is closed")
        try:
            return work(self._connection)
        except file.FAULTS as error:
            raise self._explained(error) from error

    def _explained(self, error: Exception) -> StoreError:
        if file.is_damage(error):
            return StoreDamagedError(f"{self._path} is damaged: {error}")
        return StoreError(f"{self._path}: {error}")


def _uri(path: Path) -> str:
    """How to open the file so that nothing is left beside it that its owner cannot write.

    Opened for writing, SQLite shares the log and its index with others, and the last one removes
    them. Where we may not write, they are used if they are there; otherwise the file is complete
    by itself, and nobody writes to it.
    """
    if file.may_write(path) and file.may_write(path.parent):
        return f"{path.as_uri()}?mode=rw"
    if file.identity(file.log_of(path), least_size=1) is not None:
        return f"{path.as_uri()}?mode=ro"
    return f"{path.as_uri()}?mode=ro&immutable=1"
