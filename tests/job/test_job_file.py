"""What a job's file keeps, and how it hands it out."""

from __future__ import annotations

from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import pytest

from scrapy_robots_plus.job import JobFile, JobFileError, overview, rank_of
from scrapy_robots_plus.job.recent_steps import recent_of
from scrapy_robots_plus.job.schema import journal_of

from .jobs import kill_copy

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def file(path: Path) -> Iterator[JobFile]:
    with JobFile(path) as file:
        yield file


def taken(file: JobFile, lane: str, priority: int = 0, *, newest: bool = True) -> bytes | None:
    found = file.take(lane, rank_of(priority, False), newest=newest)
    return None if found is None else found.data


@pytest.mark.parametrize(("newest", "order"), [(True, b"cba"), (False, b"abc")])
def test_a_lane_is_a_stack_or_a_queue(file: JobFile, newest: bool, order: bytes) -> None:
    for data in (b"a", b"b", b"c"):
        file.add("host", 0, data)
        file.add("other", 0, b"x")
    assert b"".join(taken(file, "host", newest=newest) or b"" for _ in range(3)) == order
    assert taken(file, "host") is None
    assert file.held == 3


def test_contents_of_a_lane_are_counted_by_priority_and_start(file: JobFile) -> None:
    file.add("host", -2, b"a")
    file.add("host", rank_of(0, True), b"b")
    file.add("host", 0, b"c")
    file.add("host", 0, b"d")
    assert file.contents("host") == {-2: 1, 1: 1, 0: 2}
    assert file.contents("other") == {}


def test_sleeping_lanes_wake_by_priority_then_age(file: JobFile) -> None:
    for lane, priority in [("a", 0), ("b", 0), ("c", -5), ("d", 5)]:
        file.add(lane, rank_of(priority, False), b"")
    assert list(file.wake(2).items()) == [("c", {-10: 1}), ("a", {0: 1})]
    file.sleep("a")
    file.add("d", -2, b"")
    assert list(file.wake(9).items()) == [("d", {-2: 1, 10: 1}), ("b", {0: 1}), ("a", {0: 1})]
    assert file.wake(9) == {}


def test_a_lane_that_is_awake_has_its_turn_by_what_is_left_when_it_falls_asleep(
    file: JobFile,
) -> None:
    file.add("a", -10, b"urgent")
    file.add("a", 6, b"not urgent")
    file.add("empty", -2, b"")
    assert list(file.wake(2)) == ["a", "empty"]
    assert taken(file, "a", -5) == b"urgent"
    assert taken(file, "empty", -1) == b""
    file.add("b", 2, b"")
    for lane in ("a", "empty"):
        file.sleep(lane)
    assert file.asleep == 2
    assert list(file.wake(9).items()) == [("b", {2: 1}), ("a", {6: 1})]


def test_a_lane_that_was_awake_at_a_kill_has_its_turn_by_what_is_left(path: Path) -> None:
    with JobFile(path) as file:
        for lane in ("a", "b", "empty"):
            file.add(lane, -2, b"")
        file.add("b", 6, b"")
        assert len(file.wake(3)) == 3
        for lane in ("b", "empty"):
            ended = file.take(lane, -2, newest=True)
            assert ended is not None
            file.end(ended.id)
        file.commit()
        killed = kill_copy(path, path.parent / "killed")
    assert overview(killed, 0).lanes == 2
    with JobFile(killed) as file:
        assert file.asleep == 2
        assert list(file.wake(9).items()) == [("a", {-2: 1}), ("b", {6: 1})]


def test_a_lane_that_is_woken_by_name_holds_what_it_held(file: JobFile) -> None:
    file.add("host", 0, b"1")
    for name in ("host", "host", "other"):
        file.wake_one(name)
        assert file.asleep == 0
    assert file.wake(9) == {}
    assert file.contents("host") == {0: 1}
    file.add("host", 0, b"2")
    assert [taken(file, "host", newest=False) for _ in range(3)] == [b"1", b"2", None]


def test_a_fingerprint_is_new_once(file: JobFile) -> None:
    assert [file.see(b"1"), file.see(b"1"), file.see(b"2")] == [True, False, True]


def test_what_was_under_way_waits_in_the_next_run(path: Path) -> None:
    with JobFile(path) as file:
        for data in (b"a", b"b", b"c"):
            file.add("host", 0, data)
        assert taken(file, "host", newest=False) == b"a"
        ended = file.take("host", 0, newest=False)
        assert ended is not None
        file.end(ended.id)
    with JobFile(path) as file:
        assert not file.was_killed
        assert file.held == 2
        assert [taken(file, "host", newest=False) for _ in range(2)] == [b"a", b"c"]


def test_a_second_process_is_refused(file: JobFile, path: Path) -> None:
    with pytest.raises(JobFileError, match="in use by another crawl or command"):
        JobFile(path)
    file.add("host", 0, b"")


def test_another_thread_may_close_it(path: Path) -> None:
    file = JobFile(path)
    file.add("host", 0, b"1")
    thread = Thread(target=file.close)
    thread.start()
    thread.join()
    with JobFile(path) as file:
        assert (file.was_killed, file.held) == (False, 1)


DESCRIPTORS = Path("/proc/self/fd")


def open_files() -> set[str]:
    return {str(each.readlink()) for each in DESCRIPTORS.iterdir() if each.is_symlink()}


@pytest.mark.skipif(not DESCRIPTORS.exists(), reason="only Linux tells which files are open")
def test_thousands_of_hosts_need_no_file_but_the_jobs_own(path: Path) -> None:
    before, hosts = open_files(), 3_000
    with JobFile(path) as file:
        for number in range(hosts):
            file.add(f"host-{number}.example", 0, b"1")
    with JobFile(path) as file:
        for _ in range(10):
            for lane in file.wake(hosts // 10):
                file.add(lane, -2, b"2")
                file.sleep(lane)
        opened = open_files() - before
        assert opened == set(map(str, (path, journal_of(path), recent_of(path))))
        assert (file.asleep, file.held) == (hosts, 2 * hosts)
