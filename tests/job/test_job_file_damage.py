"""Damage at random places: what is whole is handed out, and what is missing is counted."""

from __future__ import annotations

import os
import random
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from scrapy_robots_plus.job import JobFile, JobFileError
from scrapy_robots_plus.job.recent_steps import recent_of
from scrapy_robots_plus.job.schema import journal_of

from .jobs import drain, drained, failed, fill, kill_copy, under_way

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    "seed", [*range(6), *(pytest.param(seed, marks=pytest.mark.stress) for seed in range(6, 300))]
)
def test_no_damage_loses_a_request_without_a_word(path: Path, seed: int) -> None:
    chance = random.Random(seed)
    file = JobFile(path)
    held = fill(file, chance)
    killed = chance.random() < 0.5
    target = kill_copy(path, path.parent / "killed") if killed else path
    file.close()
    damage(chance.choice([target, recent_of(target)]) if killed else target, chance)

    found, lost, told = drained(target)
    missing = (held.data - found).total()
    if any(words in told for words in ("at least", "cannot be told", "will be done again")):
        assert lost <= missing
    else:
        assert lost == missing
    assert not missing or "was damaged" in told or "will be done again" in told
    assert set(found) <= held.ever
    if "will be done again" not in told:
        assert set(found) <= set(held.data)


@pytest.mark.parametrize("seed", range(3))
def test_a_file_that_was_cut_off(path: Path, seed: int) -> None:
    chance = random.Random(seed)
    file = JobFile(path)
    held = fill(file, chance)
    file.close()
    os.truncate(path, chance.randrange(100_000, path.stat().st_size))
    found, lost, told = drained(path)
    assert lost == (held.data - found).total() > 0
    assert "was damaged" in told


@pytest.mark.parametrize("seed", range(3))
def test_a_log_that_was_cut_off_takes_the_job_back_to_a_commit(path: Path, seed: int) -> None:
    """Nothing is lost: whatever led to what is gone will be done again."""
    chance = random.Random(seed)
    file = JobFile(path)
    held = fill(file, chance)
    killed = kill_copy(path, path.parent / "killed")
    file.close()
    recent = recent_of(killed)
    os.truncate(recent, chance.randrange(100, recent.stat().st_size))
    assert drained(killed) in [(commit, 0, "") for commit in held.commits]


def test_a_page_that_turns_out_to_be_damaged_takes_what_was_in_it_alone(path: Path) -> None:
    """Not what was done since the file was written, committed or not."""
    bodies = [b"%05d" % number * 40 for number in range(3_000)]
    with JobFile(path) as file:
        for number, data in enumerate(bodies):
            file.add(f"host-{number % 500}", 0, data)
    spoil_page_of(path, bodies[1_500])

    file = JobFile(path)
    taken = [file.take("host-0", 0, newest=False) for _ in range(2)]
    ended = [file.end(each.id) for each in taken if each is not None]
    file.commit()
    file.add("host-new", 0, b"not committed")
    found = Counter[bytes]()
    with pytest.raises(JobFileError, match="is damaged"):
        drain(file, found)
    more, lost, told = drained(path)
    assert 0 < lost < 100
    assert f"{lost} are lost; the damaged file is kept beside it" in told
    assert (found + more).total() == len(bodies) + 1 - lost - len(ended)
    with JobFile(path) as file:
        assert file.stored == 0


def test_a_copy_of_a_killed_job_is_read_as_a_whole_before_it_is_used(path: Path) -> None:
    """A copy may hold pages of two moments, and damage of its own; the killed file itself does not.

    It is looked at page by page, as it is used.
    """
    with JobFile(path) as file:
        for number in range(300):
            file.add("host", 0, b"%05d" % number * 40)
    with JobFile(path) as file:
        file.commit()
        killed = kill_copy(path, path.parent / "killed")
    spoil_page_of(killed, b"%05d" % 150 * 40)
    with JobFile(killed) as file:
        assert 5 < file.lost < 100


def test_what_is_under_way_when_its_page_is_lost_is_counted(path: Path) -> None:
    bodies = [b"%05d" % number * 40 for number in range(300)]
    with JobFile(path) as file:
        for data in bodies:
            file.add("host", 0, data)
    file = JobFile(path)
    for _ in range(2):
        file.take("host", 0, newest=False)
    file.commit()
    killed = kill_copy(path, path.parent / "killed")
    for job in (path, killed):
        spoil_page_of(job, bodies[0])
        os.truncate(journal_of(job), 0)
    for again in (failed(file), JobFile(killed)):
        with again:
            assert 5 < again.lost < 100
            assert (under_way(again), again.stored) == (0, 300 - again.lost)
            assert f"{again.lost} are lost" in again.troubles[0]


def test_a_fingerprint_whose_request_meets_damage_is_new_again(path: Path) -> None:
    """Its page is linked again when the page that led to it is: nothing has told its loss."""
    with JobFile(path) as file:
        file.add("host", 0, bytes(50_000))
    with JobFile(path) as file:
        drain(file)
    data = path.read_bytes()
    free = 4_096 * (int.from_bytes(data[32:36], "big") - 1)  # the list of free pages
    path.write_bytes(data[:free] + b"\xff" * 4_096 + data[free + 4_096 :])

    file = JobFile(path)
    assert file.see(b"fingerprint")
    with pytest.raises(JobFileError, match="is damaged"):
        file.add("host", 0, bytes(50_000))
    with JobFile(path) as file:
        assert file.troubles
        assert file.see(b"fingerprint")


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
