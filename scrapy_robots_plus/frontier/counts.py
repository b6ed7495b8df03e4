"""How many requests the file holds, and whether a crawl uses it: in the file, twice."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .transaction import Transaction

COPIES = ("job", "job_again")


class Counts(NamedTuple):
    waiting: int
    stored: int
    """Requests in any state."""
    turns: int
    running: int
    """1 from when it is opened until it is closed."""


def read_counts(transaction: Transaction) -> Counts:
    """Raises sqlite3.DatabaseError if neither copy can be read."""
    for copy in COPIES:
        try:
            row = transaction.run(f"SELECT * FROM {copy}").fetchone()  # noqa: S608
        except sqlite3.DatabaseError:
            continue
        if row is not None and all(isinstance(number, int) for number in row):
            return Counts(*row)
    raise sqlite3.DatabaseError("the counters are malformed")


def write_counts(transaction: Transaction, counts: Counts) -> None:
    for copy in COPIES:
        transaction.run(
            f"UPDATE {copy} SET waiting = ?, stored = ?, turns = ?, running = ?",  # noqa: S608
            counts,
        )
