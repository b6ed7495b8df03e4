"""Files that are damaged, locked, full, read-only or not ours."""

from __future__ import annotations

import logging
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import pytest

from scrapy_robots_plus.storage import StoreError, sqlite_file
from scrapy_robots_plus.storage.sqlite import SqliteStore

from .records import START, origin, rules

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ROWS = 300


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "robots.db"


def fill(path: Path, first: int = 0, rows: int = ROWS, time: float = START) -> None:
    with SqliteStore(path, 10_000) as store:
        for number in range(first, first + rows):
            store.put(rules(number, time, lines=number % 7 * 20))


def check(path: Path, rows: int = ROWS) -> int:
    """Opens the store, finds each record whole or absent, and can use it. Returns how many."""
    found = 0
    with SqliteStore(path, 10_000) as store:
        for number in range(rows):
            record = store.get(origin(number))
            assert record in (None, rules(number, START, lines=number % 7 * 20))
            found += record is not None
        for number in range(rows):
            store.put(rules(number, START + 1))
        store.purge(START)
        # Damage that showed late has taken with it what was put before.
        assert store.get(origin(0)) in (None, rules(0, START + 1))
        store.put(rules(0, START + 2))
    with SqliteStore(path, 10_000) as store:
        assert store.get(origin(0)) == rules(0, START + 2)
        assert len(store) <= 2 * rows + 1  # rows that a damaged index no longer finds
    return found


def aside(path: Path, number: int = 1) -> Path:
    return path.with_name(f"{path.name}.damaged-{number}")


# Damaged


@pytest.mark.parametrize("seed", range(40))
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
        connection.execute("DROP TABLE tally")
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
    fill(path, rows=100)
    with SqliteStore(source, 10_000) as store:
        for number in range(50, 200):
            store.put(rules(number, START, lines=number % 7 * 20))
        shutil.copy(f"{source}-wal", log)
        shutil.copy(f"{source}-shm", index)
        shutil.copy(path, tmp_path / "copy")
    if damage == "older":
        fill(path, first=150, rows=100)
    else:
        shutil.copy(tmp_path / "copy", path)
    content = bytearray(log.read_bytes())
    if damage == "random":
        content[len(content) // 2 :][:500] = random.Random(1).randbytes(500)
        content[len(content) // 2 : len(content) // 2 + 500] = random.Random(1).randbytes(500)
    elif damage == "cut":
        del content[len(content) * 2 // 3 :]
    path.with_name(f"{path.name}-wal").write_bytes(content)
    if damage == "index":
        path.with_name(f"{path.name}-shm").write_bytes(random.Random(2).randbytes(32_768))
    check(path)


# Not ours


def foreign_database(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE records (mine TEXT)")
        connection.execute("INSERT INTO records VALUES ('precious')")
        connection.commit()


def empty_database(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 3")


def other_application(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA application_id = 1234")


def damaged_header(path: Path) -> None:
    fill(path, rows=5)
    path.write_bytes(bytes(16) + path.read_bytes()[16:])


@pytest.mark.parametrize(
    "make",
    [
        foreign_database,
        empty_database,
        other_application,
        damaged_header,
        lambda path: path.write_bytes(b"x"),
        lambda path: path.write_bytes(b"User-agent: *\n" * 1_000),
        lambda path: path.write_bytes(b"SQLite format 3\0"),
        lambda path: path.write_bytes(bytes(8_192)),
    ],
)
def test_a_file_that_is_not_ours_is_left_alone(path: Path, make: object) -> None:
    make(path)  # type: ignore[operator]
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"robots\.db is not a store"):
        SqliteStore(path, 10)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_a_foreign_database_in_use_keeps_its_locks_and_its_log(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as owner:
        owner.execute("PRAGMA journal_mode = WAL")
        owner.execute("CREATE TABLE mine (value)")
        owner.execute("BEGIN IMMEDIATE")
        owner.execute("INSERT INTO mine VALUES (1)")
        before = sorted(path.parent.iterdir())
        with pytest.raises(StoreError, match="not a store"):
            SqliteStore(path, 10)
        assert sorted(path.parent.iterdir()) == before
        probe = (
            "import sqlite3, sys\n"
            "connection = sqlite3.connect(sys.argv[1], timeout=0)\n"
            "try: connection.execute('BEGIN IMMEDIATE')\n"
            "except sqlite3.OperationalError: print('locked')\n"
        )
        result = subprocess.run(
            [sys.executable, "-c", probe, str(path)], capture_output=True, text=True, timeout=60
        )
        assert result.stdout == "locked\n", result
        owner.execute("COMMIT")


@pytest.mark.parametrize("make", [os.mkdir, getattr(os, "mkfifo", os.mkdir)])
def test_what_is_no_file_is_refused(path: Path, make: object) -> None:
    make(path)  # type: ignore[operator]
    with pytest.raises(StoreError, match="not a file"):
        SqliteStore(path, 10)


# Locked, full, read-only

HOLDER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA locking_mode = EXCLUSIVE")
connection.execute("BEGIN EXCLUSIVE")
connection.execute("DELETE FROM tally WHERE 0")
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def held_exclusively(path: Path) -> Iterator[None]:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        try:
            yield
        finally:
            holder.kill()


def test_a_file_held_by_another_process_is_not_waited_for_long(path: Path) -> None:
    fill(path, rows=5)
    with held_exclusively(path):
        began = time.perf_counter()
        with pytest.raises(StoreError, match="locked"):
            SqliteStore(path, 10)
        assert time.perf_counter() - began < 1
    with SqliteStore(path, 10) as store:
        assert len(store) == 5


def usable_again(store: SqliteStore) -> None:
    store.put(rules(1, START + 9))
    assert store.get(origin(1)) == rules(1, START + 9)


def test_a_full_disk_loses_nothing(path: Path) -> None:
    with SqliteStore(path, 10_000) as store:
        store.put(rules(1))
        pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
        store._connection.execute(f"PRAGMA max_page_count = {pages + 2}")
        for number in range(2, 5):
            with pytest.raises(StoreError, match="full"):
                store.put(rules(number, lines=10_000))
        assert store.get(origin(1)) == rules(1)
        assert len(store) == 1
        store._connection.execute("PRAGMA max_page_count = 100000")
        usable_again(store)


LIMITED = """
import resource, signal, sys
from scrapy_robots_plus.storage import StoreError
from scrapy_robots_plus.storage.sqlite import SqliteStore
from tests.storage.records import origin, rules

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
store = SqliteStore(sys.argv[1], 10_000)
store.put(rules(1))
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))
failures = stored = 0
for number in range(2, 300):
    try:
        store.put(rules(number))
        stored += 1
    except StoreError as error:
        failures += 1
        assert "robots.db" in str(error)
    assert store.get(origin(1)) == rules(1)
assert failures > 10, failures
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
store.put(rules(999))
assert store.get(origin(999)) == rules(999)
assert len(store) == stored + 2
store.close()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no resource limits")
def test_writes_that_the_system_refuses_lose_nothing(path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", LIMITED, str(path)], timeout=60, check=False)
    assert done.returncode == 0
    with SqliteStore(path, 10_000) as store:
        assert store.get(origin(999)) == rules(999)


def test_a_file_that_becomes_read_only(path: Path) -> None:
    with SqliteStore(path, 10_000) as store:
        store.put(rules(1))
        store._connection.execute("PRAGMA query_only = ON")
        with pytest.raises(StoreError, match="readonly"):
            store.put(rules(2))
        with pytest.raises(StoreError, match="readonly"):
            store.delete(origin(1))
        with pytest.raises(StoreError, match="readonly"):
            store.purge(START + 1)
        assert store.get(origin(1)) == rules(1)
        store._connection.execute("PRAGMA query_only = OFF")
        usable_again(store)


@pytest.fixture
def not_root(tmp_path: Path) -> Iterator[None]:
    """Nothing is read-only to root."""
    if not hasattr(os, "geteuid"):
        pytest.skip("no user ids")
    if os.geteuid():
        yield
        return
    for folder in tmp_path.parents:
        if folder.stat().st_mode & 0o005 != 0o005 and str(folder).startswith("/tmp/"):
            folder.chmod(folder.stat().st_mode | 0o011)
    os.chown(tmp_path, 65_534, -1)
    os.seteuid(65_534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.usefixtures("not_root")
@pytest.mark.parametrize("folder_mode", [0o555, 0o755])
@pytest.mark.parametrize("file_mode", [None, 0o444, 0o000])
def test_a_file_or_folder_that_may_not_be_written(
    path: Path, folder_mode: int, file_mode: int | None
) -> None:
    if file_mode is None:
        if folder_mode == 0o755:
            return
    else:
        fill(path, rows=5)
        path.chmod(file_mode)
    path.parent.chmod(folder_mode)
    try:
        with pytest.raises(StoreError, match=r"robots\.db"), SqliteStore(path, 10) as store:
            store.put(rules(1, START + 1))
    finally:
        path.parent.chmod(0o755)
    if file_mode is not None:
        path.chmod(0o644)
        assert check(path, rows=5) == 5
