"""The requests of a job, through one connection to its file.

Requests that do not just wait in a lane are in memory: the file has them from when it is written
until it is opened.
"""

from __future__ import annotations

import sqlite3
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from .asleep import LanesAsleep
from .fingerprints import Fingerprints
from .recent import Done, Step
from .schema import (
    ELSEWHERE,
    FAULTS,
    Contents,
    JobFileError,
    State,
    StoredRequest,
    checksum,
    read_counts,
    whole,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

MOST_BYTES = 999_000_000
"""Of a request: a little less than what SQLite keeps in a row."""

UNSORTED, LOSSES = "unsorted", "lost"
"""Notes. UNSORTED: the job was converted, and its lanes are not those of a crawl. LOSSES has a line
for each time that damage has taken requests."""

WAITING, UNDER_WAY, LAST, SET_ASIDE = State

_T = TypeVar("_T")
_P = ParamSpec("_P")
_Job = TypeVar("_Job", bound="JobRequests")


def guarded(
    work: Callable[Concatenate[_Job, _P], _T],
) -> Callable[Concatenate[_Job, _P], _T]:
    """Does *work* until the file has failed. Raises ValueError if it is about one request alone."""

    @wraps(work)
    def done(self: _Job, /, *arguments: _P.args, **named: _P.kwargs) -> _T:
        if self.failure is not None:
            raise self.failure
        try:
            return work(self, *arguments, **named)
        except (UnicodeEncodeError, OverflowError) as error:
            raise ValueError(str(error)) from error
        except FAULTS as error:
            raise self._failed(error) from error

    return done


class JobRequests:
    """What :class:`~scrapy_robots_plus.job.JobFile` does while all goes well.

    A transaction is always open: it ends with :meth:`save`. Raises what :mod:`sqlite3` raises; a
    plain DatabaseError for what cannot be without damage.
    """

    failure: JobFileError | None = None
    """Why the file cannot be used any longer."""
    _connection: sqlite3.Connection | None = None

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.load(connection)

    def load(self, connection: sqlite3.Connection) -> None:
        """Begins anew with what the file says."""
        self._connection = connection
        self._run = connection.execute
        self._run_many = connection.executemany
        self._lanes = LanesAsleep(self._run)
        self.awake = self._lanes.awake
        self._run("BEGIN IMMEDIATE")
        self.written = counts = read_counts(self._run)
        """What the file itself says."""
        self.held = counts.waiting
        """Requests that wait in lanes."""
        rows = self._run(ELSEWHERE).fetchall()
        self._elsewhere = {row.id: row for row in map(whole, rows) if row.state != WAITING}
        """All requests that do not wait in lanes, by id."""
        self.missing = counts.stored - counts.waiting - len(self._elsewhere)
        """Requests that are counted, but that damage has taken."""
        self._last_id: int = self._run("SELECT max(id) FROM requests").fetchone()[0] or 0
        self._fingerprints = Fingerprints(connection)
        self.done = list[Done]()
        """What has happened since it was last written, or since somebody has taken this away."""

    def _failed(self, fault: Exception) -> Exception:
        """What to raise after *fault*."""
        return fault

    # Requests

    @guarded
    def add(self, lane: str, rank: int, data: bytes) -> None:
        """Lets *data* wait in *lane*. A new lane is asleep.

        *rank*: see :func:`~scrapy_robots_plus.job.rank_of`. Raises ValueError for what cannot be
        stored: more than 1 GB, a name that is not Unicode, a rank of more than 64 bits.
        """
        if len(data) > MOST_BYTES:
            raise ValueError(f"a request of {len(data):,} bytes is too long for the job's file")
        id_ = self._last_id + 1
        self._wait(StoredRequest(id_, lane, rank, data, checksum(id_, lane, rank, data)))
        self._last_id = id_
        self.done.append((Step.ADD, id_, lane, rank, data))

    @guarded
    def take(self, lane: str, rank: int, *, newest: bool) -> StoredRequest | None:
        """The newest or oldest that waits; it is under way from now on, until :meth:`end`. None if
        there is none. Its lane is awake from now on.

        If it is a suspect, commit before it is sent. If nothing else waits or is under way, send
        nothing else: if the process is killed meanwhile, the next run sets it aside.
        """
        if lane not in self.awake:
            self.wake_one(lane)
        row = self._next(lane, rank, newest)
        return None if row is None else self._move(row, UNDER_WAY)

    @guarded
    def end(self, id_: int) -> None:
        """The request that was under way is dealt with."""
        if self._is_out(id_):
            del self._elsewhere[id_]
            self.done.append((Step.END, id_))

    @guarded
    def set_aside(self, id_: int) -> None:
        """The request that was under way is not handed out any more."""
        if self._is_out(id_):
            self._move(self._elsewhere[id_], SET_ASIDE)

    @guarded
    def retry(self, ids: Collection[int] | None = None) -> list[StoredRequest]:
        """Those that are set aside, all or these, wait again at their old places; returns them."""
        rows = [row for row in self.requests(SET_ASIDE) if ids is None or row.id in ids]
        for row in rows:
            self._move(row._replace(hard_ends=0), WAITING)
        return rows

    @property
    def stored(self) -> int:
        """Requests in any state: waiting, under way, set aside."""
        return self.held + len(self._elsewhere) + self.missing

    def requests(self, state: State) -> list[StoredRequest]:
        """All that stand so; not for those that wait."""
        return sorted(row for row in self._elsewhere.values() if row.state == state)

    @property
    def under_way(self) -> int:
        """Requests taken and not ended."""
        return len(self.requests(UNDER_WAY))

    @property
    def last(self) -> int:
        """Requests that wait until nothing else is left: see :meth:`recall`."""
        return len(self.requests(LAST))

    @property
    def aside(self) -> int:
        """Requests that are set aside: see :meth:`set_aside`."""
        return len(self.requests(SET_ASIDE))

    # Lanes

    @property
    def asleep(self) -> int:
        """How many lanes are asleep."""
        return self._lanes.number

    @guarded
    def contents(self, lane: str) -> Contents:
        """How many requests of each rank wait in *lane*."""
        return dict(self._run(_CONTENTS, (lane,)).fetchall())

    @guarded
    def wake(self, most: int) -> dict[str, Contents]:
        """Up to *most* lanes that are asleep, in turn. They are awake from now on."""
        woken = dict[str, Contents]()
        for lane in self._lanes.next(most):
            self._lanes.wake(lane)
            woken[lane] = self.contents(lane)
            if not woken[lane]:
                raise sqlite3.DatabaseError("requests are missing")
        return woken

    @guarded
    def wake_one(self, lane: str) -> None:
        """Makes this one awake, if it holds a request."""
        self._lanes.wake(lane)

    @guarded
    def sleep(self, lane: str) -> None:
        """Lets *lane* wait for its turn after all of its priority that are asleep now, if it holds
        a request.
        """
        self.awake.discard(lane)
        first = self._run(_FIRST, (lane,)).fetchone()
        if first is not None:
            self._lanes.add(lane, first[0])

    # What else is kept

    @guarded
    def see(self, fingerprint: bytes) -> bool:
        """Whether it was new. It is in the same transaction as what follows."""
        is_new = self._fingerprints.add(fingerprint)
        if is_new:
            self.done.append((Step.SEE, fingerprint))
        return is_new

    @guarded
    def note(self, key: str) -> str | None:
        """What :meth:`set_note` has kept for *key*; None if there is none."""
        row = self._run("SELECT value FROM notes WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    @guarded
    def set_note(self, key: str, value: str) -> None:
        """Keeps *value* with the requests."""
        self._run("REPLACE INTO notes VALUES (?, ?)", (key, value))
        self.done.append((Step.NOTE, key, value))

    @property
    def losses(self) -> list[str]:
        """What damage has taken from the job, in words."""
        return (self.note(LOSSES) or "").splitlines()

    def _next(self, lane: str, rank: int, newest: bool) -> StoredRequest | None:
        found = self._run(_NEWEST if newest else _OLDEST, (lane, rank)).fetchone()
        if found is None:
            return None
        id_, *others = found
        return whole((id_, lane, rank, *others), WAITING)

    def _find(self, id_: int) -> StoredRequest | None:
        """One that waits."""
        found = self._run("SELECT * FROM requests WHERE id = ?", (id_,)).fetchone()
        return None if found is None else whole(found, WAITING)

    def _is_out(self, id_: int) -> bool:
        return id_ in self._elsewhere and self._elsewhere[id_].state == UNDER_WAY

    def _move(self, row: StoredRequest, state: State) -> StoredRequest:
        """Lets *row* stand in *state* from now on, wherever it stood; returns it as it is then."""
        if row.id not in self._elsewhere:
            if self._run(DELETE, (row.id,)).rowcount != 1:
                raise sqlite3.DatabaseError(f"request {row.id} is not where it belongs")
            self.held -= 1
        if row.state != state:
            row = row._replace(state=state)
        if state == WAITING:
            self._wait(row)  # the file may turn out to be damaged: what is elsewhere is not lost
            self._elsewhere.pop(row.id, None)
        else:
            self._elsewhere[row.id] = row
        self.done.append((Step.MOVE, row.id, int(state)))
        return row

    def _wait(self, row: StoredRequest) -> None:
        self._run(INSERT, row)  # it may refuse, and then no lane is changed
        if row.lane not in self.awake:
            self._lanes.add(row.lane, row.priority)
        self.held += 1


_CONTENTS = "SELECT rank, count(*) FROM requests WHERE lane = ? GROUP BY rank"
_FIRST = "SELECT rank >> 1 FROM requests WHERE lane = ? ORDER BY rank LIMIT 1"
INSERT = "INSERT INTO requests VALUES (?, ?, ?, ?, ?, ?, ?)"
DELETE = "DELETE FROM requests WHERE id = ?"
_OLDEST = (
    "SELECT id, data, crc, hard_ends, state FROM requests WHERE lane = ? AND rank = ? "
    "ORDER BY id LIMIT 1"
)
_NEWEST = _OLDEST.replace("ORDER BY id", "ORDER BY id DESC")
