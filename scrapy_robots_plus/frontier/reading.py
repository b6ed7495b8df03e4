"""What a job's file holds, without changing it."""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from scrapy_robots_plus.storage.sqlite.file import FAULTS, identity, log_of
from scrapy_robots_plus.storage.sqlite.layout import pragma

from .errors import JobFileError
from .opening import check_layout, explained
from .recent import read_recent, recent_of
from .tables.counts import read_counts
from .tables.fingerprints import DIGEST
from .tables.open_job import LOSSES, OpenJob
from .tables.states import State, States
from .tables.transaction import Transaction

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .recent import Found
    from .tables.rows import AsideRequest


class Overview(NamedTuple):
    """The requests and fingerprints of a job, counted."""

    was_closed: bool
    """False if the last run was killed."""
    waiting: int
    """Requests in lanes."""
    stored: int
    """Requests in any state."""
    lanes: int
    under_way: int
    """Requests that will be sent again."""
    last: int
    """Requests that wait until nothing else is left."""
    set_aside: list[AsideRequest]
    losses: list[str]
    """What damage has taken from it, in words, until somebody has accepted it."""
    fingerprints: int
    largest: list[tuple[str, int]]
    """The lanes with the most requests, and how many wait there."""
    free: int
    """Octets that new requests will use first."""


def overview(path: Path, most_lanes: int) -> Overview:
    """Raises JobFileError if the file is in use, or cannot be read."""
    with _opened(path) as connection:
        transaction = Transaction(connection)
        counts, states = read_counts(transaction), States(transaction)
        return Overview(
            was_closed=not counts.running,
            waiting=counts.waiting,
            stored=counts.stored,
            lanes=_number(connection, _LANES),
            under_way=states.under_way,
            last=states.last,
            losses=_losses(connection),
            set_aside=states.requests(State.ASIDE),
            fingerprints=_number(connection, _SEEN),
            largest=_largest(connection, most_lanes),
            free=pragma(connection, "freelist_count") * pragma(connection, "page_size"),
        )


class HeldRequest(NamedTuple):
    """A request of a job."""

    data: bytes
    priority: int
    """The lowest number is the most urgent, as in Scrapy's queues."""
    state: str
    """``waiting``, ``under way``, ``last`` or ``set aside``, as in :class:`Overview`."""


def held_requests(path: Path) -> Iterator[HeldRequest]:
    """All requests of a job, in the order in which they came.

    Raises JobFileError if the file is in use, or cannot be read.
    """
    with _opened(path) as connection:
        rows = connection.execute(
            "SELECT data, priority, state FROM requests LEFT JOIN states USING (id) ORDER BY id"
        )
        for data, priority, state in rows:
            yield HeldRequest(data, priority, _STATES.get(state, "waiting"))


_STATES = {
    State.UNDER_WAY: "under way",
    State.ALONE: "under way",
    State.LAST: "last",
    State.ASIDE: "set aside",
}

# Of those that were awake at a kill, some may hold nothing.
_LANES = (
    "SELECT count(*) FROM lanes "
    "WHERE awake = 0 OR EXISTS (SELECT 1 FROM waiting WHERE lane = lanes.id)"
)


def _losses(connection: sqlite3.Connection) -> list[str]:
    row = connection.execute("SELECT value FROM notes WHERE key = ?", (LOSSES,)).fetchone()
    return [] if row is None else str(row[0]).splitlines()


_SEEN = f"SELECT coalesce(sum(length(digests)), 0) / {DIGEST} FROM seen"  # noqa: S608


def _largest(connection: sqlite3.Connection, most: int) -> list[tuple[str, int]]:
    rows = connection.execute(
        "SELECT name, number FROM "
        "(SELECT lane, count(*) AS number FROM waiting GROUP BY lane) JOIN lanes ON id = lane "
        "ORDER BY number DESC, name LIMIT ?",
        (most,),
    )
    return rows.fetchall()


def _number(connection: sqlite3.Connection, select: str) -> int:
    number: int = connection.execute(select).fetchone()[0]
    return number


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    """With what was done since the file was last written. Nothing is changed."""
    if not path.is_file():
        raise JobFileError(path, "does not exist", "Name the JOBDIR of a crawl with the add-on")
    found, log = read_recent(recent_of(path)), log_of(path)
    had_log, log_is_empty = log.exists(), identity(log, least_size=1) is None
    # After a run that was closed the file is complete: SQLite need not lock it, and leave a log.
    how = "mode=ro&immutable=1" if log_is_empty and found.generation is None else "mode=rw"
    try:
        with closing(
            sqlite3.connect(f"{path.as_uri()}?{how}", uri=True, timeout=0, isolation_level=None)
        ) as connection:
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")  # no index of the log
            connection.execute("PRAGMA wal_autocheckpoint = 0")
            check_layout(connection, path)
            if found.generation is not None:
                _redo(connection, found)
            yield connection
            if connection.in_transaction:
                connection.execute("ROLLBACK")
    except FAULTS as error:
        raise explained(path, error) from error
    finally:
        if had_log:
            with suppress(OSError):
                log.touch()


def _redo(connection: sqlite3.Connection, found: Found) -> None:
    job = OpenJob(connection)
    if job.written.generation == found.generation:
        job.redo(found.done)
        job.stage(job.written.running)
