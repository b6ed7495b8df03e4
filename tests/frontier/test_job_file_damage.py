"""Damage at random places: what is whole is handed out, and what is missing is counted."""

from __future__ import annotations

import os
import random
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from scrapy_robots_plus.frontier import JobFile, JobFileError
from scrapy_robots_plus.storage.sqlite_file import log_of

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
