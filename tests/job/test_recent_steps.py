"""Each step is a few octets at the end of a file, and goes to the job's file with many others."""

from __future__ import annotations

import errno
import random
import sqlite3
from pathlib import Path

import pytest

from scrapy_robots_plus.job import JobFile, recent_steps, schema
from scrapy_robots_plus.job.recent_steps import RecentSteps, Step, read_recent, recent_of
from scrapy_robots_plus.storage.sqlite_file import identity

from .jobs import drain, kill_copy

IO = Path("/proc/self/io")
DATA = random.Random(1).randbytes(400)


def octets_written() -> int:
    """By this process, to whatever file."""
    fields = dict(line.split(": ") for line in IO.read_text().splitlines())
    return int(fields["wchar"])


def test_steps_that_cannot_be_written_are_told_as_those_of_a_full_disk(path: Path) -> None:
    with pytest.raises(OSError, match="No space left") as raised:
        RecentSteps(path).write([(Step.SEE, b"1")])
    assert raised.value.errno == errno.ENOSPC


@pytest.mark.skipif(not IO.exists(), reason="the system does not tell what is written")
@pytest.mark.parametrize(
    ("hosts", "at_once"), [(100, 1), pytest.param(100, 5, marks=pytest.mark.stress), (1_000, 20)]
)
def test_a_request_costs_little_however_slow_the_crawl(
    path: Path, hosts: int, at_once: int
) -> None:
    """From when it is added until it is dealt with, all that is written for the end included."""
    requests = 1_000
    file, begin = JobFile(path), octets_written()
    for number in range(requests):
        file.see(b"%d" % number)
        file.add(f"host-{number * 7 % hosts}", 0, DATA)
        if number % at_once == 0:
            file.commit()
    done = 0
    while lanes := file.wake(50):
        for lane in lanes:
            while (taken := file.take(lane, 0, newest=True)) is not None:
                file.commit()
                file.end(taken.id)
                done += 1
                if done % at_once == 0:
                    file.commit()
            file.sleep(lane)
    file.close()
    assert done == requests
    assert (octets_written() - begin) / requests < 2_000


def test_nothing_is_left_beside_a_file_that_was_closed(path: Path) -> None:
    with JobFile(path) as file:
        file.add("host", 0, b"1")
        file.commit()
        assert recent_of(path).stat().st_size > 0
    assert [each.name for each in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("limit", ["MOST_STEPS", "MOST_OCTETS"])
def test_what_is_beside_the_file_is_bounded(
    path: Path, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    monkeypatch.setattr(recent_steps, limit, {"MOST_STEPS": 100, "MOST_OCTETS": 40_000}[limit])
    file, most = JobFile(path), 0
    for number in range(1_000):
        file.add(f"host-{number % 7}", 0, DATA)
        file.commit()
        most = max(most, recent_of(path).stat().st_size)
    assert 20_000 < most < 60_000
    killed = kill_copy(path, path.parent / "killed")
    file.close()
    with JobFile(killed) as file:
        assert drain(file).total() == 1_000


def test_steps_are_read_as_they_were_written(path: Path) -> None:
    file = RecentSteps(path)
    done = [(Step.ADD, 1, "host", 0, b"1", 0), (Step.MOVE, 1, 1)], [(Step.END, 1)]
    path.touch()
    file.begin(7, identity(path))
    for each in done:
        written = [*each]
        file.write(written)
        assert written == []
    file.write([])
    file.close()
    assert read_recent(path) == (7, identity(path), [*done[0], *done[1]], True)
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    assert read_recent(path) == (7, identity(path), done[0], True)
    path.write_bytes(whole[:-1] + b"?")
    assert read_recent(path) == (7, identity(path), done[0], False)
    path.write_bytes(b"")
    assert read_recent(path).generation is None


def test_zeros_that_a_power_failure_has_left_are_no_steps(path: Path) -> None:
    file = JobFile(path)
    file.add("host", 0, b"1")
    file.commit()
    killed = kill_copy(path, path.parent / "killed")
    file.close()
    steps = recent_of(killed)
    steps.write_bytes(steps.read_bytes() + bytes(4_096))
    with JobFile(killed) as file:
        assert "frontier.sqlite-recent is gone, damaged or of another time" in file.troubles[0]
        assert file.stored == 1
    steps.write_bytes(bytes(4_096))
    assert read_recent(steps).generation is None


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_kill_while_all_goes_to_the_file_does_nothing_twice(path: Path, moment: str) -> None:
    """*moment*: before or after SQLite has committed."""
    file = JobFile(path)
    for number in range(50):
        file.see(b"%d" % number)
        file.add("host", 0, b"%d" % number)
    taken = file.take("host", 0, newest=False)
    assert taken is not None
    file.end(taken.id)
    file.commit()
    if moment == "after":
        file.stage(running=1)
        file._run("COMMIT")
        file._run("BEGIN IMMEDIATE")
    killed = kill_copy(path, path.parent / "killed")
    file.close()
    with JobFile(killed) as file:
        assert (file.held, file.stored, file.troubles) == (49, 49, [])
        assert not file.see(b"7")


def test_a_copy_of_a_running_job_whose_parts_are_of_two_times_says_so(path: Path) -> None:
    """As ``cp`` makes one while all goes to the file."""
    file = JobFile(path)
    for number in range(500):
        file.add(f"host-{number % 40}", 0, DATA + b"%d" % number)
    file._write()
    copy = kill_copy(path, path.parent / "copy")
    before = path.read_bytes()
    while (taken := file.take("host-3", 0, newest=True)) is not None:
        file.end(taken.id)
    for number in range(500):
        file.add("host-new", 0, DATA + b"new %d" % number)
    file._write()
    after = path.read_bytes()
    half = len(before) // 8_192 * 4_096
    copy.write_bytes(before[:half] + after[half:])
    file.close()
    with JobFile(copy) as file:
        assert "was damaged" in file.troubles[0]
        drain(file)


def test_what_another_run_writes_until_it_is_killed_while_this_one_starts_is_done_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = JobFile(path)
    file.commit()
    early = recent_of(path).read_bytes()
    file.add("host", 0, b"1")
    file.commit()
    late = recent_of(path).read_bytes()
    killed = kill_copy(path, path.parent / "killed")
    file.close()
    recent_of(killed).write_bytes(early)

    def connect(path: Path) -> sqlite3.Connection:
        recent_of(path).write_bytes(late)
        return schema.connect(path)

    monkeypatch.setattr("scrapy_robots_plus.job.file.connect", connect)
    with JobFile(killed) as file:
        assert drain(file) == {b"1": 1}


def test_steps_beside_a_file_that_they_do_not_follow_are_told(path: Path) -> None:
    """The file was closed when it was copied."""
    with JobFile(path) as file:
        file.add("host", 0, b"1")
    older = path.read_bytes()
    file = JobFile(path)
    file.add("host", 0, b"2")
    file.commit()
    killed = kill_copy(path, path.parent / "killed")
    file.close()
    killed.write_bytes(older)
    with JobFile(killed) as file:
        assert "frontier.sqlite-recent is gone, damaged or of another time" in file.troubles[0]
        assert file.stored == 1


def test_steps_of_requests_that_are_lost_do_no_harm(path: Path) -> None:
    with JobFile(path) as file:
        for data in (b"1", b"2"):
            file.add("host", 0, data)
    file = JobFile(path)
    for _ in range(2):
        taken = file.take("host", 0, newest=True)
        assert taken is not None
        file.set_aside(taken.id)
    assert len(file.retry()) == 2
    assert file.take("host", 0, newest=True) is not None
    file.add("host", 0, b"3")
    file.commit()
    killed = kill_copy(path, path.parent / "killed")
    file.close()
    killed.write_bytes(b"")
    with JobFile(killed) as file:
        assert [told for told in file.troubles if "was damaged (it is empty; " in told]
        assert drain(file) == {b"3": 1}
