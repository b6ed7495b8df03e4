"""What is in the file: tables of any age, rows of any state."""

from __future__ import annotations

import sqlite3
import tracemalloc
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from scrapy_robots_plus.storage import StoreError
from scrapy_robots_plus.storage import sqlite_file as sqlite_layout
from scrapy_robots_plus.storage.sqlite_store import SqliteStore

from .records import START, origin, rules

if TYPE_CHECKING:
    from pathlib import Path


def test_it_is_in_wal_mode_and_known_as_ours(path: Path) -> None:
    SqliteStore(path, 10).close()
    with closing(sqlite3.connect(path)) as connection:
        for pragma, value in {
            "journal_mode": "wal",
            "application_id": sqlite_layout.APPLICATION_ID,
            "user_version": sqlite_layout.LAYOUT,
        }.items():
            assert connection.execute(f"PRAGMA {pragma}").fetchone() == (value,)
    assert path.read_bytes()[68:72] == b"RbTs"


def test_a_store_that_counts_its_records_is_still_one(path: Path) -> None:
    """As those before the first release did, in a table of its own, by triggers."""
    with SqliteStore(path, 10) as store:
        store.put(rules(1))
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            """
            CREATE TABLE tally (records INTEGER NOT NULL);
            INSERT INTO tally VALUES (1);
            CREATE TRIGGER records_added AFTER INSERT ON records
            BEGIN UPDATE tally SET records = records + 1; END;
            """
        )
    with SqliteStore(path, 10) as store:
        store.put(rules(2))
        assert len(store) == 2


def test_of_two_that_create_a_store_the_second_finds_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with SqliteStore(path, 10) as store:
        store.put(rules(1))
    pragma, before = sqlite_layout.pragma, [0]

    def looked_before(connection: sqlite3.Connection, name: str) -> int:
        """As if that had been before the other one wrote."""
        return before.pop() if before else pragma(connection, name)

    with monkeypatch.context() as patch:
        patch.setattr(sqlite_layout, "pragma", looked_before)
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            sqlite_layout.create(connection, sqlite_layout._TABLES)
    with SqliteStore(path, 10) as store:
        assert store.get(origin(1)) == rules(1)


def test_a_transaction_that_fails_changes_nothing_and_is_over() -> None:
    def half(connection: sqlite3.Connection) -> None:
        with sqlite_layout.transaction(connection):
            connection.execute("CREATE TABLE half (value)")
            raise ValueError("halfway")

    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        with pytest.raises(ValueError, match="halfway"):
            half(connection)
        assert not connection.in_transaction
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == []


def test_a_newer_layout_is_left_alone(path: Path) -> None:
    with SqliteStore(path, 10) as store:
        store.put(rules(1))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 7")
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"robots\.db is not a store of this version"):
        SqliteStore(path, 10)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "damage",
    [
        "data = x''",
        "data = 'text'",
        "data = 7",
        "data = x'02' || substr(data, 2)",  # of a newer version
        "data = substr(data, 1, length(data) - 1)",
        "data = (SELECT data FROM records WHERE fetched_at = :other)",
        "fetched_at = fetched_at + 1",
        "readable = 0",
        "failed_at = 1e300",
        "data = zeroblob(20000000)",
        "data = CAST(zeroblob(2000000) AS TEXT)",
    ],
)
def test_a_damaged_row_is_dropped(
    path: Path, caplog: pytest.LogCaptureFixture, damage: str
) -> None:
    with SqliteStore(path, 10) as store:
        store.put(rules(1))
        store.put(rules(2, START + 5))
        store._connection.execute(
            f"UPDATE records SET {damage} WHERE fetched_at = :one",
            {"one": START, "other": START + 5},
        )
        assert store.get(origin(1)) is None
        assert len(store) == 1
        assert store.get(origin(2)) == rules(2, START + 5)
        store.put(rules(1, START - 5))
        assert store.get(origin(1)) == rules(1, START - 5)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "the record of https://host1.example is deleted" in caplog.text


def test_a_row_that_is_too_long_is_not_even_read(path: Path) -> None:
    """Its length says enough: with the row itself, this process would grow by 20 MB."""
    with SqliteStore(path, 10) as store:
        store.put(rules(1))
        store._connection.execute("UPDATE records SET data = zeroblob(20000000)")
        tracemalloc.start()
        try:
            assert store.get(origin(1)) is None
            assert tracemalloc.get_traced_memory()[1] < 1_000_000
        finally:
            tracemalloc.stop()


def test_a_record_longer_than_this_crawl_reads_is_not_handed_over(path: Path) -> None:
    with SqliteStore(path, 10, max_body=1_000_000) as store:
        store.put(rules(1, lines=20_000))
        assert store.get(origin(1)) == rules(1, lines=20_000)
    with SqliteStore(path, 10) as store:
        assert store.get(origin(1)) is None
