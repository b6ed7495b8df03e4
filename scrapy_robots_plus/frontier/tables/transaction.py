"""The one transaction that everything goes into until it is committed."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from scrapy_robots_plus.storage.sqlite.file import FAULTS

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence


class Transaction:
    """Begins with the first statement after a commit."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._execute = connection.execute

    def run(self, statement: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        if not self._connection.in_transaction:
            self._execute("BEGIN IMMEDIATE")
        return self._execute(statement, values)

    def commit(self) -> None:
        if self._connection.in_transaction:
            self._execute("COMMIT")

    def drop(self) -> None:
        """The file is as it was after the last commit."""
        with suppress(*FAULTS):  # some errors have already rolled it back
            self._execute("ROLLBACK")
