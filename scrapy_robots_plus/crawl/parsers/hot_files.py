"""Which files are kept parsed: those in use, within a bound on memory."""

from __future__ import annotations

from collections import OrderedDict
from typing import Protocol

HOT_OCTETS = 256 * 1024
"""Octets of robots.txt files, over all hosts, that are kept parsed: some 200 usual files. This
limits memory only: for other files, compact rules are kept and the rest is parsed again."""

LEAST_HOT = 4
"""Files that are kept parsed whatever their length: otherwise two files of 500 KiB used in turn
would cost half a second of parsing per request. One takes up to some 18 MB."""


class HoldsFile(Protocol):
    """A parser that can do without its parsed file, and parse it again."""

    def cool(self) -> None:
        """Drops the parsed file."""


class HotFiles:
    """The parsers whose files are kept parsed: the most recently used."""

    def __init__(self, octets: int = HOT_OCTETS, least: int = LEAST_HOT) -> None:
        self.room = octets
        self._least = least
        self._parsers: OrderedDict[HoldsFile, int] = OrderedDict()

    def __len__(self) -> int:
        return len(self._parsers)

    def add(self, parser: HoldsFile, octets: int) -> None:
        """Adds a parser, and drops the least recently used ones."""
        self._parsers[parser] = octets
        self.room -= octets
        while self.room < 0 and len(self._parsers) > self._least:
            cooled, octets = self._parsers.popitem(last=False)
            cooled.cool()
            self.room += octets

    def touch(self, parser: HoldsFile) -> None:
        """A parser was used."""
        self._parsers.move_to_end(parser)
