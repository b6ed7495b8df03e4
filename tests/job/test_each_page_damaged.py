"""Damage to each page of a job's file in turn: what is missing at the end is what was said."""

from __future__ import annotations

import random
import re
import shutil
import sqlite3
from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from scrapy_robots_plus.job import JobFile, JobFileError, overview
from scrapy_robots_plus.job.recent_steps import recent_of

from .jobs import drain, kill_copy

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PAGE = 4_096
HOSTS = 20
NEW = Counter(b"new %03d" % number * 60 for number in range(100))


def begun(path: Path, requests: int) -> Counter[bytes]:
    """A job of which a part was done, so that its file has free pages, and other states."""
    left = Counter[bytes]()
    with JobFile(path) as file:
        for number in range(requests):
            data = b"%06d" % number * (3 + number % 150)
            file.see(data)
            file.add(f"host-{number % HOSTS}.example", -2 * (number % 3), data)
            left[data] += 1
        file._write()
        for number in range(requests // 2):
            lane = f"host-{number % HOSTS}.example"
            taken = file.take(lane, min(file.contents(lane)), newest=False)
            assert taken is not None
            file.end(taken.id)
            left[taken.data] -= 1
        aside = file.take("host-0.example", 0, newest=True)
        assert aside is not None
        file.set_aside(aside.id)
    return +left


def flipped(page: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(PAGE)
    return page[:at] + bytes([page[at] ^ 1 << chance.randrange(8)]) + page[at + 1 :]


DAMAGES: dict[str, Callable[[bytes, random.Random], bytes]] = {
    "random": lambda _, chance: chance.randbytes(PAGE),
    "zeros": lambda _, __: bytes(PAGE),
    "its begin": lambda page, chance: chance.randbytes(64) + page[64:],
    "a bit": flipped,
}


def run(
    path: Path, meanwhile: Callable[[], object] = lambda: None
) -> tuple[Counter[bytes], int, list[str]]:
    """What runs hand out, how many requests they say are lost, and all that they say. One that
    finds damage ends, and the next mends it.

    While the first runs, *meanwhile* is called. It adds requests, as a crawl does: it needs free
    pages.
    """
    found, lost, told, new = Counter[bytes](), 0, list[str](), iter(NEW)
    for runs in range(3):
        try:
            with JobFile(path) as file:
                lost += file.lost
                told += file.troubles
                rank = min(file.contents("host-1.example"), default=0)
                taken = file.take("host-1.example", rank, newest=True)
                if runs == 0:
                    meanwhile()
                for data in new:
                    file.add("new.example", 10, data)
                file.commit()
                file.retry()
                drain(file, found)
                if taken is not None:
                    found[taken.data] += 1
                    file.end(taken.id)
        except JobFileError as error:  # noqa: PERF203 - what the loop is for
            if "is damaged (" not in str(error):
                raise
        else:
            return found, lost, told
    raise AssertionError("damaged again and again")


def check_page(
    folder: Path,
    path: Path,
    held: Counter[bytes],
    number: int,
    how: str,
    *,
    while_it_runs: bool = False,
) -> bool:
    """Whether the damage was noticed."""
    damaged = folder / f"{number} {how}" / path.name
    damaged.parent.mkdir()
    shutil.copy(path, damaged)

    def damage() -> None:
        with damaged.open("r+b") as file:
            file.seek(number * PAGE)
            page = DAMAGES[how](file.read(PAGE), random.Random(number))
            file.seek(number * PAGE)
            file.write(page)

    if not while_it_runs:
        damage()
    found, lost, told = run(damaged, damage if while_it_runs else lambda: None)
    missing = (held - found).total()
    assert missing == lost, (number, how, told)
    said = "".join(told)
    assert not missing or f"{lost:,} are lost" in said
    assert missing == 0 or number != 0, "the first page is the same in all files"
    assert "cannot be told" not in said
    if lost:
        again, lost, told = run(damaged)
        assert not set(again) & set(held), "what was dealt with came again"
        assert (lost, told) == (0, [])
    shutil.rmtree(damaged.parent)
    return bool(said)


@pytest.mark.parametrize("how", DAMAGES)
def test_what_is_missing_is_what_was_said(tmp_path: Path, path: Path, how: str) -> None:
    held = begun(path, 400)
    pages = range(0, path.stat().st_size // PAGE, 17)
    noticed = sum(check_page(tmp_path, path, held, number, how) for number in pages)
    assert noticed > len(pages) / 3 or how == "a bit"


@pytest.mark.parametrize("how", DAMAGES)
def test_what_is_missing_is_what_was_said_if_it_happens_while_it_runs(
    tmp_path: Path, path: Path, how: str
) -> None:
    held = begun(path, 400)
    pages = range(0, path.stat().st_size // PAGE, 19)
    noticed = [check_page(tmp_path, path, held, each, how, while_it_runs=True) for each in pages]
    assert any(noticed)


def test_the_first_page_of_a_file_that_was_shrunk_takes_nothing(tmp_path: Path, path: Path) -> None:
    """It is the same in all files: its tables have the same places."""
    held = begun(path, 400)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("VACUUM")
    for how in DAMAGES:
        damaged = tmp_path / how / path.name
        damaged.parent.mkdir()
        data = path.read_bytes()
        damaged.write_bytes(DAMAGES[how](data[:PAGE], random.Random(1)) + data[PAGE:])
        assert run(damaged)[:2] == (held + NEW, 0)


@pytest.mark.stress
@pytest.mark.parametrize("how", DAMAGES)
def test_in_a_large_job_too(tmp_path: Path, path: Path, how: str) -> None:
    held = begun(path, 4_000)
    pages = path.stat().st_size // PAGE
    for number in range(pages):
        check_page(tmp_path, path, held, number, how)


def test_what_was_lost_is_told_once_and_kept(path: Path) -> None:
    held = begun(path, 100)
    data = bytearray(path.read_bytes())
    place = data.index(max(held)) // PAGE * PAGE
    data[place : place + PAGE] = bytes(PAGE)
    path.write_bytes(data)
    _, lost, told = run(path)
    assert lost > 0
    with JobFile(path) as file:
        assert file.troubles == []
    assert overview(path, 0).losses == told


def test_a_kill_before_it_was_told_changes_nothing(path: Path) -> None:
    """The file was mended, and the process killed before it was opened."""
    held = begun(path, 100)
    data = bytearray(path.read_bytes())
    place = data.index(max(held)) // PAGE * PAGE
    data[place : place + PAGE] = bytes(PAGE)
    path.write_bytes(data)
    killed = path.parent / "killed"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "scrapy_robots_plus.job.file.JobFile._tell_what_is_lost",
            lambda self, *_: kill_copy(path, killed) and 1 / 0,
        )
        with pytest.raises(ZeroDivisionError):
            run(path)
    found, lost, told = run(killed / path.name)
    assert (held - found).total() == lost > 0
    assert f"{lost} are lost" in "".join(told)
    assert not recent_of(killed / path.name).exists()


@pytest.mark.parametrize("letter", [b"{", b"\xff"], ids=["another letter", "no letter"])
def test_a_name_that_is_damaged_in_the_list_of_those_that_wait_costs_nothing(
    tmp_path: Path, path: Path, letter: bytes
) -> None:
    """SQLite finds some requests there no longer, and cannot take others away."""
    held = begun(path, 400)
    data = path.read_bytes()
    places = [
        found.start()
        for found in re.finditer(rb"host-\d+\.example", data)
        if data[found.start() // PAGE * PAGE] == 10  # a leaf of an index
    ]
    assert len(places) > 100
    for place in places[::60]:
        damaged = tmp_path / f"{place}" / path.name
        damaged.parent.mkdir()
        damaged.write_bytes(data[: place + 2] + letter + data[place + 3 :])
        found, lost, told = run(damaged)
        assert ((held - found).total(), lost) == (0, 0), (place, told)
