"""Views of what a job's file holds, which do not change it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from scrapy_robots_plus.storage.sqlite_file import identity
from scrapy_robots_plus.whole_file import refuse_odd_file

from .fingerprints import DIGEST
from .recent_steps import read_recent, recent_of
from .requests_in_file import JobRequests
from .schema import FAULTS, RequestState, StoredRequest, check_layout, explained, journal_of


class Overview(NamedTuple):
    """The requests and fingerprints of a job, counted."""

    was_closed: bool
    """Whether the last run closed the file; False if it was killed."""
    waiting: int
    """The number of requests in lanes."""
    stored: int
    """The number of requests in any state."""
    lanes: int
    under_way: int
    """The number of requests that will be sent again."""
    last: int
    """The number of requests that wait until nothing else is left."""
    set_aside: list[StoredRequest]
    losses: list[str]
    """Messages about what damage has taken from the job."""
    fingerprints: int
    largest: list[tuple[str, int]]
    """The lanes with the most requests, and how many wait in each."""


def overview(path: Path, most_lanes: int) -> Overview:
    """Summarizes the file at *path*. Raises JobFileError if it is in use or cannot be read."""
    with _opened(path) as (connection, job):
        return Overview(
            was_closed=not job.written.running,
            waiting=job.held,
            stored=job.stored,
            lanes=connection.execute(f"SELECT count(DISTINCT lane) {_WAITING}").fetchone()[0],
            under_way=len(job.requests(RequestState.UNDER_WAY)),
            last=len(job.requests(RequestState.LAST)),
            losses=job.losses,
            set_aside=job.requests(RequestState.SET_ASIDE),
            fingerprints=connection.execute(_SEEN).fetchone()[0],
            largest=connection.execute(_LARGEST, (most_lanes,)).fetchall(),
        )


def held_requests(path: Path) -> Iterator[tuple[StoredRequest, str]]:
    """Yields all requests of a job, in the order in which they came, with their states.

    A state is ``waiting``, ``under way``, ``last`` or ``set aside``, as in :class:`Overview`.
    Raises JobFileError if the file is in use or cannot be read.
    """
    with _opened(path) as (connection, _):
        for fields in connection.execute("SELECT * FROM requests ORDER BY id"):
            request = StoredRequest(*fields)
            yield request, RequestState(request.state).name.lower().replace("_", " ")


_SEEN = f"SELECT coalesce(sum(length(digests)), 0) / {DIGEST} FROM seen"  # noqa: S608
_WAITING = f"FROM requests WHERE state = {RequestState.WAITING}"
_LARGEST = (
    f"SELECT lane, count(*) AS number {_WAITING} GROUP BY lane ORDER BY number DESC, lane LIMIT ?"
)


@contextmanager
def _opened(path: Path) -> Iterator[tuple[sqlite3.Connection, JobRequests]]:
    """Opens the file with what was done since it was last written, without changing it."""
    try:
        refuse_odd_file(path)
        # A file that a run has closed is complete: SQLite need not lock it.
        is_clean = identity(journal_of(path), least_size=1) is None
        is_complete = is_clean and not recent_of(path).exists()
        how = "mode=ro&immutable=1" if is_complete else "mode=rw"
        uri = f"{path.absolute().as_uri()}?{how}"
        with closing(sqlite3.connect(uri, uri=True, timeout=0, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode = TRUNCATE")  # the next run looks for it
            check_layout(connection, path)
            job = JobRequests()
            job.load(connection)
            found = read_recent(recent_of(path))  # now that no run adds to it
            if job.written.generation == found.generation:
                job.redo(found.done)
                job.stage(job.written.running)
            yield connection, job
            connection.execute("ROLLBACK")
    except FAULTS as error:
        raise explained(path, error) from error
