"""The requests of a job, through one connection to its file."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any

from .counts import Counts, read_counts, write_counts
from .lanes import Lanes
from .rows import Row, Taken, checksum
from .states import MOST_AT_ONCE, States
from .transaction import Transaction

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from .rows import AsideRequest

MOST_BYTES = 999_000_000
"""Of a request: a little less than what SQLite keeps in a row."""

_BOOT, _GROUP = "boot", "suspects at once"
"""Notes."""


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
        self._ended = self.transaction.late("DELETE FROM requests WHERE id = ?")
        self._last_id: int = self._run("SELECT max(id) FROM requests").fetchone()[0] or 0
        self._written = counts

    def resume(self, boot: str) -> list[AsideRequest]:
        """All lanes sleep, and what was under way waits. Returns what is set aside now.

        *boot*: the id of this start of the machine. If it was another when the last run was killed,
        no request is to blame.
        """
        self.lanes.all_asleep()
        for id_ in self.states.next():
            request = self._request(id_)
            self._take_out(self.lanes.id_of(request.lane), request)
        self.states.group = int(self.note(_GROUP) or self.states.group)
        blame = self.was_killed and self.note(_BOOT) in (None, boot)
        waiting, aside = self.states.resume(was_killed=self.was_killed, blame=blame)
        for id_ in waiting:
            self._put_in_place(id_)
        self.set_note(_BOOT, boot)
        self._set_group(self.states.group if self.states.last and not aside else MOST_AT_ONCE)
        return aside

    def _set_group(self, size: int) -> None:
        self.states.group = size
        self.set_note(_GROUP, str(size))

    def add(self, lane: str, priority: int, data: bytes, starts: bool, hard_ends: int) -> None:
        if len(data) > MOST_BYTES:
            raise ValueError(f"a request of {len(data):,} octets is too long for the job's file")
        id_ = self._last_id + 1
        crc = checksum(id_, lane, priority, starts, data)
        self._wait(lane, priority, starts, id_)
        self._run(
            "INSERT INTO requests VALUES (?, ?, ?, ?, ?, ?, ?)",
            (id_, lane, priority, starts, data, crc, hard_ends),
        )
        self.states.added(id_, hard_ends)
        self._last_id = id_
        self.stored += 1

    def take(self, lane: str, priority: int, starts: bool, newest: bool) -> Taken | None:
        lane_id = self.lanes.id_of(lane)
        request = self._next(lane_id, (lane, priority, starts), newest)
        if request is None:
            return None
        self._take_out(lane_id, request)
        self.states.set_out(request.id, request.hard_ends)
        return Taken(request.id, request.data, request.hard_ends)

    def peek(self, lane: str, priority: int, starts: bool, newest: bool) -> bytes | None:
        request = self._next(self.lanes.id_of(lane), (lane, priority, starts), newest)
        return None if request is None else request.data

    def take_last(self) -> Taken | None:
        if self.states.last == 1 and not self.stored - self.states.aside > 1:
            self._set_group(1)
        id_ = self.states.set_out_last()
        if id_ is None:
            return None
        found = self._request(id_)
        return Taken(id_, found.data, found.hard_ends)

    def end(self, id_: int) -> None:
        if self.states.came_back(id_):
            self._ended[id_] = (id_,)
            self.stored -= 1

    def give_back(self, id_: int) -> None:
        if self.states.came_back(id_):
            self._put_in_place(id_)

    def see(self, fingerprint: bytes) -> bool:
        return self._run("INSERT OR IGNORE INTO seen VALUES (?)", (fingerprint,)).rowcount == 1

    def forget(self, fingerprint: bytes) -> None:
        self._run("DELETE FROM seen WHERE fingerprint = ?", (fingerprint,))

    def retry(self, ids: Collection[int] | None) -> list[AsideRequest]:
        requests = self.states.forgive(ids)
        for each in requests:
            self._put_in_place(each.id)
        return requests

    def shrink(self) -> None:
        self._connection.execute("VACUUM")
        self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def note(self, key: str) -> str | None:
        row = self._run("SELECT value FROM notes WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def set_note(self, key: str, value: str) -> None:
        self._run("REPLACE INTO notes VALUES (?, ?)", (key, value))

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

    def _next(self, lane_id: int | None, place: tuple[str, int, bool], newest: bool) -> Row | None:
        row = self._run(_NEWEST if newest else _OLDEST, (lane_id, *place[1:])).fetchone()
        if row is None:
            return None
        id_, *fields = row
        found = _whole(id_, fields)
        if (found.lane, found.priority, found.starts) != place:
            raise sqlite3.DatabaseError(f"request {id_} is not where it belongs")
        return found

    def _request(self, id_: int) -> Row:
        return _whole(
            id_, self._run("SELECT * FROM requests WHERE id = ?", (id_,)).fetchone() or ()
        )

    def _take_out(self, lane_id: int | None, row: Row) -> None:
        self._run(
            "DELETE FROM waiting WHERE lane = ? AND priority = ? AND starts = ? AND id = ?",
            (lane_id, row.priority, row.starts, row.id),
        )
        self.lanes.left(row.lane, lane_id, row.priority)
        self.waiting -= 1

    def _put_in_place(self, id_: int) -> None:
        found = self._request(id_)
        self._wait(found.lane, found.priority, bool(found.starts), id_)
        self.states.added(id_, found.hard_ends)

    def _wait(self, lane: str, priority: int, starts: bool, id_: int) -> None:
        place = (self.lanes.entered(lane, priority), priority, starts, id_)
        self._run("INSERT INTO waiting VALUES (?, ?, ?, ?)", place)
        self.waiting += 1


def _whole(id_: int, fields: Sequence[Any]) -> Row:
    """Raises sqlite3.DatabaseError unless *fields* are those of the request *id_*."""
    if len(fields) == len(Row._fields) and fields[0] == id_ and (row := Row(*fields)).is_whole:
        return row
    raise sqlite3.DatabaseError(f"request {id_} is malformed")


# With NULL in all columns of requests if there is no such request: then the file is damaged.
_OLDEST = (
    "SELECT waiting.id, requests.* "
    "FROM waiting LEFT JOIN requests ON requests.id = waiting.id "
    "WHERE waiting.lane = ? AND waiting.priority = ? AND waiting.starts = ? "
    "ORDER BY waiting.id LIMIT 1"
)
_NEWEST = _OLDEST.replace("ORDER BY waiting.id", "ORDER BY waiting.id DESC")
