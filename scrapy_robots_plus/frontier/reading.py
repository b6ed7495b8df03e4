"""What a job's file holds, without changing it."""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from scrapy_robots_plus.storage.sqlite.file import FAULTS, identity, log_of
from scrapy_robots_plus.storage.sqlite.layout import pragma

from .errors import JobFileError
from .opening import check_layout, explained
from .tables.counts import read_counts
from .tables.states import State, States
from .tables.transaction import Transaction

if TYPE_CHECKING:
    from collections.abc import Iterator

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
            set_aside=states.requests(State.ASIDE),
            fingerprints=_number(connection, "SELECT count(*) FROM seen"),
            largest=_largest(connection, most_lanes),
            free=pragma(connection, "freelist_count") * pragma(connection, "page_size"),
        )


# Of those that were awake at a kill, some may hold nothing.
_LANES = (
    "SELECT count(*) FROM lanes "
    "WHERE awake = 0 OR EXISTS (SELECT 1 FROM waiting WHERE lane = lanes.id)"
)


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
    if not path.is_file():
        raise JobFileError(path, "does not exist", "Name the JOBDIR of a crawl with the add-on")
    index = Path(f"{path}-shm")
    had_index = index.exists()
    # Without a log the file is complete, and SQLite would leave an empty log beside it.
    more = "" if identity(log_of(path), least_size=1) else "&immutable=1"
    try:
        with closing(
            sqlite3.connect(
                f"{path.as_uri()}?mode=ro{more}", uri=True, timeout=0, isolation_level=None
            )
        ) as connection:
            check_layout(connection, path)
            yield connection
    except FAULTS as error:
        raise explained(path, error) from error
    finally:
        if not had_index:
            with suppress(OSError):
                index.unlink()
