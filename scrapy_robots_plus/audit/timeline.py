"""What happened when, for the bars of a report."""

from __future__ import annotations

from collections import Counter, defaultdict

_WEEK = 7 * 86_400
_WIDTHS = (1, 5, 15, 60, 300, 900, 3_600, 4 * 3_600, 86_400, *(_WEEK * 2**n for n in range(20)))
"""Of bars, in seconds: each is a multiple of those before it."""


class Timeline:
    """How often what happened, in bars of equal width: as narrow as so many can be."""

    def __init__(self, most: int = 120) -> None:
        self._most = most
        """Bars."""
        self._wider = iter(_WIDTHS)
        self.width: int = next(self._wider)
        """Of each bar, in seconds."""
        self._bars: defaultdict[int, Counter[str]] = defaultdict(Counter)

    def add(self, what: str, moment: float) -> None:
        """*what* happened at *moment*, in seconds since the epoch."""
        bar = int(moment // self.width)
        is_new = bar not in self._bars
        self._bars[bar][what] += 1
        while is_new and max(self._bars) - min(self._bars) >= self._most:
            narrow, self._bars = self._bars, defaultdict(Counter)
            before, self.width = self.width, next(self._wider)
            for bar, counts in narrow.items():
                self._bars[bar * before // self.width].update(counts)

    @property
    def start(self) -> int:
        """Of the first bar, in seconds since the epoch."""
        return min(self._bars, default=0) * self.width

    @property
    def bars(self) -> list[Counter[str]]:
        """From the first to the last in which something happened, empty ones too."""
        numbers = range(min(self._bars, default=0), max(self._bars, default=-1) + 1)
        return [self._bars[number] for number in numbers]
