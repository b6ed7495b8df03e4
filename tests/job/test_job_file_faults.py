"""Full disks, files that are deleted, replaced, in use, of another version or not ours."""

from __future__ import annotations

import errno
import os
import random
import sqlite3
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from scrapy_robots_plus.job import JobFile, JobFileError, overview
from scrapy_robots_plus.job.recent_steps import RecentSteps, recent_of
from scrapy_robots_plus.job.schema import journal_of

from .jobs import drain, fill, kill_copy
from .worker import LAST, handled, start

if TYPE_CHECKING:
    from pathlib import Path


def filled(path: Path, requests: int = 50) -> JobFile:
    file = JobFile(path)
    for number in range(requests):
        file.see(b"%d" % number)
        file.add(f"host-{number % 5}", 0, b"%d" % number)
    file.commit()
    return file


def numbers(file: JobFile) -> list[int]:
    return sorted(int(data) for data in drain(file).elements())


def version_of(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        version: int = connection.execute("PRAGMA user_version").fetchone()[0]
        return version


@pytest.mark.parametrize(
    "room",
    [
        20_000,
        250_000,
        *(pytest.param(each, marks=pytest.mark.stress) for each in (60_000, 100_000, 200_000)),
    ],
)
def test_a_full_disk_is_an_error_and_loses_nothing(tmp_path: Path, path: Path, room: int) -> None:
    log = tmp_path / "log"
    with start(path, log, str(room)) as worker:
        told = worker.communicate()[0].decode()
    assert worker.returncode == 3, "the limit was not reached"
    assert told.startswith(f"{path}: ")
    assert "Fix the cause and resume the job" in told
    with start(path, log) as worker:
        worker.wait()
    assert worker.returncode == 0
    assert {int(line) for line in handled(log) if line.isdigit()} == set(range(1, LAST + 1))


def test_after_a_full_disk_each_call_fails_and_nothing_is_blamed(path: Path) -> None:
    file = filled(path)
    taken = file.take("host-0", 0, newest=True)
    assert taken is not None
    file.commit()
    make_full(file)
    for call in (file.commit, file.commit, lambda: file.see(b"x"), lambda: file.end(taken.id)):
        with pytest.raises(JobFileError, match=r"disk is full\)\. Fix the cause"):
            call()
    file.close()
    with JobFile(path) as file:
        assert not file.was_killed
        assert numbers(file) == list(range(50))


def test_without_room_for_temporary_files_nothing_is_blamed(path: Path) -> None:
    file = filled(path)
    taken = file.take("host-0", 0, newest=True)
    assert taken is not None
    file.commit()
    connection = file._connection
    assert connection is not None
    connection.execute("PRAGMA temp.max_page_count = 1")
    with pytest.raises(JobFileError, match="disk is full"):
        add_hosts(file, 1_000)
    file.close()
    with JobFile(path) as file:
        assert not file.was_killed
        assert numbers(file) == list(range(50))


def test_a_note_is_not_taken_for_the_head_of_the_steps(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full as the steps begin anew, and then it is not."""
    file, append = filled(path), RecentSteps._append

    def fails_once(steps: RecentSteps, content: list[object]) -> None:
        monkeypatch.setattr(RecentSteps, "_append", append)
        raise OSError(errno.ENOSPC, "no room")

    monkeypatch.setattr(RecentSteps, "_append", fails_once)
    os.utime(path)  # as if SQLite had written to it
    with pytest.raises(JobFileError, match="no room"):
        file.commit()
    with JobFile(path) as file:
        assert (file.was_killed, file.troubles) == (False, [])
        assert numbers(file) == list(range(50))


def add_hosts(file: JobFile, hosts: int) -> None:
    for number in range(hosts):
        file.add(f"other-{number}.example", 0, b"x")


def make_full(file: JobFile) -> None:
    connection = file._connection
    assert connection is not None
    connection.execute("PRAGMA max_page_count = 1")
    big = b"x" * 1_000_000
    with pytest.raises(JobFileError, match="disk is full"):
        file.add("host", 0, big)


WITHOUT_MEMORY = """
import sys
from scrapy_robots_plus.job import JobFile, JobFileError, overview

file = JobFile(sys.argv[1])
for number in range(50):
    file.add("host", 0, b"%d" % number)
file.commit()
file.take("host", 0, newest=True)
file.add("host", 0, b"not committed")
try:
    file._connection.execute("PRAGMA hard_heap_limit = 1")
except MemoryError:
    pass
calls = {
    "add": lambda: file.add("host", 0, b"x" * 1_000_000),
    "see": lambda: file.see(b"x" * 10_000),
    "commit": file.commit,
}
for name in sys.argv[2:]:
    try:
        calls[name]()
    except JobFileError as error:
        print(error)
file.close()
"""


@pytest.mark.skipif(sqlite3.sqlite_version_info < (3, 31), reason="its memory cannot be limited")
@pytest.mark.parametrize("first", ["add", "see"])
def test_without_memory_nothing_goes_on_as_if_it_were_written(path: Path, first: str) -> None:
    """With some statements, SQLite drops the whole transaction; with others, it cannot drop it."""
    calls = (first, "commit", "see")
    ended = subprocess.run(
        [sys.executable, "-c", WITHOUT_MEMORY, str(path), *calls], capture_output=True, text=True
    )
    assert ended.stderr == ""
    told = ended.stdout.splitlines()
    assert told == told[:1] * 3
    assert told[0].startswith(f"{path}: cannot be used (")
    with JobFile(path) as file:
        assert file.held == 50
        assert numbers(file) == list(range(50))


def test_two_in_one_process_or_in_two_cannot_use_one_file(tmp_path: Path, path: Path) -> None:
    file = filled(path)
    with pytest.raises(JobFileError, match="is in use by another crawl or command"):
        JobFile(path)
    with start(path, tmp_path / "log") as worker:
        told = worker.communicate()[0].decode()
    assert "is in use by another crawl or command. Wait for it, or stop it" in told
    file.commit()
    file.close()
    with JobFile(path) as file:
        assert numbers(file) == list(range(50))


@pytest.mark.parametrize("layout", [1, 7])
def test_another_layout_is_refused_and_left_alone(path: Path, layout: int) -> None:
    filled(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {layout}")
    before = path.read_bytes()
    with pytest.raises(
        JobFileError,
        match=rf"has layout {layout}; this version of scrapy-robots-plus knows 5\. End the job "
        "with the version that began it, or choose another JOBDIR$",
    ):
        JobFile(path)
    assert path.read_bytes() == before


def test_another_program_s_database_is_left_alone(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE mine (a)")
        connection.commit()
    before = path.read_bytes()
    with pytest.raises(
        JobFileError, match=r"is another program's database\. Choose another JOBDIR$"
    ):
        JobFile(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", [b"no database", b"\0" * 10_000, b"x" * 100_000])
def test_what_is_no_database_is_left_alone(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    said = r"is not the file of a job.*\. Move it elsewhere, or choose another JOBDIR$"
    for _ in range(2):
        with pytest.raises(JobFileError, match=said):
            JobFile(path)
    assert path.read_bytes() == content
    assert list(path.parent.iterdir()) == [path]


def test_an_empty_file_begins_a_job_and_says_so(path: Path) -> None:
    path.touch()
    with JobFile(path) as file:
        assert file.held == 0
        assert "is gone or empty" in file.troubles[0]


def test_a_file_that_was_emptied_leaves_what_its_log_has(path: Path) -> None:
    file = filled(path)
    killed = kill_copy(path, path.parent / "killed")
    file.close()
    killed.write_bytes(b"")
    with JobFile(killed) as file:
        assert numbers(file) == list(range(50))


def test_a_folder_in_its_place_is_an_error(path: Path) -> None:
    path.mkdir()
    with pytest.raises(JobFileError, match=r"cannot be used \(it is not a regular file\)"):
        JobFile(path)


def test_so_is_one_in_the_place_of_what_was_done_since(path: Path) -> None:
    filled(path).close()
    recent_of(path).mkdir()
    for use in (JobFile, lambda path: overview(path, 0)):
        with pytest.raises(JobFileError, match=r"cannot be used \(.*Is a directory"):
            use(path)


def test_a_job_below_a_file_is_an_error(path: Path) -> None:
    path.touch()
    with pytest.raises(JobFileError, match=r"cannot be used \(.*File exists"):
        JobFile(path / "frontier.sqlite")


def test_a_read_only_file_is_an_error(path_of_nobody: Path) -> None:
    path = path_of_nobody
    filled(path).close()
    path.chmod(0o400)
    with pytest.raises(JobFileError, match=r"cannot be used \(attempt to write a readonly"):
        JobFile(path)


def test_a_request_that_cannot_be_stored_leaves_the_others(path: Path) -> None:
    file = filled(path)
    with pytest.raises(ValueError, match="surrogate"):
        file.add("\udc80", 0, b"")
    for priority in (2**63, -(2**63) - 1):
        for lane in ("host-0", "new"):
            with pytest.raises(ValueError, match="too large"):
                file.add(lane, priority, b"")
    file.close()
    with JobFile(path) as file:
        assert numbers(file) == list(range(50))
        assert file.troubles == []


def test_a_closed_file_says_so(path: Path) -> None:
    file = filled(path)
    file.close()
    file.close()
    with pytest.raises(JobFileError, match=r"is closed\. Open it again$"):
        file.add("host", 0, b"")


def test_without_its_log_a_killed_job_goes_on_from_the_last_copy(path: Path) -> None:
    filled(path).close()
    file = JobFile(path)
    killed = kill_copy(path, path.parent / "killed")
    file.add("host-0", 0, b"50")
    file.close()
    recent_of(killed).unlink()
    with JobFile(killed) as file:
        assert file.was_killed
        assert numbers(file) == list(range(50))
        assert "frontier.sqlite-recent is gone" in file.troubles[0]


def test_a_journal_that_is_gone_in_the_middle_of_a_write_is_noticed(path: Path) -> None:
    """Some pages of the file are newer than others."""
    chance = random.Random(5)
    file = JobFile(path)
    fill(file, chance)
    file.close()
    old = path.read_bytes()
    file = JobFile(path)
    fill(file, chance)
    file._write()
    killed = kill_copy(path, path.parent / "killed")
    file.close()
    whole = bytearray(killed.read_bytes())
    whole[4_096 * 20 : 4_096 * 40] = old[4_096 * 20 : 4_096 * 40]
    killed.write_bytes(whole)
    journal_of(killed).unlink(missing_ok=True)
    with JobFile(killed) as file:
        assert "was damaged" in file.troubles[0]
