"""The one transaction that everything goes into until it is committed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence


class Transaction:
    """Begins with the first statement after a commit."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._execute = connection.execute
        self._late: dict[str, dict[int, tuple[int, ...]]] = {}

    def run(self, statement: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        if not self._connection.in_transaction:
            self._execute("BEGIN IMMEDIATE")
        return self._execute(statement, values)

    def late(self, statement: str) -> dict[int, tuple[int, ...]]:
        """The values, by id, with which *statement* is run right before the commit.

        What is taken out until then costs no write. Put values in only while the transaction is
        open: they are dropped with it.
        """
        return self._late.setdefault(statement, {})

    def commit(self) -> None:
        self.settle()
        if self._connection.in_transaction:
            self._execute("COMMIT")

    def settle(self) -> None:
        """Runs what is late now."""
        for statement, values in self._late.items():
            for each in values.values():
                self.run(statement, each)
        self._forget_late()

    def drop(self) -> None:
        """The file is as it was after the last commit, unless this raises one of FAULTS."""
        self._forget_late()
        if self._connection.in_transaction:  # some errors have already rolled it back
            self._execute("ROLLBACK")

    def _forget_late(self) -> None:
        for values in self._late.values():
            values.clear()
