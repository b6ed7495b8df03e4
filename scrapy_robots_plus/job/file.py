"""The file of a job: it survives kills, and is mended at the next start if it is damaged.

Requests that were under way when the last run ended wait again. One that was under way at two kills
is a suspect, as it may be their cause: it waits until nothing else is left, and is then sent in a
group of suspects. If the process is killed once more, those that were under way are sent first, in
groups of a quarter of that size. One that is alone at a kill was the cause, and is set aside.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from pathlib import Path

from scrapy_robots_plus.protocol.printable import counted
from scrapy_robots_plus.storage.sqlite_file import identity, is_damage

from .mending import FINGERPRINTS_LOST, MENDED, alone, check_tables, finish_replacing, salvage
from .recent_steps import RecentSteps, Step, read_recent, recent_of
from .requests_in_file import LOSSES, UNSORTED, JobRequests, raises_file_errors
from .schema import (
    ELSEWHERE,
    FAULTS,
    SUSPECT_AFTER,
    UNKNOWN,
    Counts,
    JobFileError,
    RequestState,
    StoredRequest,
    checksum,
    connect,
    explained,
    journal_of,
)

MOST_AT_ONCE = 16
"""The largest group of suspects after two kills; each further kill quarters it."""

_SPIDER = "spider"
"""The key of the note that names the spider."""
_BOOT = "boot"
"""The key of a note with the id of the machine's boot in which the run began."""
_STOPPED = "stopped"
"""The value of the boot note once the run was told to end. It is no id of a boot."""


class JobFile(JobRequests, AbstractContextManager["JobFile"]):
    """The requests of a job, in lanes or under way, and the fingerprints of all requests seen.

    Changes survive a kill from the next :meth:`commit` on: whatever happens to the process, the
    next run finds the state after one of the commits. Priorities are those of Scrapy's queues: the
    lowest number is the most urgent.

    Each method raises JobFileError when the file can no longer be used: the disk is full, or the
    file is damaged or was deleted. It stays as it was after the last commit. When a damaged file is
    opened again, it is mended with all that can be read; see :attr:`lost`.
    """

    def __init__(self, path: Path | str, *, spider: str | None = None) -> None:
        """Opens the file at *path*, or creates it, and resumes the job.

        *spider* is the name of the spider that will send the requests; None for any. Raises
        JobFileError if the file is in use, not ours, of another layout or not writable, or of
        another spider. The file then stays as it is.
        """
        self.path = Path(os.path.realpath(path))
        self.was_killed = False
        """Whether the last run did not close the file."""
        self.recovered = 0
        """The number of requests that were under way when the last run was killed."""
        self.newly_aside = list[StoredRequest]()
        """Requests set aside when this run began: each was under way, alone, at the last kill."""
        self.lost = 0
        """The number of requests lost to damage, as far as they could be counted."""
        self.troubles = list[str]()
        """Messages for the user: what was damaged, and what was saved."""
        self._recent = RecentSteps(recent_of(self.path))
        self._is_open = False
        self._spider = spider
        try:
            self._open()
        except BaseException:
            self._let_go()
            raise
        self._is_open = True

    @raises_file_errors
    def commit(self) -> None:
        """Makes all changes since the last commit survive a kill, as one.

        Never call it between :meth:`see` and the :meth:`add` that belongs to it.
        """
        if identity(self.path, self._size) != self._place:  # it never gets shorter by itself
            what = "was deleted, replaced or emptied while it was in use"
            to_do = "Restore a copy; otherwise the job starts from scratch"
            raise self._failed(JobFileError(self.path, what, to_do))
        if self.path.stat().st_mtime_ns != self._written_at or not self._recent.has_room:
            self._write()  # SQLite may have begun to, with its cache full
        else:
            self._recent.write(self.done)

    @raises_file_errors
    def fail_as_damaged(self) -> None:
        """Raises JobFileError. Call it if requests are counted, but no lane holds any: damage."""
        raise sqlite3.DatabaseError("requests are missing")

    @raises_file_errors
    def sort(self, name_of: Callable[[bytes], str]) -> None:
        """Moves requests of a newly converted job into the lanes that *name_of* returns for them.

        One for which it raises stays where it is. A kill meanwhile leaves all where they were.
        """
        if not self.note(UNSORTED):
            return
        moved = "UPDATE requests SET lane = ?, crc = ? WHERE id = ?"
        for fields in self._run("SELECT * FROM requests ORDER BY id"):  # no id changes
            id_, old, rank, data, *_ = StoredRequest.read(fields, RequestState.WAITING)
            try:
                lane = name_of(data)
            except Exception:  # noqa: BLE001 - it is set aside when its turn comes
                lane = old
            if lane != old:
                self._run(moved, (lane, checksum(id_, lane, rank, data), id_))
        self.put_all_to_sleep()
        self.set_note(UNSORTED, "")
        self._write()

    @raises_file_errors
    def recall(self) -> bool:
        """Lets a group of suspects wait at their old places again; returns whether there are any.

        The group is of those with the most kills, and its lanes are asleep. Call this only when
        nothing else waits and nothing is under way.
        """
        last = self.requests(RequestState.LAST)
        kills = max((row.hard_ends for row in last), default=0)
        most = max(1, MOST_AT_ONCE >> 2 * max(0, kills - SUSPECT_AFTER))
        for row in [row for row in last if row.hard_ends == kills][:most]:
            self.awake.discard(row.lane)
            self._move(row, RequestState.WAITING)
        return bool(last)

    @raises_file_errors
    def stop(self) -> None:
        """Notes that the run was told to end: no request is to blame for a kill from now on."""
        if self.note(_BOOT) != _STOPPED:
            self.set_note(_BOOT, _STOPPED)

    def close(self) -> None:
        """Commits and closes the file. In the next run, requests now under way wait again."""
        if self.failure is None:
            self._close()

    def __exit__(self, *_: object) -> None:
        self.close()

    @raises_file_errors
    def _close(self) -> None:
        self.stage(running=0)
        self._run("COMMIT")
        self._recent.close()
        for each in (recent_of(self.path), journal_of(self.path)):
            with suppress(OSError):  # before another run can use the file
                each.unlink()
        self._disconnect()
        self.failure = JobFileError(self.path, "is closed", "Open it again")

    def _open(self) -> None:
        """Opens the file; if it is damaged, replaces it by a new one with what can be read."""
        try:
            with alone(self.path):
                finish_replacing(self.path)
                try:
                    self._attach()
                except FAULTS as error:
                    if not is_damage(error):
                        raise
                    self._disconnect()
                    salvage(self.path, str(error))
                    self.troubles.clear()
                    self.newly_aside.clear()
                    self._attach()
        except FAULTS as error:
            raise explained(self.path, error) from error

    def _attach(self) -> None:
        """Opens the file and repeats what was done since it was written."""
        is_there = self.path.exists()
        # The journal exists while a crawl runs, and is empty except while the file is written.
        had_journal = journal_of(self.path).exists()
        is_empty = is_there and not self.path.stat().st_size
        if is_empty and read_recent(self._recent.path).generation is not None:
            raise sqlite3.DatabaseError("it is empty")
        self._connection = connect(self.path)
        # Read it only now, with the file locked: until then, another run may have written to it.
        found = read_recent(self._recent.path)
        has_steps = found.generation is not None
        self.load(self._connection)
        damage = self.note(MENDED)
        if found.damage and not damage:
            raise sqlite3.DatabaseError(found.damage)
        if is_empty or (not is_there and (has_steps or had_journal)):
            what = "is gone or empty: if the job had already started, all its requests are lost"
            self.troubles.append(f"{self.path} {what}")
        self.was_killed = bool(self.written.running) and not found.damage
        is_copy = found.file != identity(self.path)
        if self.was_killed and not damage and (is_copy or not had_journal):
            check_tables(self._run)
        follows = found.generation == self.written.generation
        self.redo(found.done if follows else ())
        # One behind: a kill came after all was in the file, and before the steps were dropped.
        is_whole = found.is_whole if follows else found.generation == self.written.generation - 1
        if (self.was_killed or (has_steps and is_there)) and not is_whole:
            self.troubles.append(
                f"{self.path} was not closed, and {self._recent.path.name} is gone, damaged or of "
                "another time: what was done since the file was last written will be done again"
            )
        self._resume()
        if damage:
            self._tell_what_is_lost(damage)
        elif self.missing > 0:
            raise sqlite3.DatabaseError("requests are missing")
        if self._spider is not None:
            self._belongs_to(self._spider)
        self._write()

    def _resume(self) -> None:
        """Makes requests under way wait again, all lanes asleep.

        No request is to blame for a kill if the last run began before the machine's current boot,
        or had been told to end.
        """
        gone = [id_ for id_, row in self._elsewhere.items() if not row.is_whole]
        for id_ in gone:
            del self._elsewhere[id_]
        self.missing += len(gone)
        for fields in self._run(ELSEWHERE).fetchall():  # suspects that wait in lanes
            self._move(StoredRequest.read(fields), RequestState.LAST)
        boot = _boot_id()
        is_blamed = self.was_killed and self.note(_BOOT) in (None, boot)
        under_way = self.requests(RequestState.UNDER_WAY)
        self.recovered = len(under_way) if self.was_killed else 0
        is_alone = len(under_way) == 1 and not gone
        for row in under_way:
            is_found = is_blamed and is_alone and row.is_suspect
            if is_blamed or not self.was_killed:  # a proper stop clears them
                row = row._replace(hard_ends=row.hard_ends + 1 if is_blamed else 0)
            if is_found:
                self.newly_aside.append(self._move(row, RequestState.SET_ASIDE))
            else:
                self._move(row, RequestState.LAST if row.is_suspect else RequestState.WAITING)
        self.set_note(_BOOT, boot)
        self.put_all_to_sleep()

    def _belongs_to(self, spider: str) -> None:
        """Notes that the job is *spider*'s. Raises JobFileError if it is another's."""
        # It lacks the callbacks of its requests, and would skip all pages that it has seen.
        name = self.note(_SPIDER)
        if name not in (None, spider) and (self.stored or self._fingerprints):
            what = f'is the job of the spider "{name}"'
            raise JobFileError(self.path, what, "Give each spider a JOBDIR of its own")
        self.set_note(_SPIDER, spider)

    def _tell_what_is_lost(self, why: str) -> None:
        missing, self.missing = max(0, self.missing), 0
        is_known = self.written.stored != UNKNOWN
        lost = f", {missing:,} are lost" if is_known else "; how many are lost cannot be told"
        told = f"{counted(self.stored, 'request')} can be read{lost}"
        what = f"{self.path} was damaged ({why}). {told}; the damaged file is kept beside it"
        self.troubles.append(what)
        self.lost = missing if is_known else 0
        if missing or not is_known or why.endswith(FINGERPRINTS_LOST):
            self.set_note(LOSSES, "\n".join([*self.losses, what]))
        self.set_note(MENDED, "")

    def _write(self) -> None:
        """Writes everything into the file itself; begins a new transaction and file of steps."""
        counts = self.stage(running=1)
        self._run("COMMIT")
        self.written = counts
        self.done.clear()
        self._run("BEGIN IMMEDIATE")
        self.withdraw()
        self._place, written = identity(self.path), self.path.stat()
        self._written_at, self._size = written.st_mtime_ns, written.st_size
        self._recent.begin(self.written.generation, self._place)

    def _failed(self, fault: Exception) -> Exception:
        """Gives the file up because of *fault*; returns what is raised from now on."""
        if not self._is_open:
            return fault
        self.failure = fault if isinstance(fault, JobFileError) else explained(self.path, fault)
        fault.__traceback__ = None  # its frames may hold a statement, which keeps the file locked
        if not isinstance(fault, JobFileError):  # else to write on would damage what is there now
            with suppress(*FAULTS):
                self._end_run(fault)
        self._let_go()
        return self.failure

    def _end_run(self, fault: Exception) -> None:
        """Notes that the run has ended because of *fault*, and drops what is not saved."""
        if is_damage(fault):  # so that the next run mends the file
            if self.done and self.done[-1][0] == Step.SEE:  # its request was not added
                self.done.pop()
            self.done.append((Step.DAMAGE, str(fault)))
            self._recent.write(self.done)
        elif self._recent.has_begun:
            with suppress(*FAULTS):  # a full disk may have room for this, if for nothing else
                self._recent.write([(Step.NOTE, _BOOT, _STOPPED)])
        with suppress(sqlite3.Error):  # some errors have ended the transaction
            self._run("ROLLBACK")  # drops what is not saved
        self._run("BEGIN IMMEDIATE")
        # The run counts as ended: no request is to blame.
        Counts.read(self._run)._replace(running=0).write(self._run)
        self._run("COMMIT")

    def _let_go(self) -> None:
        self._recent.close()
        self._disconnect()

    def _disconnect(self) -> None:
        if self._connection is not None:
            with suppress(*FAULTS):
                self._connection.close()
            self._connection = None


def _boot_id() -> str:
    """Returns an id of the machine's current boot; empty where the system has none."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
