"""The requests of a job, through one connection to its file.

What was under way when the last run ended waits again. A request that was under way at two kills
may be their cause: it waits until nothing else is left, and is then added to its lane, with a group
of such. If the process is killed once more, the next group is a quarter of that. One that is alone
at a kill was the cause, and is set aside.

A lane is awake (the crawl knows it) or asleep (the file alone). Those asleep have their turn by
priority, then in the order in which they fell asleep or came.
"""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from .fingerprints import Fingerprints
from .recent import Done, Step
from .schema import (
    SUSPECT_AFTER,
    AsideRequest,
    Contents,
    Counts,
    LaneRow,
    Row,
    State,
    Taken,
    checksum,
    note_of,
    read_counts,
    write_counts,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

MOST_BYTES = 999_000_000
"""Of a request: a little less than what SQLite keeps in a row."""
MOST_AT_ONCE = 16
"""Of those that may be why the process was killed."""

_BOOT, _GROUP = "boot", "suspects at once"
LOSSES = "lost"
"""Notes; LOSSES has a line for each time that damage has taken requests, until it is accepted."""


class JobRequests:
    """What :class:`~scrapy_robots_plus.job.JobFile` does while all goes well.

    A transaction is always open: it ends with :meth:`commit`. Raises what :mod:`sqlite3` raises; a
    plain DatabaseError for what cannot be without damage.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._run = connection.execute
        self._run("BEGIN IMMEDIATE")
        self.written = counts = read_counts(connection)
        """What the file itself says."""
        self.was_killed = bool(counts.running)
        self.waiting = counts.waiting
        """How many requests wait in lanes."""
        self.stored = counts.stored
        """How many requests there are, in any state."""
        self._turns = counts.turns
        self.under_way: dict[int, State] = {}
        """By id. The file hears of those that are left when it is written."""
        numbers = Counter[State]()
        for id_, state in self._run("SELECT * FROM states"):
            numbers[state] += 1
            if state in (State.UNDER_WAY, State.ALONE):
                self.under_way[id_] = State(state)
        self.last, self.aside = numbers[State.LAST], numbers[State.ASIDE]
        self._ended = set[int]()
        """Requests that are dealt with, until the file is written."""
        self._last_id: int = self._run("SELECT max(id) FROM requests").fetchone()[0] or 0
        self._fingerprints = Fingerprints(connection)
        self.done = list[Done]()
        """What has happened since it was last written, or since somebody has taken this away."""
        self.asleep: int = self._run("SELECT count(*) FROM lanes").fetchone()[0]
        """How many lanes are asleep."""
        names = str(self._run("SELECT names FROM awake").fetchone()[0])
        self.awake = dict.fromkeys(names.split("\0") if names else ())

    # Requests

    def add(
        self, lane: str, priority: int, data: bytes, *, starts: bool = False, hard_ends: int = 0
    ) -> None:
        """Lets *data* wait in *lane*. A new lane is asleep.

        *hard_ends*: those of the request so far, if it is one of the last. Raises ValueError for
        what cannot be stored: more than 1 GB, a name that is not Unicode, a priority of more than
        64 bits.
        """
        if len(data) > MOST_BYTES:
            raise ValueError(f"a request of {len(data):,} bytes is too long for the job's file")
        id_ = self._last_id + 1
        crc = checksum(id_, lane, priority, starts, data)
        self._wait(lane, priority, starts, id_, hard_ends)
        row = (id_, lane, priority, starts, data, crc, hard_ends)
        self._run("INSERT INTO requests VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        self._last_id = id_
        self.stored += 1
        self.done.append((Step.ADD, id_, lane, priority, data, starts, hard_ends))

    def take(self, lane: str, priority: int, *, starts: bool, newest: bool) -> Taken | None:
        """The newest or oldest that waits; it is under way from now on. None if there is none.

        If it was under way at two kills or more, commit before it is sent. If :attr:`group` is 1,
        send nothing else: if the process is killed while it is under way, the next run sets it
        aside.
        """
        row = self._next(lane, priority, starts, newest)
        if row is None:
            return None
        self._set_out(row)
        self.done.append((Step.OUT, row.id))
        return Taken(row.id, row.data, row.hard_ends)

    def peek(self, lane: str, priority: int, *, starts: bool, newest: bool) -> bytes | None:
        """The data of what :meth:`take` would return."""
        row = self._next(lane, priority, starts, newest)
        return None if row is None else row.data

    def take_last(self) -> Taken | None:
        """One of those that were under way at two kills or more, to be added to a lane again.

        Only when nothing else waits and nothing is under way.
        """
        if self.last == 1 and not self.stored - self.aside > 1:
            self._set_group(1)
        row = self._run("SELECT min(id) FROM states WHERE state = ?", (State.LAST,)).fetchone()
        if row[0] is None:
            return None
        found = self._request(row[0])
        self._set_out_last(found.id)
        self.done.append((Step.LAST, found.id))
        return Taken(found.id, found.data, found.hard_ends)

    def end(self, id_: int) -> None:
        """The request that was under way is dealt with."""
        if self.under_way.pop(id_, None):
            self._ended.add(id_)
            self.stored -= 1
            self.done.append((Step.END, id_))

    def give_back(self, id_: int) -> None:
        """The request that was under way waits again, at its old place."""
        if self.under_way.pop(id_, None):
            self._put_in_place(id_)
            self.done.append((Step.BACK, id_))

    def set_aside(self, id_: int) -> None:
        """The request that was under way is not handed out any more."""
        if self.under_way.pop(id_, None):
            self._enter(id_, State.ASIDE)
            self.aside += 1
            self.done.append((Step.ASIDE, id_))

    def retry(self, ids: Collection[int] | None = None) -> list[AsideRequest]:
        """Those that are set aside, all or these, wait again at their old places; returns them."""
        requests = [each for each in self.requests(State.ASIDE) if ids is None or each.id in ids]
        self.aside -= len(requests)
        for each in requests:
            self._run("UPDATE requests SET hard_ends = 0 WHERE id = ?", (each.id,))
            self._run("DELETE FROM states WHERE id = ?", (each.id,))
            self._put_in_place(each.id)
        self.done.append((Step.RETRY, [each.id for each in requests]))
        return requests

    def requests(self, state: State) -> list[AsideRequest]:
        """All that stand so; not for those under way."""
        rows = self._run(
            "SELECT id, lane, data, hard_ends FROM states JOIN requests USING (id) "
            "WHERE state = ? ORDER BY id",
            (state,),
        )
        return [AsideRequest(*row) for row in rows]

    @property
    def group(self) -> int:
        """How many of the last may be under way at a time: fewer after each kill."""
        return int(self.note(_GROUP) or MOST_AT_ONCE)

    @property
    def losses(self) -> list[str]:
        """What damage has taken from the job, in words, until somebody has accepted it."""
        return (self.note(LOSSES) or "").splitlines()

    # Lanes

    def contents(self, lane: str) -> Contents:
        """What waits in *lane*."""
        return self._contents("lane = ?", lane).get(lane, {})

    def holds(self, lane: str) -> bool:
        """Whether a request waits in *lane*."""
        return self._first_priority(lane) is not None

    def names(self) -> list[str]:
        """Of all lanes that hold a request. They are asleep afterwards."""
        self.set_awake(())
        return [name for (name,) in self._run(_IN_TURN, (-1,))]

    def wake(self, most: int) -> list[LaneRow]:
        """Up to *most* lanes that are asleep, in turn. They are awake from now on.

        Raises sqlite3.DatabaseError if some are missing.
        """
        found = [name for (name,) in self._run(_IN_TURN, (most,))]
        contents = self._contents(f"lane IN ({_IN_TURN})", most)
        if len(found) != min(most, self.asleep) or len(contents) != len(found):
            raise sqlite3.DatabaseError("requests are missing")
        if any(name in self.awake for name in found):  # as below: it was not removed
            raise sqlite3.DatabaseError("a lane is not where it belongs")
        self._connection.executemany(_REMOVE, ((name,) for name in found))
        self.asleep -= len(found)
        self.awake.update(dict.fromkeys(found))
        return [LaneRow(name, min(contents[name])[0], contents[name]) for name in found]

    def wake_one(self, lane: str) -> None:
        """Makes this one awake, if it holds a request."""
        if self._run(_REMOVE, (lane,)).rowcount:
            self.asleep -= 1
            self.awake[lane] = None

    def sleep(self, lane: str) -> None:
        """Lets it wait for its turn after all of its priority that are asleep now, if it holds a
        request.
        """
        if lane in self.awake:
            del self.awake[lane]
            first = self._first_priority(lane)
            if first is not None:
                self._fall_asleep(lane, first)

    def set_awake(self, lanes: Collection[str]) -> None:
        """Makes these lanes awake, and no others, whether they hold a request or not."""
        for lane in [each for each in self.awake if each not in lanes]:
            self.sleep(lane)
        for lane in lanes:
            self.wake_one(lane)
        self.awake = dict.fromkeys(lanes)

    # What else is kept

    def see(self, fingerprint: bytes) -> bool:
        """Whether it was new. It is in the same transaction as what follows."""
        is_new = self._fingerprints.add(fingerprint)
        if is_new:
            self.done.append((Step.SEE, fingerprint))
        return is_new

    def forget(self, fingerprint: bytes) -> None:
        """Makes it new again: the request with this fingerprint could not be stored."""
        self._fingerprints.forget(fingerprint)
        self.done.append((Step.FORGET, fingerprint))

    def note(self, key: str) -> str | None:
        """What :meth:`set_note` has kept for *key*."""
        return note_of(self._connection, key)

    def set_note(self, key: str, value: str) -> None:
        """Keeps *value* with the requests."""
        self._run("REPLACE INTO notes VALUES (?, ?)", (key, value))
        self.done.append((Step.NOTE, key, value))

    # Between two runs

    def resume(self, boot: str) -> tuple[list[AsideRequest], int]:
        """All lanes sleep, and what was under way waits.

        *boot*: the id of this start of the machine. If it was another when the last run was killed,
        no request is to blame. Returns what is set aside now, and how many requests that were under
        way are gone.
        """
        gone = [id_ for id_ in self.under_way if not self._is_there(id_)]
        for id_ in gone:
            del self.under_way[id_]
        self.stored -= len(gone)
        for each in self.requests(State.NEXT):
            self._stop_waiting(self._request(each.id))
            self._enter(each.id, State.LAST)
            self.last += 1
        blame = self.was_killed and self.note(_BOOT) in (None, boot)
        group, aside = self.group, list[AsideRequest]()
        if blame and any(
            state == State.UNDER_WAY and self._request(id_).hard_ends >= SUSPECT_AFTER
            for id_, state in self.under_way.items()
        ):
            group = max(1, group // 4)
        for id_, state in sorted(self.under_way.items()):
            if blame or not self.was_killed:  # of a stop, none is the cause
                count = "UPDATE requests SET hard_ends = (hard_ends + 1) * ? WHERE id = ?"
                self._run(count, (blame, id_))
            row = self._request(id_)
            if blame and state == State.ALONE:
                self._enter(id_, State.ASIDE)
                self.aside += 1
                aside.append(AsideRequest(id_, row.lane, row.data, row.hard_ends))
            elif row.hard_ends >= SUSPECT_AFTER:
                self._enter(id_, State.LAST)
                self.last += 1
            else:
                self._put_in_place(id_)
        self.under_way.clear()
        self.set_note(_BOOT, boot)
        self._set_group(group if self.last and not aside else MOST_AT_ONCE)
        return aside, len(gone)

    def redo(self, done: Iterable[Done]) -> None:
        """Does again what was done after the file was written. What damage has taken is left."""
        for step, *values in done:
            match step:
                case Step.ADD:
                    id_, lane, priority, data, starts, hard_ends = values
                    if not self._is_there(id_):
                        self._last_id = id_ - 1
                        self.add(lane, priority, data, starts=starts, hard_ends=hard_ends)
                case Step.OUT:
                    self._set_out_again(*values)
                case Step.END:
                    if values[0] not in self._ended and values[0] not in self.under_way:
                        self._set_out_again(*values)
                    self.end(*values)
                case Step.BACK:
                    with suppress(sqlite3.DatabaseError):
                        self.give_back(*values)
                case Step.ASIDE:
                    self.set_aside(*values)
                case Step.LAST:
                    self._set_out_last(*values)
                case Step.RETRY:
                    self.retry(*values)
                case Step.SEE:
                    self.see(*values)
                case Step.FORGET:
                    self.forget(*values)
                case Step.NOTE:
                    self.set_note(*values)

    def count_again(self) -> int:
        """After damage, corrects :attr:`stored`. Returns how many requests are missing."""
        self.stage()
        found: int = self._run(_COUNT).fetchone()[0]
        missing, self.stored = self.stored - found, found
        return missing

    def stage(self, running: int = 1) -> Counts:
        """All but the commit: whoever asks the connection sees everything."""
        self._fingerprints.write()
        ended = ((id_,) for id_ in sorted(self._ended))
        self._connection.executemany("DELETE FROM requests WHERE id = ?", ended)
        self._ended.clear()
        self._run("DELETE FROM states WHERE state IN (?, ?)", (State.UNDER_WAY, State.ALONE))
        self._connection.executemany(_ENTER, self.under_way.items())
        self._run("UPDATE awake SET names = ?", ("\0".join(self.awake),))
        counts = Counts(
            self.waiting, self.stored, self._turns, running, self.written.generation + 1
        )
        write_counts(self._connection, counts)
        return counts

    def commit(self, running: int = 1) -> None:
        """Writes everything into the file itself."""
        counts = self.stage(running)
        self._run("COMMIT")
        self.written = counts
        self.done.clear()
        self._run("BEGIN IMMEDIATE")

    def give_up(self) -> None:
        """Drops what is not committed. What is under way is not to blame for the end."""
        if self._connection.in_transaction:  # some errors have already ended it
            self._run("ROLLBACK")
        self._run("BEGIN IMMEDIATE")
        write_counts(self._connection, self.written._replace(running=0))
        self._run("COMMIT")

    def vacuum(self, into: str | None = None) -> None:
        """Gives free space back to the disk, or writes all that is committed to a new file."""
        self._run("ROLLBACK")
        self._run("VACUUM INTO ?", (into,)) if into else self._run("VACUUM")
        self._run("BEGIN IMMEDIATE")

    def _set_group(self, size: int) -> None:
        self.set_note(_GROUP, str(size))

    def _next(self, lane: str, priority: int, starts: bool, newest: bool) -> Row | None:
        found = self._run(_NEWEST if newest else _OLDEST, (lane, priority, starts)).fetchone()
        if found is None:
            return None
        row = _whole(found[0], found[1:])
        # Where keys are out of order, SQLite takes another row away than it was told to.
        is_again = row.id in self.under_way or row.id in self._ended
        if is_again or (row.lane, row.priority, row.starts) != (lane, priority, starts):
            raise sqlite3.DatabaseError(f"request {row.id} is not where it belongs")
        return row

    def _request(self, id_: int) -> Row:
        fields = self._run("SELECT * FROM requests WHERE id = ?", (id_,)).fetchone()
        return _whole(id_, fields or ())

    def _is_there(self, id_: int) -> bool:
        return bool(self._run("SELECT 1 FROM requests WHERE id = ?", (id_,)).fetchone())

    def _set_out(self, row: Row) -> None:
        self._stop_waiting(row)
        state = State.UNDER_WAY
        if row.hard_ends >= SUSPECT_AFTER:
            self._run("DELETE FROM states WHERE id = ?", (row.id,))
            state = State.ALONE if self.group == 1 else state
        self.under_way[row.id] = state

    def _set_out_again(self, id_: int) -> None:
        """Of a request that damage has taken, only its state is kept."""
        try:
            self._set_out(self._request(id_))
        except sqlite3.DatabaseError:
            self.under_way[id_] = State.UNDER_WAY
            return
        self.done.append((Step.OUT, id_))

    def _set_out_last(self, id_: int) -> None:
        self._run("DELETE FROM states WHERE id = ?", (id_,))
        self.under_way[id_] = State.UNDER_WAY
        self.last -= 1

    def _put_in_place(self, id_: int) -> None:
        row = self._request(id_)
        self._wait(row.lane, row.priority, bool(row.starts), id_, row.hard_ends)

    def _wait(self, lane: str, priority: int, starts: bool, id_: int, hard_ends: int) -> None:
        if lane not in self.awake:
            found = self._run("SELECT priority FROM lanes WHERE name = ?", (lane,)).fetchone()
            if found is None:
                self._fall_asleep(lane, priority)
            elif priority < found[0]:
                self._run(_SET_PRIORITY, (priority, lane))
        self._run("INSERT INTO waiting VALUES (?, ?, ?, ?)", (lane, priority, starts, id_))
        if hard_ends >= SUSPECT_AFTER:
            self._enter(id_, State.NEXT)
        self.waiting += 1

    def _stop_waiting(self, row: Row) -> None:
        self._run(_STOP_WAITING, (row.lane, row.priority, row.starts, row.id))
        self.waiting -= 1
        if row.lane in self.awake:
            return
        first = self._first_priority(row.lane)
        if first is None:
            self._run(_REMOVE, (row.lane,))
            self.asleep -= 1
        elif first != row.priority:
            self._run(_SET_PRIORITY, (first, row.lane))

    def _first_priority(self, lane: str) -> int | None:
        """Of the most urgent request in the lane; None if it holds none."""
        first = "SELECT priority FROM waiting WHERE lane = ? ORDER BY priority LIMIT 1"
        row = self._run(first, (lane,)).fetchone()
        return None if row is None else int(row[0])

    def _fall_asleep(self, lane: str, priority: int) -> None:
        self._run("INSERT INTO lanes VALUES (?, ?, ?)", (lane, priority, self._turns + 1))
        self._turns += 1
        self.asleep += 1

    def _contents(self, which: str, value: Any) -> dict[str, Contents]:
        """Of those lanes that hold a request."""
        contents: defaultdict[str, Contents] = defaultdict(dict)
        rows = self._run(
            f"SELECT lane, priority, starts, count(*) FROM waiting WHERE {which} "  # noqa: S608
            "GROUP BY lane, priority, starts",
            (value,),
        )
        for lane, priority, starts, count in rows:
            contents[lane][priority, bool(starts)] = count
        return contents

    def _enter(self, id_: int, state: State) -> None:
        self._run(_ENTER, (id_, state))


def _whole(id_: int, fields: Collection[Any]) -> Row:
    """Raises sqlite3.DatabaseError unless *fields* are those of the request *id_*."""
    if len(fields) == len(Row._fields) and (row := Row(*fields)).id == id_ and row.is_whole:
        return row
    raise sqlite3.DatabaseError(f"request {id_} is malformed")


_ENTER = "REPLACE INTO states VALUES (?, ?)"
_STOP_WAITING = "DELETE FROM waiting WHERE lane = ? AND priority = ? AND starts = ? AND id = ?"
_IN_TURN = "SELECT name FROM lanes ORDER BY priority, turn LIMIT ?"
_REMOVE = "DELETE FROM lanes WHERE name = ?"
_SET_PRIORITY = "UPDATE lanes SET priority = ? WHERE name = ?"
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
