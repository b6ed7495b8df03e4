"""Counts in bounded memory: the most frequent of any number of keys, and what happened when."""

from __future__ import annotations

import heapq
from collections import Counter
from itertools import chain, count
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

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


_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400
_WIDTHS = (1, 5, 15, _MINUTE, 5 * _MINUTE, 15 * _MINUTE, _HOUR, 4 * _HOUR, _DAY, 7 * _DAY)
"""In seconds. Each is a multiple of the one before, so that buckets can be merged."""


class Bucket(NamedTuple):
    """What happened from ``start`` on, until the next bucket."""

    start: float
    """Seconds since the epoch."""
    counts: Counter[str]
    """How often what happened."""


class Timeline:
    """How often what happened, in at most *most* buckets of equal width."""

    def __init__(self, most: int = 120) -> None:
        self._most = most
        self._wider = chain(_WIDTHS, (7 * _DAY * 2**power for power in count(1)))
        self._buckets: dict[int, Counter[str]] = {}
        self._first = self._last = 0
        self.width = next(self._wider)
        """Of a bucket, in seconds."""

    def add(self, moment: float, what: str) -> None:
        """Counts *what*, which happened at *moment*, in seconds since the epoch."""
        bucket = self._buckets.get(int(moment // self.width))
        if bucket is None:
            bucket = self._new_bucket(moment)
        bucket[what] += 1

    def _new_bucket(self, moment: float) -> Counter[str]:
        self._extend(int(moment // self.width))
        while self._last - self._first >= self._most:
            self._widen()
        return self._buckets.setdefault(int(moment // self.width), Counter())

    def _extend(self, number: int) -> None:
        if not self._buckets:
            self._first = self._last = number
        self._first, self._last = min(self._first, number), max(self._last, number)

    def _widen(self) -> None:
        width = next(self._wider)
        merged: dict[int, Counter[str]] = {}
        for number, counts in self._buckets.items():
            merged.setdefault(number * self.width // width, Counter()).update(counts)
        self._first = self._first * self.width // width
        self._last = self._last * self.width // width
        self._buckets, self.width = merged, width

    def buckets(self) -> list[Bucket]:
        """From the first to the last in which something happened, empty ones too."""
        if not self._buckets:
            return []
        numbers = range(self._first, self._last + 1)
        return [Bucket(n * self.width, self._buckets.get(n, Counter())) for n in numbers]
