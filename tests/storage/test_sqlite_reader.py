"""A store that is opened as it is leaves its file, and whoever uses it, alone."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
from contextlib import closing
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest

from scrapy_robots_plus.protocol.rfc9309 import MAX_BYTES
from scrapy_robots_plus.storage import StoreError, open_store
from scrapy_robots_plus.storage.sqlite_store import SqliteStore

from .records import START, never_read, origin, rules
from .sqlite_files import ROWS, fill

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def change(path: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(statement, values)
        connection.commit()


def listing(folder: Path) -> dict[str, bytes]:
    return {found.name: found.read_bytes() for found in folder.iterdir()}


def test_it_returns_what_was_put(path: Path) -> None:
    with SqliteStore(path, 10) as store:
        store.put(rules(1))
        store.put(never_read(2))
    with SqliteStore(path, 10, as_it_is=True) as reader:
        assert reader.get(origin(1)) == rules(1)
        assert reader.get(origin(3)) is None
        assert [each.record for each in reader.scan()] == [rules(1), never_read(2)]
        assert len(reader) == 2
        assert reader


def test_it_leaves_the_file_as_it_is(path: Path) -> None:
    fill(path)
    before = listing(path.parent)
    with SqliteStore(path, 10, as_it_is=True) as reader:
        assert len(list(reader.scan())) == ROWS
    assert listing(path.parent) == before


def test_it_reads_what_a_crawl_writes_meanwhile(path: Path) -> None:
    with SqliteStore(path, 10_000) as store, SqliteStore(path, 10, as_it_is=True) as reader:
        for number in range(10, 90):
            store.put(rules(number))
        scan = reader.scan()
        assert next(scan).origin == str(origin(10))
        store.put(rules(99))
        store.put(rules(50, START + 1))
        store.delete(origin(60))
        found = {each.origin: each.record for each in scan}
        assert found[str(origin(50))] == rules(50, START + 1)
        assert len(found) == 79


def test_a_scan_does_not_keep_the_log_from_being_emptied(path: Path) -> None:
    with SqliteStore(path, 10_000) as store, SqliteStore(path, 10, as_it_is=True) as reader:
        for number in range(20):
            store.put(rules(number))
        scan = reader.scan()
        next(scan)
        store.put(rules(20))
        # busy, pages in the log, pages copied: with a reader in the way, busy is 1.
        busy, *_ = store._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        assert busy == 0
        assert len(list(scan)) == 19


def test_the_log_of_a_killed_crawl_is_read(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    with SqliteStore(path, 10) as store:
        store.put(rules(1))
        shutil.copy(path, copy)
        shutil.copy(f"{path}-wal", f"{copy}-wal")
    with SqliteStore(copy, 10, as_it_is=True) as reader:
        assert reader.get(origin(1)) == rules(1)


def test_a_missing_file_is_not_made(path: Path) -> None:
    with pytest.raises(StoreError, match=r"there is no store at .*robots\.db"):
        SqliteStore(path, 10, as_it_is=True)
    path.touch()
    with pytest.raises(StoreError, match="there is no store at"):
        SqliteStore(path, 10, as_it_is=True)
    assert listing(path.parent) == {path.name: b""}
    with pytest.raises(StoreError, match="there is no store at"):
        SqliteStore(path.parent / "folder" / "robots.db", 10, as_it_is=True)
    assert not (path.parent / "folder").exists()


def test_another_programs_file_is_refused(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE records (mine TEXT)")
    before = listing(path.parent)
    with pytest.raises(StoreError, match="is not a store"):
        SqliteStore(path, 10, as_it_is=True)
    assert listing(path.parent) == before


def test_a_newer_layout_is_refused(path: Path) -> None:
    fill(path, rows=1)
    change(path, "PRAGMA user_version = 2")
    with pytest.raises(StoreError, match="is not a store of this version"):
        SqliteStore(path, 10, as_it_is=True)


def overwritten(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(4_096)
        file.write(random.Random(1).randbytes(path.stat().st_size - 4_096))


def cut(path: Path) -> None:
    os.truncate(path, 9_000)


def without_its_table(path: Path) -> None:
    change(path, "DROP TABLE records")


@pytest.mark.parametrize("damage", [overwritten, cut, without_its_table])
def test_a_damaged_file_is_said_to_be_and_left_alone(
    path: Path, damage: Callable[[Path], None]
) -> None:
    fill(path)
    damage(path)
    before = listing(path.parent)
    with (
        pytest.raises(
            StoreError,
            match=r"robots\.db: (database disk image is malformed|no such table: records)",
        ),
        SqliteStore(path, 10, as_it_is=True) as reader,
    ):
        list(reader.scan())
    assert listing(path.parent) == before


def test_a_damaged_record_is_named_and_left_alone(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    fill(path, rows=5)
    change(path, "UPDATE records SET data = 'text' WHERE origin = ?", str(origin(1)))
    change(path, "UPDATE records SET data = x'01' WHERE origin = ?", str(origin(2)))
    change(path, "UPDATE records SET fetched_at = 7 WHERE origin = ?", str(origin(3)))
    before = listing(path.parent)
    with SqliteStore(path, 10, as_it_is=True) as reader:
        found = {each.origin: each for each in reader.scan()}
        assert reader.get(origin(1)) is None
    assert {name: each.fault for name, each in found.items() if each.record is None} == {
        str(origin(1)): "too large, or not a record",
        str(origin(2)): "not a record of version 2",
        str(origin(3)): "it does not match its row",
    }
    assert found[str(origin(4))].record is not None
    why = "too large, or not a record"
    assert caplog.messages == [f"{path}: the record of https://host1.example is ignored: {why}"]
    assert [each.name for each in caplog.records] == ["scrapy_robots_plus.storage.store"]
    assert listing(path.parent) == before


def test_a_row_under_a_name_that_is_not_text_is_named(path: Path) -> None:
    fill(path, rows=1)
    change(path, "INSERT INTO records VALUES (x'ff', 1, 1, 1, x'01')")
    with SqliteStore(path, 10, as_it_is=True) as reader:
        assert [each.fault for each in reader.scan()] == ["", "not a record of version 2"]


def test_a_row_under_a_name_that_no_origin_has_is_named(path: Path) -> None:
    fill(path, rows=1)
    change(path, "INSERT INTO records VALUES ('A', 1, 1, 1, x'01')")
    with SqliteStore(path, 10, as_it_is=True) as reader, SqliteStore(path, 10) as store:
        for each in (reader, store):
            assert [found.origin for found in each.scan()] == ["A", "https://host0.example"]


def test_a_record_of_a_longer_body_is_not_returned(path: Path) -> None:
    body = b"#" * (MAX_BYTES + 1)
    with SqliteStore(path, 10, len(body)) as store:
        store.put(rules(1, body=body, sha256=sha256(body).hexdigest()))
    with SqliteStore(path, 10, as_it_is=True) as reader:
        (found,) = reader.scan()
    assert found.record is None
    assert "too large" in found.fault
    with SqliteStore(path, 10, len(body), as_it_is=True) as reader:
        (found,) = reader.scan()
    assert found.record is not None


def test_a_lost_table_is_damage(path: Path) -> None:
    fill(path, rows=5)
    change(path, "DROP TABLE records")
    with (
        SqliteStore(path, 10, as_it_is=True) as reader,
        pytest.raises(StoreError, match="no such table"),
    ):
        len(reader)


def test_closed_it_says_so(path: Path) -> None:
    fill(path, rows=1)
    reader = SqliteStore(path, 10, as_it_is=True)
    reader.close()
    reader.close()
    for use in (
        lambda: reader.get(origin(1)),
        lambda: list(reader.scan()),
        lambda: len(reader),
    ):
        with pytest.raises(StoreError, match="closed"):
            use()


def test_what_may_not_be_read_is_an_error(path_of_nobody: Path) -> None:
    fill(path_of_nobody, rows=1)
    path_of_nobody.chmod(0)
    with pytest.raises(StoreError, match=r"robots\.db"):
        SqliteStore(path_of_nobody, 10, as_it_is=True)


def test_a_reader_is_opened_by_uri(path: Path) -> None:
    fill(path, rows=1)
    with open_store(f"sqlite:{path}", 10, as_it_is=True) as reader:
        assert len(reader) == 1
        assert reader.get(origin(0)) == rules(0, lines=0)
    with open_store(f"sqlite:{path}", 10, 10, as_it_is=True) as reader:
        assert reader.get(origin(0)) is None
    with pytest.raises(StoreError, match=r"^expected a ROBOTS_STORE that outlives its crawl"):
        open_store("memory", 10, as_it_is=True)
