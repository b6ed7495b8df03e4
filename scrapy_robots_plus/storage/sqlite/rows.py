"""Reading the rows of a store's file, whoever holds the connection."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, TypeVar

from scrapy_robots_plus.storage import codec
from scrapy_robots_plus.storage.base import Scanned, Standing

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator
    from typing import Protocol

    from scrapy_robots_plus.storage.record import RobotsRecord

    _T = TypeVar("_T")

    class Runner(Protocol):
        """Does some work with the connection of the moment."""

        def __call__(self, work: Callable[[sqlite3.Connection], _T], /) -> _T: ...


Row = tuple[int, float, float, "bytes | None"]
"""``readable``, ``fetched_at``, ``failed_at``, and the record, unless it is too large."""

# A record that is too large is not even read: SQLite stores its length separately.
_READ = """
    SELECT readable, fetched_at, failed_at,
        CASE WHEN typeof(data) = 'blob' AND length(data) <= ? THEN data END
    FROM records WHERE origin = ?
"""
_ORIGINS_AFTER = "SELECT origin FROM records WHERE origin > ? ORDER BY origin LIMIT ?"

_BATCH = 500
"""Origins that are read at once."""

_MOST_FAULTS = 20
"""How many faults of a file are named."""


def read(connection: sqlite3.Connection, origin: str, max_body: int) -> Row | None:
    """The row of *origin*, not decoded; None if there is none."""
    row: Row | None = connection.execute(_READ, (codec.most_octets(max_body), origin)).fetchone()
    return row


def record_in(row: Row, origin: str, max_body: int) -> RobotsRecord:
    """The record in the row of *origin*.

    Raises :class:`~.codec.CodecError` if it cannot be trusted.
    """
    if row[3] is None:
        raise codec.CodecError("too large, or not a record")
    record = codec.decode(row[3], max_body)
    if str(record.origin) != origin or Standing.of(record) != row[:3]:
        raise codec.CodecError("its row contradicts it")
    return record


def scan(run: Runner, after: str, max_body: int) -> Iterator[Scanned]:
    """What :meth:`~.base.StoreReader.scan` promises.

    Each statement is complete before a record is returned: a read transaction that stays open
    would keep other processes from emptying the log.
    """
    while origins := run(partial(_origins, after=after)):
        for origin in origins:
            row = run(partial(read, origin=origin, max_body=max_body))
            if row is not None:
                yield _scanned(row, origin, max_body)
        after = origins[-1]


def faults(connection: sqlite3.Connection) -> list[str]:
    """What SQLite's own check finds, and a wrong counter. Reads the whole file."""
    check = connection.execute(f"PRAGMA integrity_check({_MOST_FAULTS})")
    found = [str(line) for (line,) in check if line != "ok"]
    # One statement: two would see what another process does in between.
    counts = connection.execute("SELECT records, (SELECT count(*) FROM records) FROM tally")
    wrong = [row for row in counts if row[0] != row[1]]
    found += [f"the counter says {told} records, and there are {real}" for told, real in wrong]
    return found


def _origins(connection: sqlite3.Connection, after: str) -> list[str]:
    return [origin for (origin,) in connection.execute(_ORIGINS_AFTER, (after, _BATCH))]


def _scanned(row: Row, origin: str, max_body: int) -> Scanned:
    try:
        return Scanned(str(origin), record_in(row, origin, max_body))
    except codec.CodecError as error:
        return Scanned(str(origin), None, str(error))
