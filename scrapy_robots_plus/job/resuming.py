"""The requests of a job from one run to the next: what is written of a run, and how it is resumed.

What was under way when the last run ended waits again. A request that was under way at two kills
may be their cause: it waits until nothing else is left, and then at its old place again, with a
group of such. If the process is killed once more, those that were under way come first, in groups
of a quarter of that. One that is alone at a kill was the cause, and is set aside.
"""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from typing import TYPE_CHECKING

from .recent import Done, Step
from .requests import DELETE, INSERT, JobRequests, guarded
from .schema import (
    ELSEWHERE,
    SUSPECT_AFTER,
    Counts,
    State,
    StoredRequest,
    checksum,
    read_counts,
    whole,
    write_counts,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

MOST_AT_ONCE = 16
"""Of those that may be why the process was killed twice; a quarter with each kill more."""

_BOOT = "boot"
"""A note: the id of the start of the machine at which the run began."""
_STOPPED = "stopped"
"""Stands in the place of the id of a start of the machine, and is none."""


class ResumedRequests(JobRequests):
    """What is done with all of them at the begin and the end of a run, and now and then."""

    @guarded
    def stop(self) -> None:
        """The run was told to end. Whoever kills it from now on does not wait for that: no request
        is to blame.
        """
        if self.note(_BOOT) != _STOPPED:
            self.set_note(_BOOT, _STOPPED)

    def resume(self, boot: str, *, was_killed: bool) -> list[StoredRequest]:
        """What was under way waits, and all lanes are asleep. Returns what is set aside now.

        *boot*: the id of this start of the machine. If it was another when the last run was killed,
        or that had been told to end, no request is to blame.
        """
        gone = [id_ for id_, row in self._elsewhere.items() if not row.is_whole]
        for id_ in gone:
            del self._elsewhere[id_]
        self.missing += len(gone)
        for fields in self._run(ELSEWHERE).fetchall():  # those that wait
            self._move(whole(fields), State.LAST)
        is_blamed = was_killed and self.note(_BOOT) in (None, boot)
        under_way, aside = self.requests(State.UNDER_WAY), list[StoredRequest]()
        is_alone = len(under_way) == 1 and not gone
        for row in under_way:
            is_found = is_blamed and is_alone and row.is_suspect
            if is_blamed or not was_killed:  # of a stop, none is the cause
                row = row._replace(hard_ends=row.hard_ends + 1 if is_blamed else 0)
            if is_found:
                aside.append(self._move(row, State.SET_ASIDE))
            else:
                self._move(row, State.LAST if row.is_suspect else State.WAITING)
        self.set_note(_BOOT, boot)
        self._lanes.add_all(self._last_id)
        return aside

    @guarded
    def recall(self) -> bool:
        """Lets a group of those that were under way at two kills or more wait at their old places
        again, in lanes that are asleep: of those with the most kills. Returns whether there are
        any.

        Only when nothing else waits and nothing is under way.
        """
        last = self.requests(State.LAST)
        kills = max((row.hard_ends for row in last), default=0)
        most = max(1, MOST_AT_ONCE >> 2 * max(0, kills - SUSPECT_AFTER))
        for row in [row for row in last if row.hard_ends == kills][:most]:
            self.awake.discard(row.lane)
            self._move(row, State.WAITING)
        return bool(last)

    def rename(self, name_of: Callable[[bytes], str | None]) -> None:
        """Lets each that waits wait in the lane *name_of* its data, if that is not None. All lanes
        are asleep afterwards, in the order of their oldest requests.
        """
        moved = "UPDATE requests SET lane = ?, crc = ? WHERE id = ?"
        for fields in self._run("SELECT * FROM requests ORDER BY id"):  # which stay as they are
            id_, old, rank, data, *_ = whole(fields, State.WAITING)
            lane = name_of(data)
            if lane is not None and lane != old:
                self._run(moved, (lane, checksum(id_, lane, rank, data), id_))
        self._lanes.add_all(self._last_id)

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
                    self._move_again(values[0], State.UNDER_WAY)
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
            row = StoredRequest(id_, "", 0, b"", -1, state=State.UNDER_WAY)
            self._elsewhere[id_] = row
            self.missing -= 1
        if row.state == State.SET_ASIDE:
            row = row._replace(hard_ends=0)
        if row.is_whole or state != State.WAITING:
            self._move(row, state)

    def stage(self, running: int = 1) -> Counts:
        """All but the commit: whoever asks the connection sees everything."""
        self._fingerprints.write()
        self._run_many(INSERT, self._elsewhere.values())
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
        self._run_many(DELETE, ((id_,) for id_ in self._elsewhere))
