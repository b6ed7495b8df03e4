"""Rows are read from pages as SQLite reads them, and whatever damage has done to the pages."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from scrapy_robots_plus.frontier.mending.pages import Pages, Record

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

PAGE = 4_096
NUMBERS = sorted(
    {
        sign * 2**bits + more
        for bits in (0, 7, 8, 14, 15, 16, 21, 23, 28, 31, 35, 42, 47, 48, 49, 56, 62)
        for sign in (1, -1)
        for more in (-1, 0, 1)
    }
    | {2**63 - 1, -(2**63)}
)
SIZES = (
    *range(70),
    *range(985, 1_015),  # what fits into a page of an index
    *range(4_040, 4_075),  # and into one of a table
    *range(5_070, 5_105),  # where the rest fills a page more
    *range(8_140, 8_170),
    50_000,
)


def make(path: Path, table: str, rows: Iterable[tuple[Any, ...]]) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA page_size = {PAGE}")
        connection.execute(table)
        columns = len(connection.execute("SELECT * FROM made LIMIT 0").description)
        marks = ", ".join("?" * columns)
        connection.executemany(f"INSERT INTO made VALUES ({marks})", rows)
        connection.commit()


def read(path: Path) -> tuple[list[Record], bool]:
    """Those of the table that was made, and whether they are exactly those in use."""
    with closing(Pages(path)) as pages:
        found = [each for each in pages.records() if each.values[:1] != ("table",)]
        return found, pages.is_exact


def octets(size: int) -> bytes:
    return bytes(number * 7 % 251 for number in range(size))


def test_values_of_all_kinds(path: Path) -> None:
    values: list[Any] = [None, *NUMBERS, "", "ünï", "text" * 9, b"", b"\0\xff", octets(300)]
    make(path, "CREATE TABLE made (value)", ((value,) for value in values))
    assert read(path) == ([Record(id_, (each,)) for id_, each in enumerate(values, 1)], True)


def test_several_values_in_a_row(path: Path) -> None:
    row = ("a" * 200, 2**40, None, b"", 0, 1, "b", -1)
    make(path, "CREATE TABLE made (a, b, c, d, e, f, g, h)", [row])
    assert read(path) == ([Record(1, row)], True)


def test_rows_of_any_number(path: Path) -> None:
    make(path, "CREATE TABLE made (id INTEGER PRIMARY KEY, value)", ((n, "x") for n in NUMBERS))
    assert read(path) == ([Record(number, (None, "x")) for number in NUMBERS], True)


def test_rows_of_any_length(path: Path) -> None:
    make(path, "CREATE TABLE made (value)", ((octets(size),) for size in SIZES))
    found, is_exact = read(path)
    assert {each.values[0] for each in found} == set(map(octets, SIZES))
    assert len(found) == len(SIZES)
    assert is_exact


def test_entries_of_an_index_of_any_length(path: Path) -> None:
    """Those in its inner pages, too."""
    make(
        path,
        "CREATE TABLE made (value PRIMARY KEY) WITHOUT ROWID",
        ((octets(size),) for size in SIZES),
    )
    found, is_exact = read(path)
    assert set(found) == {Record(None, (octets(size),)) for size in SIZES}
    assert len(found) == len(SIZES)
    assert is_exact


def test_a_kind_of_value_that_no_job_has_is_left_out(path: Path) -> None:
    make(path, "CREATE TABLE made (value)", [(1.5,), (7,)])
    assert read(path) == ([Record(2, (7,))], True)


@pytest.mark.parametrize("kind", [10, 11])
def test_a_kind_of_value_that_sqlite_never_writes_is_left_out(path: Path, kind: int) -> None:
    make(path, "CREATE TABLE made (value)", [(99,), (100,)])
    at = path.read_bytes().index(bytes([2, 1, 99]))
    spoil(path, at + 1, bytes([kind]))
    assert read(path) == ([Record(2, (100,))], True)


def test_what_was_deleted_is_left_out_with_its_pages(path: Path) -> None:
    make(path, "CREATE TABLE made (value)", ((octets(3_000),) for _ in range(2_000)))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DELETE FROM made WHERE rowid > 5")
        connection.commit()
    found, is_exact = read(path)
    assert [each.id for each in found] == [1, 2, 3, 4, 5]
    assert is_exact


def spoil(path: Path, at: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(data)


def test_a_wrong_number_of_free_pages_is_noticed(path: Path) -> None:
    make(path, "CREATE TABLE made (value)", [(7,)])
    spoil(path, 36, b"\0\0\0\1")
    assert read(path) == ([Record(1, (7,))], False)


def test_free_pages_that_lead_in_a_circle_or_out_of_the_file_have_an_end(path: Path) -> None:
    make(path, "CREATE TABLE made (value)", ((octets(3_000),) for _ in range(100)))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DELETE FROM made WHERE rowid > 5")
        connection.commit()
    trunk = int.from_bytes(path.read_bytes()[32:36], "big")
    for following in (trunk, 2**32 - 1):
        spoil(path, (trunk - 1) * PAGE, following.to_bytes(4, "big"))
        found, _ = read(path)
        assert [each.id for each in found] == [1, 2, 3, 4, 5]


def test_a_page_whose_kind_or_number_of_rows_is_damaged_gives_what_it_can(path: Path) -> None:
    make(path, "CREATE TABLE made (value)", ((number,) for number in range(5)))
    spoil(path, PAGE + 3, b"\xff\xff")
    assert [each.id for each in read(path)[0]][:5] == [1, 2, 3, 4, 5]
    spoil(path, PAGE, b"\7")
    assert read(path)[0] == []


def test_a_row_whose_place_is_damaged_leaves_the_others(path: Path) -> None:
    make(path, "CREATE TABLE made (value)", ((number + 100,) for number in range(5)))
    spoil(path, PAGE + 8 + 2 * 2, b"\xff\xff")
    assert [each.id for each in read(path)[0]] == [1, 2, 4, 5]


def test_of_a_file_that_was_cut_off_the_whole_pages_are_read(path: Path) -> None:
    make(path, "CREATE TABLE made (value)", ((octets(1_000),) for _ in range(9)))
    whole, _ = read(path)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) - PAGE // 2])
    found, _ = read(path)
    assert 0 < len(found) < 9
    assert found == whole[: len(found)]
    for size in (0, 50, PAGE - 1):
        path.write_bytes(data[:size])
        assert read(path)[0] == []
