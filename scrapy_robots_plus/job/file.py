"""The file of a job: usable after a kill, and when it is damaged, full, deleted or replaced."""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from scrapy_robots_plus.protocol.printable import counted
from scrapy_robots_plus.storage.sqlite_file import FAULTS, Identity, identity, is_damage

from .mending import (
    UNREADABLE,
    Mended,
    check_tables,
    finish_replacing,
    is_empty,
    part_of,
    replace,
    salvage,
    unused,
)
from .recent import Recent, read_recent, recent_of
from .requests import LOSSES, JobRequests
from .schema import AsideRequest, JobFileError, connect, explained, journal_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from types import TracebackType

    from typing_extensions import Self


_T = TypeVar("_T")
_P = ParamSpec("_P")

_ERRORS = (*FAULTS, OverflowError)
MOST_SALVAGES = 3
"""In one run. A file that is damaged again and again is on a broken disk."""

_ACCEPT = '"scrapy robots job accept JOBDIR" ends this message'


def _of_job(
    work: Callable[Concatenate[JobRequests, _P], _T],
) -> Callable[Concatenate[JobFile, _P], _T]:
    """Does *work* with the requests in the file, and again after a damaged file was mended.

    Raises JobFileError for other faults.
    """

    @wraps(work)
    def guarded(self: JobFile, /, *arguments: _P.args, **named: _P.kwargs) -> _T:
        if self._failure is not None:
            raise self._failure
        while True:
            try:
                return work(self._job, *arguments, **named)
            except _ERRORS as error:  # noqa: PERF203 - what the loop is for
                self.mend(error)

    return guarded


def _guarded(work: Callable[[JobFile], _T]) -> Callable[[JobFile], _T]:
    """Guards what is done with the file itself in the same way."""

    @wraps(work)
    def guarded(self: JobFile) -> _T:
        return _of_job(lambda _: work(self))(self)

    return guarded


class JobFile:
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
        self.newly_aside: list[AsideRequest]
        """Set aside when this run began: each was under way, alone, at the last kill."""
        self.lost = 0
        """Requests that could not be read from a damaged file, as far as they could be counted."""
        self.recovered = 0
        """Requests that were under way when the last run was killed."""
        self.troubles: list[str] = []
        """What a user must know: damage, and what was saved. Log it and clear it."""
        self._job: JobRequests
        self._connection: sqlite3.Connection | None = None
        self._recent = Recent(recent_of(self.path))
        self._kept: Path | None = None
        self._salvages = 0
        self._failure: JobFileError | None = None
        losses = list[str]()
        finish_replacing(self.path)
        try:
            while not self._has_begun(losses):
                pass
        except BaseException:
            self._let_go()
            raise
        self.was_killed = self._job.was_killed
        """Whether the last run did not close the file."""
        self.troubles[:0] = [f"In an earlier run, {what}. {_ACCEPT}" for what in losses]

    @property
    def held(self) -> int:
        """Requests that wait in lanes."""
        return self._job.waiting

    @property
    def last(self) -> int:
        """Requests that wait until nothing else is left: see :meth:`take_last`."""
        return self._job.last

    @property
    def aside(self) -> int:
        """Requests that are set aside: see :meth:`set_aside`."""
        return self._job.aside

    @property
    def under_way(self) -> int:
        """Requests taken and not ended."""
        return len(self._job.under_way)

    @property
    def stored(self) -> int:
        """Requests in any state: waiting, under way, set aside."""
        return self._job.stored

    @property
    def asleep(self) -> int:
        """How many lanes are asleep."""
        return self._job.asleep

    @property
    def group(self) -> int:
        """How many of the last may be under way at a time: fewer after each kill."""
        return self._job.group

    add = _of_job(JobRequests.add)
    take = _of_job(JobRequests.take)
    peek = _of_job(JobRequests.peek)
    take_last = _of_job(JobRequests.take_last)
    end = _of_job(JobRequests.end)
    give_back = _of_job(JobRequests.give_back)
    set_aside = _of_job(JobRequests.set_aside)
    retry = _of_job(JobRequests.retry)
    see = _of_job(JobRequests.see)
    forget = _of_job(JobRequests.forget)
    contents = _of_job(JobRequests.contents)
    holds = _of_job(JobRequests.holds)
    wake = _of_job(JobRequests.wake)
    wake_one = _of_job(JobRequests.wake_one)
    sleep = _of_job(JobRequests.sleep)
    names = _of_job(JobRequests.names)
    note = _of_job(JobRequests.note)
    set_note = _of_job(JobRequests.set_note)

    @_guarded
    def accept_losses(self) -> list[str]:
        """What damage has taken, and each run has told. No run will from now on."""
        losses = self._job.losses
        self._job.set_note(LOSSES, "")
        return losses

    @_guarded
    def shrink(self) -> None:
        """Gives free space back to the disk. Takes time, and as much space again meanwhile."""
        self._write()
        self._job.vacuum()

    @_guarded
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

    @_guarded
    def search(self) -> None:
        """Call it when requests are held, but no lane holds them: the file must be damaged.

        Mends it; all lanes that hold a request are asleep then.
        """
        self.mend(sqlite3.DatabaseError("requests are missing"))
        self._job.set_awake(())

    def close(self) -> None:
        """Commits and closes. The next run finds what is under way now waiting."""
        if self._failure is None:
            self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @_guarded
    def _close(self) -> None:
        self._job.set_awake(())
        self._job.commit(running=0)
        self._recent.remove()
        self._disconnect()
        with suppress(OSError):
            journal_of(self.path).unlink()
        self._failure = JobFileError(self.path, "is closed", "Open it again")

    def mend(self, error: Exception) -> None:
        """After *error*, one of FAULTS. Returns if it is worthwhile to try again.

        Raises JobFileError otherwise, or ValueError if *error* is about one request alone.
        """
        if isinstance(error, UnicodeEncodeError | OverflowError):
            raise ValueError(str(error)) from error
        if not (is_damage(error) or isinstance(error, sqlite3.IntegrityError)):
            raise self._failed(explained(self.path, error)) from error
        try:
            awake = list(self._job.awake)
            self._note_done()
            self._salvage(error)
            self._attach(awake)
            self._write()
        except FAULTS as second:
            raise self._failed(explained(self.path, second)) from second

    def _has_begun(self, losses: list[str]) -> bool:
        """False after damage that was mended. *losses* gets those of earlier runs."""
        try:
            self._attach(None, losses)
            self._write()
        except FAULTS as error:
            if not is_damage(error):
                raise self._failed(explained(self.path, error)) from error
            self._salvage(error)
            return False
        return True

    def _attach(self, awake: Collection[str] | None, losses: list[str] | None = None) -> None:
        """Opens the file and does again what was done since it was written.

        *awake*: the lanes that the crawl knows; None if it has just begun, and resumes the job.
        """
        found = read_recent(self._recent.path)
        if is_empty(self.path, has_begun=found.generation is not None):
            self.troubles.append(f"{self.path} is empty: if the job had begun, all of it is lost")
        # It is there while a crawl runs, and empty but for the moment when the file is written.
        had_journal = journal_of(self.path).exists()
        self._connection = connect(self.path)
        job = self._job = JobRequests(self._connection)
        mended = Mended.of(self._connection)
        was_killed = awake is None and job.was_killed
        is_copy = found.file != identity(self.path)
        if was_killed and mended is None and (is_copy or not had_journal):
            check_tables(self._connection)
        follows = found.generation == job.written.generation
        if follows:
            job.redo(found.done)
        # It is one behind after a kill in the moment when all was in the file already.
        is_whole = found.is_whole if follows else found.generation == job.written.generation - 1
        if was_killed and not is_whole:
            self.troubles.append(
                f"{self.path} was not closed, and {self._recent.path.name} is gone, damaged or of "
                "another time: what was done since the file was last written will be done again"
            )
        job.set_awake(awake or ())
        gone = 0
        if awake is None:
            if losses is not None:
                losses[:] = job.losses
            under_way = len(job.under_way)
            self.newly_aside, gone = job.resume(_boot_id())
            self.recovered = under_way - gone if job.was_killed else 0
        if mended is not None:
            self._tell_what_is_lost(mended, gone)
        elif gone:
            what = f"{counted(gone, 'request')} of this job, under way at the kill, cannot be read"
            self._loses(gone, what)

    def _tell_what_is_lost(self, mended: Mended, gone: int) -> None:
        missing = max(0, self._job.count_again() + gone)
        lost = f", {missing:,} are lost"
        lost = lost if mended.knows_count else "; how many are lost cannot be told"
        told = f"{counted(self._job.stored, 'request')} can be read{lost}"
        kept = self._kept or f"one in {self.path.parent / UNREADABLE}"
        what = f"{self.path} was damaged ({mended.why}). {told}; the damaged file is kept as {kept}"
        self._loses(missing if mended.knows_count else None, what)
        if self._connection is not None:
            Mended.is_told(self._connection)

    def _loses(self, lost: int | None, what: str) -> None:
        """Tells it, now and in each run until somebody has accepted it."""
        self.troubles.append(what)
        self.lost += lost or 0
        if lost != 0:
            self._job.set_note(LOSSES, "\n".join([*self._job.losses, what]))

    def _note_done(self) -> None:
        self._recent.write(self._job.done)
        self._job.done.clear()

    def _write(self) -> None:
        """Writes everything into the file itself."""
        self._job.commit()
        self._recent.begin(self._job.written.generation, identity(self.path))
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
            what = f"is damaged again and again ({error})"
            raise self._failed(JobFileError(self.path, what, "Check the disk")) from error
        connection, generation = self._connection, read_recent(self._recent.path).generation
        try:
            if connection is not None and connection.in_transaction:
                connection.execute("ROLLBACK")
            if not salvage(self.path, connection, str(error), generation):
                what = f"is not the file of a job, or all of it is damaged ({error})"
                raise self._failed(JobFileError(self.path, what, "Move it away"))
            if os.name == "nt":  # an open file cannot be moved
                self._disconnect()
            self._kept = replace(self.path)
            self._disconnect()
        except (sqlite3.Error, OSError) as second:
            what = f"is damaged ({error}), and what is whole cannot be copied ({second})"
            to_do = "Make room and resume the job"
            raise self._failed(JobFileError(self.path, what, to_do)) from second

    def _rescue(self) -> None:
        """The file was deleted or replaced. Its data are still there while it is open."""
        found = identity(self.path)
        if found not in (None, self._places[0]):
            self._keep_apart()
        try:
            awake = list(self._job.awake)
            self._job.commit()
            if found is None:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self._copy_to(part_of(self.path))
            self._disconnect()
            if found is None:
                replace(self.path)
            self._attach(awake)
            self._write()
        except (*FAULTS, OSError) as error:
            what = f"was deleted while it was in use, and cannot be written again ({error})"
            raise self._failed(JobFileError(self.path, what, "Restore it from a copy")) from error
        self.troubles.append(f"{self.path} was deleted while it was in use; it is written again")

    def _keep_apart(self) -> None:
        """Somebody has put another file there: it stays."""
        what, kept = "was replaced while it was in use", unused(self.path.with_suffix(".kept"))
        try:
            self._job.set_awake(())
            self._job.commit(running=0)  # what is under way is not to blame
            self._copy_to(kept)
            self._recent.remove()
        except (*FAULTS, OSError) as error:
            what = f"{what}, and cannot be written elsewhere ({error})"
            raise self._failed(JobFileError(self.path, what, "Start the job anew")) from error
        to_do = f"The job as it was is in {kept}: give one of the two the name {self.path.name}"
        raise self._failed(JobFileError(self.path, what, to_do))

    def _copy_to(self, path: Path) -> None:
        path.unlink(missing_ok=True)
        self._job.vacuum(into=str(path))

    def _failed(self, failure: JobFileError) -> JobFileError:
        """Returns *failure*, that is raised from now on. Nothing more is written."""
        self._failure = failure
        if self._connection is not None:
            with suppress(AttributeError, *FAULTS):
                self._job.give_up()
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


def _boot_id() -> str:
    """Another one after each start of the machine; empty where the system does not tell."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
