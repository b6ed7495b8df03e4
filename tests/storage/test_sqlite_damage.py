"""Damaged files are set aside, and what is whole in them is used as long as it can be."""

from __future__ import annotations

import logging
import random
import shutil
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from scrapy_robots_plus.storage import sqlite_file as sqlite_file
from scrapy_robots_plus.storage.sqlite_store import SqliteStore

from .records import START, origin, rules
from .sqlite_files import ROWS, aside, check, fill

if TYPE_CHECKING:
    from pathlib import Path


MORE_SEEDS = [pytest.param(seed, marks=pytest.mark.stress) for seed in range(4, 100)]


@pytest.mark.parametrize("seed", [*range(4), *MORE_SEEDS])
def test_bytes_overwritten_in_the_middle(path: Path, seed: int) -> None:
    fill(path)
    chance = random.Random(seed)
    data = bytearray(path.read_bytes())
    for _ in range(chance.choice([1, 1, 3, 20])):
        length = chance.choice([1, 16, 500, 4_096, 30_000])
        begin = chance.randrange(100, len(data) - length)  # the header says whose file it is
        data[begin : begin + length] = chance.randbytes(length)
    path.write_bytes(data)
    check(path)


@pytest.mark.parametrize("part", [0.001, 0.01, 0.2, 0.5, 0.8, 0.99])
def test_a_file_cut_off_is_set_aside(
    path: Path, part: float, caplog: pytest.LogCaptureFixture
) -> None:
    fill(path)
    whole = path.read_bytes()
    cut = whole[: max(100, int(len(whole) * part))]
    path.write_bytes(cut)
    check(path)
    assert aside(path).read_bytes() == cut
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert str(path) in caplog.text
    assert str(aside(path)) in caplog.text


def test_a_schema_that_is_not_ours_is_set_aside(path: Path) -> None:
    fill(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TABLE records")
    assert check(path) == 0
    assert aside(path).exists()


def test_damage_is_set_aside_while_the_store_is_open(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    fill(path)
    with SqliteStore(path, 10_000) as store, SqliteStore(path, 10_000) as other:
        assert store.get(origin(1)) is not None
        with path.open("r+b") as file:
            file.seek(2 * 4_096)
            file.write(random.Random(1).randbytes(path.stat().st_size - 2 * 4_096))
        for number in range(ROWS):
            store.get(origin(number))
            other.get(origin(number))
        store.put(rules(1, START + 1))
        other.put(rules(2, START + 1))
        assert other.get(origin(1)) == rules(1, START + 1)
        assert store.get(origin(2)) == rules(2, START + 1)
    # The two saw the same damage: one of them set the file aside, and only once.
    assert aside(path).exists()
    assert not aside(path, 2).exists()
    assert caplog.text.count("is kept as") == 1


def test_each_damaged_file_is_kept(path: Path) -> None:
    for number in (1, 2, 3):
        fill(path)
        path.write_bytes(path.read_bytes()[:9_000])
        check(path)
        assert aside(path, number).exists()


def test_only_the_damaged_file_is_set_aside(path: Path) -> None:
    fill(path)
    damaged = sqlite_file.identity(path)
    path.unlink()
    (path.parent / "hold the inode").touch()
    fill(path)
    sqlite_file.set_aside(path, (0, 0), sqlite3.DatabaseError("malformed"))
    sqlite_file.set_aside(path, None, sqlite3.DatabaseError("malformed"))
    assert damaged is not None
    assert not aside(path).exists()
    path.unlink()
    sqlite_file.set_aside(path, damaged, sqlite3.DatabaseError("malformed"))
    assert not aside(path).exists()


def test_a_file_of_no_length_is_a_new_store(path: Path) -> None:
    path.touch()
    assert check(path) == 0


def test_a_log_without_its_file_is_not_taken_for_the_new_ones(path: Path, tmp_path: Path) -> None:
    with SqliteStore(path, 10_000) as store:
        store.put(rules(1))
        for suffix in ("-wal", "-shm"):
            shutil.copy(f"{path}{suffix}", tmp_path / f"copy{suffix}")
    path.unlink()
    for suffix in ("-wal", "-shm"):
        shutil.copy(tmp_path / f"copy{suffix}", f"{path}{suffix}")
    assert check(path) == 0


@pytest.mark.parametrize("damage", ["random", "cut", "other", "older", "index"])
def test_a_log_left_over(path: Path, tmp_path: Path, damage: str) -> None:
    """As after a kill, and then worse."""
    log, index = tmp_path / "copy-wal", tmp_path / "copy-shm"
    source = tmp_path / "other.db" if damage == "other" else path
    fill(path, rows=50)
    with SqliteStore(source, 10_000) as store:
        for number in range(25, 100):
            store.put(rules(number, START, lines=number % 7 * 20))
        shutil.copy(f"{source}-wal", log)
        shutil.copy(f"{source}-shm", index)
        shutil.copy(path, tmp_path / "copy")
    if damage == "older":
        fill(path, first=75, rows=25)
    else:
        shutil.copy(tmp_path / "copy", path)
    content = bytearray(log.read_bytes())
    if damage == "random":
        content[len(content) // 2 : len(content) // 2 + 500] = random.Random(1).randbytes(500)
    elif damage == "cut":
        del content[len(content) * 2 // 3 :]
    path.with_name(f"{path.name}-wal").write_bytes(content)
    if damage == "index":
        path.with_name(f"{path.name}-shm").write_bytes(random.Random(2).randbytes(32_768))
    check(path)
