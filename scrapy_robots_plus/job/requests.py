"""The requests of a job, through one connection to its file.

What was under way when the last run ended waits again. A request that was under way at two kills
may be their cause: it waits until nothing else is left, and then at its old place again, with a
group of such. If the process is killed once more, the next group is a quarter of that. One that is
alone at a kill was the cause, and is set aside.

Requests that do not just wait in a lane are in memory: the file has them from when it is written
until it is opened.

A lane is awake (the crawl knows it) or asleep (the file alone). Those asleep have their turn by
priority, then in the order in which they fell asleep or came; of this, the file says nothing: when
it is opened, all are asleep, in the order of their oldest requests.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from contextlib import suppress
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from .fingerprints import Fingerprints
from .recent import Done, Step
from .schema import (
    CACHE_KIB,
    ELSEWHERE,
    FAULTS,
    Contents,
    Counts,
    JobFileError,
    State,
    StoredRequest,
    checksum,
    read_counts,
    write_counts,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

MOST_BYTES = 999_000_000
"""Of a request: a little less than what SQLite keeps in a row."""
MOST_AT_ONCE = 16
"""Of those that may be why the process was killed."""

_BOOT, _GROUP, UNSORTED, LOSSES = "boot", "suspects at once", "unsorted", "lost"
"""Notes. UNSORTED: the job was converted, and its lanes are not those of a crawl. LOSSES has a line
for each time that damage has taken requests."""
_STOPPED = "stopped"
"""Stands in the place of the id of a start of the machine, and is none."""

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
        for statement in _LANES:
            self._run(statement)
        self._run("BEGIN IMMEDIATE")
        self.written = counts = read_counts(self._run)
        """What the file itself says."""
        self.held = counts.waiting
        """Requests that wait in lanes."""
        self.stored = counts.stored
        """Requests in any state: waiting, under way, set aside."""
        rows = map(_whole, self._run(_ELSEWHERE).fetchall())
        self._elsewhere = {row.id: row for row in rows if row.state != WAITING}
        """All requests that do not wait in lanes, by id."""
        self._last_id: int = self._run("SELECT max(id) FROM requests").fetchone()[0] or 0
        self._fingerprints = Fingerprints(connection)
        self.done = list[Done]()
        """What has happened since it was last written, or since somebody has taken this away."""
        self.awake = set[str]()
        self.asleep = 0
        """How many lanes are asleep."""
        self._turns = 0

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
        self.stored += 1
        self.done.append((Step.ADD, id_, lane, rank, data))

    @guarded
    def take(self, lane: str, rank: int, *, newest: bool) -> StoredRequest | None:
        """The newest or oldest that waits; it is under way from now on, until :meth:`end`. None if
        there is none. Its lane is awake from now on.

        If it is a suspect, commit before it is sent. If :attr:`group` is 1, send nothing else: if
        the process is killed while it is under way, the next run sets it aside.
        """
        if lane not in self.awake:
            self.wake_one(lane)
        row = self._next(lane, rank, newest)
        return None if row is None else self._move(row, UNDER_WAY)

    @guarded
    def recall(self) -> bool:
        """Lets a group of those that were under way at two kills or more wait at their old places
        again, in lanes that are asleep. Returns whether there are any.

        Only when nothing else waits and nothing is under way.
        """
        last = self.requests(LAST)
        if len(last) == self.stored - self.aside == 1:
            self._set_group(1)
        for row in last[: self.group]:
            self.awake.discard(row.lane)
            self._move(row, WAITING)
        return bool(last)

    @guarded
    def end(self, id_: int) -> None:
        """The request that was under way is dealt with."""
        if self._is_out(id_):
            del self._elsewhere[id_]
            self.stored -= 1
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

    @property
    def group(self) -> int:
        """How many of the last may be under way at a time: fewer after each kill."""
        return int(self.note(_GROUP) or MOST_AT_ONCE)

    # Lanes

    @guarded
    def contents(self, lane: str) -> Contents:
        """What waits in *lane*."""
        return self._contents("lane = ?", lane).get(lane, {})

    @guarded
    def wake(self, most: int) -> dict[str, Contents]:
        """Up to *most* lanes that are asleep, -1 for all, in turn. They are awake from now on."""
        found = [name for (name,) in self._run(_IN_TURN, (most,))]
        contents = self._contents(f"lane IN ({_IN_TURN})", most)
        if len(contents) != len(found):
            raise sqlite3.DatabaseError("requests are missing")
        self._run(_REMOVE_IN_TURN, (most,))
        self.asleep -= len(found)
        self.awake.update(found)
        return {name: contents[name] for name in found}

    @guarded
    def wake_one(self, lane: str) -> None:
        """Makes this one awake, if it holds a request."""
        if self._run(_REMOVE, (lane,)).rowcount:
            self.asleep -= 1
            self.awake.add(lane)

    @guarded
    def sleep(self, lane: str) -> None:
        """Lets it wait for its turn after all of its priority that are asleep now, if it holds a
        request.
        """
        if lane in self.awake:
            self.awake.remove(lane)
            first = self._run(_FIRST, (lane,)).fetchone()
            if first is not None:
                self._fall_asleep(lane, first[0])

    def _let_all_sleep(self) -> None:
        """In the order of their oldest requests."""
        self.awake.clear()
        self._run("DELETE FROM lanes")
        self.asleep = self._run(_ALL_SLEEP).rowcount
        self._turns = self._last_id

    def rename(self, name_of: Callable[[bytes], str | None]) -> None:
        """Lets each that waits wait in the lane *name_of* its data, if that is not None. All lanes
        are asleep afterwards, in the order of their oldest requests.
        """
        moved = "UPDATE requests SET lane = ?, crc = ? WHERE id = ?"
        for fields in self._run("SELECT * FROM requests ORDER BY id"):  # which stay as they are
            id_, old, rank, data, *_ = _whole(fields, WAITING)
            lane = name_of(data)
            if lane is not None and lane != old:
                self._run(moved, (lane, checksum(id_, lane, rank, data), id_))
        self._let_all_sleep()

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

    # Between two runs

    @guarded
    def stop(self) -> None:
        """The run was told to end. Whoever kills it from now on does not wait for that: no request
        is to blame.
        """
        if self.note(_BOOT) != _STOPPED:
            self.set_note(_BOOT, _STOPPED)

    def resume(self, boot: str, *, was_killed: bool) -> tuple[list[StoredRequest], int]:
        """What was under way waits, and all lanes are asleep.

        *boot*: the id of this start of the machine. If it was another when the last run was killed,
        or that had been told to end, no request is to blame. Returns what is set aside now, and how
        many requests that were under way are gone.
        """
        gone = [id_ for id_, row in self._elsewhere.items() if not row.is_whole]
        for id_ in gone:
            del self._elsewhere[id_]
        self.stored -= len(gone)
        for fields in self._run(_ELSEWHERE).fetchall():  # those that wait
            self._move(_whole(fields), LAST)
        is_blamed = was_killed and self.note(_BOOT) in (None, boot)
        group, aside = self.group, list[StoredRequest]()
        for row in self.requests(UNDER_WAY):
            is_found = is_blamed and row.is_suspect
            if is_found:
                group = max(1, self.group // 4)
            if is_blamed or not was_killed:  # of a stop, none is the cause
                row = row._replace(hard_ends=(row.hard_ends + 1) * is_blamed)
            if is_found and self.group == 1:
                aside.append(self._move(row, SET_ASIDE))
            else:
                self._move(row, LAST if row.is_suspect else WAITING)
        self.set_note(_BOOT, boot)
        self._set_group(group if self.last and not aside else MOST_AT_ONCE)
        self._let_all_sleep()
        return aside, len(gone)

    def redo(self, done: Iterable[Done]) -> None:
        """Does what was done after the file was written. What damage has taken is left."""
        self._withdraw()
        for step, *values in done:
            match step:
                case Step.ADD:
                    self._add_again(*values)
                case Step.MOVE:
                    self._move_again(*values)
                case Step.END:
                    self._move_again(values[0], UNDER_WAY)
                    self.end(values[0])
                case Step.SEE:
                    self.see(*values)
                case Step.NOTE:
                    self.set_note(*values)

    def _add_again(self, id_: int, lane: str, rank: int, data: bytes) -> None:
        if not self._find(id_):
            self._last_id = id_ - 1
            self.add(lane, rank, data)

    def _move_again(self, id_: int, state: State) -> None:
        row = self._elsewhere.get(id_) or self._find(id_)
        if row is None:  # damage has taken it: nothing is known but that it was there
            row = self._elsewhere[id_] = StoredRequest(id_, "", 0, b"", -1, state=UNDER_WAY)
        if row.state == SET_ASIDE:
            row = row._replace(hard_ends=0)
        if row.is_whole or state != WAITING:
            self._move(row, state)

    def count_again(self) -> int:
        """After damage, corrects :attr:`stored`. Returns how many requests are missing."""
        (waiting,) = self._run("SELECT count(*) FROM requests").fetchone()
        found: int = waiting + len(self._elsewhere)
        missing, self.stored = self.stored - found, found
        return missing

    def stage(self, running: int = 1) -> Counts:
        """All but the commit: whoever asks the connection sees everything."""
        self._fingerprints.write()
        self._run_many(_INSERT, self._elsewhere.values())
        generation = self.written.generation + 1
        counts = Counts(self.held, self.stored, running, generation)
        write_counts(self._run, counts)
        return counts

    def save(self, running: int = 1) -> None:
        """Writes everything into the file itself."""
        counts = self.stage(running)
        self._run("COMMIT")
        self.written = counts
        self.done.clear()
        self._run("BEGIN IMMEDIATE")
        self._withdraw()

    def give_up(self) -> None:
        """Drops what is not saved. What is under way is not to blame for the end."""
        with suppress(sqlite3.Error):  # some errors have already ended it
            self._run("ROLLBACK")
        self._run("BEGIN IMMEDIATE")
        write_counts(self._run, read_counts(self._run)._replace(running=0))
        self._run("COMMIT")

    def _withdraw(self) -> None:
        """Leaves only those that wait in the table."""
        self._run_many(_DELETE, ((id_,) for id_ in self._elsewhere))

    def _set_group(self, size: int) -> None:
        self.set_note(_GROUP, str(size))

    def _next(self, lane: str, rank: int, newest: bool) -> StoredRequest | None:
        """As it is under way."""
        found = self._run(_NEWEST if newest else _OLDEST, (lane, rank)).fetchone()
        if found is None:
            return None
        id_, data, crc, hard_ends, state = found
        row = StoredRequest(id_, lane, rank, data, crc, hard_ends, UNDER_WAY)
        if state != WAITING or not row.is_whole:
            raise sqlite3.DatabaseError(f"request {id_} is malformed")
        return row

    def _find(self, id_: int) -> StoredRequest | None:
        """One that waits."""
        found = self._run("SELECT * FROM requests WHERE id = ?", (id_,)).fetchone()
        return None if found is None else _whole(found, WAITING)

    def _is_out(self, id_: int) -> bool:
        return id_ in self._elsewhere and self._elsewhere[id_].state == UNDER_WAY

    def _move(self, row: StoredRequest, state: State) -> StoredRequest:
        """Lets *row* stand in *state* from now on, wherever it stood; returns it as it is then."""
        if row.id not in self._elsewhere:
            if self._run(_DELETE, (row.id,)).rowcount != 1:
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
        self._run(_INSERT, row)  # it may refuse, and then no lane is changed
        if row.lane not in self.awake:
            found = self._run("SELECT priority FROM lanes WHERE name = ?", (row.lane,)).fetchone()
            if found is None:
                self._fall_asleep(row.lane, row.priority)
            elif row.priority < found[0]:
                self._run(_SET_PRIORITY, (row.priority, row.lane))
        self.held += 1

    def _fall_asleep(self, lane: str, priority: int) -> None:
        self._run("INSERT INTO lanes VALUES (?, ?, ?)", (lane, priority, self._turns + 1))
        self._turns += 1
        self.asleep += 1

    def _contents(self, which: str, value: Any) -> dict[str, Contents]:
        """Of those lanes that hold a request."""
        contents: defaultdict[str, Contents] = defaultdict(dict)
        rows = self._run(
            f"SELECT lane, rank, count(*) FROM requests WHERE {which} GROUP BY lane, rank",  # noqa: S608
            (value,),
        )
        for lane, rank, count in rows:
            contents[lane][rank] = count
        return contents


def _whole(fields: Collection[Any], *states: State) -> StoredRequest:
    """Raises sqlite3.DatabaseError unless *fields* are those of a request, in one of *states*."""
    if len(fields) == len(StoredRequest._fields):
        row = StoredRequest(*fields)
        if row.is_whole and row.state in (states or set(State)):
            return row
    raise sqlite3.DatabaseError(f"request {next(iter(fields))} is malformed")


_LANES = (
    # Those that are asleep, in a file of SQLite's own that no other process sees.
    f"PRAGMA temp.cache_size = -{CACHE_KIB // 4}",
    # With some thousand lanes, its journal would be one more file.
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
_ALL_SLEEP = "INSERT INTO lanes SELECT lane, min(rank) >> 1, min(id) FROM requests GROUP BY lane"
_FIRST = "SELECT rank >> 1 FROM requests WHERE lane = ? ORDER BY rank LIMIT 1"
_IN_TURN = "SELECT name FROM lanes ORDER BY priority, turn LIMIT ?"
_REMOVE = "DELETE FROM lanes WHERE name = ?"
_REMOVE_IN_TURN = f"DELETE FROM lanes WHERE name IN ({_IN_TURN})"  # noqa: S608
_SET_PRIORITY = "UPDATE lanes SET priority = ? WHERE name = ?"
_INSERT = "INSERT INTO requests VALUES (?, ?, ?, ?, ?, ?, ?)"
_DELETE = "DELETE FROM requests WHERE id = ?"
_ELSEWHERE = f"SELECT * FROM requests WHERE {ELSEWHERE}"  # noqa: S608
_OLDEST = (
    "SELECT id, data, crc, hard_ends, state FROM requests WHERE lane = ? AND rank = ? "
    "ORDER BY id LIMIT 1"
)
_NEWEST = _OLDEST.replace("ORDER BY id", "ORDER BY id DESC")
