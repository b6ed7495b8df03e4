"""What can be told of a job's file without changing it."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from scrapy_robots_plus.job import JobFile, JobFileError, overview, reading
from scrapy_robots_plus.job.recent_steps import recent_of
from scrapy_robots_plus.job.schema import journal_of

from .jobs import kill_copy

if TYPE_CHECKING:
    from pathlib import Path


def refused(path: Path, words: str) -> pytest.RaisesExc[JobFileError]:
    return pytest.raises(JobFileError, match=f"^{re.escape(f'{path}: {words}')}$")


def test_all_states_are_counted(path: Path) -> None:
    file = JobFile(path)
    for number in range(100):
        file.add(f"host-{number % 3}", 0, b"x" * 1_000)
        file.see(b"%d" % number)
    taken = [file.take("host-0", 0, newest=True) for _ in range(30)]
    for each in taken[:28]:
        assert each is not None
        file.end(each.id)
    assert taken[28] is not None
    file.set_aside(taken[28].id)
    file.commit()
    killed = kill_copy(path, path.parent / "killed")
    file.close()
    found = overview(killed, 2)
    assert not found.was_closed
    assert (found.waiting, found.lanes, found.under_way, found.last) == (70, 3, 1, 0)
    assert found.fingerprints == 100
    assert found.largest == [("host-1", 33), ("host-2", 33)]
    (aside,) = found.set_aside
    assert (aside.id, aside.lane, aside.hard_ends) == (taken[28].id, "host-0", 0)
    assert sorted(each.name for each in killed.parent.iterdir()) == [
        killed.name,
        f"{killed.name}-journal",
        f"{killed.name}-recent",
    ]
    assert overview(path, 0).was_closed
    assert overview(path, 0).largest == []


def test_what_a_run_did_until_it_was_killed_meanwhile_is_counted(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, killed = JobFile(path), []
    for number in range(2):
        file.add("host", 0, b"x")
        file.commit()
        killed.append(kill_copy(path, path.parent / str(number)))
    file.close()
    before, after = killed

    def is_opened(connection: sqlite3.Connection, path: Path) -> None:
        shutil.copy(recent_of(after), recent_of(before))

    monkeypatch.setattr(reading, "check_layout", is_opened)
    assert overview(before, 0).waiting == 2


def test_what_cannot_be_read_is_an_error(path: Path) -> None:
    with refused(
        path, "cannot be used (unable to open database file). Fix the cause and resume the job"
    ):
        overview(path, 1)
    assert not path.exists()
    with JobFile(path) as file:
        file.add("host", 0, b"1")
        file.commit()
        with refused(path, "is in use by another crawl or command. Wait for it, or stop it"):
            overview(path, 1)
    data = bytearray(path.read_bytes())
    data[4_096:] = bytes(len(data) - 4_096)
    path.write_bytes(data)
    with pytest.raises(
        JobFileError,
        match=rf"^{re.escape(str(path))}: is damaged \(.*\)\. The next run mends it as far as",
    ):
        overview(path, 1)
    assert path.read_bytes() == data


def test_a_pipe_is_not_waited_for(path: Path) -> None:
    os.mkfifo(path)
    with pytest.raises(JobFileError, match="it is not a regular file"):
        overview(path, 1)


def test_a_file_of_a_newer_layout_cannot_be_read(path: Path) -> None:
    JobFile(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 7")
    with pytest.raises(JobFileError, match=f"^{re.escape(str(path))}: has layout 7; "):
        overview(path, 1)


def test_the_index_of_a_log_that_was_there_stays(path: Path) -> None:
    file = JobFile(path)
    file.add("host", 0, b"1")
    file.commit()
    killed = kill_copy(path, path.parent / "killed")
    file.close()
    index = killed.with_name(f"{killed.name}-shm")
    index.touch()
    assert overview(killed, 1).waiting == 1
    assert index.exists()


def test_a_file_is_found_by_any_build_of_sqlite(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some take a URL for a path unless they are told that it is one."""
    connect_as_here: Any = sqlite3.connect

    def connect(database: object, *, uri: bool = False, **options: Any) -> sqlite3.Connection:
        assert uri or not str(database).startswith("file:")
        return connect_as_here(database, uri=uri, **options)

    JobFile(path).close()
    monkeypatch.setattr(sqlite3, "connect", connect)
    assert overview(path, 1).waiting == 0


def test_a_file_that_is_in_use_is_not_waited_for(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect_as_here: Any = sqlite3.connect
    waits = []

    def connect(database: object, *, timeout: float, **options: Any) -> sqlite3.Connection:
        waits.append(timeout)
        return connect_as_here(database, timeout=timeout, **options)

    JobFile(path).close()
    monkeypatch.setattr(sqlite3, "connect", connect)
    overview(path, 1)
    assert waits == [0]


def test_a_closed_job_in_a_folder_that_may_not_be_written_is_read(path_of_nobody: Path) -> None:
    path = path_of_nobody
    JobFile(path).close()
    journal_of(path).touch()
    path.parent.chmod(0o555)
    try:
        assert overview(path, 1).was_closed
    finally:
        path.parent.chmod(0o755)
