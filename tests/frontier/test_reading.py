"""What can be told of a job's file without changing it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from scrapy_robots_plus.frontier import JobFile, JobFileError, overview

from .jobs import kill_copy

if TYPE_CHECKING:
    from pathlib import Path


def test_all_states_are_counted(path: Path) -> None:
    file = JobFile(path)
    for number in range(100):
        file.add(f"host-{number % 3}", 0, b"x" * 1_000)
        file.see(b"%d" % number)
    taken = [file.take("host-0", 0, starts=False, newest=True) for _ in range(30)]
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
    assert (found.fingerprints, found.free % 4_096) == (100, 0)
    assert found.free > 0
    assert found.largest == [("host-1", 33), ("host-2", 33)]
    (aside,) = found.set_aside
    assert (aside.id, aside.lane, aside.hard_ends) == (taken[28].id, "host-0", 0)
    assert sorted(each.name for each in killed.parent.iterdir()) == [
        killed.name,
        f"{killed.name}-wal",
    ]
    assert overview(path, 0).was_closed
    assert overview(path, 0).largest == []


def test_what_cannot_be_read_is_an_error(path: Path) -> None:
    with pytest.raises(JobFileError, match=r"does not exist\. Name the JOBDIR"):
        overview(path, 1)
    with JobFile(path) as file:
        file.add("host", 0, b"1")
        file.commit()
        with pytest.raises(JobFileError, match=r"in use by another process\. Wait"):
            overview(path, 1)
    data = bytearray(path.read_bytes())
    data[4_096:] = bytes(len(data) - 4_096)
    path.write_bytes(data)
    with pytest.raises(JobFileError, match=r"is damaged .*\. The next run mends it"):
        overview(path, 1)
    assert path.read_bytes() == data
