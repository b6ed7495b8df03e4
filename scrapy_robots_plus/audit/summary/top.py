"""The most frequent of any number of keys, in bounded memory."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable


class Row:
    """What is known of one key. Subclasses add to it."""

    __slots__ = ("count", "missed")

    def __init__(self) -> None:
        self.count = 0
        """How often the key was seen since this row is there."""
        self.missed = 0
        """At most so often it may have been seen before. 0: the count is exact."""

    @property
    def most(self) -> int:
        """How often the key was seen at most."""
        return self.count + self.missed


K = TypeVar("K", bound="Hashable")
R = TypeVar("R", bound=Row)


class Top(Generic[K, R]):
    """A row for each of the most frequent keys: all of them, as long as there are few.

    With more than twice *capacity* keys, those seen least are dropped, and a key that comes later
    is given what a dropped one may have had as ``missed``. Of n keys seen, one that is seen more
    than n / capacity times is always there (space-saving: Metwally and others, 2005, done in
    batches).
    """

    def __init__(self, capacity: int, new_row: Callable[[], R]) -> None:
        self.is_complete = True
        """Whether no key was ever dropped, so that all counts are exact."""
        self._capacity = capacity
        self._new_row = new_row
        self._rows: dict[K, R] = {}
        self._most_dropped = 0

    def seen(self, key: K) -> R:
        """Counts *key*; returns its row, to which more may be added."""
        row = self._rows.get(key)
        if row is None:
            row = self._add(key)
        row.count += 1
        return row

    def _add(self, key: K) -> R:
        if len(self._rows) >= 2 * self._capacity:
            self._drop()
        row = self._rows[key] = self._new_row()
        row.missed = self._most_dropped
        return row

    def _drop(self) -> None:
        kept = dict(heapq.nlargest(self._capacity, self._rows.items(), key=_frequency))
        dropped = (row.most for key, row in self._rows.items() if key not in kept)
        self._most_dropped = max(self._most_dropped, *dropped)
        self._rows = kept
        self.is_complete = False

    def ranked(self, rank: Callable[[R], object]) -> list[tuple[K, R]]:
        """All rows, those with the greatest *rank* first; of equals the earliest."""
        return sorted(self._rows.items(), key=lambda item: rank(item[1]), reverse=True)  # type: ignore[arg-type, return-value]

    def __len__(self) -> int:
        """How many keys have a row."""
        return len(self._rows)


def _frequency(item: tuple[object, Row]) -> int:
    return item[1].most
