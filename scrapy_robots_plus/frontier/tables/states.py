"""The requests that do not wait in a lane.

What was under way when the last run ended waits again. A request that was under way at two kills
may be their cause: it waits until nothing else is left, and is then added to its lane, with a group
of such. If the process is killed once more, the next group is a quarter of that. One that is alone
at a kill was the cause, and is set aside.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from .rows import SUSPECT_AFTER, AsideRequest

if TYPE_CHECKING:
    from collections.abc import Collection

    from .transaction import Transaction


MOST_AT_ONCE = 16
"""Of those that may be why the process was killed."""


class State(IntEnum):
    """Where a request stands that does not just wait in a lane."""

    UNDER_WAY = 1
    ALONE = 2
    """Under way while no other is."""
    LAST = 3
    """Waits until nothing else is left."""
    NEXT = 5
    """Waits in its lane, as one of a group of suspects."""
    ASIDE = 4
    """Not handed out any more."""


class States:
    """Of each of those requests, and how many there are."""

    def __init__(self, transaction: Transaction) -> None:
        self._run = transaction.run
        self.group: int = MOST_AT_ONCE
        """How many of the last are under way at a time."""
        self._set_out = transaction.late(_ENTER)
        """Those under way that were not at the last commit: most come back before the next."""
        counts = dict(self._run("SELECT state, count(*) FROM states GROUP BY state"))
        self.under_way: int = counts.get(State.UNDER_WAY, 0) + counts.get(State.ALONE, 0)
        self.last: int = counts.get(State.LAST, 0)
        self.aside: int = counts.get(State.ASIDE, 0)

    def added(self, id_: int, hard_ends: int) -> None:
        """The request waits in its lane."""
        if hard_ends >= SUSPECT_AFTER:
            self._enter(id_, State.NEXT)

    def set_out(self, id_: int, hard_ends: int) -> None:
        """The request, which waited in its lane, is under way from now on."""
        if hard_ends >= SUSPECT_AFTER:
            self._enter(id_, State.ALONE if self.group == 1 else State.UNDER_WAY)
        else:
            self._set_out[id_] = (id_, State.UNDER_WAY)
        self.under_way += 1

    def first_of_last(self) -> int | None:
        """One of the last; None if there is none."""
        row = self._run("SELECT min(id) FROM states WHERE state = ?", (State.LAST,)).fetchone()
        return None if row[0] is None else int(row[0])

    def set_out_last(self, id_: int) -> None:
        """One of the last is under way from now on."""
        self._enter(id_, State.UNDER_WAY)
        self.last -= 1
        self.under_way += 1

    def set_aside(self, id_: int) -> bool:
        """The request is not handed out any more. Returns whether it was under way."""
        if not self.came_back(id_):
            return False
        self._enter(id_, State.ASIDE)
        self.aside += 1
        return True

    def forget_what_is_gone(self) -> int:
        """Requests under way that damage has taken; returns how many."""
        return self._run(_FORGET).rowcount

    def forgive(self, ids: Collection[int] | None) -> list[AsideRequest]:
        """Those set aside, all or these, are so no longer, as if they had never been under way at
        a kill.
        """
        requests = [each for each in self.requests(State.ASIDE) if ids is None or each.id in ids]
        self.aside -= len(requests)
        for each in requests:
            self._run("UPDATE requests SET hard_ends = 0 WHERE id = ?", (each.id,))
            self._run("DELETE FROM states WHERE id = ?", (each.id,))
        return requests

    def next(self) -> list[int]:
        """Those that wait in a lane, and are of the last from now on."""
        ids = [each.id for each in self.requests(State.NEXT)]
        for id_ in ids:
            self._enter(id_, State.LAST)
            self.last += 1
        return ids

    def is_under_way(self, id_: int) -> bool:
        """Whether the request was handed out, and has not come back."""
        if id_ in self._set_out:
            return True
        row = self._run("SELECT state FROM states WHERE id = ?", (id_,)).fetchone()
        return row is not None and row[0] in (State.UNDER_WAY, State.ALONE)

    def came_back(self, id_: int) -> bool:
        """Whether the request was under way; it is no longer."""
        was_under_way = self._set_out.pop(id_, None) is not None or self._left(id_)
        self.under_way -= was_under_way
        return was_under_way

    def resume(self, *, was_killed: bool, blame: bool) -> tuple[list[int], list[AsideRequest]]:
        """Nothing is under way any more.

        *blame*: one of those under way may be why the process was killed. Returns the requests that
        have to wait in their lanes again, and those set aside now.
        """
        aside = self.requests(State.ALONE) if blame else []
        if blame:
            if any(each.hard_ends >= SUSPECT_AFTER for each in self.requests(State.UNDER_WAY)):
                self.group = max(1, self.group // 4)
            self._run(_COUNT, (1, State.UNDER_WAY, State.ALONE))
        elif not was_killed:  # the process did not end by them
            self._run(_COUNT, (0, State.UNDER_WAY, State.ALONE))
        waiting = list[int]()
        for each in aside:
            self._enter(each.id, State.ASIDE)
        self.aside += len(aside)
        for each in (*self.requests(State.UNDER_WAY), *self.requests(State.ALONE)):
            if each.hard_ends >= SUSPECT_AFTER:
                self._enter(each.id, State.LAST)
                self.last += 1
            else:
                waiting.append(each.id)
        self._run("DELETE FROM states WHERE state IN (?, ?)", (State.UNDER_WAY, State.ALONE))
        self.under_way = 0
        return waiting, [each._replace(hard_ends=each.hard_ends + 1) for each in aside]

    def requests(self, state: State) -> list[AsideRequest]:
        return [
            AsideRequest(*row)
            for row in self._run(
                "SELECT id, lane, data, hard_ends FROM states JOIN requests USING (id) "
                "WHERE state = ? ORDER BY id",
                (state,),
            )
        ]

    def _enter(self, id_: int, state: State) -> None:
        self._run(_ENTER, (id_, state))

    def _left(self, id_: int) -> bool:
        found = self._run(
            "DELETE FROM states WHERE id = ? AND state IN (?, ?)",
            (id_, State.UNDER_WAY, State.ALONE),
        )
        return found.rowcount == 1


_COUNT = (
    "UPDATE requests SET hard_ends = (hard_ends + 1) * ? "
    "WHERE id IN (SELECT id FROM states WHERE state IN (?, ?))"
)
_FORGET = (
    "DELETE FROM states WHERE NOT EXISTS (SELECT 1 FROM requests WHERE requests.id = states.id)"
)
_ENTER = "REPLACE INTO states VALUES (?, ?)"
