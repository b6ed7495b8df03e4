"""The requests of a job, through one connection to its file.

Requests that do not just wait in a lane are kept in memory: each write of the file puts them into
the table, and the next transaction begins by taking them out.

Lanes that only the file knows, and not the crawl, are asleep. Their turns come by priority, then in
the order in which they came or fell asleep. The file does not store that order: when it is opened,
all are asleep, in the order of their oldest requests.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterable
from functools import wraps
from typing import Any, TypeVar

from .fingerprints import Fingerprints
from .recent_steps import Done, Step
from .schema import (
    CACHE_KIB,
    ELSEWHERE,
    FAULTS,
    Contents,
    Counts,
    JobFileError,
    RequestState,
    StoredRequest,
    checksum,
)

MOST_BYTES = 999_000_000
"""The largest size of a request in bytes: a little less than what SQLite keeps in a row."""

UNSORTED, LOSSES = "unsorted", "lost"
"""Keys of notes. UNSORTED: the job was converted, and its lanes are not those of a crawl. LOSSES: a
line for each time that damage took requests."""

WAITING, UNDER_WAY, _, SET_ASIDE = RequestState

_METHOD = TypeVar("_METHOD", bound="Callable[..., Any]")


def raises_file_errors(work: _METHOD) -> _METHOD:
    """Makes *work* raise the error of a file that failed, and ValueError for one bad request."""

    @wraps(work)
    def done(self: JobRequests, *arguments: Any, **named: Any) -> Any:
        if self.failure is not None:
            raise self.failure
        try:
            return work(self, *arguments, **named)
        except (UnicodeEncodeError, OverflowError) as error:
            raise ValueError(str(error)) from error
        except FAULTS as error:
            raise self._failed(error) from error

    return done  # type: ignore[return-value]


class JobRequests:
    """The part of :class:`~scrapy_robots_plus.job.JobFile` that reads and changes requests.

    A transaction is always open. Raises what :mod:`sqlite3` raises, and a plain DatabaseError for
    what only damage can cause.
    """

    failure: JobFileError | None = None
    """Why the file can no longer be used; None while it can."""
    _connection: sqlite3.Connection | None = None

    def load(self, connection: sqlite3.Connection) -> None:
        """Loads the state of the job through *connection*, and begins a transaction."""
        self._connection = connection
        self._run = connection.execute
        self._run_many = connection.executemany
        for statement in _LANES_ASLEEP:
            self._run(statement)
        self.awake = set[str]()
        """The lanes that the crawl knows."""
        self.asleep = self._turns = 0
        """The number of lanes that are asleep, and the highest turn of one."""
        self._run("BEGIN IMMEDIATE")
        self.written = counts = Counts.read(self._run)
        """The counters that are in the file itself."""
        self.held = counts.waiting
        """The number of requests that wait in lanes."""
        rows = map(StoredRequest.read, self._run(ELSEWHERE).fetchall())
        self._elsewhere = {row.id: row for row in rows if row.state != WAITING}
        """All requests that do not wait in lanes, by id."""
        self.missing = counts.stored - counts.waiting - len(self._elsewhere)
        """The number of requests that are counted, but lost to damage."""
        self._last_id: int = self._run("SELECT max(id) FROM requests").fetchone()[0] or 0
        self._fingerprints = Fingerprints(connection)
        self.done = list[Done]()
        """The steps that are not yet written; whoever writes them clears this list."""

    def _failed(self, fault: Exception) -> Exception:
        """Returns what to raise because of *fault*."""
        return fault

    # Requests

    @raises_file_errors
    def add(self, lane: str, rank: int, data: bytes) -> None:
        """Adds a request, written as *data*, to *lane*. A new lane is asleep.

        *rank* is that of :func:`~scrapy_robots_plus.job.rank_of`. Raises ValueError for what cannot
        be stored: more than 1 GB, a name that is not Unicode, a rank of more than 64 bits.
        """
        if len(data) > MOST_BYTES:
            raise ValueError(f"a request of {len(data):,} bytes is too long for the job's file")
        id_ = self._last_id + 1
        self._wait(StoredRequest(id_, lane, rank, data, checksum(id_, lane, rank, data)))
        self._last_id = id_
        self.done.append((Step.ADD, id_, lane, rank, data))

    @raises_file_errors
    def take(self, lane: str, rank: int, *, newest: bool) -> StoredRequest | None:
        """Takes the newest or oldest request of *rank* that waits in *lane*; None if there is none.

        It is under way until :meth:`end`, and its lane is awake. If it is a suspect, commit before
        it is sent; if nothing else waits or is under way then, send nothing else until it ends: the
        next run sets it aside if the process is killed meanwhile.
        """
        if lane not in self.awake:
            self.wake_one(lane)
        found = self._run(_NEWEST if newest else _OLDEST, (lane, rank)).fetchone()
        if found is None:
            return None
        id_, *others = found
        return self._move(StoredRequest.read((id_, lane, rank, *others), WAITING), UNDER_WAY)

    @raises_file_errors
    def end(self, id_: int) -> None:
        """Removes a request that is finished. Does nothing if it is not under way."""
        if self._is_out(id_):
            del self._elsewhere[id_]
            self.done.append((Step.END, id_))

    @raises_file_errors
    def set_aside(self, id_: int) -> None:
        """Sets a request aside, if it is under way: it is not handed out any more."""
        if self._is_out(id_):
            self._move(self._elsewhere[id_], SET_ASIDE)

    @raises_file_errors
    def retry(self, ids: Collection[int] | None = None) -> list[StoredRequest]:
        """Lets requests set aside, all or *ids*, wait again at their old places; returns them."""
        rows = [row for row in self.requests(SET_ASIDE) if ids is None or row.id in ids]
        for row in rows:
            self._move(row._replace(hard_ends=0), WAITING)
        return rows

    @property
    def stored(self) -> int:
        """The number of requests in any state, including those lost to damage."""
        return self.held + len(self._elsewhere) + self.missing

    def requests(self, state: RequestState) -> list[StoredRequest]:
        """Returns all requests in *state*, which is not WAITING, oldest first."""
        return sorted(row for row in self._elsewhere.values() if row.state == state)

    @property
    def suspects(self) -> list[StoredRequest]:
        """All requests that may be the cause of kills, in whatever state but WAITING."""
        return [row for row in self._elsewhere.values() if row.is_suspect]

    # Lanes

    @raises_file_errors
    def contents(self, lane: str) -> Contents:
        """Returns how many requests of each rank wait in *lane*."""
        return dict(self._run(_CONTENTS, (lane,)).fetchall())

    @raises_file_errors
    def wake(self, most: int) -> dict[str, Contents]:
        """Wakes up to *most* lanes that are asleep, in turn; returns their contents by name."""
        woken = dict[str, Contents]()
        for (lane,) in self._run(_NEXT_LANES, (most,)).fetchall():
            self.wake_one(lane)
            woken[lane] = self.contents(lane)
            if not woken[lane]:
                raise sqlite3.DatabaseError("requests are missing")
        return woken

    @raises_file_errors
    def wake_one(self, lane: str) -> None:
        """Wakes *lane*, if it is asleep, as each one is that holds a request and is not awake."""
        if self._run("DELETE FROM lanes WHERE name = ?", (lane,)).rowcount:
            self.asleep -= 1
            self.awake.add(lane)

    @raises_file_errors
    def sleep(self, lane: str) -> None:
        """Puts *lane* to sleep, behind the others of its priority; forgets it if it is empty."""
        self.awake.discard(lane)
        first = self._run(_FIRST, (lane,)).fetchone()
        if first is not None:
            self._put_to_sleep(lane, first[0])

    def put_all_to_sleep(self) -> None:
        """Puts all lanes that hold requests to sleep, in the order of their oldest requests."""
        self.awake.clear()
        self._run("DELETE FROM lanes")
        self.asleep = self._run(_ALL_LANES).rowcount
        self._turns = self._last_id

    def _put_to_sleep(self, lane: str, priority: int) -> None:
        """Puts *lane* to sleep; gives it *priority* if it is asleep with a higher number."""
        found = self._run("SELECT priority FROM lanes WHERE name = ?", (lane,)).fetchone()
        if found is None:
            self._turns += 1
            self._run("INSERT INTO lanes VALUES (?, ?, ?)", (lane, priority, self._turns))
            self.asleep += 1
        elif priority < found[0]:
            self._run("UPDATE lanes SET priority = ? WHERE name = ?", (priority, lane))

    # What else is kept

    @raises_file_errors
    def see(self, fingerprint: bytes) -> bool:
        """Adds *fingerprint* in the same transaction as what follows; returns whether it is new."""
        is_new = self._fingerprints.add(fingerprint)
        if is_new:
            self.done.append((Step.SEE, fingerprint))
        return is_new

    @raises_file_errors
    def note(self, key: str) -> str | None:
        """Returns what :meth:`set_note` has stored for *key*; None if there is nothing."""
        row = self._run("SELECT value FROM notes WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    @raises_file_errors
    def set_note(self, key: str, value: str) -> None:
        """Stores *value* for *key* in the file."""
        self._run("REPLACE INTO notes VALUES (?, ?)", (key, value))
        self.done.append((Step.NOTE, key, value))

    @property
    def losses(self) -> list[str]:
        """Messages about what damage has taken from the job."""
        return (self.note(LOSSES) or "").splitlines()

    # What is not in the file yet

    def redo(self, done: Iterable[Done]) -> None:
        """Repeats the steps done after the file was written. What damage took stays lost."""
        self.withdraw()
        for step in done:
            match step:
                case Step.ADD, id_, lane, rank, data:
                    if not self._find(id_):
                        self._last_id = id_ - 1
                        self.add(lane, rank, data)
                case Step.MOVE, id_, state:
                    self._move_again(id_, state)
                case Step.END, id_:
                    self._move_again(id_, UNDER_WAY)
                    self.end(id_)
                case Step.SEE, fingerprint:
                    self.see(fingerprint)
                case Step.NOTE, key, value:
                    self.set_note(key, value)

    def _move_again(self, id_: int, state: RequestState) -> None:
        row = self._elsewhere.get(id_) or self._find(id_)
        if row is None:  # damage took it: we know only that it was there
            row = StoredRequest(id_, "", 0, b"", -1, state=UNDER_WAY)
            self._elsewhere[id_] = row
            self.missing -= 1
        if row.state == SET_ASIDE:
            row = row._replace(hard_ends=0)
        if row.is_whole or state != WAITING:
            self._move(row, state)

    def stage(self, running: int) -> Counts:
        """Writes everything without a commit: only this connection sees it. Returns the counts."""
        self._fingerprints.write()
        self._run_many(_INSERT, self._elsewhere.values())
        generation = self.written.generation + 1
        counts = Counts(self.held, self.stored, running, generation)
        counts.write(self._run)
        return counts

    def withdraw(self) -> None:
        """Deletes from the table all requests that do not wait."""
        self._run_many(_DELETE, ((id_,) for id_ in self._elsewhere))

    def _find(self, id_: int) -> StoredRequest | None:
        """Returns a request that waits; None if there is none with this id."""
        found = self._run("SELECT * FROM requests WHERE id = ?", (id_,)).fetchone()
        return None if found is None else StoredRequest.read(found, WAITING)

    def _is_out(self, id_: int) -> bool:
        return id_ in self._elsewhere and self._elsewhere[id_].state == UNDER_WAY

    def _move(self, row: StoredRequest, state: RequestState) -> StoredRequest:
        """Moves *row* to *state* from whatever state it is in; returns it as it is then."""
        if row.id not in self._elsewhere:
            if self._run(_DELETE, (row.id,)).rowcount != 1:
                raise sqlite3.DatabaseError(f"request {row.id} is not where it belongs")
            self.held -= 1
        if row.state != state:
            row = row._replace(state=state)
        if state == WAITING:
            self._wait(row)  # first: if the file is damaged, the request is still in _elsewhere
            self._elsewhere.pop(row.id, None)
        else:
            self._elsewhere[row.id] = row
        self.done.append((Step.MOVE, row.id, int(state)))
        return row

    def _wait(self, row: StoredRequest) -> None:
        self._run(_INSERT, row)  # first: it may fail, and then no lane has changed
        if row.lane not in self.awake:
            self._put_to_sleep(row.lane, row.priority)
        self.held += 1


_CONTENTS = "SELECT rank, count(*) FROM requests WHERE lane = ? GROUP BY rank"
_FIRST = "SELECT rank >> 1 FROM requests WHERE lane = ? ORDER BY rank LIMIT 1"
_INSERT = "INSERT INTO requests VALUES (?, ?, ?, ?, ?, ?, ?)"
_DELETE = "DELETE FROM requests WHERE id = ?"
_OLDEST = (
    "SELECT id, data, crc, hard_ends, state FROM requests WHERE lane = ? AND rank = ? "
    "ORDER BY id LIMIT 1"
)
_NEWEST = _OLDEST.replace("ORDER BY id", "ORDER BY id DESC")

# A temporary table, where thousands of lanes take no memory.
_LANES_ASLEEP = (
    f"PRAGMA temp.cache_size = -{CACHE_KIB // 4}",
    # With some thousand lanes, the journal of the table would be one more file.
    "PRAGMA temp.journal_mode = MEMORY",
    """
    CREATE TEMP TABLE lanes (
        name TEXT PRIMARY KEY NOT NULL,
        priority INTEGER NOT NULL,
        turn INTEGER NOT NULL
    ) WITHOUT ROWID
    """,
    "CREATE INDEX temp.lanes_in_turn ON lanes (priority, turn)",
)
_ALL_LANES = "INSERT INTO lanes SELECT lane, min(rank) >> 1, min(id) FROM requests GROUP BY lane"
_NEXT_LANES = "SELECT name FROM lanes ORDER BY priority, turn LIMIT ?"
