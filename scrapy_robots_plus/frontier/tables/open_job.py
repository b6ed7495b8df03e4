"""The requests of a job, through one connection to its file."""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from scrapy_robots_plus.frontier.recent import Done, Step

from .counts import Counts, read_counts, write_counts
from .fingerprints import Fingerprints
from .lanes import Lanes
from .rows import Row, Taken, checksum
from .states import MOST_AT_ONCE, States
from .transaction import Transaction

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from pathlib import Path

    from .rows import AsideRequest, LaneRow

MOST_BYTES = 999_000_000
"""Of a request: a little less than what SQLite keeps in a row."""

_BOOT, _GROUP = "boot", "suspects at once"
"""Notes."""
LOSSES = "lost"
"""The note of what damage has taken: a line for each time."""


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
        self.states.group = int(self.note(_GROUP) or MOST_AT_ONCE)
        self._fingerprints = Fingerprints(self.transaction)
        self.written = counts
        """What the file itself says."""
        self.done = list[Done]()
        """What has happened since it was last written, or since somebody has taken this away."""

    def resume(self, boot: str) -> tuple[list[AsideRequest], int]:
        """All lanes sleep, and what was under way waits.

        *boot*: the id of this start of the machine. If it was another when the last run was killed,
        no request is to blame. Returns what is set aside now, and how many requests that were under
        way are gone.
        """
        self.transaction.settle()
        gone = self.states.forget_what_is_gone()
        self.stored -= gone
        self.lanes.all_asleep()
        for id_ in self.states.next():
            request = self._request(id_)
            self._take_out(self.lanes.id_of(request.lane), request)
        blame = self.was_killed and self.note(_BOOT) in (None, boot)
        waiting, aside = self.states.resume(was_killed=self.was_killed, blame=blame)
        for id_ in waiting:
            self._put_in_place(id_)
        self.set_note(_BOOT, boot)
        self._set_group(self.states.group if self.states.last and not aside else MOST_AT_ONCE)
        return aside, gone

    def redo(self, done: Iterable[Done]) -> None:
        """Does again what was done after the file was written. What damage has taken is left."""
        for step, *values in done:
            match step:
                case Step.ADD:
                    if not self._run(_IS_THERE, (values[0],)).fetchone():
                        self._last_id = values[0] - 1
                        self.add(*values[1:])
                case Step.OUT:
                    self._set_out(*values)
                case Step.END:
                    if values[0] not in self._ended and not self.states.is_under_way(values[0]):
                        self._set_out(*values)
                    self.end(*values)
                case Step.BACK:
                    with suppress(sqlite3.DatabaseError):
                        self.give_back(*values)
                case Step.ASIDE:
                    self.set_aside(*values)
                case Step.LAST:
                    self.states.set_out_last(*values)
                case Step.RETRY:
                    self.retry(*values)
                case Step.SEE:
                    self.see(*values)
                case Step.FORGET:
                    self.forget(*values)
                case Step.WAKE:
                    self.wake_one(*values)
                case Step.SLEEP:
                    self.sleep(*values)
                case Step.NOTE:
                    self.set_note(*values)
                    self.states.group = int(self.note(_GROUP) or MOST_AT_ONCE)

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
        self.done.append((Step.ADD, id_, lane, priority, data, starts, hard_ends))

    def take(self, lane: str, priority: int, starts: bool, newest: bool) -> Taken | None:
        lane_id = self.lanes.id_of(lane)
        request = self._next(lane_id, (lane, priority, starts), newest)
        if request is None:
            return None
        self._take_out(lane_id, request)
        self.states.set_out(request.id, request.hard_ends)
        self.done.append((Step.OUT, request.id))
        return Taken(request.id, request.data, request.hard_ends)

    def peek(self, lane: str, priority: int, starts: bool, newest: bool) -> bytes | None:
        request = self._next(self.lanes.id_of(lane), (lane, priority, starts), newest)
        return None if request is None else request.data

    def take_last(self) -> Taken | None:
        if self.states.last == 1 and not self.stored - self.states.aside > 1:
            self._set_group(1)
        id_ = self.states.first_of_last()
        if id_ is None:
            return None
        found = self._request(id_)
        self.states.set_out_last(id_)
        self.done.append((Step.LAST, id_))
        return Taken(id_, found.data, found.hard_ends)

    def end(self, id_: int) -> None:
        if self.states.came_back(id_):
            self._ended[id_] = (id_,)
            self.stored -= 1
            self.done.append((Step.END, id_))

    def give_back(self, id_: int) -> None:
        if self.states.came_back(id_):
            self._put_in_place(id_)
            self.done.append((Step.BACK, id_))

    def set_aside(self, id_: int) -> None:
        if self.states.set_aside(id_):
            self.done.append((Step.ASIDE, id_))

    def see(self, fingerprint: bytes) -> bool:
        is_new = self._fingerprints.add(fingerprint)
        if is_new:
            self.done.append((Step.SEE, fingerprint))
        return is_new

    def forget(self, fingerprint: bytes) -> None:
        self._fingerprints.forget(fingerprint)
        self.done.append((Step.FORGET, fingerprint))

    def retry(self, ids: Collection[int] | None) -> list[AsideRequest]:
        requests = self.states.forgive(ids)
        for each in requests:
            self._put_in_place(each.id)
        self.done.append((Step.RETRY, [each.id for each in requests]))
        return requests

    def wake(self, most: int) -> list[LaneRow]:
        rows = self.lanes.wake(most)
        self.done += [(Step.WAKE, row.name) for row in rows]
        return rows

    def wake_one(self, lane: str) -> None:
        self.lanes.wake_one(lane)
        self.done.append((Step.WAKE, lane))

    def sleep(self, lane: str) -> None:
        self.lanes.sleep(lane)
        self.done.append((Step.SLEEP, lane))

    def shrink(self) -> None:
        self._connection.execute("VACUUM")
        self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def note(self, key: str) -> str | None:
        row = self._run("SELECT value FROM notes WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def set_note(self, key: str, value: str) -> None:
        self._run("REPLACE INTO notes VALUES (?, ?)", (key, value))
        self.done.append((Step.NOTE, key, value))

    def count_again(self) -> int:
        """After damage: :attr:`stored` is what it must be. Returns how many requests are missing,
        and leaves out those.
        """
        self.transaction.settle()
        (found,) = self._run(_COUNT).fetchone()
        missing = self.stored - int(found)
        self.stored = int(found)
        return missing

    def commit(self, running: int = 1) -> None:
        """Everything goes into the file itself."""
        self.written = self.stage(running)
        self.transaction.commit()
        self.done.clear()
        self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def stage(self, running: int = 1) -> Counts:
        """All but the commit: whoever asks the connection sees everything."""
        self._fingerprints.write()
        self.transaction.settle()
        generation = self.written.generation + 1
        counts = Counts(self.waiting, self.stored, self.lanes.turns, running, generation)
        write_counts(self.transaction, counts)
        return counts

    def copy_to(self, path: Path) -> None:
        """All that is committed, into a new file at *path*."""
        path.unlink(missing_ok=True)
        self._connection.execute("VACUUM INTO ?", (str(path),))

    def give_up(self) -> None:
        """Drops what is not committed. What is under way is not to blame for the end."""
        self.transaction.drop()
        write_counts(self.transaction, self.written._replace(running=0))
        self.transaction.commit()

    def _set_out(self, id_: int) -> None:
        """The request is under way. Of one that damage has taken, only its state is kept."""
        try:
            request = self._request(id_)
        except sqlite3.DatabaseError:
            self.states.set_out(id_, 0)
            return
        self._take_out(self.lanes.id_of(request.lane), request)
        self.states.set_out(id_, request.hard_ends)
        self.done.append((Step.OUT, id_))

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


_IS_THERE = "SELECT 1 FROM requests WHERE id = ?"
_COUNT = (
    "SELECT (SELECT count(*) FROM requests) + (SELECT count(*) FROM states "
    "WHERE NOT EXISTS (SELECT 1 FROM requests WHERE requests.id = states.id))"
)

# With NULL in all columns of requests if there is no such request: then the file is damaged.
_OLDEST = (
    "SELECT waiting.id, requests.* "
    "FROM waiting LEFT JOIN requests ON requests.id = waiting.id "
    "WHERE waiting.lane = ? AND waiting.priority = ? AND waiting.starts = ? "
    "ORDER BY waiting.id LIMIT 1"
)
_NEWEST = _OLDEST.replace("ORDER BY waiting.id", "ORDER BY waiting.id DESC")


def losses_of(job: OpenJob) -> list[str]:
    """What damage has taken, until somebody has accepted it."""
    return (job.note(LOSSES) or "").splitlines()
