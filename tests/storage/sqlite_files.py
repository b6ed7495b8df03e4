"""Stores to be damaged, and what must hold of them afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_robots_plus.storage.sqlite_store import SqliteStore

from .records import START, origin, rules

if TYPE_CHECKING:
    from pathlib import Path

ROWS = 100


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
