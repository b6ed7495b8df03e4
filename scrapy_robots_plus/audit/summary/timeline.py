"""Counts over time, in bounded memory: the longer the time, the wider the buckets."""

from __future__ import annotations

from collections import Counter
from itertools import chain, count
from typing import NamedTuple

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
