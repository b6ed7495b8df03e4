"""The requests of a job, through one connection to its file."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, NamedTuple

from .counts import Counts, read_counts, write_counts
from .lanes import Lanes
from .rows import Row, Taken, checksum
from .states import States
from .transaction import Transaction

if TYPE_CHECKING:
    from pathlib import Path

    from .rows import AsideRequest

MOST_BYTES = 999_000_000
"""Of a request: a little less than what SQLite keeps in a row."""


class _Found(NamedTuple):
    lane_id: int
    id: int
    lane: str
    data: bytes
    crc: int
    hard_ends: int


class OpenJob:
    """What :class:`~scrapy_robots_plus.frontier.JobFile` does while all goes well.

    Raises what :mod:`sqlite3` raises; a plain DatabaseError for what cannot be without damage.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.transaction = Transaction(connection)
        self._run = self.transaction.run
        counts = read_counts(self.transaction)
        self.was_killed = bool(counts.running)
        self.waiting = counts.waiting
        self.stored = counts.stored
        self.lanes = Lanes(self.transaction, counts.turns)
        self.states = States(self.transaction)
        self._last_id: int = self._run("SELECT max(id) FROM requests").fetchone()[0] or 0
        self._written = counts

    def resume(self) -> list[AsideRequest]:
        """All lanes sleep, and what was under way waits. Returns what is set aside now."""
        self.lanes.all_asleep()
        waiting, aside = self.states.resume(was_killed=self.was_killed)
        for id_ in waiting:
            self._put_in_place(id_)
        return aside

    def add(self, lane: str, priority: int, data: bytes, starts: bool) -> None:
        if len(data) > MOST_BYTES:
            raise ValueError(f"a request of {len(data):,} octets is too long for the job's file")
        id_ = self._last_id + 1
        crc = checksum(id_, lane, priority, starts, data)
        self._wait(lane, priority, starts, id_)
        self._run(
            "INSERT INTO requests VALUES (?, ?, ?, ?, ?, ?, 0)",
            (id_, lane, priority, starts, data, crc),
        )
        self._last_id = id_
        self.stored += 1

    def take(self, lane: str, priority: int, starts: bool, newest: bool) -> Taken | None:
        found = self._next(lane, priority, starts, newest)
        if found is None:
            return None
        self._run(
            "DELETE FROM waiting WHERE lane = ? AND priority = ? AND starts = ? AND id = ?",
            (found.lane_id, priority, starts, found.id),
        )
        self.states.set_out(found.id)
        self.lanes.left(lane, found.lane_id, priority)
        self.waiting -= 1
        return Taken(found.id, found.data, found.hard_ends)

    def peek(self, lane: str, priority: int, starts: bool, newest: bool) -> bytes | None:
        found = self._next(lane, priority, starts, newest)
        return None if found is None else found.data

    def take_last(self) -> Taken | None:
        id_ = self.states.set_out_alone()
        if id_ is None:
            return None
        found = self._request(id_)
        self.commit()
        return Taken(id_, found.data, found.hard_ends)

    def end(self, id_: int) -> None:
        if self.states.came_back(id_):
            self._run("DELETE FROM requests WHERE id = ?", (id_,))
            self.stored -= 1

    def give_back(self, id_: int) -> None:
        if self.states.came_back(id_):
            self._put_in_place(id_)

    def see(self, fingerprint: bytes) -> bool:
        return self._run("INSERT OR IGNORE INTO seen VALUES (?)", (fingerprint,)).rowcount == 1

    def forget(self, fingerprint: bytes) -> None:
        self._run("DELETE FROM seen WHERE fingerprint = ?", (fingerprint,))

    def contents(self, lane: str) -> dict[tuple[int, bool], int]:
        rows = self._run(
            "SELECT priority, starts, count(*) FROM waiting "
            "WHERE lane = (SELECT id FROM lanes WHERE name = ?) GROUP BY priority, starts",
            (lane,),
        )
        return {(priority, bool(starts)): count for priority, starts, count in rows}

    def commit(self, running: int = 1) -> None:
        counts = Counts(self.waiting, self.stored, self.lanes.turns, running)
        if counts != self._written:
            write_counts(self.transaction, counts)
        self.transaction.commit()
        self._written = counts

    def copy_log(self) -> None:
        """Into the file itself."""
        self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)")

    def copy_to(self, path: Path) -> None:
        """All that is committed, into a new file at *path*."""
        path.unlink(missing_ok=True)
        self._connection.execute("VACUUM INTO ?", (str(path),))

    def give_up(self) -> None:
        """Drops what is not committed. What is under way is not to blame for the end."""
        self.transaction.drop()
        write_counts(self.transaction, self._written._replace(running=0))
        self.transaction.commit()

    def _next(self, lane: str, priority: int, starts: bool, newest: bool) -> _Found | None:
        row = self._run(_NEWEST if newest else _OLDEST, (lane, priority, starts)).fetchone()
        if row is None:
            return None
        found = _Found(*row)
        request = Row(found.id, found.lane, priority, starts, found.data, found.crc)
        if found.lane != lane or not request.is_whole:
            raise sqlite3.DatabaseError(f"request {found.id} is malformed")
        return found

    def _request(self, id_: int) -> Row:
        row = self._run("SELECT * FROM requests WHERE id = ?", (id_,)).fetchone()
        if row is None or not (found := Row(*row)).is_whole:
            raise sqlite3.DatabaseError(f"request {id_} is malformed")
        return found

    def _put_in_place(self, id_: int) -> None:
        found = self._request(id_)
        self._wait(found.lane, found.priority, bool(found.starts), id_)

    def _wait(self, lane: str, priority: int, starts: bool, id_: int) -> None:
        place = (self.lanes.entered(lane, priority), priority, starts, id_)
        self._run("INSERT INTO waiting VALUES (?, ?, ?, ?)", place)
        self.waiting += 1


# With all columns NULL if there is no such request: then the file is damaged.
_OLDEST = (
    "SELECT waiting.lane, waiting.id, requests.lane, data, crc, hard_ends "
    "FROM waiting LEFT JOIN requests USING (id) "
    "WHERE waiting.lane = (SELECT id FROM lanes WHERE name = ?) "
    "AND waiting.priority = ? AND waiting.starts = ? "
    "ORDER BY waiting.id LIMIT 1"
)
_NEWEST = _OLDEST.replace("ORDER BY waiting.id", "ORDER BY waiting.id DESC")
