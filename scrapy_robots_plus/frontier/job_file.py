"""The file of a job."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from .counts import Counts, read_counts, write_counts
from .lanes import Lanes
from .opening import connect
from .resuming import resume
from .rows import LaneRow, Taken, checksum
from .transaction import Transaction

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self


class JobFile:
    """All requests of a job, in lanes, those under way, and the fingerprints of all seen.

    Everything goes into one transaction until :meth:`commit`: at any moment, the file on disk is
    as it was after some commit, whatever happens to the process. Priorities are those of Scrapy's
    queues: the lowest number is the most urgent.
    """

    def __init__(self, path: Path | str) -> None:
        """Opens the file at *path*, or creates it.

        Raises JobFileError if it is in use, not ours, too new or not writable.
        """
        self.path = Path(os.path.realpath(path))
        self._connection = connect(self.path)
        self._transaction = Transaction(self._connection)
        self._run = self._transaction.run
        counts = read_counts(self._transaction)
        self.was_killed = bool(counts.running)
        """Whether the last run did not close the file."""
        self.held = counts.waiting
        """Requests that wait, those for the end included."""
        self.stored = counts.stored
        """Requests in any state: waiting, under way, set aside."""
        self._written = counts
        self._lanes = Lanes(self._transaction, counts.turns)
        self._last_id = self._number("SELECT max(id) FROM requests")
        self._lanes.all_asleep()
        self.newly_aside = resume(self._transaction, self.put_in_place, was_killed=self.was_killed)
        """Set aside when this run began: each was under way, alone, at the last kill."""
        self.under_way = 0
        self.lost = 0
        self.recovered = 0
        self.troubles: list[str] = []
        self.last = self._number("SELECT count(*) FROM last")
        """Requests that wait until nothing else is left: see :meth:`take_last`."""
        self.commit()

    def add(
        self, lane: str, priority: int, data: bytes, *, starts: bool = False, hard_ends: int = 0
    ) -> None:
        """*data* waits in *lane*. A lane that held nothing is asleep.

        Raises ValueError for what cannot be stored: more than 1 GB, a name that is not Unicode.
        """
        id_ = self._last_id + 1
        place = (self._lanes.entered(lane, priority), priority, starts, id_)
        self._run("INSERT INTO waiting VALUES (?, ?, ?, ?)", place)
        crc = checksum(id_, lane, priority, starts, data)
        values = (id_, lane, priority, starts, data, crc, hard_ends)
        self._run("INSERT INTO requests VALUES (?, ?, ?, ?, ?, ?, ?)", values)
        self._last_id = id_
        self.held += 1
        self.stored += 1

    def take(self, lane: str, priority: int, *, starts: bool, newest: bool) -> Taken | None:
        """The newest or oldest that waits; it is under way from now on. None if there is none."""
        row = self._next(lane, priority, starts, newest)
        if row is None:
            return None
        lane_id, id_, data, hard_ends = row
        place = (lane_id, priority, starts, id_)
        self._run(
            "DELETE FROM waiting WHERE lane = ? AND priority = ? AND starts = ? AND id = ?", place
        )
        self._run("INSERT INTO under_way VALUES (?, ?)", (id_, hard_ends >= 2))
        self._lanes.left(lane, lane_id, priority)
        self.held -= 1
        self.under_way += 1
        return Taken(id_, data, hard_ends)

    def peek(self, lane: str, priority: int, *, starts: bool, newest: bool) -> bytes | None:
        """The data of what :meth:`take` would return."""
        row = self._next(lane, priority, starts, newest)
        return None if row is None else row[2]

    def take_last(self) -> Taken | None:
        """One of those that were under way at two kills or more.

        Only when nothing else waits and nothing is under way: if the process is killed now, this
        request is to blame, and the next run sets it aside. Committed at once.
        """
        row = self._run(
            "SELECT id, data, hard_ends FROM last JOIN requests USING (id) ORDER BY id LIMIT 1"
        ).fetchone()
        if row is None:
            return None
        self._run("DELETE FROM last WHERE id = ?", row[:1])
        self._run("INSERT INTO under_way VALUES (?, 0)", row[:1])
        self.last -= 1
        self.under_way += 1
        return Taken(*row)

    def end(self, id_: int) -> None:
        """The request that was under way is dealt with."""
        self._run("DELETE FROM under_way WHERE id = ?", (id_,))
        self._run("DELETE FROM requests WHERE id = ?", (id_,))
        self.under_way -= 1
        self.stored -= 1

    def give_back(self, id_: int) -> None:
        """The request that was under way waits again, at its old place."""
        self._run("DELETE FROM under_way WHERE id = ?", (id_,))
        self.put_in_place(id_)
        self.under_way -= 1

    def see(self, fingerprint: bytes) -> bool:
        """Whether it was new. It is in the same transaction as what follows."""
        return self._run("INSERT OR IGNORE INTO seen VALUES (?)", (fingerprint,)).rowcount == 1

    def forget(self, fingerprint: bytes) -> None:
        """The request with this fingerprint could not be stored."""
        self._run("DELETE FROM seen WHERE fingerprint = ?", (fingerprint,))

    def contents(self, lane: str) -> dict[tuple[int, bool], int]:
        """How many requests wait in *lane*, by priority and whether they are start requests."""
        rows = self._run(
            "SELECT priority, starts, count(*) FROM waiting "
            "WHERE lane = (SELECT id FROM lanes WHERE name = ?) GROUP BY priority, starts",
            (lane,),
        )
        return {(priority, bool(starts)): count for priority, starts, count in rows}

    @property
    def asleep(self) -> int:
        return self._number("SELECT count(*) FROM lanes WHERE awake = 0")

    def holds(self, lane: str) -> bool:
        return self._lanes.id_of(lane) is not None

    def note(self, key: str) -> str | None:
        self._run("CREATE TABLE IF NOT EXISTS notes (key TEXT PRIMARY KEY, value TEXT)")
        row = self._run("SELECT value FROM notes WHERE key = ?", (key,)).fetchone()
        return None if row is None else row[0]

    def set_note(self, key: str, value: str) -> None:
        self._run("REPLACE INTO notes VALUES (?, ?)", (key, value))

    def set_aside(self, id_: int) -> None:
        self._run("DELETE FROM under_way WHERE id = ?", (id_,))
        self._run("REPLACE INTO set_aside VALUES (?)", (id_,))
        self.under_way -= 1

    def wake(self, most: int) -> list[LaneRow]:
        """Up to *most* lanes that are asleep, in turn. They are awake from now on."""
        return self._lanes.wake(most)

    def wake_one(self, lane: str) -> None:
        """This one is awake from now on, if it holds a request."""
        self._lanes.wake_one(lane)

    def sleep(self, lane: str) -> None:
        """It has its turn after all of its priority that are asleep now."""
        self._lanes.sleep(lane)

    def commit(self) -> None:
        """Everything since the last commit is in the file, together.

        Never call it between :meth:`see` and the :meth:`add` that belongs to it.
        """
        self._write(running=1)

    def close(self) -> None:
        """Commits and closes. The next run finds what is under way now waiting."""
        self._write(running=0)
        self._connection.close()

    def put_in_place(self, id_: int) -> None:
        """The request waits where it waited when it was added."""
        lane, priority, starts = self._run(
            "SELECT lane, priority, starts FROM requests WHERE id = ?", (id_,)
        ).fetchone()
        place = (self._lanes.entered(lane, priority), priority, starts, id_)
        self._run("INSERT INTO waiting VALUES (?, ?, ?, ?)", place)
        self.held += 1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _next(
        self, lane: str, priority: int, starts: bool, newest: bool
    ) -> tuple[int, int, bytes, int] | None:
        row: tuple[int, int, bytes, int] | None = self._run(
            _NEWEST if newest else _OLDEST, (lane, priority, starts)
        ).fetchone()
        return row

    def _write(self, running: int) -> None:
        counts = Counts(self.held, self.stored, self._lanes.turns, running)
        if counts != self._written:
            write_counts(self._transaction, counts)
        self._transaction.commit()
        self._written = counts

    def _number(self, select: str) -> int:
        return self._run(select).fetchone()[0] or 0


_OLDEST = (
    "SELECT waiting.lane, id, data, hard_ends FROM waiting JOIN requests USING (id) "
    "WHERE waiting.lane = (SELECT id FROM lanes WHERE name = ?) "
    "AND waiting.priority = ? AND waiting.starts = ? "
    "ORDER BY waiting.id LIMIT 1"
)
_NEWEST = _OLDEST.replace("waiting.id", "waiting.id DESC")
