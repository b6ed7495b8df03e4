"""A store whose file is damaged, removed or replaced under several processes goes on by itself."""

from __future__ import annotations

import os
import random
import select
import shutil
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import IO

import pytest

from scrapy_robots_plus.storage import StoreError
from scrapy_robots_plus.storage import sqlite_file as sqlite_file
from scrapy_robots_plus.storage.sqlite_store import SqliteStore
from tests.programs import Program

from .records import START, origin, rules
from .writer import expected

WRITERS = 4
TRIES = 200
OWN = 1_000
"""From which number on origins are a writer's own."""


def test_a_store_that_could_not_be_opened_again_is_opened_later(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with SqliteStore(path, 10) as store:
        store.put(rules(1))
        path.unlink()
        path.mkdir()  # for a moment, something else is there
        for _ in range(3):
            with pytest.raises(StoreError, match="not a regular file"):
                store.put(rules(2))
            with pytest.raises(StoreError, match="not a regular file"):
                store.get(origin(1))
        path.rmdir()
        assert store.put(rules(2))
        assert store.get(origin(2)) == rules(2)


def test_while_it_cannot_be_opened_again_nobody_waits_twice(path: Path) -> None:
    with SqliteStore(path, 10) as store:
        path.unlink()
        with SqliteStore(path, 10) as other:
            other._connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            other.put(rules(1))
            waits = []
            for _ in range(5):
                began = time.perf_counter()
                with pytest.raises(StoreError, match="locked"):
                    store.put(rules(2))
                waits.append(time.perf_counter() - began)
            assert sum(waits[1:]) < 4 * sqlite_file.BUSY_SECONDS
        assert store.put(rules(2))
        assert store._connection.execute("PRAGMA busy_timeout").fetchone() == (250,)


def test_an_error_that_stays_with_the_connection_ends_with_it(path: Path) -> None:
    """Such as "disk I/O error" for ever, where a file was cut off while others used it."""
    with SqliteStore(path, 10) as store:
        store.put(rules(1))
        store._connection.set_progress_handler(lambda: 1, 1)
        with pytest.raises(StoreError, match="interrupted"):
            store.get(origin(1))
        assert store.get(origin(1)) == rules(1)


def test_a_log_that_was_removed_under_one_process_is_no_trouble_to_others(path: Path) -> None:
    """Who closes a store while its file is replaced may remove the log of the new one. Who has that
    log open goes on, and everybody else would get "disk I/O error" for as long."""
    with SqliteStore(path, 10) as store:
        store.put(rules(1))
        Path(f"{path}-wal").unlink()
        with SqliteStore(path, 10) as other:
            with pytest.raises(StoreError, match="disk I/O error"):
                other.put(rules(2))
            store.put(rules(2))
            assert other.put(rules(3))
            for number in (1, 2, 3):
                assert store.get(origin(number)) == rules(number)


def test_what_may_be_lost_is_counted(path: Path) -> None:
    with SqliteStore(path, 10) as store:
        store.put(rules(1))
        assert store.losses == 0
        path.unlink()
        store.put(rules(2))
        assert store.losses == 1
        path.unlink()
        store.put(rules(3))
        assert store.losses == 2


@pytest.mark.parametrize(
    "seeds", [1, pytest.param(60, marks=pytest.mark.stress)], ids="{} seeds".format
)
def test_whatever_befalls_the_file_every_process_can_use_it_again(
    tmp_path: Path, seeds: int
) -> None:
    first = random.randrange(2**32)
    for seed in range(first, first + seeds):
        print(f"seed {seed}")
        folder = tmp_path / str(seed)
        folder.mkdir()
        befall(folder / "robots.db", random.Random(seed))


def writing(path: Path, count: int) -> list[Program]:
    """So many processes that write to the store until they are told that it is enough."""
    writers = [Program(f"{__name__}:main", str(path), str(which)) for which in range(count)]
    for writer in writers:
        assert writer.stdout.readline() == b"writing\n"
    return writers


def befall(path: Path, chance: random.Random) -> None:
    with SqliteStore(path, 10_000) as store:
        for number in range(100):
            store.put(expected(number, START))
        old = path.with_name("old.db")
        shutil.copy(path, old)
    writers = writing(path, WRITERS)
    try:
        for _ in range(chance.randint(1, 6)):
            time.sleep(chance.uniform(0, 0.1))
            chance.choice(HARMS)(path, chance)
        ends = [writer.communicate(b"enough\n", timeout=120)[0] for writer in writers]
        assert ends == [b"used again\n"] * WRITERS
    finally:
        for writer in writers:
            writer.kill()
            writer.close()
    with SqliteStore(path, 10_000) as store:
        for number in range(100):
            record = store.get(origin(number))
            assert record is None or record == expected(number, record.fetched_at)


def overwrite(path: Path, chance: random.Random) -> None:
    """All but the header, which says whose file it is."""
    with _opened(path) as file:
        size = os.fstat(file.fileno()).st_size
        for _ in range(chance.choice([1, 5, 50])):
            file.seek(chance.randrange(100, max(size, 101)))
            file.write(chance.randbytes(chance.choice([1, 100, 5_000])))


def cut_off(path: Path, chance: random.Random) -> None:
    with _opened(path) as file:
        file.truncate(max(100, chance.randrange(os.fstat(file.fileno()).st_size + 101)))


def remove(path: Path, chance: random.Random) -> None:
    path.unlink(missing_ok=True)


def replace(path: Path, chance: random.Random) -> None:
    shutil.copy(path.with_name("old.db"), copy := path.with_name("copy.db"))
    os.replace(copy, path)


HARMS = (overwrite, cut_off, remove, replace)


def _opened(path: Path) -> IO[bytes]:
    """Waits until a writer has made it again: without its header it would be nobody's."""
    while True:
        with suppress(FileNotFoundError):
            file = path.open("r+b")
            if os.fstat(file.fileno()).st_size >= 100:
                return file
            file.close()
        time.sleep(0.001)


def main() -> None:
    """Writes until told that it is enough; then says whether the store can be used."""
    path, which = sys.argv[1:]
    chance = random.Random(which)
    store, count = SqliteStore(path, 10_000), 0
    print("writing", flush=True)
    while not select.select([sys.stdin], [], [], 0)[0]:
        count += 1
        number = chance.randrange(100)
        try:
            store.put(expected(number, START + count))
            store.get(origin(chance.randrange(100)))
        except StoreError as error:
            print(error, file=sys.stderr)
    own = rules(OWN + int(which))
    for _ in range(TRIES):  # the others settle at the same time
        try:
            store.put(own)
            if store.get(own.origin) == own:
                print("used again")
                break
        except StoreError as error:
            print("afterwards:", error, file=sys.stderr)
        time.sleep(0.02)
    store.close()
