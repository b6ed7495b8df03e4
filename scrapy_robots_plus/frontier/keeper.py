"""Keeps the file of a job usable: after a kill, when it is damaged, full, deleted or replaced."""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_robots_plus.protocol.counting import counted
from scrapy_robots_plus.storage.sqlite.file import FAULTS, Identity, identity, is_damage, log_of

from .errors import JobFileError
from .mending.replacing import UNREADABLE, finish_replacing, part_of, replace, unused
from .mending.salvage import MENDED, Damaged, Mended, Salvaged, salvage
from .mending.trust import check_tables, is_empty
from .opening import connect, explained
from .recent import Recent, read_recent, recent_of
from .tables.open_job import LOSSES, OpenJob, losses_of

if TYPE_CHECKING:
    from .tables.rows import AsideRequest

_ACCEPT = '"scrapy robots job accept JOBDIR" ends this message'
MOST_SALVAGES = 3
"""In one run. A file that is damaged again and again is on a broken disk."""


class Keeper:
    """Owns the connection: another one after the file was mended."""

    def __init__(self, path: Path) -> None:
        """Opens the file and resumes the job. Raises JobFileError."""
        self.path = Path(os.path.realpath(path))
        self.job: OpenJob
        self.newly_aside: list[AsideRequest]
        self.lost = 0
        self.recovered = 0
        self.troubles: list[str] = []
        self._connection: sqlite3.Connection | None = None
        self._recent = Recent(recent_of(self.path))
        self._kept: Path | None = None
        self._lost_before: list[str] = []
        self._salvages = 0
        self._failure: JobFileError | None = None
        finish_replacing(self.path)
        while not self._has_begun():
            pass
        self.troubles[:0] = [f"In an earlier run, {what}. {_ACCEPT}" for what in self._lost_before]

    @property
    def is_open(self) -> bool:
        """False once it is closed, or has failed."""
        return self._failure is None

    def check(self) -> None:
        """Raises JobFileError if the file has failed, or is closed."""
        if self._failure is not None:
            raise self._failure

    def commit(self) -> None:
        """What was done outlives a kill from now on."""
        if self._recent.is_full:
            self.write()
        else:
            self._note_done()
        if self._where() != self._places:
            self._rescue()

    def close(self) -> None:
        self.job.commit(running=0)
        self._recent.remove()
        self._disconnect()
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
            self._note_done()
            self._salvage(error)
            self._attach(resumes=False)
            self.write()
        except FAULTS as second:
            raise self._failed(explained(self.path, second)) from second

    def _has_begun(self) -> bool:
        """False after damage that was mended."""
        try:
            self._attach(resumes=True)
            self.write()
        except FAULTS as error:
            if not is_damage(error):
                raise self._failed(explained(self.path, error)) from error
            self._salvage(error)
            return False
        return True

    def _attach(self, *, resumes: bool) -> None:
        """*resumes*: for a run that begins."""
        log = log_of(self.path)  # empty but for the moment when the file is written
        has_all = log.exists() and identity(log, least_size=1) is None
        found = read_recent(self._recent.path)
        if is_empty(self.path, has_log=found.generation is not None):
            self.troubles.append(f"{self.path} is empty: if the job had begun, all of it is lost")
        self._connection = connect(self.path)
        self.job = OpenJob(self._connection)
        mended = Mended.of(self.job)
        if resumes and self.job.was_killed and mended is None:
            is_copy = found.file != identity(self.path)
            if is_copy or not has_all:
                check_tables(self._connection, self.job)
        follows = found.generation == self.job.written.generation
        if follows:
            self.job.redo(found.done)
        # It is one behind after a kill in the moment when all was in the file already.
        is_whole = (
            found.is_whole if follows else found.generation == self.job.written.generation - 1
        )
        if resumes and self.job.was_killed and not is_whole:
            self.troubles.append(
                f"{self.path} was not closed, and {self._recent.path.name} is gone, damaged or of "
                "another time: what was done since the file was last written will be done again"
            )
        gone = 0
        if resumes:
            self._lost_before = losses_of(self.job)
            under_way = self.job.states.under_way
            self.newly_aside, gone = self.job.resume(_boot_id())
            self.recovered = under_way - gone if self.job.was_killed else 0
        if mended is not None:
            self._tell_what_is_lost(mended, gone)
        elif gone:
            what = f"{counted(gone, 'request')} of this job, under way at the kill, cannot be read"
            self._loses(gone, what)

    def _tell_what_is_lost(self, mended: Mended, gone: int) -> None:
        missing = max(0, self.job.count_again() + gone)
        lost = missing if mended.knows_count else None
        told = Salvaged(self.job.stored, lost, mended.is_exact).told
        kept = self._kept or f"one in {self.path.parent / UNREADABLE}"
        what = f"{self.path} was damaged ({mended.why}). {told}; the damaged file is kept as {kept}"
        self._loses(lost, what)
        self.job.set_note(MENDED, "")

    def _loses(self, lost: int | None, what: str) -> None:
        """Tells it, now and in each run until somebody has accepted it."""
        self.troubles.append(what)
        self.lost += lost or 0
        if lost != 0:
            self.job.set_note(LOSSES, "\n".join([*losses_of(self.job), what]))

    def _note_done(self) -> None:
        self._recent.write(self.job.done)
        self.job.done.clear()

    def write(self) -> None:
        """Everything goes into the file itself."""
        self.job.commit()
        self._recent.begin(self.job.written.generation, identity(self.path))
        self._places = self._where()

    def _salvage(self, error: Exception) -> None:
        self._salvages += 1
        if self._salvages > MOST_SALVAGES:
            what = f"is damaged again and again ({error})"
            raise self._failed(JobFileError(self.path, what, "Check the disk")) from error
        known = None
        with suppress(AttributeError, *FAULTS):
            known = self.job.written
            self.job.transaction.drop()
        try:
            generation = read_recent(self._recent.path).generation
            damaged = Damaged(self.path, self._connection, str(error), known, generation)
            if not salvage(damaged, part_of(self.path)):
                what = f"is not the file of a job, or all of it is damaged ({error})"
                raise self._failed(JobFileError(self.path, what, "Move it away"))
            self._kept = self._put_new()
        except (sqlite3.Error, OSError) as second:
            what = f"is damaged ({error}), and what is whole cannot be copied ({second})"
            to_do = "Make room and resume the job"
            raise self._failed(JobFileError(self.path, what, to_do)) from second

    def _put_new(self) -> Path | None:
        """The new file takes the place of the old one, which is then closed."""
        if os.name == "nt":  # an open file cannot be moved
            self._disconnect()
        kept = replace(self.path)
        self._disconnect()
        return kept

    def _rescue(self) -> None:
        """The file was deleted or replaced. Its data are still there while it is open."""
        found = identity(self.path)
        if found not in (None, self._places[0]):
            self._keep_apart()
        try:
            self.job.commit()
            if found is None:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self.job.copy_to(part_of(self.path))
                self._put_new()
            else:
                self._disconnect()
            self._attach(resumes=False)
            self.write()
        except (*FAULTS, OSError) as error:
            what = f"was deleted while it was in use, and cannot be written again ({error})"
            raise self._failed(JobFileError(self.path, what, "Restore it from a copy")) from error
        self.troubles.append(f"{self.path} was deleted while it was in use; it is written again")

    def _keep_apart(self) -> None:
        """Somebody has put another file there: it stays."""
        what, kept = "was replaced while it was in use", unused(self.path.with_suffix(".kept"))
        try:
            self.job.commit(running=0)  # what is under way is not to blame
            self.job.copy_to(kept)
            self._recent.remove()
        except (*FAULTS, OSError) as error:
            what = f"{what}, and cannot be written elsewhere ({error})"
            raise self._failed(JobFileError(self.path, what, "Start the job anew")) from error
        to_do = f"The job as it was is in {kept}: give one of the two the name {self.path.name}"
        raise self._failed(JobFileError(self.path, what, to_do))

    def _where(self) -> tuple[Identity | None, ...]:
        return tuple(map(identity, (self.path, log_of(self.path), self._recent.path)))

    def _failed(self, failure: JobFileError) -> JobFileError:
        """Returns *failure*, that is raised from now on. Nothing more is written."""
        self._failure = failure
        if self._connection is not None:
            with suppress(AttributeError, *FAULTS):
                self.job.give_up()
        self._recent.close()
        self._disconnect()
        return failure

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
