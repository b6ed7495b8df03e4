"""A job that was killed is told from one that was stopped."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from scrapy_robots_plus.crawl.lanes.running_marker import RunningMarker

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return str(tmp_path)


def run_until_killed(folder: str, *held: int) -> None:
    """A process that holds so many requests, one number after the other, and then dies."""
    code = f"""
import os
from scrapy_robots_plus.crawl.lanes.running_marker import RunningMarker
note = RunningMarker({folder!r})
for held in {held!r}:
    note.write(held)
os.kill(os.getpid(), 9)
"""
    done = subprocess.run([sys.executable, "-c", code], timeout=60, check=False)
    assert done.returncode == -9


def test_what_the_last_run_held_is_read_after_a_kill(folder: str) -> None:
    assert RunningMarker(folder).held_when_killed is None
    run_until_killed(folder, 7, 12_345, 3)
    assert RunningMarker(folder).held_when_killed == 3
    run_until_killed(folder, 3, 12_345)
    assert RunningMarker(folder).held_when_killed == 12_345


def test_after_a_proper_stop_there_is_no_note(folder: str, tmp_path: Path) -> None:
    note = RunningMarker(folder)
    note.write(7)
    note.remove()
    assert RunningMarker(folder).held_when_killed is None
    assert list(tmp_path.iterdir()) == []
    note.remove()  # nor does it matter that there is none


def test_a_state_that_is_newer_is_of_a_proper_stop_under_another_queue(
    folder: str, tmp_path: Path
) -> None:
    run_until_killed(folder, 7)
    state = tmp_path / "active.json"
    state.write_text("{}")
    noted_at = (tmp_path / RunningMarker.NAME).stat().st_mtime_ns
    os.utime(state, ns=(noted_at + 1, noted_at + 1))
    assert RunningMarker(folder).held_when_killed is None
    os.utime(state, ns=(noted_at, noted_at))
    assert RunningMarker(folder).held_when_killed == 7


@pytest.mark.parametrize("content", [b"", b"many", b"\xff\xfe"])
def test_a_note_that_was_damaged_is_none(folder: str, tmp_path: Path, content: bytes) -> None:
    (tmp_path / RunningMarker.NAME).write_bytes(content)
    assert RunningMarker(folder).held_when_killed is None


def test_the_same_number_is_not_written_again(folder: str, tmp_path: Path) -> None:
    note = RunningMarker(folder)
    note.write(7)
    (tmp_path / RunningMarker.NAME).write_bytes(b"as it was")
    note.write(7)
    assert (tmp_path / RunningMarker.NAME).read_bytes() == b"as it was"
    note.write(8)
    assert RunningMarker(folder).held_when_killed == 8
    note.remove()


def test_a_folder_that_is_not_there_stops_nobody(tmp_path: Path) -> None:
    note = RunningMarker(str(tmp_path / "none"))
    note.write(7)
    note.remove()
    assert note.held_when_killed is None
