"""Which lanes hold requests, and whose turn is next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .rows import LaneRow

if TYPE_CHECKING:
    from .transaction import Transaction


class Lanes:
    """Lanes in which requests wait. Each is awake (the crawl knows it) or asleep (the file alone).

    Those asleep have their turn by priority, then in the order in which they fell asleep or came.
    """

    MOST_IDS = 20_000
    """Ids that are kept in memory: of more lanes than are awake at a time."""

    def __init__(self, transaction: Transaction, turns: int) -> None:
        """*turns*: how many there were so far."""
        self._run = transaction.run
        self.turns = turns
        self.asleep: int = self._run("SELECT count(*) FROM lanes WHERE awake = 0").fetchone()[0]
        """How many lanes are asleep."""
        self._last_id = self._run("SELECT max(lane) FROM waiting").fetchone()[0] or 0
        self._ids: dict[str, int] = {}
        """Of lanes that were woken lately."""

    def all_asleep(self) -> None:
        self.asleep += self._run("UPDATE lanes SET awake = 0 WHERE awake = 1").rowcount

    def any(self) -> bool:
        """Whether there is any, asleep or awake."""
        return self._run("SELECT 1 FROM lanes LIMIT 1").fetchone() is not None

    def id_of(self, name: str) -> int | None:
        """None if no request waits in the lane."""
        id_ = self._ids.get(name)
        if id_ is None:
            row = self._run("SELECT id FROM lanes WHERE name = ?", (name,)).fetchone()
            id_ = None if row is None else row[0]
        return id_

    def entered(self, name: str, priority: int) -> int:
        """A request is added to the lane *name*; returns its id."""
        row = self._run("SELECT id, priority FROM lanes WHERE name = ?", (name,)).fetchone()
        if row is None:
            return self._new(name, priority)
        if priority < row[1]:
            self._set_priority(name, priority)
        return int(row[0])

    def left(self, name: str, id_: int, priority: int) -> None:
        """A request with *priority* was taken from the lane."""
        first = "SELECT priority FROM waiting WHERE lane = ? ORDER BY priority LIMIT 1"
        row = self._run(first, (id_,)).fetchone()
        if row is None:
            self.wake_one(name)
            self._run("DELETE FROM lanes WHERE name = ?", (name,))
            self._ids.pop(name, None)
        elif row[0] != priority:
            self._set_priority(name, row[0])

    def wake(self, most: int) -> list[LaneRow]:
        """The next lanes that are asleep; they are awake from now on."""
        rows = self._run(
            "SELECT name, priority, id FROM lanes WHERE awake = 0 ORDER BY priority, turn LIMIT ?",
            (most,),
        ).fetchall()
        if len(self._ids) > self.MOST_IDS:
            self._ids.clear()
        for name, _, id_ in rows:
            self.wake_one(name)
            self._ids[name] = id_
        return [LaneRow(name, priority) for name, priority, _ in rows]

    def wake_one(self, name: str) -> None:
        self.asleep -= self._run(
            "UPDATE lanes SET awake = 1 WHERE name = ? AND awake = 0", (name,)
        ).rowcount

    def sleep(self, name: str) -> None:
        """To the end of those of its priority."""
        self.asleep += self._run(
            "UPDATE lanes SET awake = 0, turn = ? WHERE name = ? AND awake = 1",
            (self._turn(), name),
        ).rowcount

    def _new(self, name: str, priority: int) -> int:
        self._last_id += 1
        values = (name, self._last_id, priority, self._turn())
        self._run("INSERT INTO lanes VALUES (?, ?, 0, ?, ?)", values)
        self.asleep += 1
        return self._last_id

    def _set_priority(self, name: str, priority: int) -> None:
        self._run("UPDATE lanes SET priority = ? WHERE name = ?", (priority, name))

    def _turn(self) -> int:
        self.turns += 1
        return self.turns
