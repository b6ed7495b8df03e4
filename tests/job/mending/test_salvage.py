"""What a new file gets of a damaged one, besides the requests that wait."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from scrapy_robots_plus.job import JobFile, JobFileError
from scrapy_robots_plus.job.schema import COPIES

from ..jobs import drained, failed, lose_in_index, under_way

if TYPE_CHECKING:
    from pathlib import Path


def test_states_notes_fingerprints_and_sleep_outlive_damage(path: Path) -> None:
    file = JobFile(path)
    for number in range(6):
        file.add(f"host-{number}", -2 * number, b"%d" % number * (3_000 if number == 5 else 1))
        file.see(b"%d" % number)
    file.set_note("key", "value")
    assert list(file.wake(4)) == ["host-5", "host-4", "host-3", "host-2"]
    aside = file.take("host-4", -8, newest=True)
    assert file.take("host-3", -6, newest=True) is not None
    assert aside is not None
    file.set_aside(aside.id)
    file = failed(file)
    assert (
        "was damaged (requests are missing). 6 requests can be read, 0 are lost"
        in (file.troubles[0])
    )
    assert (file.held, under_way(file), file.stored, file.lost) == (5, 0, 6, 0)
    assert list(file.wake(9)) == ["host-5", "host-3", "host-2", "host-1", "host-0"]
    assert file.note("key") == "value"
    assert not any(file.see(b"%d" % number) for number in range(6))
    large = file.take("host-5", -10, newest=True)
    assert large is not None
    assert large.data == b"5" * 3_000
    assert [each.data for each in file.retry()] == [b"4"]
    file.add("host-1", 0, b"newer")
    assert file.contents("host-1") == {-2: 1, 0: 1}
    file.close()
    with JobFile(path) as file:
        assert (file.was_killed, file.held, file.stored) == (False, 7, 7)


def test_lanes_that_are_missing_are_noticed_when_they_are_to_wake(path: Path) -> None:
    file = JobFile(path)
    for lane in ("a", "b"):
        file.add(lane, 0, lane.encode())
    lose_in_index(file._run, "lane = 'a'")
    with pytest.raises(JobFileError, match="requests are missing"):
        file.wake(9)
    with JobFile(path) as file:
        assert "was damaged (requests are missing). 2 requests can be read, 0" in file.troubles[0]
        assert file.wake(9) == {"a": {0: 1}, "b": {0: 1}}


def test_a_request_in_a_state_that_there_is_not_waits_again(path: Path) -> None:
    """Nothing would ever lead to it."""
    with JobFile(path) as file:
        file.add("host", 0, b"1")
        taken = file.take("host", 0, newest=True)
        assert taken is not None
        file.set_aside(taken.id)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE requests SET state = 99")
        connection.commit()
    with JobFile(path) as file:
        assert "(request 1 is malformed). 1 request can be read, 0" in file.troubles[0]
        assert (file.held, file.stored, file.lost) == (1, 1, 0)
        assert file.take("host", 0, newest=True) is not None


@pytest.mark.parametrize("kills", ["x", b"x", 2.5, -1, (1 << 63) - 1])
@pytest.mark.parametrize("state", [0, 1, 2])
def test_a_number_of_kills_that_is_none_loses_nothing(
    path: Path, kills: object, state: int
) -> None:
    with JobFile(path) as file:
        for number in range(3):
            file.add("host", 0, b"%d" % number)
    with closing(sqlite3.connect(path)) as connection, connection:
        changed = "UPDATE requests SET hard_ends = ?, state = ? WHERE id = 2"
        connection.execute(changed, (kills, state))
    found, lost, told = drained(path)
    assert (found, lost) == ({b"0": 1, b"1": 1, b"2": 1}, 0)
    # A suspect is seen at the start, another one when its turn comes: one was handed out before.
    left = 2 if kills == -1 and state == 0 else 3
    assert f"{left} requests can be read, 0 are lost" in told


def test_one_that_was_set_aside_and_is_gone_is_told(path: Path) -> None:
    with JobFile(path) as file:
        for data in (b"1", b"2"):
            file.add("host", 0, data)
        taken = file.take("host", 0, newest=True)
        assert taken is not None
        file.set_aside(taken.id)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DELETE FROM requests WHERE id = ?", (taken.id,))
        connection.commit()
    with JobFile(path) as file:
        assert "was damaged (requests are missing). 1 request can be read, 1" in file.troubles[0]
        assert (file.held, file.stored, file.lost) == (1, 1, 1)
    with JobFile(path) as file:
        assert (file.troubles, len(file.losses)) == ([], 1)


def test_lanes_that_lead_to_nothing_are_found_again(path: Path) -> None:
    file = JobFile(path)
    file.add("a", 0, b"1")
    assert len(file.wake(1)) == 1
    lose_in_index(file._run, "TRUE")
    assert file.take("a", 0, newest=True) is None
    with failed(file) as file:
        assert list(file.wake(1)) == ["a"]
        assert file.take("a", 0, newest=True) is not None


def test_deleted_requests_do_not_come_back(path: Path) -> None:
    """Their pages are free, but still hold them."""
    file = JobFile(path)
    for number in range(500):
        file.add("host", 0, b"%d" % number * 100)
    while taken := file.take("host", 0, newest=True):
        file.end(taken.id)
    file.add("host", 0, b"left")
    with failed(file) as file:
        assert (file.held, file.stored) == (1, 1)


@pytest.mark.parametrize("left", COPIES)
def test_one_copy_of_the_counters_is_enough(path: Path, left: str) -> None:
    file = JobFile(path)
    file.add("host", 0, b"1")
    file.close()
    with closing(sqlite3.connect(path)) as connection:
        for copy in set(COPIES) - {left}:
            connection.execute(f"UPDATE {copy} SET waiting = 7")
        connection.commit()
    with JobFile(path) as file:
        assert (file.held, file.troubles) == (1, [])


def test_without_counters_the_loss_cannot_be_told(path: Path) -> None:
    file = JobFile(path)
    file.add("host", 0, b"1")
    file.close()
    with closing(sqlite3.connect(path)) as connection:
        for copy in COPIES:
            connection.execute(f"UPDATE {copy} SET waiting = 7")
        connection.commit()
    with JobFile(path) as file:
        assert (
            "was damaged (its counters are malformed). 1 request can be read; how many are lost "
            "cannot be told"
        ) in file.troubles[0]
        assert (file.held, file.lost, file.was_killed) == (1, 0, False)
