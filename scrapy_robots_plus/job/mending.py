"""Makes a whole file of a damaged one, with all rows that SQLite can still read.

The new file takes the place of the damaged one, which is kept: a kill at any moment leaves one of
the two in place.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from contextlib import closing, suppress
from itertools import chain, count
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_robots_plus.storage.sqlite_file import FAULTS, is_damage

from .schema import Counts, Row, State, journal_of, migrate, note_of, read_counts, write_counts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

UNREADABLE = "unreadable"
"""The folder, beside the file, that damaged files are moved to."""

_MENDED = "mended"
"""The note of a new file until it is told what is lost."""
_PAGE = 4_096
_SAME = (slice(0, 24), slice(40, 92), slice(100, _PAGE))
"""What the first page of every job's file has: the rest of its header is about this file."""
_LARGEST_ID = (1 << 63) - 1


class Mended(NamedTuple):
    """What is known of the damage to the file that a new one was made of."""

    why: str
    knows_count: bool
    """Whether the damaged file tells how many requests it held."""

    @classmethod
    def of(cls, connection: sqlite3.Connection) -> Mended | None:
        """None if it was not damaged, or all is told."""
        note = note_of(connection, _MENDED)
        return cls(*json.loads(note)) if note else None

    @staticmethod
    def is_told(connection: sqlite3.Connection) -> None:
        connection.execute("DELETE FROM notes WHERE key = ?", (_MENDED,))


def is_empty(path: Path, *, has_begun: bool) -> bool:
    """Whether there is a file without content: SQLite would make a new one of it.

    Raises sqlite3.DatabaseError if the job *has_begun*.
    """
    if not path.is_file() or path.stat().st_size:
        return False
    if has_begun:
        raise sqlite3.DatabaseError("it is empty")
    return True


def check_tables(connection: sqlite3.Connection) -> None:
    """Reads all of the file. Raises sqlite3.DatabaseError if the tables contradict each other."""
    (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if verdict != "ok":
        raise sqlite3.DatabaseError(verdict)
    counts = connection.execute(
        "SELECT (SELECT count(*) FROM requests), (SELECT count(*) FROM waiting), "
        "(SELECT count(*) FROM states JOIN requests USING (id) WHERE state <> ?), "
        "(SELECT count(*) FROM waiting JOIN requests USING (id)), "
        "(SELECT count(*) FROM states LEFT JOIN requests USING (id) "
        "WHERE data IS NULL AND state IN (?, ?))",
        (State.NEXT, State.UNDER_WAY, State.ALONE),
    ).fetchone()
    stored, waiting, elsewhere, found, gone = counts  # those gone were lost, and told of, before
    told = read_counts(connection)
    if (stored + gone, waiting) != (told.stored, told.waiting) or found != waiting:
        raise sqlite3.DatabaseError("its counters do not match")
    if waiting + elsewhere != stored:
        raise sqlite3.DatabaseError("requests are missing")


def salvage(
    path: Path, connection: sqlite3.Connection | None, why: str, generation: int | None
) -> bool:
    """Makes a new file beside that at *path*, through *connection* if that could be opened.

    *why*: what is wrong with it; *generation*: which one is waited for by what was done since, None
    if there is nothing. The counter of requests is that of the damaged file. Returns False if that
    holds nothing of a job. Raises one of FAULTS or OSError if the new file cannot be written.
    """
    new = part_of(path)
    new.unlink(missing_ok=True)
    with closing(sqlite3.connect(new, isolation_level=None)) as whole:
        migrate(whole)
        whole.execute("BEGIN")
        with closing(_Damaged(path, connection, new)) as damaged:
            is_job = _copy(damaged, whole)
            counts = damaged.counts
        if not is_job and counts is None and generation is None:
            return False
        note = json.dumps(Mended(why, counts is not None))
        whole.execute("REPLACE INTO notes VALUES (?, ?)", (_MENDED, note))
        if counts is None:
            (stored,) = whole.execute("SELECT count(*) FROM requests").fetchone()
            is_running = int(generation is not None)
            counts = Counts(stored=stored, running=is_running, generation=generation or 0)
        _put_in_place(whole, counts)
        whole.execute("COMMIT")
    return True


class _Damaged:
    """Reads what can be read."""

    def __init__(self, path: Path, connection: sqlite3.Connection | None, pattern: Path) -> None:
        """*pattern*: a new file, whose first page is that of all. Raises one of FAULTS if the
        damaged file cannot be opened, for another reason than damage.
        """
        self._patched = path.with_name(f"{path.name}.patched")
        first = pattern.read_bytes()[:_PAGE]
        with path.open("rb") as file:
            found, pages = file.read(_PAGE).ljust(_PAGE, b"\0"), path.stat().st_size // _PAGE
        if any(found[part] != first[part] for part in _SAME):
            shutil.copyfile(path, self._patched)
            with self._patched.open("r+b") as file:  # without a list of free pages
                file.write(first[:28] + pages.to_bytes(4, "big") + bytes(8) + first[40:])
            path, connection = self._patched, None
        self._own = connection is None
        self._connection = connection or sqlite3.connect(path, timeout=0, isolation_level=None)
        # With this, SQLite also reads a file that was cut off.
        self._connection.execute("PRAGMA writable_schema = ON")
        self.counts: Counts | None = None
        try:
            self.counts = read_counts(self._connection)
            self._connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
        except FAULTS as error:
            if not is_damage(error):
                self.close()
                raise

    def close(self) -> None:
        if self._own:
            self._connection.close()
        for each in (self._patched, journal_of(self._patched)):
            each.unlink(missing_ok=True)

    def rows(self, table: str) -> Iterator[tuple[Any, ...]]:
        """All rows but those of pages that SQLite cannot read, some of them perhaps twice."""
        select = f"SELECT * FROM {table} WHERE id >= ? ORDER BY id"  # noqa: S608
        begin: int | None = 0
        while begin is not None:
            try:
                for row in self._connection.execute(select, (begin,)):
                    begin = max(begin, min(row[0] + 1, _LARGEST_ID))
                    yield row
            except FAULTS:  # noqa: PERF203 - what the loop is for
                begin = self._behind(f"{select} LIMIT 1", begin)
            else:
                return

    def _behind(self, select: str, unreadable: int) -> int | None:
        """The first id behind *unreadable* from which SQLite can go on; None if there is none."""
        step = 1
        while not self._can_read(select, unreadable + step):
            unreadable += step
            step += 1 + step // 8
            if unreadable + step > _LARGEST_ID:
                return None
        readable = unreadable + step
        while readable - unreadable > 1:
            middle = (readable + unreadable) // 2
            if self._can_read(select, middle):
                readable = middle
            else:
                unreadable = middle
        return readable

    def _can_read(self, select: str, id_: int) -> bool:
        try:
            self._connection.execute(select, (id_,)).fetchone()
        except FAULTS:
            return False
        return True

    def notes(self) -> list[tuple[Any, ...]]:
        with suppress(*FAULTS):
            return self._connection.execute("SELECT key, value FROM notes").fetchall()
        return []


def _copy(damaged: _Damaged, new: sqlite3.Connection) -> bool:
    """Of what is whole: requests have checksums, and the rest matters less. Returns whether there
    was anything.
    """
    before = new.total_changes
    for values in damaged.rows("requests"):
        if len(values) == len(Row._fields) and Row(*values).is_whole:
            new.execute("REPLACE INTO requests VALUES (?, ?, ?, ?, ?, ?, ?)", values)
    for id_, state in damaged.rows("states"):
        if state in set(State):
            new.execute("INSERT OR IGNORE INTO states VALUES (?, ?)", (id_, state))
    for id_, digests in damaged.rows("seen"):
        if isinstance(digests, bytes):
            new.execute("INSERT OR IGNORE INTO seen VALUES (?, ?)", (id_, digests))
    for key, value in damaged.notes():
        if isinstance(key, str) and isinstance(value, str):
            new.execute("INSERT OR IGNORE INTO notes VALUES (?, ?)", (key, value))
    return new.total_changes > before


def _put_in_place(new: sqlite3.Connection, counts: Counts) -> None:
    """Lets each request stand where it stood, and all lanes sleep.

    Of those under way their states are enough: the run may have them in its memory.
    """
    new.execute(
        "DELETE FROM states WHERE id NOT IN (SELECT id FROM requests) AND state NOT IN (?, ?)",
        (State.UNDER_WAY, State.ALONE),
    )
    waiting = new.execute(
        "INSERT INTO waiting SELECT lane, priority, starts, id FROM requests "
        "WHERE id NOT IN (SELECT id FROM states WHERE state <> ?)",
        (State.NEXT,),
    ).rowcount
    new.execute("INSERT INTO lanes SELECT lane, min(priority), min(id) FROM waiting GROUP BY lane")
    (turns,) = new.execute("SELECT max(turn) FROM lanes").fetchone()
    turns = max(counts.turns, turns or 0)
    write_counts(new, counts._replace(waiting=waiting, turns=turns))


def part_of(path: Path) -> Path:
    """Where the new file is made."""
    return path.with_name(f"{path.name}.part")


def replace(path: Path) -> Path | None:
    """The new file is complete. Returns where the old one is kept; None if there was none."""
    os.replace(part_of(path), _complete(path))
    return finish_replacing(path)


def finish_replacing(path: Path) -> Path | None:
    """Goes on where a kill has stopped :func:`replace`."""
    if not _complete(path).exists():
        return None
    kept = None
    # The journal first: it must never lie beside the new file.
    for old in (journal_of(path), path):
        if old.exists():
            kept = unused(path.parent / UNREADABLE / old.name)
            kept.parent.mkdir(exist_ok=True)
            os.rename(old, kept)
    os.replace(_complete(path), path)
    return kept


def unused(path: Path) -> Path:
    """*path*, or the same with a number if that file exists."""
    numbered = (path.with_name(f"{path.name}-{number}") for number in count(2))
    return next(each for each in chain([path], numbered) if not each.exists())


def _complete(path: Path) -> Path:
    return path.with_name(f"{path.name}.mended")
