"""What a user is told when a job's file was mended, or cannot be, word for word."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from scrapy_robots_plus.job import JobFile, JobFileError
from scrapy_robots_plus.job import file as job_file
from scrapy_robots_plus.job.mending import MENDED, part_of, salvage
from scrapy_robots_plus.job.recent_steps import Step, recent_of
from scrapy_robots_plus.job.requests_in_file import LOSSES, UNSORTED
from scrapy_robots_plus.job.schema import RequestState, journal_of

from .jobs import failed, kill_copy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture
def file(path: Path) -> Iterator[JobFile]:
    with JobFile(path) as file:
        for number in range(5):
            file.add("host", 0, b"%d" % number)
        file.commit()
        yield file


def fails(path: Path, words: str) -> pytest.RaisesExc[JobFileError]:
    return pytest.raises(JobFileError, match=f"^{re.escape(f'{path}: {words}')}$")


def test_a_file_that_is_damaged_in_mid_crawl(file: JobFile, path: Path) -> None:
    """The run ends, and so does each call; the next run mends the file, and says so once."""
    words = "is damaged (requests are missing). The next run mends it as far as it can be read"
    for call in (file.fail_as_damaged, file.commit):
        with fails(path, words):
            call()
    kept = path.with_name(f"{path.name}.damaged-1")
    with JobFile(path) as again:
        (told,) = again.troubles
        assert told == (
            f"{path} was damaged (requests are missing). 5 requests can be read, 0 are lost; the "
            "damaged file is kept beside it"
        )
        assert (again.was_killed, again.held) == (False, 5)
    assert kept.is_file()
    with JobFile(path) as again:
        assert again.troubles == []


def test_while_a_damaged_file_is_mended_no_other_run_begins(
    file: JobFile, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would delete the new file, and find none but an empty one."""
    with pytest.raises(JobFileError, match="is damaged"):
        file.fail_as_damaged()

    def salvaged(*about: Any) -> None:
        monkeypatch.undo()
        with fails(path, "is in use by another crawl or command. Wait for it, or stop it"):
            JobFile(path)
        salvage(*about)

    monkeypatch.setattr("scrapy_robots_plus.job.file.salvage", salvaged)
    with JobFile(path) as again:
        assert again.held == 5
    old = f"{path.name}.damaged-1"
    assert {each.name for each in path.parent.iterdir()} == {path.name, old, f"{old}-journal"}


def test_two_requests_at_one_place_are_damage(file: JobFile, path: Path) -> None:
    file._last_id -= 1
    with pytest.raises(JobFileError, match=r"is damaged \(UNIQUE constraint failed: requests\.id"):
        file.add("host", 0, b"another")
    with JobFile(path) as again:
        assert "was damaged (UNIQUE constraint failed" in again.troubles[0]
        assert again.held == 5


def test_losses_add_up(file: JobFile, path: Path) -> None:
    told: list[str] = []
    for lost in (1, 2):
        file._write()
        file._run("DELETE FROM requests WHERE id = ?", (lost,))
        file._run("COMMIT")
        file = failed(file)
        assert f"{5 - lost} requests can be read, 1 are lost" in file.troubles[0]
        told += file.troubles
        assert (file.lost, file.losses) == (1, told)
    file.close()


def test_fingerprints_that_are_lost_are_told(file: JobFile, path: Path) -> None:
    for number in range(100):
        file.see(b"%d" % number)
    file.close()
    with closing(sqlite3.connect(path)) as connection:
        query = "SELECT rootpage FROM sqlite_master WHERE name = 'seen'"
        (page,) = connection.execute(query).fetchone()
    with path.open("r+b") as written:
        written.seek(4_096 * (page - 1))
        written.write(b"x" * 4_096)
    with pytest.raises(JobFileError, match="is damaged"), JobFile(path) as file:
        file.see(b"another")
    with JobFile(path) as file:
        (told,) = file.troubles
        assert "; fingerprints are lost, so that pages may be fetched again)" in told
        assert "5 requests can be read, 0 are lost" in told
        assert file.losses == [told]


def test_a_number_of_kills_that_cannot_be_is_none(file: JobFile) -> None:
    file._write()
    file._run("UPDATE requests SET hard_ends = -1 WHERE id = 1")
    file._run("COMMIT")
    with failed(file) as again:
        assert again.held == 5
        taken = [again.take("host", 0, newest=False) for _ in range(5)]
        assert [row and row.hard_ends for row in taken] == [0] * 5


def test_what_stands_in_a_file_is_named_and_numbered_as_in_the_files_of_others() -> None:
    """An older version of this package may have written it, or be the next to read it."""
    states = {"WAITING": 0, "UNDER_WAY": 1, "LAST": 2, "SET_ASIDE": 3}
    assert {state.name: state.value for state in RequestState} == states
    steps = {"ADD": 1, "MOVE": 2, "END": 3, "SEE": 4, "NOTE": 5, "DAMAGE": 6}
    assert {name: value for name, value in vars(Step).items() if name.isupper()} == steps
    notes = job_file._SPIDER, job_file._BOOT, job_file._STOPPED, UNSORTED, LOSSES, MENDED
    assert notes == ("spider", "boot", "stopped", "unsorted", "lost", "mended")


def test_what_is_no_job(path: Path) -> None:
    path.write_bytes(b"no job" * 1_000)
    words = "is not the file of a job, or all of it is damaged (file is not a database). Move it "
    with fails(path, f"{words}elsewhere, or choose another JOBDIR"):
        JobFile(path)


def test_a_damaged_file_that_cannot_be_copied(file: JobFile, path: Path) -> None:
    with pytest.raises(JobFileError):
        file.fail_as_damaged()
    part_of(path).mkdir()
    with pytest.raises(JobFileError) as raised:
        JobFile(path)
    told = str(raised.value)
    assert told.startswith(f"{path}: cannot be used (")
    assert told.endswith("). Fix the cause and resume the job")
    assert path.is_file()


def test_a_mended_file_that_is_damaged_too(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def attach(*_: object) -> None:
        raise sqlite3.DatabaseError("another page")

    JobFile(path).close()
    monkeypatch.setattr(JobFile, "_attach", attach)
    with fails(path, "is damaged (another page). The next run mends it as far as it can be read"):
        JobFile(path)


def test_what_was_not_committed_when_damage_is_found_is_kept(file: JobFile) -> None:
    file.add("host", 0, b"not committed")
    with failed(file) as again:
        assert (again.held, again.lost) == (6, 0)


@pytest.mark.parametrize("how", ["deleted", "replaced", "emptied", "folder"])
def test_one_that_was_deleted_replaced_or_emptied(file: JobFile, path: Path, how: str) -> None:
    """The run ends, and says so."""
    if how == "emptied":
        os.truncate(path, 0)
    else:
        path.unlink()
    if how == "replaced":
        path.write_bytes(b"another")
    elif how == "folder":
        shutil.rmtree(path.parent)
    for _ in range(2):
        with fails(
            path,
            "was deleted, replaced or emptied while it was in use. Restore a copy; otherwise the "
            "job starts from scratch",
        ):
            file.commit()
    left = {"replaced": b"another", "emptied": b""}.get(how)
    assert (path.read_bytes() if path.exists() else None) == left


@pytest.mark.parametrize("which", [recent_of, journal_of])
def test_one_beside_it_that_was_deleted_is_made_again(
    file: JobFile, path: Path, which: Callable[[Path], Path]
) -> None:
    which(path).unlink()
    file.add("host", 0, b"5")
    file.commit()
    killed = kill_copy(path, path.parent / "killed")
    with JobFile(killed) as again:
        assert (again.held, again.troubles) == (6, [])


def test_one_that_is_closed(path: Path) -> None:
    file = JobFile(path)
    file.close()
    with fails(path, "is closed. Open it again"):
        file.note("key")


def test_an_empty_file(path: Path) -> None:
    path.touch()
    with JobFile(path) as file:
        assert file.troubles == [
            f"{path} is gone or empty: if the job had already started, all its requests are lost"
        ]


@pytest.mark.parametrize("left", ["-recent", "-journal", "-recent, -journal"])
def test_a_file_that_is_gone_is_told_by_what_is_beside_it(
    file: JobFile, path: Path, left: str
) -> None:
    """Somebody has deleted it after a kill, or has copied the others alone."""
    killed = kill_copy(path, path.parent / "killed")
    for each in killed.parent.iterdir():
        if each.name.removeprefix(path.name) not in left.split(", "):
            each.unlink()
    with JobFile(killed) as again:
        assert again.troubles == [
            f"{killed} is gone or empty: if the job had already started, all its requests are lost"
        ]
    with JobFile(killed) as again:
        assert (again.held, again.troubles) == (0, [])


def test_a_journal_of_sqlite_that_is_gone_had_nothing(file: JobFile, path: Path) -> None:
    killed = kill_copy(path, path.parent / "killed")
    journal_of(killed).unlink()
    with JobFile(killed) as again:
        assert (again.held, again.troubles) == (5, [])


@pytest.mark.parametrize("how", ["gone", "empty", "damaged", "of another time"])
def test_without_what_was_done_since_it_is_done_again(path: Path, how: str) -> None:
    file = JobFile(path)
    file.add("host", 0, b"0")
    file._write()
    older = recent_of(path).read_bytes()
    file.add("host", 0, b"1")
    file.commit()
    if how == "of another time":
        file._write()
        file._write()
    killed = kill_copy(path, path.parent / "killed")
    file.close()
    recent = recent_of(killed)
    data = {"gone": None, "empty": b"", "of another time": older}
    damaged = recent.read_bytes()[:-1] + b"?"
    if (left := data.get(how, damaged)) is None:
        recent.unlink()
    else:
        recent.write_bytes(left)
    with JobFile(killed) as again:
        assert again.held == (2 if how == "of another time" else 1)
        (told,) = again.troubles
    assert told == (
        f"{killed} was not closed, and frontier.sqlite-recent is gone, damaged or of another time: "
        "what was done since the file was last written will be done again"
    )


def test_an_older_copy_of_the_file_that_is_put_back_says_so(path: Path) -> None:
    """The job goes on from there: with what waited then, and with what was new then."""
    file = JobFile(path)
    file.see(b"0")
    file.add("host", 0, b"0")
    file._write()
    older = path.read_bytes()
    for number in range(1, 4):
        file.see(b"%d" % number)
        file.add("host", 0, b"%d" % number)
        file._write()
    file.add("host", 0, b"4")
    file.commit()
    killed = kill_copy(path, path.parent / "killed")
    file.close()
    killed.write_bytes(older)
    with JobFile(killed) as again:
        assert again.held == 1
        assert [again.see(b"%d" % number) for number in range(3)] == [False, True, True]
        (told,) = again.troubles
    assert "frontier.sqlite-recent is gone, damaged or of another time" in told


def test_what_a_kill_cut_off_is_done_again_without_a_word(file: JobFile, path: Path) -> None:
    file.add("host", 0, b"5")
    file.commit()
    killed = kill_copy(path, path.parent / "killed")
    recent_of(killed).write_bytes(recent_of(killed).read_bytes()[:-1])
    with JobFile(killed) as again:
        assert (again.held, again.troubles) == (5, [])


def test_a_new_job_and_one_that_was_closed_are_no_trouble(path: Path) -> None:
    for _ in range(2):
        with JobFile(path) as file:
            assert file.troubles == []
            assert (file.was_killed, file.recovered, file.newly_aside) == (False, 0, [])


def test_the_next_run_keeps_its_journal_however_early_it_begins(path: Path) -> None:
    class NextAtOnce(JobFile):
        def _disconnect(self) -> None:
            super()._disconnect()
            following.append(JobFile(path))

    following = list[JobFile]()
    NextAtOnce(path).close()
    assert journal_of(path).exists()
    following[-1].close()
