"""All that can be read of a damaged file, into a new one."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_robots_plus.frontier.tables.counts import Counts, write_counts
from scrapy_robots_plus.frontier.tables.lanes import Lanes
from scrapy_robots_plus.frontier.tables.layout import migrate
from scrapy_robots_plus.frontier.tables.rows import Row
from scrapy_robots_plus.frontier.tables.states import State
from scrapy_robots_plus.frontier.tables.transaction import Transaction
from scrapy_robots_plus.protocol.counting import counted

from .pages import Pages, Record

if TYPE_CHECKING:
    from pathlib import Path


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


def salvage(damaged: Path, new: Path, stored: int | None = None) -> Salvaged | None:
    """Makes a file at *new*. Returns None if *damaged* holds nothing of a job.

    *stored*: how many requests there must be, if it is known. Raises sqlite3.Error or OSError if
    the new file cannot be written.
    """
    new.unlink(missing_ok=True)
    with closing(sqlite3.connect(new, isolation_level=None)) as connection:
        migrate(connection)
        copy = _Copy(Transaction(connection))
        with closing(Pages(damaged)) as pages:
            for record in pages.records():
                copy.take(record)
        if copy.is_empty:
            return None
        found = copy.finish()
    if stored is None and copy.counts is not None:
        stored = copy.counts.stored
    lost = None if stored is None else max(0, stored - found)
    return Salvaged(found, lost, pages.is_exact)


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
            case Record(int(), (int(), int(), int(), int(), int() as crc) as fields):
                counts = Counts(*fields[:-1])
                self.counts = counts if counts.crc == crc else self.counts
            case Record(None, (bytes() as fingerprint,)):
                self._put("INSERT OR IGNORE INTO seen VALUES (?)", fingerprint)
            case Record(None, (str() as key, str() as value)):
                self._put("INSERT OR IGNORE INTO notes VALUES (?, ?)", key, value)
            case Record(None, (str() as name, int(), 1, int(), int())):
                self._awake.append(name)

    def finish(self) -> int:
        """Puts each request at its place; returns how many there are."""
        run = self._run
        run("DELETE FROM states WHERE id NOT IN (SELECT id FROM requests)")
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
        running = self.counts.running if self.counts is not None else 0
        write_counts(self._transaction, Counts(waiting, stored, lanes.turns, running))
        self._transaction.commit()
        return int(stored)

    def _take_request(self, row: Row) -> None:
        if row.is_whole:
            self._put("REPLACE INTO requests VALUES (?, ?, ?, ?, ?, ?, ?)", *row)

    def _put(self, statement: str, *values: Any) -> None:
        self._run(statement, values)
        self.is_empty = False
