"""How many requests the file holds, and whether a crawl uses it: in the file, twice."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

if TYPE_CHECKING:
    from .transaction import Transaction

COPIES = ("job", "job_again")


class Counts(NamedTuple):
    """Never a scan: they are written in each transaction that changes them."""

    waiting: int
    """Requests that wait in lanes."""
    stored: int
    """Requests in any state."""
    turns: int
    """Given to lanes so far."""
    running: int
    """1 from when the file is opened until it is closed."""
    generation: int
    """Times that the file was written."""

    @property
    def crc(self) -> int:
        return crc32(repr(tuple(self)).encode())


def read_counts(transaction: Transaction) -> Counts:
    """Raises sqlite3.DatabaseError if neither copy can be read."""
    for copy in COPIES:
        try:
            row = transaction.run(f"SELECT * FROM {copy}").fetchone()  # noqa: S608
        except sqlite3.DatabaseError:
            continue
        if row is not None and (counts := Counts(*row[:-1])).crc == row[-1]:
            return counts
    raise sqlite3.DatabaseError("its counters are malformed")


def write_counts(transaction: Transaction, counts: Counts) -> None:
    for copy in COPIES:
        values = ", ".join(f"{name} = ?" for name in (*Counts._fields, "crc"))
        transaction.run(f"UPDATE {copy} SET {values}", (*counts, counts.crc))  # noqa: S608


def begin_counts(copy: str) -> str:
    """The statement that puts the first counts into the table *copy*."""
    return f"INSERT INTO {copy} VALUES (0, 0, 0, 0, 0, {Counts(0, 0, 0, 0, 0).crc})"  # noqa: S608
