"""How a store opens its file, and what it tells where it cannot, word for word."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from itertools import chain, count, repeat
from typing import TYPE_CHECKING, Any

import pytest

from scrapy_robots_plus.storage import StoreError
from scrapy_robots_plus.storage import sqlite_file as sqlite_file
from scrapy_robots_plus.storage import sqlite_file as sqlite_layout
from scrapy_robots_plus.storage.sqlite_store import SqliteStore

from .records import START, never_read, origin, rules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


def refused(words: str) -> pytest.RaisesExc[StoreError]:
    return pytest.raises(StoreError, match=f"^{re.escape(words)}$")


def test_a_closed_store_says_so(path: Path) -> None:
    store = SqliteStore(path, 10)
    store.close()
    with refused(f"{path}: the store is closed"):
        store.get(origin(1))


def database(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE mine (value)")


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (database, " is not a store of this version of scrapy-robots-plus; it is left unchanged"),
        (
            lambda path: path.write_bytes(b"User-agent: *\n" * 100),
            " is not a store of scrapy-robots-plus: file is not a database",
        ),
        (lambda path: path.mkdir(), ": it is not a regular file"),
    ],
)
def test_why_a_file_is_left_alone_is_told(
    path: Path, make: Callable[[Path], object], why: str
) -> None:
    make(path)
    with refused(f"{path}{why}"):
        SqliteStore(path, 10)


def test_an_empty_file_becomes_a_store(path: Path) -> None:
    path.touch()
    with SqliteStore(path, 10) as store:
        assert store.put(rules(1))


def test_a_file_that_is_another_each_time_is_given_up(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = count()
    monkeypatch.setattr(sqlite_file, "identity", lambda path: (0, next(others)))
    with refused(f"{path} keeps being replaced"):
        SqliteStore(path, 10)


def test_one_that_was_replaced_once_is_opened(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    identities = chain([(0, 1), (0, 2)], repeat((0, 3)))
    monkeypatch.setattr(sqlite_file, "identity", lambda path: next(identities))
    with SqliteStore(path, 10) as store:
        assert store.put(rules(1))


def row_of(path: Path, number: int) -> tuple[object, ...]:
    with closing(sqlite3.connect(path)) as connection:
        where = (str(origin(number)),)
        statement = "SELECT data, fetched_at FROM records WHERE origin = ?"
        row: tuple[object, ...] = connection.execute(statement, where).fetchone()
        return row


def change(path: Path, number: int, **columns: object) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        changes = ", ".join(f"{name} = ?" for name in columns)
        values = (*columns.values(), str(origin(number)))
        connection.execute(f"UPDATE records SET {changes} WHERE origin = ?", values)


@pytest.mark.parametrize("what", ["the row of another", "another time"])
def test_a_record_that_does_not_belong_is_dropped_and_told(
    path: Path, caplog: pytest.LogCaptureFixture, what: str
) -> None:
    with SqliteStore(path, 10) as store:
        store.put(rules(1))
        store.put(rules(2))
        if what == "another time":
            change(path, 2, fetched_at=START - 1)
        else:
            change(path, 2, data=row_of(path, 1)[0])
        assert store.get(origin(2)) is None
        assert store.get(origin(1)) == rules(1)
        assert len(store) == 1
    assert caplog.messages == [
        f"{path}: the record of https://host2.example is deleted: it does not match its row"
    ]


def test_a_damaged_record_is_dropped_and_told(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with SqliteStore(path, 10) as store:
        store.put(rules(1))
        change(path, 1, data=b"\x02" + bytes(60))
        assert store.get(origin(1)) is None
        assert len(store) == 0
    (message,) = caplog.messages
    assert message.startswith(f"{path}: the record of https://host1.example is deleted: the record")
    assert caplog.records[0].name == "scrapy_robots_plus.storage.sqlite_store"


def test_a_damaged_record_that_cannot_be_deleted_is_none_all_the_same(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise StoreError("the disk is full")

    with SqliteStore(path, 10) as store:
        store.put(rules(1))
        change(path, 1, data=b"\x02" + bytes(60))
        monkeypatch.setattr(store, "delete", fail)
        assert store.get(origin(1)) is None


def test_a_file_that_is_set_aside_is_told(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path.with_name("robots.db.damaged-1").touch()
    with SqliteStore(path, 10) as store:
        store.put(never_read(1))
    damaged = path.read_bytes()[:4_000]
    path.write_bytes(damaged)
    SqliteStore(path, 10).close()
    (message,) = caplog.messages
    aside = path.with_name("robots.db.damaged-2")
    assert caplog.records[0].name == "scrapy_robots_plus.storage.sqlite_file"
    assert message.startswith(f"{path} is damaged (database disk image is malformed)")
    assert message.endswith(f"); it is kept as {aside}, and a new one is created")
    assert aside.read_bytes() == damaged


def error_of(work: Callable[[], object]) -> Exception:
    with pytest.raises(sqlite_file.FAULTS) as raised:
        work()
    return raised.value


def test_what_says_that_a_file_is_damaged_and_what_does_not(path: Path) -> None:
    path.write_bytes(b"x" * 8_192)
    with closing(sqlite3.connect(path)) as garbage, closing(sqlite3.connect(":memory:")) as empty:
        no_database = error_of(lambda: garbage.execute("SELECT * FROM records"))
        no_table = error_of(lambda: empty.execute("SELECT * FROM records"))
        no_column = error_of(lambda: empty.execute("SELECT records"))
        empty.execute("CREATE TABLE records (origin)")
        no_sense = error_of(lambda: empty.execute("SELECT FROM"))
        twice = error_of(lambda: empty.execute("CREATE TABLE records (origin)"))
        empty.execute("PRAGMA query_only = ON")
        read_only = error_of(lambda: empty.execute("DELETE FROM records"))
        no_utf8 = error_of(lambda: empty.execute("SELECT CAST(x'ff' AS TEXT)").fetchone())
        not_to_be_written = error_of(lambda: empty.execute("SELECT ?", ["\ud800"]))
    no_text = error_of(lambda: b"\xff".decode())
    damage = [no_database, no_table, no_column, twice, no_utf8, no_text]
    assert [error for error in damage if not sqlite_file.is_damage(error)] == []
    of_the_moment = [read_only, not_to_be_written]
    assert not any(map(sqlite_file.is_damage, [*of_the_moment, no_sense]))
    assert all(map(sqlite_file.is_of_the_moment, of_the_moment))
    assert not any(map(sqlite_file.is_of_the_moment, [*damage, no_sense]))


@pytest.fixture
def locked(path: Path) -> Iterator[sqlite3.Connection]:
    """A new store that another process is about to open for the first time, too."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        sqlite_layout.create(connection, sqlite_layout._TABLES)
        connection.execute("BEGIN IMMEDIATE")
        yield connection


def test_two_may_open_a_new_file_at_once(
    path: Path, locked: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            locked.execute("COMMIT")

    monkeypatch.setattr(sqlite_file, "sleep", sleep)
    with SqliteStore(path, 10) as store:
        assert store.put(rules(1))
    assert waits == [0.01] * 3


@pytest.mark.usefixtures("locked")
def test_but_none_waits_for_the_other_for_ever(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr(sqlite_file, "sleep", waits.append)
    with refused(f"{path}: database is locked"):
        SqliteStore(path, 10)
    assert sum(waits) == pytest.approx(0.25)


@pytest.mark.usefixtures("locked")
def test_who_has_waited_in_vain_does_not_wait_for_a_new_file_either(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    monkeypatch.setattr(sqlite_file, "sleep", waits.append)
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        sqlite_file.connect(path, wait=0)
    assert waits == []


def test_once_a_file_is_free_others_are_waited_for_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []

    def connect(path: Path, wait: float) -> sqlite3.Connection:
        waits.append(wait)
        return connect_as_always(path, wait)

    connect_as_always = sqlite_file.connect
    monkeypatch.setattr(sqlite_file, "connect", connect)
    with SqliteStore(path, 10) as store:
        store.put(rules(1))
        with closing(sqlite3.connect(path, isolation_level=None)) as another:
            another.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreError, match="locked"):
                store.put(rules(2))
            another.execute("COMMIT")
        store.put(rules(2))
        path.unlink()
        store.put(rules(3))
    assert waits == 4 * [0.25]  # a new file is opened once more


@pytest.fixture
def urls_only_when_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some builds of SQLite take a URL for a path unless they are told that it is one."""

    def connect(database: object, *, uri: bool = False, **options: Any) -> sqlite3.Connection:
        assert uri or not str(database).startswith("file:")
        return connect_as_here(database, uri=uri, **options)

    connect_as_here: Any = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", connect)


@pytest.mark.usefixtures("urls_only_when_told")
def test_a_store_is_found_by_any_build_of_sqlite(path: Path) -> None:
    for _ in range(2):
        with SqliteStore(path, 10) as store:
            store.put(rules(1))
    with SqliteStore(path, 10, as_it_is=True) as reader:
        assert reader.get(origin(1)) == rules(1)


def test_a_file_is_set_aside_with_its_log(path: Path) -> None:
    with SqliteStore(path, 10) as store:
        store.put(rules(1))
        files = {found.name for found in path.parent.iterdir()}
        assert files == {"robots.db", "robots.db-wal", "robots.db-shm"}
        sqlite_file.set_aside(path, sqlite_file.identity(path), ValueError("damaged"))
        aside = {found.name for found in path.parent.iterdir()}
    assert aside == {name.replace(".db", ".db.damaged-1") for name in files}


def test_only_the_file_that_was_found_damaged_is_set_aside(path: Path) -> None:
    path.write_bytes(b"another")
    for damaged in (None, (0, 0)):
        sqlite_file.set_aside(path, damaged, ValueError("damaged"))
    assert path.read_bytes() == b"another"


@pytest.mark.parametrize(
    ("pragma", "value"),
    [
        ("journal_mode", "wal"),
        ("synchronous", 1),
        ("wal_autocheckpoint", 4_000),
        ("journal_size_limit", 16_384_000),
        ("busy_timeout", 250),
        ("application_id", int.from_bytes(b"RbTs", "big")),
        ("user_version", 1),
    ],
)
def test_how_a_connection_is_set_up(path: Path, pragma: str, value: object) -> None:
    for _ in range(2):  # a new file, then one that is there
        with SqliteStore(path, 10) as store:
            assert store._connection is not None
            assert store._connection.execute(f"PRAGMA {pragma}").fetchone() == (value,)
