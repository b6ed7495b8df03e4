"""Can a file be trusted that the last run did not close?"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from scrapy_robots_plus.frontier.tables.states import State
from scrapy_robots_plus.storage.sqlite.file import identity, log_of

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy_robots_plus.frontier.tables.open_job import OpenJob


def is_empty(path: Path, *, has_log: bool) -> bool:
    """Of an empty file, SQLite would make a new one, and delete its log.

    Raises sqlite3.DatabaseError if it has a log, of SQLite's or of ours.
    """
    if not path.is_file() or path.stat().st_size:
        return False
    if has_log or identity(log_of(path), least_size=1) is not None:
        raise sqlite3.DatabaseError("it is empty")
    return True


def check_tables(connection: sqlite3.Connection, job: OpenJob) -> None:
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
    if (stored + gone, waiting) != (job.stored, job.waiting) or found != waiting:
        raise sqlite3.DatabaseError("its counters do not match")
    if waiting + elsewhere != stored:
        raise sqlite3.DatabaseError("requests are missing")
