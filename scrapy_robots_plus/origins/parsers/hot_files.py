"""Which files are kept parsed: those in use, within a bound on memory."""

from __future__ import annotations

from collections import OrderedDict
from typing import Protocol
from weakref import ref

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
    """The parsers whose files are kept parsed: the most recently used.

    One that nobody else holds any more goes, with its file.
    """

    def __init__(self, octets: int = HOT_OCTETS, least: int = LEAST_HOT) -> None:
        self.room = octets
        self._least = least
        self._octets: OrderedDict[ref[HoldsFile], int] = OrderedDict()

    def __len__(self) -> int:
        return len(self._octets)

    def add(self, parser: HoldsFile, octets: int) -> None:
        """Adds a parser, or uses it, and drops the least recently used ones."""
        key = ref(parser, self._forget)
        self.room += self._octets.pop(key, 0) - octets
        self._octets[key] = octets
        while self.room < 0 and len(self._octets) > self._least:
            oldest, octets = self._octets.popitem(last=False)
            self.room += octets
            cooled = oldest()
            if cooled is not None:
                cooled.cool()

    def touch(self, parser: HoldsFile) -> None:
        """A parser was used."""
        self._octets.move_to_end(ref(parser))

    def _forget(self, key: ref[HoldsFile]) -> None:
        self.room += self._octets.pop(key, 0)
