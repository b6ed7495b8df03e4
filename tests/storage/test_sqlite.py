from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

import pytest

from scrapy_robots_plus.storage import StoreError
from scrapy_robots_plus.storage import sqlite_store as sqlite
from scrapy_robots_plus.storage import sqlite_store as sqlite_rows
from scrapy_robots_plus.storage.sqlite_store import SqliteStore

from .conformance import BoundedStoreConformance
from .records import START, never_read, origin, rules
from .writer import ORIGINS, expected, reported, start

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy_robots_plus.storage import Store


class TestSqliteStore(BoundedStoreConformance):
    def open(self, folder: Path, max_records: int) -> Store:
        return SqliteStore(folder / "robots.db", max_records)


def test_records_outlive_the_store(path: Path) -> None:
    with SqliteStore(path, 10) as store:
        store.put(rules(1))
        store.put(never_read(2))
    with SqliteStore(path, 10) as store:
        assert store.get(origin(1)) == rules(1)
        assert store.get(origin(2)) == never_read(2)
        assert len(store) == 2


def test_closed_it_leaves_one_file(path: Path) -> None:
    with SqliteStore(path, 10) as store:
        store.put(rules(1))
    assert [found.name for found in path.parent.iterdir()] == [path.name]


def test_the_least_recently_fetched_goes_first(path: Path) -> None:
    with SqliteStore(path, 3) as store:
        store.put(rules(1, START + 1))
        store.put(rules(2, START, failure=503, failures=1, failed_at=START + 9))
        store.put(rules(3, START + 3))
        store.put(rules(4, START + 4))
        assert [store.get(origin(number)) is None for number in (1, 2, 3, 4)] == [
            True,
            False,
            False,
            False,
        ]


def test_a_lower_maximum_is_reached_in_small_steps(path: Path) -> None:
    with SqliteStore(path, 500) as store:
        for number in range(500):
            store.put(rules(number, START + number))
    with SqliteStore(path, 10) as store:
        store.put(rules(499, START + 500))
        assert 10 < len(store) < 500
        for number in range(490, 500):
            store.put(rules(number, START + 500 + number))
        assert len(store) == 10
        assert store.get(origin(490)) is not None


@pytest.mark.parametrize(
    "sql",
    [
        *(
            sqlite._PUT,
            sqlite._DELETE,
            sqlite._EVICT,
            sqlite._PURGE,
        ),
        *(sqlite_rows._READ, sqlite_rows._ORIGINS_AFTER),
    ],
)
def test_no_statement_scans_the_table(path: Path, sql: str) -> None:
    with SqliteStore(path, 10) as store:
        plan = store._connection.execute(f"EXPLAIN QUERY PLAN {sql}", [1] * sql.count("?"))
        scans = [row[3] for row in plan if "SCAN" in row[3]]
    assert all("USING" in scan and "INDEX" in scan for scan in scans)


def test_it_knows_how_many_records_it_has(path: Path) -> None:
    with SqliteStore(path, 5) as store:
        for number in (1, 2, 1, 3, 4, 5, 6, 2, 9):
            store.put(rules(number, START + number))
        store.delete(origin(9))
        store.delete(origin(99))
        store.purge(START + 4)
        count = store._connection.execute("SELECT count(*) FROM records").fetchone()[0]
        assert len(store) == count == 3


def test_a_large_store_is_counted_now_and_then(path: Path) -> None:
    """It has at most a hundredth more than its maximum, whoever adds to it."""
    statements: list[str] = []
    with SqliteStore(path, 300) as store, SqliteStore(path, 300) as other:
        store._connection.set_trace_callback(statements.append)
        for number in range(400):
            (other if number % 2 else store).put(rules(number, START + number))
            assert len(other) <= 303 + 3
        assert store.get(origin(399)) == rules(399, START + 399)
    assert sum("count(*)" in each for each in statements) <= 200 / 3 + 1


def test_a_maximum_that_was_lowered_is_come_to_step_by_step(path: Path) -> None:
    with SqliteStore(path, 10_000) as store:
        for number in range(450):
            store.put(rules(number, START + number))
    with SqliteStore(path, 10) as store:
        left = []
        for number in range(450, 454):
            store.put(rules(number, START + number))
            left.append(len(store))
        assert left == [251, 52, 10, 10]


def test_two_stores_see_each_other(path: Path) -> None:
    with SqliteStore(path, 10) as one, SqliteStore(path, 10) as other:
        one.put(rules(1, START + 1))
        other.put(rules(1, START))
        assert one.get(origin(1)) == other.get(origin(1)) == rules(1, START + 1)
        other.put(rules(1, START + 2))
        assert one.get(origin(1)) == rules(1, START + 2)
        one.delete(origin(1))
        assert other.get(origin(1)) is None


def test_processes_that_start_together_share_a_new_file(path: Path, tmp_path: Path) -> None:
    reports = [tmp_path / f"{which}.txt" for which in range(4)]
    writers = [start(path, report, which, puts=100) for which, report in enumerate(reports)]
    for writer in writers:
        writer.succeed(120)
    latest: dict[int, float] = {}
    for report in reports:
        assert len(report.read_bytes().splitlines()) == 100
        for number, fetched_at in reported(report).items():
            latest[number] = max(fetched_at, latest.get(number, 0))
    with SqliteStore(path, 10_000) as store:
        assert len(store) == len(latest)
        for number in range(ORIGINS):
            record = store.get(origin(number))
            # Times of all writers interleave, each rising: the latest of all must have stayed.
            assert record == (expected(number, latest[number]) if number in latest else None)


def test_any_thread_may_use_it(path: Path) -> None:
    errors: list[BaseException] = []

    def work(first: int) -> None:
        try:
            for number in range(first, first + 100):
                store.put(rules(number))
                assert store.get(origin(number)) == rules(number)
        except (AssertionError, StoreError) as error:
            errors.append(error)

    with SqliteStore(path, 10_000) as store:
        threads = [threading.Thread(target=work, args=(1000 * which,)) for which in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not errors
        assert len(store) == 400


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_after_a_fork_both_go_on(path: Path) -> None:
    with SqliteStore(path, 10) as store:
        store.put(rules(1))
        child = os.fork()
        if not child:
            status = 1
            try:
                store.put(rules(2))
                if store.get(origin(1)) == rules(1) and len(store) == 2:
                    store.close()
                    status = 0
            finally:
                os._exit(status)
        assert os.waitpid(child, 0)[1] == 0
        store.put(rules(3))
        assert [store.get(origin(number)) for number in (1, 2, 3)] == list(map(rules, (1, 2, 3)))


def test_a_file_that_is_removed_is_made_again(path: Path) -> None:
    with SqliteStore(path, 10) as store:
        store.put(rules(1))
        path.unlink()
        store.put(rules(2))
        assert store.get(origin(1)) is None
    with SqliteStore(path, 10) as store:
        assert store.get(origin(2)) == rules(2)


def test_what_is_read_is_in_the_file_that_is_there_now(path: Path) -> None:
    with SqliteStore(path, 10) as store:
        store.put(rules(1))
        path.unlink()
        with SqliteStore(path, 10) as newer:
            newer.put(rules(2))
            assert [store.get(origin(number)) for number in (1, 2)] == [None, rules(2)]
        assert store.losses == 1


def test_a_host_that_is_no_text_is_a_store_error(path: Path) -> None:
    strange = rules(1, origin=origin(1)._replace(host="\ud800"))
    with SqliteStore(path, 10) as store:
        with pytest.raises(StoreError):
            store.put(strange)
        with pytest.raises(StoreError):
            store.get(strange.origin)
        store.put(rules(1))
        assert len(store) == 1


def test_what_is_deleted_is_deleted_in_the_file_that_is_there_now(path: Path) -> None:
    with SqliteStore(path, 10) as store:
        store.put(rules(1))
        path.unlink()
        with SqliteStore(path, 10) as newer:
            newer.put(rules(1))
            store.delete(origin(1))
            assert newer.get(origin(1)) is None


def test_so_is_what_is_purged(path: Path) -> None:
    with SqliteStore(path, 10) as store:
        store.put(rules(1))
        path.unlink()
        with SqliteStore(path, 10) as newer:
            newer.put(rules(1))
            assert store.purge(START + 1) == 1
            assert newer.get(origin(1)) is None


def test_purge_drops_what_neither_answered_nor_failed_since(path: Path) -> None:
    store = SqliteStore(path, 10_000)
    kept = [
        rules(1, START),
        rules(2, START + 50),
        rules(3, START - 50, failure=503, failures=1, failed_at=START + 1),
        never_read(4, START + 1),
    ]
    dead = [
        rules(5, START - 1),
        rules(6, START - 50, failure=503, failures=1, failed_at=START - 20),
        never_read(7, START - 1),
    ]
    for record in kept + dead:
        store.put(record)
    assert store.purge(START) == len(dead)
    assert [store.get(record.origin) for record in kept] == kept
    assert [store.get(record.origin) for record in dead] == [None] * len(dead)
    assert len(store) == len(kept)
    assert store.purge(START) == 0


def test_purge_drops_what_a_clock_that_ran_ahead_wrote(path: Path) -> None:
    store = SqliteStore(path, 10_000)
    store.put(rules(1, START))
    store.put(rules(2, START + 1_000))
    store.put(rules(3, START, failure=503, failures=1, failed_at=START + 1_000))
    assert store.purge(before=0, after=START + 999) == 2
    assert store.get(origin(1)) == rules(1, START)
    assert len(store) == 1


def test_purge_stops_at_its_limit(path: Path) -> None:
    store = SqliteStore(path, 10_000)
    for number in range(7):
        store.put(rules(number, START + number))
    assert store.purge(START + 5, after=START + 5, limit=0) == 0
    assert store.purge(START + 5, after=START + 5, limit=4) == 4
    assert store.purge(START + 5, after=START + 5, limit=4) == 2
    assert store.get(origin(5)) == rules(5, START + 5)


def test_purge_of_many(path: Path) -> None:
    store = SqliteStore(path, 10_000)
    for number in range(450):
        store.put(rules(number, START + number))
    assert store.purge(START + 410) == 410
    assert len(store) == 40
