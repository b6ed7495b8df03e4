"""All that can be read of a damaged file, into a new one."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_robots_plus.frontier.tables.counts import COPIES, Counts, write_counts
from scrapy_robots_plus.frontier.tables.lanes import Lanes
from scrapy_robots_plus.frontier.tables.layout import migrate
from scrapy_robots_plus.frontier.tables.rows import Row
from scrapy_robots_plus.frontier.tables.states import State
from scrapy_robots_plus.frontier.tables.transaction import Transaction
from scrapy_robots_plus.protocol.counting import counted
from scrapy_robots_plus.storage.sqlite.file import FAULTS

from .pages import Pages, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from scrapy_robots_plus.frontier.tables.open_job import OpenJob


_STATES = frozenset(State)


class Salvaged(NamedTuple):
    """What a new file got of a damaged one."""

    stored: int
    """Requests."""
    lost: int | None
    """Requests that are missing; None if the damaged file does not tell how many it held."""
    is_exact: bool
    """Whether that is the number. If not, there may be more."""

    @property
    def told(self) -> str:
        """For a message."""
        whole = f"{counted(self.stored, 'request')} can be read"
        if self.lost is None:
            return f"{whole}; how many are lost cannot be told"
        least = "" if self.is_exact else "at least "
        return f"{whole}, {least}{self.lost:,} are lost"


MENDED = "mended"
"""The note of a new file until it is told what is lost."""


class Mended(NamedTuple):
    """What is known of the damage to the file that a new one was made of."""

    why: str
    is_exact: bool
    knows_count: bool

    @classmethod
    def of(cls, job: OpenJob) -> Mended | None:
        """None if it was not damaged, or all is told."""
        note = job.note(MENDED)
        return cls(*json.loads(note)) if note else None


class Damaged(NamedTuple):
    """A file, and what is known of it."""

    path: Path
    connection: sqlite3.Connection | None
    """If it can be opened."""
    why: str
    """What is wrong with it."""
    counts: Counts | None
    """If they are known."""
    generation: int | None
    """Which one is waited for by what was done since; None if there is nothing."""


def salvage(damaged: Damaged, new: Path) -> bool:
    """Makes a file at *new*, with the note :data:`MENDED`. Its counter of requests is that of the
    damaged one. Returns False if that holds nothing of a job.

    Raises sqlite3.Error or OSError if the new file cannot be written.
    """
    if damaged.connection is not None:
        with suppress(*FAULTS):  # it is damaged
            damaged.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            if _copied(damaged, _rows(damaged.connection), new, lambda: True) == 0:
                return True
    with closing(Pages(damaged.path)) as pages:
        return _copied(damaged, pages.records(), new, lambda: pages.is_exact) is not None


def _copied(
    damaged: Damaged, records: Iterable[Record], new: Path, is_exact: Callable[[], bool]
) -> int | None:
    """Returns how many requests are missing; None if there is nothing of a job."""
    new.unlink(missing_ok=True)
    with closing(sqlite3.connect(new, isolation_level=None)) as connection:
        migrate(connection)
        copy = _Copy(Transaction(connection))
        for record in records:
            copy.take(record)
        if copy.is_empty and damaged.generation is None:
            return None
        return copy.finish(damaged, is_exact=is_exact())


def _rows(connection: sqlite3.Connection) -> Iterator[Record]:
    """All in a file, as SQLite reads it."""
    for id_, *fields in connection.execute("SELECT id, NULL, * FROM requests"):
        yield Record(id_, (None, *fields[2:]))
    for table in ("states", "seen"):
        for id_, value in connection.execute(f"SELECT * FROM {table}"):  # noqa: S608
            yield Record(id_, (None, value))
    for copy in COPIES:
        for values in connection.execute(f"SELECT * FROM {copy}"):  # noqa: S608
            yield Record(1, values)
    for table in ("notes", "lanes"):
        for values in connection.execute(f"SELECT * FROM {table}"):  # noqa: S608
            yield Record(None, values)


class _Copy:
    """Of what is whole: the requests have checksums, and the rest matters less."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._run = transaction.run
        self._awake = list[str]()
        self.counts: Counts | None = None
        self.is_empty = True

    def take(self, record: Record) -> None:
        """Tells what a record is by its form."""
        match record:
            case Record(int() as id_, (None, *fields)) if len(fields) == len(Row._fields) - 1:
                self._take_request(Row(id_, *fields))
            case Record(int() as id_, (None, int() as state)) if state in _STATES:
                self._put("INSERT OR IGNORE INTO states VALUES (?, ?)", id_, state)
            case Record(int(), (*numbers, int() as crc)) if len(numbers) == len(Counts._fields):
                counts = Counts(*numbers)
                self.counts = counts if counts.crc == crc else self.counts
            case Record(int() as id_, (None, bytes() as digests)):
                self._put("INSERT OR IGNORE INTO seen VALUES (?, ?)", id_, digests)
            case Record(None, (str() as key, str() as value)):
                self._put("INSERT OR IGNORE INTO notes VALUES (?, ?)", key, value)
            case Record(None, (str() as name, int(), 1, int(), int())):
                self._awake.append(name)

    def finish(self, damaged: Damaged, *, is_exact: bool) -> int:
        """Puts each request at its place; returns how many are missing, as far as it is known.

        Of those under way their states are enough: the run may have them in its memory.
        """
        run = self._run
        run(
            "DELETE FROM states WHERE id NOT IN (SELECT id FROM requests) AND state NOT IN (?, ?)",
            (State.UNDER_WAY, State.ALONE),
        )
        lanes, waiting = Lanes(self._transaction, 0), 0
        rows = run(
            "SELECT lane, priority, starts, id FROM requests "
            "WHERE id NOT IN (SELECT id FROM states WHERE state <> ?) ORDER BY id",
            (State.NEXT,),
        )
        for lane, priority, starts, id_ in rows:
            waiting += 1
            place = (lanes.entered(lane, priority), priority, starts, id_)
            run("INSERT INTO waiting VALUES (?, ?, ?, ?)", place)
        for name in self._awake:
            lanes.wake_one(name)
        (stored,) = run("SELECT count(*) FROM requests").fetchone()
        counts = damaged.counts or self.counts
        note = json.dumps([damaged.why, is_exact, counts is not None])
        run("REPLACE INTO notes VALUES (?, ?)", (MENDED, note))
        if counts is None:
            is_running = int(damaged.generation is not None)
            counts = Counts(0, stored, 0, is_running, damaged.generation or 0)
        write_counts(self._transaction, counts._replace(waiting=waiting, turns=lanes.turns))
        self._transaction.commit()
        return max(0, counts.stored - int(stored))

    def _take_request(self, row: Row) -> None:
        if row.is_whole:
            self._put("REPLACE INTO requests VALUES (?, ?, ?, ?, ?, ?, ?)", *row)

    def _put(self, statement: str, *values: Any) -> None:
        self._run(statement, values)
        self.is_empty = False
