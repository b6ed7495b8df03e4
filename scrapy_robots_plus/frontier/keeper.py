"""Keeps the file of a job usable: after a kill, when it is damaged, full, deleted or replaced."""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_robots_plus.storage.sqlite.file import FAULTS, Identity, identity, is_damage, log_of

from .errors import JobFileError
from .mending.replacing import finish_replacing, part_of, replace, unused
from .mending.salvage import salvage
from .mending.trust import check_log, check_tables, is_empty
from .opening import connect, explained
from .tables.open_job import OpenJob

if TYPE_CHECKING:
    from .tables.rows import AsideRequest

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
        self._salvages = 0
        self._failure: JobFileError | None = None
        self._is_new = False
        """Whether the file was just made by this process: it has no log yet."""
        finish_replacing(self.path)
        while not self._has_begun():
            pass

    def commit(self) -> None:
        self.job.commit()
        if self._where() != self._places:
            self._rescue()

    def close(self) -> None:
        if self._connection is not None and self._failure is None:
            self.job.commit(running=0)
        self._disconnect()
        if self._failure is None:
            self._failure = JobFileError(self.path, "is closed", "Open it again")

    def mend(self, error: Exception) -> None:
        """After *error*, one of FAULTS. Returns if it is worthwhile to try again.

        Raises JobFileError otherwise, or ValueError if *error* is about one request alone.
        """
        if self._failure is not None:
            raise self._failure from error
        if isinstance(error, UnicodeEncodeError | OverflowError):
            raise ValueError(str(error)) from error
        if not (is_damage(error) or isinstance(error, sqlite3.IntegrityError)):
            raise self._failed(explained(self.path, error)) from error
        stored = self._commit_what_is_done()
        self._salvage(error, stored)
        try:
            self._attach()
            self.job.commit()
        except FAULTS as second:
            raise self._failed(explained(self.path, second)) from second
        if stored is None:
            what = f"was damaged ({error}), and what was done since the last commit is not in it"
            raise self._failed(JobFileError(self.path, what, "Resume the job")) from error
        self._places = self._where()

    def _commit_what_is_done(self) -> int | None:
        """How many requests the file holds then; None if it cannot be committed."""
        try:
            self.job.transaction.commit()
        except FAULTS:  # with most damage, SQLite rolls back
            with suppress(*FAULTS):  # this connection is about to be closed
                self.job.transaction.drop()
            return None
        return self.job.stored

    def _has_begun(self) -> bool:
        """False after damage that was mended."""
        try:
            self._attach()
            self.recovered = self.job.states.under_way if self.job.was_killed else 0
            self.newly_aside = self.job.resume(_boot_id())
            self.job.commit()
            # In the file itself: if the log is lost, it still tells that it was not closed.
            self.job.copy_log()
        except FAULTS as error:
            if not is_damage(error):
                raise self._failed(explained(self.path, error)) from error
            self._salvage(error)
            return False
        self._places = self._where()
        return True

    def _attach(self) -> None:
        had_log = log_of(self.path).exists()
        if is_empty(self.path):
            self.troubles.append(f"{self.path} is empty: if the job had begun, all of it is lost")
        self._connection = connect(self.path)
        check_log(self.path)
        self.job = OpenJob(self._connection)
        if self.job.was_killed and not had_log and not self._is_new:
            check_tables(self._connection, self.job)
            self.troubles.append(
                f"{self.path} was not closed, and its log (-wal) is gone: what was done since it "
                "was last copied into the file will be done again"
            )
        self._is_new = False

    def _salvage(self, error: Exception, stored: int | None = None) -> None:
        self._salvages += 1
        if self._salvages > MOST_SALVAGES:
            what = f"is damaged again and again ({error})"
            raise self._failed(JobFileError(self.path, what, "Check the disk")) from error
        try:
            found = salvage(self.path, part_of(self.path), stored)
            if found is None:
                what = f"is not the file of a job, or all of it is damaged ({error})"
                raise self._failed(JobFileError(self.path, what, "Move it away"))
            kept = self._put_new()
        except (sqlite3.Error, OSError) as second:
            what = f"is damaged ({error}), and what is whole cannot be copied ({second})"
            to_do = "Make room and resume the job"
            raise self._failed(JobFileError(self.path, what, to_do)) from second
        self.lost += found.lost or 0
        self.troubles.append(
            f"{self.path} was damaged ({error}). {found.told}; the damaged file is kept as {kept}"
        )

    def _put_new(self) -> Path | None:
        """The new file takes the place of the old one, which is then closed."""
        if os.name == "nt":  # an open file cannot be moved
            self._disconnect()
        kept = replace(self.path)
        self._disconnect()
        self._is_new = True
        return kept

    def _rescue(self) -> None:
        """The file was deleted or replaced. Its data are still there while it is open."""
        found = identity(self.path)
        if found not in (None, self._places[0]):
            self._keep_apart()
        try:
            if found is None:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self.job.copy_to(part_of(self.path))
                self._put_new()
            else:
                self._disconnect()  # copies the log into the file
                self._is_new = True
            self._attach()
            self.job.commit()
        except (*FAULTS, OSError) as error:
            what = f"was deleted while it was in use, and cannot be written again ({error})"
            raise self._failed(JobFileError(self.path, what, "Restore it from a copy")) from error
        self._places = self._where()
        self.troubles.append(f"{self.path} was deleted while it was in use; it is written again")

    def _keep_apart(self) -> None:
        """Somebody has put another file there: it stays."""
        what, kept = "was replaced while it was in use", unused(self.path.with_suffix(".kept"))
        try:
            self.job.commit(running=0)  # what is under way is not to blame
            self.job.copy_to(kept)
        except (*FAULTS, OSError) as error:
            what = f"{what}, and cannot be written elsewhere ({error})"
            raise self._failed(JobFileError(self.path, what, "Start the job anew")) from error
        to_do = f"The job as it was is in {kept}: give one of the two the name {self.path.name}"
        raise self._failed(JobFileError(self.path, what, to_do))

    def _where(self) -> tuple[Identity | None, Identity | None]:
        return identity(self.path), identity(log_of(self.path))

    def _failed(self, failure: JobFileError) -> JobFileError:
        """Returns *failure*, that is raised from now on. Nothing more is written."""
        self._failure = failure
        if self._connection is not None:
            with suppress(AttributeError, *FAULTS):
                self.job.give_up()
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
