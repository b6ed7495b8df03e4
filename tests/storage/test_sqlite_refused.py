"""Files that are locked, full or read-only: a StoreError, and nothing is lost."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import time
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import pytest

from scrapy_robots_plus.storage import StoreError
from scrapy_robots_plus.storage.sqlite_store import SqliteStore

from .records import START, origin, rules
from .sqlite_files import check, fill

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


HOLDER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA locking_mode = EXCLUSIVE")
connection.execute("BEGIN EXCLUSIVE")
connection.execute("DELETE FROM records WHERE 0")
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
from scrapy_robots_plus.storage.sqlite_store import SqliteStore
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


@pytest.mark.parametrize(
    ("folder_mode", "file_mode"),
    [(0o555, None), (0o555, 0o444), (0o555, 0o000), (0o755, 0o444), (0o755, 0o000), (0o555, 0o644)],
)
def test_a_file_or_folder_that_may_not_be_written(
    path_of_nobody: Path, folder_mode: int, file_mode: int | None
) -> None:
    path = path_of_nobody
    if file_mode is not None:
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


def test_a_locked_file_is_waited_for_once(path: Path) -> None:
    with SqliteStore(path, 10) as store, closing(sqlite3.connect(path)) as other:
        store.put(rules(1))
        other.isolation_level = None
        other.execute("BEGIN IMMEDIATE")
        waits = []
        for _ in range(5):
            began = time.perf_counter()
            with pytest.raises(StoreError, match="locked"):
                store.put(rules(2))
            waits.append(time.perf_counter() - began)
        assert waits[0] > 0.2
        assert sum(waits) < 0.6
        other.execute("ROLLBACK")
        store.put(rules(2))
        assert store._connection.execute("PRAGMA busy_timeout").fetchone() == (250,)


def test_a_writer_does_not_stop_readers(path: Path) -> None:
    with SqliteStore(path, 10) as store, closing(sqlite3.connect(path)) as other:
        store.put(rules(1))
        other.isolation_level = None
        other.execute("BEGIN IMMEDIATE")
        assert store.get(origin(1)) == rules(1)
