"""Which lanes hold requests, and whose turn is next."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from .rows import Contents, LaneRow

if TYPE_CHECKING:
    from .transaction import Transaction

_NEXT = "FROM lanes WHERE awake = 0 ORDER BY priority, turn LIMIT ?"
_REMOVE_EMPTY = (
    "DELETE FROM lanes WHERE name = ? AND NOT EXISTS (SELECT 1 FROM waiting WHERE lane = ?)"
)


class Lanes:
    """Lanes in which requests wait. Each is awake (the crawl knows it) or asleep (the file alone).

    Those asleep have their turn by priority, then in the order in which they fell asleep or came.
    Of one that is awake, the crawl knows what it holds: its row stays as it was when it woke, even
    if nothing is left, and is brought up to date when the lane falls asleep.
    """

    def __init__(self, transaction: Transaction, turns: int) -> None:
        """*turns*: how many there were so far."""
        self._run = transaction.run
        self.turns = turns
        self.asleep: int = self._run("SELECT count(*) FROM lanes WHERE awake = 0").fetchone()[0]
        """How many lanes are asleep."""
        self._awake: dict[str, int] = dict(self._run("SELECT name, id FROM lanes WHERE awake = 1"))
        """The ids of those that are awake."""
        (last,) = self._run("SELECT max(lane) FROM waiting").fetchone()
        self._last_id: int = max((last or 0, *self._awake.values()))

    def all_asleep(self) -> None:
        self._run(
            "DELETE FROM lanes "
            "WHERE awake = 1 AND NOT EXISTS (SELECT 1 FROM waiting WHERE lane = lanes.id)"
        )
        self.asleep += self._run(
            "UPDATE lanes "
            "SET awake = 0, priority = (SELECT min(priority) FROM waiting WHERE lane = lanes.id) "
            "WHERE awake = 1"
        ).rowcount
        self._awake.clear()

    def id_of(self, name: str) -> int | None:
        """None if the lane is asleep and holds nothing."""
        if name in self._awake:
            return self._awake[name]
        row = self._run("SELECT id FROM lanes WHERE name = ?", (name,)).fetchone()
        return None if row is None else int(row[0])

    def holds(self, name: str) -> bool:
        """Whether a request waits in the lane."""
        return self._first_priority(self.id_of(name)) is not None

    def contents(self, name: str) -> Contents:
        id_ = self.id_of(name)
        return {} if id_ is None else self._contents("lane = ?", id_)[id_]

    def entered(self, name: str, priority: int) -> int:
        """A request is added to the lane *name*; returns its id."""
        if name in self._awake:
            return self._awake[name]
        row = self._run("SELECT id, priority FROM lanes WHERE name = ?", (name,)).fetchone()
        if row is None:
            return self._new(name, priority)
        if priority < row[1]:
            self._set_priority(name, priority)
        return int(row[0])

    def left(self, name: str, id_: int | None, priority: int) -> None:
        """A request with *priority* was taken from the lane."""
        if name in self._awake:
            return
        first = self._first_priority(id_)
        if first is None:
            self._remove(name)
            self.asleep -= 1
        elif first != priority:
            self._set_priority(name, first)

    def wake(self, most: int) -> list[LaneRow]:
        """The next lanes that are asleep; they are awake from now on.

        Raises sqlite3.DatabaseError if some are missing.
        """
        found = self._run(f"SELECT name, id, priority {_NEXT}", (most,)).fetchall()
        contents = self._contents(f"lane IN (SELECT id {_NEXT})", most)
        if len(found) != min(most, self.asleep) or len(contents) != len(found):
            raise sqlite3.DatabaseError("requests are missing")
        self._run(f"UPDATE lanes SET awake = 1 WHERE name IN (SELECT name {_NEXT})", (most,))  # noqa: S608
        self.asleep -= len(found)
        self._awake.update((name, id_) for name, id_, _ in found)
        return [LaneRow(name, priority, contents[id_]) for name, id_, priority in found]

    def wake_one(self, name: str) -> None:
        id_ = self.id_of(name)
        if id_ is not None and name not in self._awake:
            self._run("UPDATE lanes SET awake = 1 WHERE name = ?", (name,))
            self._awake[name] = id_
            self.asleep -= 1

    def sleep(self, name: str) -> None:
        """To the end of those of its priority. One that holds nothing is forgotten."""
        id_ = self._awake.pop(name, None)
        if id_ is None or self._run(_REMOVE_EMPTY, (name, id_)).rowcount:
            return
        values = self._first_priority(id_), self._turn(), name
        self._run("UPDATE lanes SET awake = 0, priority = ?, turn = ? WHERE name = ?", values)
        self.asleep += 1

    def _first_priority(self, id_: int | None) -> int | None:
        """Of the most urgent request in the lane; None if it holds none."""
        first = "SELECT priority FROM waiting WHERE lane = ? ORDER BY priority LIMIT 1"
        row = self._run(first, (id_,)).fetchone()
        return None if row is None else int(row[0])

    def _contents(self, which: str, value: Any) -> dict[int, Contents]:
        """Of lanes by id: of those that hold a request."""
        contents: defaultdict[int, Contents] = defaultdict(dict)
        rows = self._run(
            f"SELECT lane, priority, starts, count(*) FROM waiting WHERE {which} "  # noqa: S608
            "GROUP BY lane, priority, starts",
            (value,),
        )
        for lane, priority, starts, count in rows:
            contents[lane][priority, bool(starts)] = count
        return contents

    def _new(self, name: str, priority: int) -> int:
        self._last_id += 1
        values = (name, self._last_id, priority, self._turn())
        self._run("INSERT INTO lanes VALUES (?, ?, 0, ?, ?)", values)
        self.asleep += 1
        return self._last_id

    def _remove(self, name: str) -> None:
        self._run("DELETE FROM lanes WHERE name = ?", (name,))

    def _set_priority(self, name: str, priority: int) -> None:
        self._run("UPDATE lanes SET priority = ? WHERE name = ?", (priority, name))

    def _turn(self) -> int:
        self.turns += 1
        return self.turns
