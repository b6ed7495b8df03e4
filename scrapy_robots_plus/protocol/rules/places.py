"""Where the parts of wildcard rules occur in a path: looked up instead of searched for.

Searching a path of 2,000 octets for each part of each rule of a hostile file would take time in
proportion to their product: ``aa...ab`` nearly matches everywhere in ``aa...aa``. Here the path is
indexed once for each size of parts, and every lookup after that costs the same, whatever the
octets are.

- A single octet is searched for, which is as fast as a lookup. So is a part of up to 32 octets in a
  short path.
- Any other part of up to 32 octets is looked up among all sequences of its size.
- A longer part is looked up 32 octets at a time. Each piece gives the set of its places, as the
  bits of a number; the part occurs where all these sets, each shifted back by its offset, agree.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from .pattern import ends_with

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .pattern import Pattern

Table = dict[bytes, list[int]]
"""Sequences of one size, each with its places in order."""

LONGEST = 32
"""Length in octets of the longest sequences that are looked up whole."""

_SHORT_PATH = 256
"""Up to this length in octets, a path is searched: most paths are that short, and building tables
would take longer."""


def usual_size(part: bytes) -> int:
    """How many octets of a part to index it by: 1, 2, 4 ... 32, so that a path needs few tables."""
    return 1 << (min(len(part), LONGEST).bit_length() - 1) if part else 0


class Places:
    """The places of all parts in one path."""

    __slots__ = ("_known", "_long", "_masks", "_searched", "_tables", "path")

    def __init__(self, path: bytes) -> None:
        self.path = path
        self._searched = 1 if len(path) > _SHORT_PATH else LONGEST
        """Up to this length, parts are searched for."""
        self._tables: dict[int, Table] = {}
        self._known: Table = {}
        """All the tables in one."""
        self._masks: dict[bytes, int] = {}
        self._long: dict[bytes, int] = {}

    def table(self, size: int) -> Table:
        """The places of all sequences of a size of up to 32 octets."""
        table = self._tables.get(size)
        if table is None:
            path = self.path
            table = self._tables[size] = {}
            for at in range(len(path) - size + 1):
                table.setdefault(path[at : at + size], []).append(at)
            self._known.update(table)
        return table

    def behind(self, part: bytes, at: int) -> int:
        """The end of the first ``part`` at or after ``at``; -1 if there is none."""
        size = len(part)
        if size > LONGEST:
            return self._behind_long(part, at)
        if size <= self._searched:
            found = self.path.find(part, at)
            return found + size if found >= 0 else -1
        places = self.table(size).get(part)
        if places is None or places[-1] < at:
            return -1
        return places[bisect_left(places, at)] + size

    def walk(self, parts: Sequence[bytes], at: int) -> int:
        """The end of the last part, if each part is taken at its first place after the one before,
        starting at ``at``; -1 if they do not all follow each other."""
        # Hostile files spend most time here, so :meth:`behind` is inlined.
        find, known, searched = self.path.find, self._known.get, self._searched
        for part in parts:
            size = len(part)
            if size <= searched:
                at = find(part, at) + size
                if at < size:
                    return -1
                continue
            places = known(part)
            if places is None:
                at = self.behind(part, at)
                if at < 0:
                    return -1
            elif places[-1] < at:
                return -1
            else:
                at = places[bisect_left(places, at)] + size
        return at

    def match(self, pattern: Pattern) -> bool:
        """Whether the path matches a pattern."""
        prefix, parts, tail = pattern
        if tail == b"":
            return self.path == prefix
        if not self.path.startswith(prefix):
            return False
        at = self.walk(parts, len(prefix))
        return at >= 0 and (tail is None or ends_with(self.path, tail, at))

    def _behind_long(self, part: bytes, at: int) -> int:
        mask = self._long.get(part)
        if mask is None:
            mask = self._long[part] = self._mask_of_long(part)
        mask >>= at
        if not mask:
            return -1
        lowest = (mask & -mask).bit_length() - 1
        return at + lowest + len(part)

    def _mask_of_long(self, part: bytes) -> int:
        mask = self._mask(part[-LONGEST:]) >> (len(part) - LONGEST)
        for offset in range(0, len(part) - LONGEST, LONGEST):
            if not mask:
                break
            mask &= self._mask(part[offset : offset + LONGEST]) >> offset
        return mask

    def _mask(self, sequence: bytes) -> int:
        mask = self._masks.get(sequence)
        if mask is None:
            mask = 0
            for at in self.table(LONGEST).get(sequence, ()):
                mask |= 1 << at
            if mask:
                self._masks[sequence] = mask
        return mask
