"""The lanes of a job that are asleep: only the file knows them, the crawl does not.

Their turns come by priority, then in the order in which they came or fell asleep. The file does not
store that order: when it is opened, all are asleep, in the order of their oldest requests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .schema import CACHE_KIB

if TYPE_CHECKING:
    from .schema import Run


class LanesAsleep:
    """The lanes asleep, in a temporary table of SQLite, where thousands take no memory."""

    def __init__(self, run: Run) -> None:
        self._run = run
        for statement in _TABLE:
            run(statement)
        self.awake = set[str]()
        """The lanes that the crawl knows."""
        self.number = 0
        """The number of lanes that are asleep."""
        self._turns = 0

    def add_all(self, last_id: int) -> None:
        """Puts all lanes that hold requests to sleep, in the order of their oldest requests.

        *last_id* is the id of the newest request.
        """
        self.awake.clear()
        self._run("DELETE FROM lanes")
        self.number = self._run(_ADD_ALL).rowcount
        self._turns = last_id

    def add(self, lane: str, priority: int) -> None:
        """Puts *lane* to sleep; gives it *priority* if it is asleep with a higher number."""
        found = self._run("SELECT priority FROM lanes WHERE name = ?", (lane,)).fetchone()
        if found is None:
            self._turns += 1
            self._run("INSERT INTO lanes VALUES (?, ?, ?)", (lane, priority, self._turns))
            self.number += 1
        elif priority < found[0]:
            self._run("UPDATE lanes SET priority = ? WHERE name = ?", (priority, lane))

    def next(self, most: int) -> list[str]:
        """Returns the next lanes in turn, at most *most*."""
        return [name for (name,) in self._run(_IN_TURN, (most,))]

    def wake(self, lane: str) -> None:
        """Wakes *lane*. Does nothing if it is not asleep."""
        if self._run("DELETE FROM lanes WHERE name = ?", (lane,)).rowcount:
            self.number -= 1
            self.awake.add(lane)


_TABLE = (
    f"PRAGMA temp.cache_size = -{CACHE_KIB // 4}",
    # With some thousand lanes, the journal of the table would be one more file.
    "PRAGMA temp.journal_mode = MEMORY",
    """
    CREATE TEMP TABLE lanes (
        name TEXT PRIMARY KEY NOT NULL,
        priority INTEGER NOT NULL,
        turn INTEGER NOT NULL
    ) WITHOUT ROWID
    """,
    "CREATE INDEX temp.lanes_in_turn ON lanes (priority, turn)",
)
_ADD_ALL = "INSERT INTO lanes SELECT lane, min(rank) >> 1, min(id) FROM requests GROUP BY lane"
_IN_TURN = "SELECT name FROM lanes ORDER BY priority, turn LIMIT ?"
