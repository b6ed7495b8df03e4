"""The file of a job: usable after a kill, and when it is damaged, full, deleted or replaced."""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_robots_plus.protocol.printable import counted
from scrapy_robots_plus.storage.sqlite_file import FAULTS, Identity, identity, is_damage

from .mending import (
    MENDED,
    UNREADABLE,
    check_tables,
    finish_replacing,
    is_empty,
    part_of,
    replace,
    salvage,
    unused,
)
from .recent import Recent, read_recent, recent_of
from .requests import LOSSES, UNSORTED, JobRequests, mended
from .schema import UNKNOWN, JobFileError, StoredRequest, connect, explained, journal_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from typing_extensions import Self


MOST_SALVAGES = 3
"""In one run. A file that is damaged again and again is on a broken disk."""

_ACCEPT = '"scrapy robots job accept JOBDIR" ends this message'


class JobFile(JobRequests):
    """All requests of a job, in lanes, those under way, and the fingerprints of all seen.

    Everything goes into one transaction until :meth:`commit`: at any moment, the file on disk is
    as it was after some commit, whatever happens to the process. Priorities are those of Scrapy's
    queues: the lowest number is the most urgent.

    Each method raises JobFileError when the file cannot be used any longer: the disk is full, or
    it was replaced. The file stays as it was after the last commit. A damaged file is mended with
    all that can be read; see :attr:`lost`.
    """

    def __init__(self, path: Path | str) -> None:
        """Opens the file at *path*, or creates it, and resumes the job.

        Raises JobFileError if it is in use, not ours, too new or not writable.
        """
        self.path = Path(os.path.realpath(path))
        self.was_killed = False
        """Whether the last run did not close the file."""
        self.recovered = 0
        """Requests that were under way when the last run was killed."""
        self.newly_aside = list[StoredRequest]()
        """Set aside when this run began: each was under way, alone, at the last kill."""
        self.lost = 0
        """Requests that could not be read from a damaged file, as far as they could be counted."""
        self.troubles = list[str]()
        """What a user must know: damage, and what was saved. Log it and clear it."""
        self._recent = Recent(recent_of(self.path))
        self._kept: Path | None = None
        self._salvages = 0
        finish_replacing(self.path)
        try:
            self._start(None)
        except BaseException:
            self._let_go()
            raise
        self.is_at_work = False

    @mended
    def accept_losses(self) -> list[str]:
        """What damage has taken, and each run has told. No run will from now on."""
        losses = self.losses
        self.set_note(LOSSES, "")
        return losses

    @mended
    def commit(self) -> None:
        """Everything since the last commit outlives a kill from now on, together.

        Never call it between :meth:`see` and the :meth:`add` that belongs to it.
        """
        if self._where() != self._places:
            self._rescue()
        elif self._recent.is_full or self._changed_at() != self._written_at:
            self._write()  # SQLite may have begun to, as its memory is full
        else:
            self._note_done()

    @mended
    def search(self) -> None:
        """Call it when requests are held, but no lane holds them: the file must be damaged.

        Mends it; all lanes that hold a request are asleep then.
        """
        self.mend(sqlite3.DatabaseError("requests are missing"))
        self._let_all_sleep()

    @mended
    def sort(self, name_of: Callable[[bytes], str | None]) -> None:
        """After a conversion, moves each request into the lane *name_of* its data; None means that
        it stays. A kill meanwhile leaves all where they were.
        """
        if self.note(UNSORTED):
            self.rename(name_of)
            self.set_note(UNSORTED, "")
            self._write()

    def close(self) -> None:
        """Commits and closes. The next run finds what is under way now waiting."""
        if self.failure is None:
            self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @mended
    def _close(self) -> None:
        self.save(running=0)
        self._recent.remove()
        self._disconnect()
        with suppress(OSError):
            journal_of(self.path).unlink()
        self.failure = JobFileError(self.path, "is closed", "Open it again")

    def mend(self, error: Exception) -> None:
        """After *error*, one of FAULTS. Returns if it is worthwhile to try again.

        Raises JobFileError otherwise, or ValueError if *error* is about one request alone.
        """
        if isinstance(error, UnicodeEncodeError | OverflowError):
            raise ValueError(str(error)) from error
        try:
            if not _is_damage(error):
                raise error
            self._note_done()
        except FAULTS as fault:
            raise self._failed(fault) from fault
        self._start(self.awake, error)

    def _start(self, awake: Collection[str] | None, damage: Exception | None = None) -> None:
        """Opens the file, of which a new one is made after *damage*.

        *awake*: the lanes that the crawl knows; None for a run that has just begun.
        """
        while True:
            if damage is not None:
                self._salvage(damage)
            if awake is None:
                self.troubles.clear()
            try:
                self._attach(awake)
                self._write()
            except FAULTS as error:
                if not _is_damage(error):
                    raise self._failed(error) from error
                damage = error
            else:
                return

    def _attach(self, awake: Collection[str] | None) -> None:
        """Opens the file and does again what was done since it was written."""
        found = read_recent(self._recent.path)
        has_steps = found.generation is not None
        # It is there while a crawl runs, and empty but for the moment when the file is written.
        had_journal = journal_of(self.path).exists()
        is_gone = (has_steps or had_journal) and not self.path.exists()
        if is_gone or is_empty(self.path, has_begun=has_steps):
            what = f"{self.path} is {'gone' if is_gone else 'empty'}"
            self.troubles.append(f"{what}: if the job had begun, all of it is lost")
        known = {} if awake is None else self._elsewhere
        self.load(connect(self.path))
        was_killed = awake is None and bool(self.written.running)
        damage = self.note(MENDED)
        is_copy = found.file != identity(self.path)
        if was_killed and not damage and (is_copy or not had_journal):
            check_tables(self._run)
        follows = found.generation == self.written.generation
        self.redo(found.done if follows else (), known)
        # It is one behind after a kill in the moment when all was in the file already.
        is_whole = found.is_whole if follows else found.generation == self.written.generation - 1
        has_begun = was_killed or (awake is None and has_steps and not is_gone)
        if has_begun and not is_whole:
            self.troubles.append(
                f"{self.path} was not closed, and {self._recent.path.name} is gone, damaged or of "
                "another time: what was done since the file was last written will be done again"
            )
        self.set_awake(awake or ())
        gone = self._resume(was_killed=was_killed) if awake is None else 0
        if damage:
            self._tell_what_is_lost(damage, gone)
        elif gone:
            raise sqlite3.DatabaseError("requests are missing")

    def _resume(self, *, was_killed: bool) -> int:
        """The run begins. Returns how many requests that were under way are gone."""
        self.was_killed = was_killed
        self.troubles[:0] = [f"In an earlier run, {what}. {_ACCEPT}" for what in self.losses]
        under_way = self.under_way
        self.newly_aside, gone = self.resume(_boot_id(), was_killed=was_killed)
        self.recovered = under_way - gone if was_killed else 0
        return gone

    def _tell_what_is_lost(self, why: str, gone: int) -> None:
        missing = max(0, self.count_again() + gone)
        is_known = self.written.stored != UNKNOWN
        lost = f", {missing:,} are lost" if is_known else "; how many are lost cannot be told"
        told = f"{counted(self.stored, 'request')} can be read{lost}"
        kept = self._kept or f"one in {self.path.parent / UNREADABLE}"
        what = f"{self.path} was damaged ({why}). {told}; the damaged file is kept as {kept}"
        self.troubles.append(what)
        self.lost += missing if is_known else 0
        if missing or not is_known:  # told in each run until somebody has accepted it
            self.set_note(LOSSES, "\n".join([*self.losses, what]))
        self.set_note(MENDED, "")

    def _note_done(self) -> None:
        self._recent.write(self.done)
        self.done.clear()

    def _write(self) -> None:
        """Writes everything into the file itself."""
        self.save()
        self._recent.begin(self.written.generation, identity(self.path))
        self._places, self._written_at = self._where(), self._changed_at()

    def _changed_at(self) -> int | None:
        """When the file was written to; None if it is gone."""
        with suppress(OSError):
            return os.stat(self.path).st_mtime_ns
        return None

    def _where(self) -> tuple[Identity | None, ...]:
        return tuple(map(identity, (self.path, journal_of(self.path), self._recent.path)))

    def _salvage(self, error: Exception) -> None:
        self._salvages += 1
        if self._salvages > MOST_SALVAGES:
            raise self._unusable(f"is damaged again and again ({error})", "Check the disk")
        connection, generation = self._connection, read_recent(self._recent.path).generation
        try:
            if connection is not None and connection.in_transaction:
                connection.execute("ROLLBACK")
            if not salvage(self.path, connection, str(error), generation):
                what = f"is not the file of a job, or all of it is damaged ({error})"
                raise self._unusable(what, "Move it away")
            if os.name == "nt":  # an open file cannot be moved
                self._disconnect()
            self._kept = replace(self.path)
            self._disconnect()
        except (sqlite3.Error, OSError) as second:
            what = f"is damaged ({error}), and what is whole cannot be copied ({second})"
            raise self._unusable(what, "Make room and resume the job") from second

    def _rescue(self) -> None:
        """The file was deleted or replaced. Its data are still there while it is open.

        One that somebody has put there stays: the job is kept beside it then.
        """
        found, awake = identity(self.path), self.awake
        is_ours = found in (None, self._places[0])
        what = f"was {'deleted' if is_ours else 'replaced'} while it was in use"
        copy = part_of(self.path) if is_ours else unused(self.path.with_suffix(".kept"))
        try:
            self.save(running=int(is_ours))  # to blame for the end is nothing that is under way
            if found != self._places[0]:
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.unlink(missing_ok=True)
                self.vacuum(into=str(copy))
            self._disconnect()
            if found is None:
                replace(self.path)
        except (*FAULTS, OSError) as error:
            what = f"{what}, and cannot be written again ({error})"
            raise self._unusable(what, "Restore it from a copy") from error
        if not is_ours:
            self._recent.remove()
            to_do = f"The job as it was is in {copy}: give one of the two the name {self.path.name}"
            raise self._unusable(what, to_do)
        self._start(awake)
        self.troubles.append(f"{self.path} {what}; it is written again")

    def _unusable(self, what: str, to_do: str) -> JobFileError:
        return self._failed(JobFileError(self.path, what, to_do))

    def _failed(self, fault: Exception) -> JobFileError:
        """What is raised from now on. Nothing more is written."""
        failure = fault if isinstance(fault, JobFileError) else explained(self.path, fault)
        self.failure = failure
        if self._connection is not None:
            with suppress(*FAULTS):
                self.give_up()
        self._let_go()
        return failure

    def _let_go(self) -> None:
        self._recent.close()
        self._disconnect()

    def _disconnect(self) -> None:
        if self._connection is not None:
            with suppress(*FAULTS):
                self._connection.close()
            self._connection = None


def _is_damage(error: Exception) -> bool:
    """Whether a new file is to be made. Nothing is ever put where something is already."""
    return is_damage(error) or isinstance(error, sqlite3.IntegrityError)


def _boot_id() -> str:
    """Another one after each start of the machine; empty where the system does not tell."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
