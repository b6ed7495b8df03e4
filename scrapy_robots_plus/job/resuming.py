"""The requests of a job from one run to the next: how a run is saved, and how it is resumed.

Requests that were under way when the last run ended wait again. One that was under way at two kills
is a suspect, as it may be their cause: it waits until nothing else is left, and is then sent in a
group of suspects. If the process is killed once more, those that were under way are sent first, in
groups of a quarter of that size. One that is alone at a kill was the cause, and is set aside.
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
"""The largest group of suspects after two kills; each further kill quarters it."""

_BOOT = "boot"
"""The key of a note with the id of the machine's boot in which the run began."""
_STOPPED = "stopped"
"""The value of the boot note once the run was told to end. It is no id of a boot."""


class ResumedRequests(JobRequests):
    """The part of :class:`~scrapy_robots_plus.job.JobFile` that resumes, saves and ends runs."""

    @guarded
    def stop(self) -> None:
        """Notes that the run was told to end: no request is to blame for a kill from now on."""
        if self.note(_BOOT) != _STOPPED:
            self.set_note(_BOOT, _STOPPED)

    def resume(self, boot: str, *, was_killed: bool) -> list[StoredRequest]:
        """Makes requests under way wait again, all lanes asleep; returns the ones it sets aside.

        *boot* is the id of the machine's current boot. No request is to blame for a kill if the
        last run began in another boot, or had been told to end.
        """
        gone = [id_ for id_, row in self._elsewhere.items() if not row.is_whole]
        for id_ in gone:
            del self._elsewhere[id_]
        self.missing += len(gone)
        for fields in self._run(ELSEWHERE).fetchall():  # suspects that wait in lanes
            self._move(whole(fields), State.LAST)
        is_blamed = was_killed and self.note(_BOOT) in (None, boot)
        under_way, aside = self.requests(State.UNDER_WAY), list[StoredRequest]()
        is_alone = len(under_way) == 1 and not gone
        for row in under_way:
            is_found = is_blamed and is_alone and row.is_suspect
            if is_blamed or not was_killed:  # a proper stop clears them
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
        """Lets a group of suspects wait at their old places again; returns whether there are any.

        The group is of those with the most kills, and its lanes are asleep. Call this only when
        nothing else waits and nothing is under way.
        """
        last = self.requests(State.LAST)
        kills = max((row.hard_ends for row in last), default=0)
        most = max(1, MOST_AT_ONCE >> 2 * max(0, kills - SUSPECT_AFTER))
        for row in [row for row in last if row.hard_ends == kills][:most]:
            self.awake.discard(row.lane)
            self._move(row, State.WAITING)
        return bool(last)

    def rename(self, name_of: Callable[[bytes], str | None]) -> None:
        """Moves requests that wait to the lanes that *name_of* returns for their data, if not None.

        All lanes are asleep afterwards, in the order of their oldest requests.
        """
        moved = "UPDATE requests SET lane = ?, crc = ? WHERE id = ?"
        for fields in self._run("SELECT * FROM requests ORDER BY id"):  # no id changes
            id_, old, rank, data, *_ = whole(fields, State.WAITING)
            lane = name_of(data)
            if lane is not None and lane != old:
                self._run(moved, (lane, checksum(id_, lane, rank, data), id_))
        self._lanes.add_all(self._last_id)

    def redo(self, done: Iterable[Done]) -> None:
        """Repeats the steps done after the file was written. What damage took stays lost."""
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
        if row is None:  # damage took it: we know only that it was there
            row = StoredRequest(id_, "", 0, b"", -1, state=State.UNDER_WAY)
            self._elsewhere[id_] = row
            self.missing -= 1
        if row.state == State.SET_ASIDE:
            row = row._replace(hard_ends=0)
        if row.is_whole or state != State.WAITING:
            self._move(row, state)

    def stage(self, running: int = 1) -> Counts:
        """Writes everything without a commit: only this connection sees it. Returns the counts."""
        self._fingerprints.write()
        self._run_many(INSERT, self._elsewhere.values())
        generation = self.written.generation + 1
        counts = Counts(self.held, self.stored, running, generation)
        write_counts(self._run, counts)
        return counts

    def save(self, running: int = 1) -> None:
        """Writes everything into the file itself, and begins a new transaction."""
        counts = self.stage(running)
        self._run("COMMIT")
        self.written = counts
        self.done.clear()
        self._run("BEGIN IMMEDIATE")
        self._withdraw()

    def give_up(self) -> None:
        """Drops what is not saved, and marks the run as ended, so that no request is to blame."""
        with suppress(sqlite3.Error):  # some errors have ended the transaction
            self._run("ROLLBACK")
        self._run("BEGIN IMMEDIATE")
        write_counts(self._run, read_counts(self._run)._replace(running=0))
        self._run("COMMIT")

    def _withdraw(self) -> None:
        """Deletes from the table all requests that do not wait."""
        self._run_many(DELETE, ((id_,) for id_ in self._elsewhere))
