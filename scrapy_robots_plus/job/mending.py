"""The repair of a damaged file: a new one is made, with all rows that SQLite can still read.

The new file takes the place of the damaged one, which is kept. A kill at any moment leaves one of
the two for the next start.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from scrapy_robots_plus.storage.sqlite_file import create, is_damage, keep_aside

from .recent_steps import read_recent, recent_of
from .schema import (
    FAULTS,
    TABLES,
    UNKNOWN,
    Counts,
    JobFileError,
    RequestState,
    Run,
    StoredRequest,
    journal_of,
)

MENDED = "mended"
"""The key of the note on what was wrong with the old file, until the losses are reported."""
FINGERPRINTS_LOST = "fingerprints are lost, so that pages may be fetched again"
_PAGE = 4_096
_SAME = (slice(0, 24), slice(40, 92), slice(100, _PAGE))
"""The parts of the first page that all jobs' files share; the rest of it describes the file."""
_LARGEST_ID = (1 << 63) - 1


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Makes other starts with the file at *path* fail meanwhile.

    The lock of the file itself is not held while a new one takes its place. Raises
    sqlite3.OperationalError, as for a locked file, if there is another start.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = path.with_name(f"{path.name}.lock")
    with closing(sqlite3.connect(lock, timeout=0, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = MEMORY")  # nothing is written
        connection.execute("BEGIN EXCLUSIVE")
        try:
            yield
        finally:
            with suppress(OSError):  # Windows does not delete an open file
                lock.unlink()


def check_tables(run: Run) -> None:
    """Reads the whole file. Raises sqlite3.DatabaseError if it is damaged or contradicts itself."""
    (verdict,) = run("PRAGMA integrity_check(1)").fetchone()
    if verdict != "ok":
        raise sqlite3.DatabaseError(verdict)
    if _numbers(run) != Counts.read(run)[:2]:
        raise sqlite3.DatabaseError("its counters do not match")


def _numbers(run: Run) -> tuple[int, int]:
    """Counts the requests that wait in lanes, and those in any state."""
    count = "SELECT coalesce(sum(state = ?), 0), count(*) FROM requests"
    waiting, stored = run(count, (RequestState.WAITING,)).fetchone()
    return waiting, stored


def salvage(path: Path, why: str) -> None:
    """Puts a new file in the place of the damaged one at *path*, which is kept beside it.

    *why* is what is wrong with it. The new file keeps the old counter of requests. Raises
    JobFileError if the damaged file holds nothing of a job, and one of FAULTS if the new file
    cannot be written.
    """
    new = part_of(path)
    new.unlink(missing_ok=True)
    try:
        _make(new, path, why)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
    keep_aside(path)
    finish_replacing(path)


def _make(new: Path, path: Path, why: str) -> None:
    generation = read_recent(recent_of(path)).generation  # that the recent steps follow
    with closing(sqlite3.connect(new, isolation_level=None)) as whole:
        create(whole, TABLES)
        whole.execute("BEGIN")
        before, counts = whole.total_changes, None
        with _readable(path, new) as damaged:
            with suppress(*FAULTS):
                counts = Counts.read(damaged)
            what_else = f"; {FINGERPRINTS_LOST}" if _copy(damaged, whole) else ""
        if whole.total_changes == before and counts is None and generation is None:
            what = f"is not the file of a job, or all of it is damaged ({why})"
            raise JobFileError(path, what, "Move it elsewhere, or choose another JOBDIR")
        whole.execute("REPLACE INTO notes VALUES (?, ?)", (MENDED, why + what_else))
        if counts is None:
            is_running = int(generation is not None)
            counts = Counts(stored=UNKNOWN, running=is_running, generation=generation or 0)
        waiting, _ = _numbers(whole.execute)
        counts._replace(waiting=waiting).write(whole.execute)
        whole.execute("COMMIT")


@contextmanager
def _readable(path: Path, pattern: Path) -> Iterator[Run]:
    """Yields a function that runs SQL on what can be read of the damaged file at *path*.

    *pattern* is a new file, whose first page replaces a damaged one. Raises one of FAULTS if the
    file cannot be opened for any other reason than damage.
    """
    patched = path.with_name(f"{path.name}.patched")
    first = pattern.read_bytes()[:_PAGE]
    with path.open("rb") as file:
        found, pages = file.read(_PAGE).ljust(_PAGE, b"\0"), path.stat().st_size // _PAGE
    try:
        if any(found[part] != first[part] for part in _SAME):
            shutil.copyfile(path, patched)
            with patched.open("r+b") as file:  # with an empty list of free pages
                file.write(first[:28] + pages.to_bytes(4, "big") + bytes(8) + first[40:])
            path = patched
        with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as connection:
            # With this, SQLite also reads a file that was cut off.
            connection.execute("PRAGMA writable_schema = ON")
            try:
                connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
            except FAULTS as error:
                if not is_damage(error):
                    raise
            yield connection.execute
    finally:
        for each in (patched, journal_of(patched)):
            each.unlink(missing_ok=True)


def _rows(
    damaged: Run, table: str, faults: list[Exception] | None = None
) -> Iterator[tuple[Any, ...]]:
    """Yields all rows but those on pages that SQLite cannot read, and a few beside large gaps.

    Adds to *faults* why rows could not be read.
    """
    select = f"SELECT * FROM {table} WHERE id >= ? ORDER BY id"  # noqa: S608
    unread = begin = 0
    while begin <= _LARGEST_ID:
        try:
            for row in damaged(select, (begin,)):
                unread = begin = max(begin, row[0] + 1)
                yield row
        except FAULTS as error:  # noqa: PERF203 - what the loop is for
            if faults is not None:
                faults.append(error)
            # The steps grow, so that a large gap costs few attempts.
            begin += 1 + (begin - unread) // 16
        else:
            return


def _copy(damaged: Run, new: sqlite3.Connection) -> bool:
    """Copies all that is intact: requests have checksums, and the rest matters less.

    Returns whether fingerprints could not be read.
    """
    for values in _rows(damaged, "requests"):
        if len(values) == len(StoredRequest._fields) and (row := StoredRequest(*values)).is_whole:
            if row.state not in set(RequestState):
                row = row._replace(state=RequestState.WAITING)  # or it would never be sent
            if not row.has_kills:
                row = row._replace(hard_ends=0)
            new.execute("REPLACE INTO requests VALUES (?, ?, ?, ?, ?, ?, ?)", row)
    faults: list[Exception] = []
    for id_, digests in _rows(damaged, "seen", faults):
        if isinstance(digests, bytes):
            new.execute("INSERT OR IGNORE INTO seen VALUES (?, ?)", (id_, digests))
    with suppress(*FAULTS):
        for key, value in damaged("SELECT key, value FROM notes").fetchall():
            if isinstance(key, str) and isinstance(value, str):
                new.execute("INSERT OR IGNORE INTO notes VALUES (?, ?)", (key, value))
    return any(map(is_damage, faults))


def finish_replacing(path: Path) -> None:
    """Puts the new file in the place of the old one, if that is gone: the new one is complete then.

    So is what a kill cut short. If it was cut short before that, the new file goes: it would come
    back as the job, long after a copy of the old one was restored and deleted.
    """
    if path.exists():
        part_of(path).unlink(missing_ok=True)
    elif part_of(path).exists():
        os.replace(part_of(path), path)


def part_of(path: Path) -> Path:
    """Returns the path at which the new file is made."""
    return path.with_name(f"{path.name}.part")
