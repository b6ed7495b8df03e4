"""Damage at random places: what is whole is handed out, and what is missing is counted."""

from __future__ import annotations

import os
import random
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from scrapy_robots_plus.frontier import JobFile, JobFileError
from scrapy_robots_plus.storage.sqlite.file import log_of

from .jobs import drain, fill, kill_copy

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    "seed", [*range(20), *(pytest.param(seed, marks=pytest.mark.stress) for seed in range(20, 300))]
)
def test_no_damage_loses_a_request_without_a_word(path: Path, seed: int) -> None:
    chance = random.Random(seed)
    file = JobFile(path)
    held = fill(file, chance)
    killed = chance.random() < 0.5
    target = kill_copy(path, path.parent / "killed") if killed else path
    file.close()
    damage(chance.choice([target, log_of(target)]) if killed else target, chance)

    found, lost, told = drained(target)
    missing = (held.data - found).total()
    if any(words in told for words in ("at least", "cannot be told", "will be done again")):
        assert lost <= missing
    else:
        assert lost == missing
    assert not missing or "was damaged" in told
    assert set(found) <= held.ever
    if "log is damaged" not in told and "Resume" not in told:
        assert set(found) <= set(held.data)


@pytest.mark.parametrize("seed", range(5))
def test_a_file_that_was_cut_off(path: Path, seed: int) -> None:
    chance = random.Random(seed)
    file = JobFile(path)
    held = fill(file, chance)
    file.close()
    os.truncate(path, chance.randrange(100_000, path.stat().st_size))
    found, lost, told = drained(path)
    assert lost == (held.data - found).total() > 0
    assert "was damaged" in told


@pytest.mark.parametrize("seed", range(5))
def test_a_log_that_was_cut_off_takes_the_job_back_to_a_commit(path: Path, seed: int) -> None:
    """Nothing is lost: whatever led to what is gone will be done again."""
    chance = random.Random(seed)
    file = JobFile(path)
    held = fill(file, chance)
    killed = kill_copy(path, path.parent / "killed")
    file.close()
    os.truncate(log_of(killed), chance.randrange(log_of(killed).stat().st_size))
    assert drained(killed) in [(commit, 0, "") for commit in held.commits]


def test_what_was_not_committed_when_a_page_turns_out_to_be_damaged_is_said(path: Path) -> None:
    """SQLite then refuses to commit. What was committed is handed out in the next run."""
    bodies = [b"%05d" % number * 40 for number in range(3_000)]
    with JobFile(path) as file:
        for number, data in enumerate(bodies):
            file.add(f"host-{number % 500}", 0, data)
    spoil_page_of(path, bodies[1_500])

    found = Counter[bytes]()
    file = JobFile(path)
    taken = file.take("host-0", 0, starts=False, newest=True)
    assert taken is not None
    file.commit()
    file.add("host-new", 0, b"not committed")
    for _ in range(2):  # nothing more is done with the file
        with pytest.raises(JobFileError, match=r"since the last commit is not in it\. Resume"):
            drain(file, found)
    assert 0 < file.lost < 100
    lost = file.lost
    assert "was damaged" in "".join(file.troubles)
    file.close()
    with JobFile(path) as file:
        assert not file.was_killed
        assert file.take("host-0", 0, starts=False, newest=True) == taken  # not to blame
        file.end(taken.id)
        again = drain(file)
    assert again.total() == len(bodies) - lost - 1
    assert set(again) <= set(bodies)


def spoil_page_of(path: Path, content: bytes) -> None:
    """The page with *content* gets a type that there is not."""
    data = bytearray(path.read_bytes())
    data[data.index(content) // 4_096 * 4_096] = 0xFF
    path.write_bytes(data)


def damage(path: Path, chance: random.Random) -> None:
    data = bytearray(path.read_bytes())
    for _ in range(chance.choice([1, 1, 1, 3, 20])):
        length = min(chance.choice([1, 1, 4, 16, 500, 4_096, 30_000]), len(data))
        begin = chance.randrange(len(data) - length + 1)
        data[begin : begin + length] = chance.randbytes(length)
    path.write_bytes(data)


def drained(path: Path) -> tuple[Counter[bytes], int, str]:
    """Resumes the job until all is handed out.

    Returns that, how many requests are said to be lost, and all that is said.
    """
    found, lost, told = Counter[bytes](), 0, ""
    for _ in range(3):
        with JobFile(path) as file:
            try:
                drain(file, found)
                return found, lost + file.lost, told + "".join(file.troubles)
            except JobFileError as error:
                if "Resume the job" not in str(error):
                    raise
                lost += file.lost
                told += "".join([*file.troubles, str(error)])
    raise AssertionError("it fails for ever")
