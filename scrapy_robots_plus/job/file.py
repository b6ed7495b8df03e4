"""The file of a job: usable after a kill, and mended at the next start when it is damaged."""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_robots_plus.protocol.printable import counted
from scrapy_robots_plus.storage.sqlite_file import Identity, identity, is_damage

from .mending import (
    MENDED,
    alone,
    check_tables,
    finish_replacing,
    salvage,
)
from .recent import Recent, Step, read_recent, recent_of
from .requests import LOSSES, UNSORTED, guarded
from .resuming import ResumedRequests
from .schema import (
    FAULTS,
    UNKNOWN,
    JobFileError,
    State,
    StoredRequest,
    connect,
    explained,
    journal_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Self


_SPIDER = "spider"
"""The note that names it."""


class JobFile(ResumedRequests):
    """All requests of a job, in lanes, those under way, and the fingerprints of all seen.

    What was done outlives a kill from the next :meth:`commit` on: whatever happens to the process,
    the next run finds all as it was after some commit. Priorities are those of Scrapy's
    queues: the lowest number is the most urgent.

    Each method raises JobFileError when the file cannot be used any longer: the disk is full, it
    is damaged, or was deleted. The file stays as it was after the last commit. A damaged file is
    mended with all that can be read when it is opened again; see :attr:`lost`.
    """

    def __init__(self, path: Path | str, *, spider: str | None = None) -> None:
        """Opens the file at *path*, or creates it, and resumes the job. *spider*: the name of the
        one that is to send its requests; None for any.

        Raises JobFileError if it is in use, not ours, too new or not writable, or holds requests of
        another spider. The file then stays as it is.
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
        """What a user must know: damage, and what was saved."""
        self._recent = Recent(recent_of(self.path))
        self._is_open = False
        self._spider = spider
        try:
            self._open()
        except BaseException:
            self._let_go()
            raise
        self._is_open = True

    @guarded
    def commit(self) -> None:
        """Everything since the last commit outlives a kill from now on, together.

        Never call it between :meth:`see` and the :meth:`add` that belongs to it.
        """
        place, written_at = _state_of(self.path)
        if place != self._place:
            what = "was deleted or replaced while it was in use"
            raise self._failed(
                JobFileError(self.path, what, "Restore a copy, or the job begins anew")
            )
        if written_at != self._written_at or self._recent.is_full or self._recent.is_gone:
            self._write()  # SQLite may have begun to, as its memory is full
        else:
            self._note_done()

    @guarded
    def search(self) -> None:
        """Call it when requests are held, but no lane holds them: the file must be damaged."""
        raise sqlite3.DatabaseError("requests are missing")

    @guarded
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

    @guarded
    def _close(self) -> None:
        self.save(running=0)
        self._recent.remove()
        with suppress(OSError):  # while no other run can use it
            journal_of(self.path).unlink()
        self._disconnect()
        self.failure = JobFileError(self.path, "is closed", "Open it again")

    def _open(self) -> None:
        """Opens the file, of which a new one is made if it is damaged."""
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
                    self._attach()
        except FAULTS as error:
            raise explained(self.path, error) from error

    def _attach(self) -> None:
        """Opens the file and does again what was done since it was written."""
        is_there = self.path.exists()
        # It is there while a crawl runs, and empty but for the moment when the file is written.
        had_journal = journal_of(self.path).exists()
        is_empty = is_there and not self.path.stat().st_size
        if is_empty and read_recent(self._recent.path).generation is not None:
            raise sqlite3.DatabaseError("it is empty")
        self._connection = connect(self.path)
        # Not before: another run may write to it until it is killed.
        found = read_recent(self._recent.path)
        has_steps = found.generation is not None
        self.load(self._connection)
        damage = self.note(MENDED)
        if found.damage and not damage:
            raise sqlite3.DatabaseError(found.damage)
        if is_empty or (not is_there and (has_steps or had_journal)):
            what = f"{self.path} is gone or empty"
            self.troubles.append(f"{what}: if the job had begun, all of it is lost")
        self.was_killed = bool(self.written.running) and not found.damage
        is_copy = found.file != identity(self.path)
        if self.was_killed and not damage and (is_copy or not had_journal):
            check_tables(self._run)
        follows = found.generation == self.written.generation
        self.redo(found.done if follows else ())
        # It is one behind after a kill in the moment when all was in the file already.
        is_whole = found.is_whole if follows else found.generation == self.written.generation - 1
        if (self.was_killed or (has_steps and is_there)) and not is_whole:
            self.troubles.append(
                f"{self.path} was not closed, and {self._recent.path.name} is gone, damaged or of "
                "another time: what was done since the file was last written will be done again"
            )
        if self.was_killed:
            self.recovered = sum(each.is_whole for each in self.requests(State.UNDER_WAY))
        self.newly_aside = self.resume(_boot_id(), was_killed=self.was_killed)
        if damage:
            self._tell_what_is_lost(damage)
        elif self.missing > 0:
            raise sqlite3.DatabaseError("requests are missing")
        if self._spider is not None:
            self._belongs_to(self._spider)
        self._write()

    def _belongs_to(self, spider: str) -> None:
        """Another one would set all requests aside: it has not their callbacks."""
        name = self.note(_SPIDER)
        if name not in (None, spider) and self.stored:
            what = f'holds requests of the spider "{name}"'
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
        if missing or not is_known:
            self.set_note(LOSSES, "\n".join([*self.losses, what]))
        self.set_note(MENDED, "")

    def _note_done(self) -> None:
        self._recent.write(self.done)
        self.done.clear()

    def _write(self) -> None:
        """Writes everything into the file itself."""
        self.save()
        self._recent.begin(self.written.generation, identity(self.path))
        self._place, self._written_at = _state_of(self.path)

    def _failed(self, fault: Exception) -> Exception:
        """What is raised from now on. Nothing more is written."""
        if not self._is_open:
            return fault
        self.failure = fault if isinstance(fault, JobFileError) else explained(self.path, fault)
        fault.__traceback__ = None  # its frames may hold a statement, which keeps the file locked
        with suppress(*FAULTS):
            if is_damage(fault):  # the next run looks for more
                if self.done and self.done[-1][0] == Step.SEE:  # its request was not added
                    self.done.pop()
                self.done.append((Step.DAMAGE, str(fault)))
                self._note_done()
            self.give_up()
        self._let_go()
        return self.failure

    def _let_go(self) -> None:
        self._recent.close()
        self._disconnect()

    def _disconnect(self) -> None:
        if self._connection is not None:
            with suppress(*FAULTS):
                self._connection.close()
            self._connection = None


def _state_of(path: Path) -> tuple[Identity | None, int]:
    """Which file is at *path*, and when it was written to."""
    with suppress(OSError):
        found = os.stat(path)
        return (found.st_dev, found.st_ino), found.st_mtime_ns
    return None, 0


def _boot_id() -> str:
    """Another one after each start of the machine; empty where the system does not tell."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
