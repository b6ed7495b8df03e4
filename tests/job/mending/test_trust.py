"""What shows that a file which no run has closed cannot be used as it is."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from scrapy_robots_plus.job import JobFile
from scrapy_robots_plus.job.mending import check_tables
from scrapy_robots_plus.job.schema import COPIES, Counts, connect

from ..jobs import lose_in_index

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def connection(path: Path) -> Iterator[sqlite3.Connection]:
    """To a file that holds requests in all states."""
    with JobFile(path) as job:
        for number in range(6):
            job.add("host", 0, b"%d" % number)
        job._run("UPDATE requests SET hard_ends = 2 WHERE id = 6")
        aside = job.take("host", 0, newest=False)
        assert aside is not None
        job.set_aside(aside.id)
        assert job.take("host", 0, newest=False) is not None
    with closing(connect(path)) as connection:
        yield connection


def test_counters_with_a_column_too_many_are_read_from_their_copy(
    connection: sqlite3.Connection,
) -> None:
    counts = Counts.read(connection.execute)
    connection.execute(f"ALTER TABLE {COPIES[0]} ADD COLUMN more INTEGER")
    assert Counts.read(connection.execute) == counts


def test_requests_in_all_states_are_found(connection: sqlite3.Connection) -> None:
    check_tables(connection.execute)


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        ("DELETE FROM requests WHERE id = 3", "its counters do not match"),
        ("DELETE FROM requests WHERE id = 1", "its counters do not match"),
        ("UPDATE requests SET state = 0 WHERE id = 1", "its counters do not match"),
        ("UPDATE requests SET state = 3 WHERE id = 3", "its counters do not match"),
    ],
)
def test_requests_that_are_missing_or_in_two_places_are_noticed(
    connection: sqlite3.Connection, damage: str, why: str
) -> None:
    connection.execute(damage)
    with pytest.raises(sqlite3.DatabaseError, match=f"^{why}$"):
        check_tables(connection.execute)


def test_requests_that_no_lane_leads_to_are_noticed(connection: sqlite3.Connection) -> None:
    lose_in_index(connection.execute, "lane = 'host' AND id = 3")
    with pytest.raises(sqlite3.DatabaseError, match=r"^row 3 missing from index in_lanes$"):
        check_tables(connection.execute)


def test_what_sqlite_finds_is_told(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA ignore_check_constraints = ON")
    connection.execute("PRAGMA writable_schema = ON")
    connection.execute(
        "UPDATE sqlite_master SET sql = 'CREATE TABLE notes (key TEXT PRIMARY KEY NOT NULL, "
        "value TEXT NOT NULL, CHECK (value = 1)) WITHOUT ROWID' WHERE name = 'notes'"
    )
    connection.execute("INSERT INTO notes VALUES ('key', 'value')")
    connection.execute("PRAGMA writable_schema = RESET")
    connection.execute("PRAGMA ignore_check_constraints = OFF")
    with pytest.raises(sqlite3.DatabaseError, match=r"^CHECK constraint failed in notes$"):
        check_tables(connection.execute)
