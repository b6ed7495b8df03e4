"""A file that is not ours is neither written to nor moved nor locked."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from scrapy_robots_plus.storage import StoreError
from scrapy_robots_plus.storage.sqlite_store import SqliteStore

from .sqlite_files import fill

if TYPE_CHECKING:
    from pathlib import Path


def foreign_database(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE records (mine TEXT)")
        connection.execute("INSERT INTO records VALUES ('precious')")
        connection.commit()


def empty_database(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 3")


def other_application(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA application_id = 1234")


def damaged_header(path: Path) -> None:
    fill(path, rows=5)
    path.write_bytes(bytes(16) + path.read_bytes()[16:])


@pytest.mark.parametrize(
    "make",
    [
        foreign_database,
        empty_database,
        other_application,
        damaged_header,
        lambda path: path.write_bytes(b"x"),
        lambda path: path.write_bytes(b"User-agent: *\n" * 1_000),
        lambda path: path.write_bytes(b"SQLite format 3\0"),
        lambda path: path.write_bytes(bytes(8_192)),
    ],
)
def test_a_file_that_is_not_ours_is_left_alone(path: Path, make: object) -> None:
    make(path)  # type: ignore[operator]
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"robots\.db is not a store"):
        SqliteStore(path, 10)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_a_foreign_database_in_use_keeps_its_locks_and_its_log(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as owner:
        owner.execute("PRAGMA journal_mode = WAL")
        owner.execute("CREATE TABLE mine (value)")
        owner.execute("BEGIN IMMEDIATE")
        owner.execute("INSERT INTO mine VALUES (1)")
        before = sorted(path.parent.iterdir())
        with pytest.raises(StoreError, match="not a store"):
            SqliteStore(path, 10)
        assert sorted(path.parent.iterdir()) == before
        probe = (
            "import sqlite3, sys\n"
            "connection = sqlite3.connect(sys.argv[1], timeout=0)\n"
            "try: connection.execute('BEGIN IMMEDIATE')\n"
            "except sqlite3.OperationalError: print('locked')\n"
        )
        result = subprocess.run(
            [sys.executable, "-c", probe, str(path)], capture_output=True, text=True, timeout=60
        )
        assert result.stdout == "locked\n", result
        owner.execute("COMMIT")


@pytest.mark.parametrize("make", [os.mkdir, getattr(os, "mkfifo", os.mkdir)])
def test_what_is_no_file_is_refused(path: Path, make: object) -> None:
    make(path)  # type: ignore[operator]
    with pytest.raises(StoreError, match="not a regular file"):
        SqliteStore(path, 10)
