"""What a user is told when a job's file was mended, or cannot be, word for word."""

from __future__ import annotations

import re
import sqlite3
from typing import TYPE_CHECKING

import pytest

from scrapy_robots_plus.job import JobFile, JobFileError, part_of
from scrapy_robots_plus.job.recent import recent_of
from scrapy_robots_plus.job.schema import journal_of

from .jobs import kill_copy

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MISSING = sqlite3.DatabaseError("requests are missing")


@pytest.fixture
def file(path: Path) -> Iterator[JobFile]:
    with JobFile(path) as file:
        for number in range(5):
            file.add("host", 0, b"%d" % number)
        file.commit()
        yield file


def fails(path: Path, words: str) -> pytest.RaisesExc[JobFileError]:
    return pytest.raises(JobFileError, match=f"^{re.escape(f'{path}: {words}')}$")


def test_a_file_that_was_mended(file: JobFile, path: Path) -> None:
    kept = path.parent / "unreadable" / path.name
    file.mend(MISSING)
    (told,) = file.troubles
    assert told == (
        f"{path} was damaged (requests are missing). 5 requests can be read, 0 are lost; the "
        f"damaged file is kept as {kept}"
    )
    assert kept.is_file()


def test_two_requests_at_one_place_are_damage(file: JobFile) -> None:
    file.mend(sqlite3.IntegrityError("UNIQUE constraint failed: waiting.id"))
    assert "was damaged (UNIQUE constraint failed: waiting.id)" in file.troubles[0]


def test_losses_add_up(file: JobFile) -> None:
    for lost in (1, 2):
        file._write()
        file._run("DELETE FROM requests WHERE id = ?", (lost,))
        file._run("COMMIT")
        file.search()
        assert file.lost == lost
    assert "4 requests can be read, 1 are lost" in file.troubles[0]
    assert "3 requests can be read, 1 are lost" in file.troubles[1]


def test_damage_again_and_again(file: JobFile, path: Path) -> None:
    for _ in range(3):
        file.search()
    for _ in range(2):
        with fails(path, "is damaged again and again (requests are missing). Check the disk"):
            file.search()


def test_what_is_no_job(path: Path) -> None:
    path.write_bytes(b"no job" * 1_000)
    words = "is not the file of a job, or all of it is damaged (file is not a database). Move it "
    with fails(path, f"{words}away"):
        JobFile(path)


def test_a_damaged_file_that_cannot_be_copied(file: JobFile, path: Path) -> None:
    part_of(path).mkdir()
    with pytest.raises(JobFileError) as raised:
        file.search()
    told = str(raised.value)
    begin = f"{path}: is damaged (requests are missing), and what is whole cannot be copied ("
    assert told.startswith(begin)
    assert told.endswith("). Make room and resume the job")
    assert path.is_file()


def test_a_mended_file_that_cannot_be_opened(
    file: JobFile, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def attach(awake: set[str] | None) -> None:
        assert awake == set()
        raise sqlite3.OperationalError("database is locked")

    monkeypatch.setattr(file, "_attach", attach)
    with fails(path, "is in use by another process. Wait for that crawl, or stop it"):
        file.search()


def test_what_was_not_committed_when_damage_is_found_is_kept(file: JobFile) -> None:
    file.add("host", 0, b"not committed")
    file.search()
    assert (file.held, file.lost) == (6, 0)


def test_a_file_that_was_deleted(file: JobFile, path: Path) -> None:
    path.unlink()
    file.commit()
    told = f"{path} was deleted while it was in use; it is written again"
    assert file.troubles == [told]
    file.commit()
    assert file.troubles == [told]


def test_one_that_was_deleted_and_cannot_be_written_again(file: JobFile, path: Path) -> None:
    path.unlink()
    part_of(path).mkdir()
    with pytest.raises(JobFileError) as raised:
        file.commit()
    told = str(raised.value)
    begin = f"{path}: was deleted while it was in use, and cannot be written again ("
    assert told.startswith(begin)
    assert told.endswith("). Restore it from a copy")


def test_one_that_was_replaced(file: JobFile, path: Path) -> None:
    """Of the job that is kept, nothing is lost, and what was under way is not to blame."""
    taken = file.take("host", 0, newest=False)
    path.unlink()
    path.write_bytes(b"another")
    kept = path.with_suffix(".kept")
    words = f"was replaced while it was in use. The job as it was is in {kept}: give one of the two"
    with fails(path, f"{words} the name {path.name}"):
        file.commit()
    with JobFile(kept) as again:
        assert (again.was_killed, again.held, again.troubles) == (False, 5, [])
        assert again.take("host", 0, newest=False) == taken


def test_one_that_was_replaced_and_cannot_be_kept(
    file: JobFile, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def vacuum(into: str) -> None:
        raise OSError(f"no room for {into}")

    path.unlink()
    path.write_bytes(b"another")
    monkeypatch.setattr(file, "vacuum", vacuum)
    kept = path.with_suffix(".kept")
    why = "was replaced while it was in use, and cannot be written again (no room for "
    with fails(path, f"{why}{kept}). Restore it from a copy"):
        file.commit()


def test_one_that_is_closed(path: Path) -> None:
    file = JobFile(path)
    file.close()
    with fails(path, "is closed. Open it again"):
        file.note("key")


def test_an_empty_file(path: Path) -> None:
    path.touch()
    with JobFile(path) as file:
        assert file.troubles == [f"{path} is empty: if the job had begun, all of it is lost"]


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
        assert again.troubles == [f"{killed} is gone: if the job had begun, all of it is lost"]
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
