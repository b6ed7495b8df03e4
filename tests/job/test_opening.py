"""How a job's file is opened, and what a user is told where it cannot be, word for word."""

from __future__ import annotations

import errno
import re
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from scrapy_robots_plus.job import JobFile, JobFileError
from scrapy_robots_plus.job.schema import connect, explained

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("pragma", "value"),
    [
        ("locking_mode", "exclusive"),
        ("journal_mode", "truncate"),
        ("synchronous", 1),
        ("cache_size", -65_536),
        ("busy_timeout", 0),
        ("application_id", int.from_bytes(b"RbJb", "big")),
        ("user_version", 5),
    ],
)
def test_how_a_connection_is_set_up(path: Path, pragma: str, value: object) -> None:
    for _ in range(2):  # a new file, then one that is there
        with closing(connect(path)) as connection:
            assert connection.execute(f"PRAGMA {pragma}").fetchone() == (value,)
            assert connection.isolation_level is None


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (
            sqlite3.DatabaseError("file is not a database"),
            "is damaged (file is not a database). The next run mends it as far as it can be read",
        ),
        (
            OSError(errno.EMFILE, "Many", "/full/locked"),
            "cannot be used ([Errno 24] Many: '/full/locked'). Fix the cause and resume the job",
        ),
        (
            sqlite3.OperationalError("database is locked"),
            "is in use by another crawl or command. Wait for it, or stop it",
        ),
        (
            sqlite3.OperationalError("database or disk is full"),
            "cannot be used (database or disk is full). Fix the cause and resume the job",
        ),
        (
            sqlite3.OperationalError("disk I/O error"),
            "cannot be used (disk I/O error). Fix the cause and resume the job",
        ),
    ],
)
def test_what_is_wrong_and_what_to_do_is_told(path: Path, error: Exception, told: str) -> None:
    failure = explained(path, error)
    assert str(failure) == f"{path}: {told}"
    assert failure.path == path


def test_a_folder_that_is_not_there_is_made_with_those_above_it(path: Path) -> None:
    deep = path.parent / "jobs" / "today" / path.name
    with JobFile(deep) as file:
        file.add("host", 0, b"1")
    assert deep.is_file()


def test_a_file_that_cannot_be_opened_is_let_go(path: Path) -> None:
    path.write_bytes(b"no database" * 1_000)
    with pytest.raises(sqlite3.DatabaseError, match="not a database"):
        connect(path)
    path.unlink()
    with closing(connect(path)) as connection:
        connection.execute("PRAGMA user_version = 7")
    for _ in range(2):
        with pytest.raises(JobFileError, match=f"^{re.escape(str(path))}: has layout 7; "):
            connect(path)
    with closing(sqlite3.connect(path, timeout=0)) as another:
        another.execute("BEGIN EXCLUSIVE")


def test_a_job_is_let_go_if_it_is_interrupted_while_it_is_opened(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    JobFile(path).close()
    with monkeypatch.context() as patched:
        patched.setattr("scrapy_robots_plus.job.file.JobFile._resume", fails)
        with pytest.raises(KeyboardInterrupt) as raised:
            JobFile(path)
    JobFile(path).close()
    assert raised.tb is not None  # it would keep what was open
