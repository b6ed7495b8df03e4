"""Where the parts of wildcard rules occur in a path.

A few parts are searched for: nearly all paths are short, and nearly all files have few wildcards.
For many in a long path that would take time in proportion to their product: ``aa...ab`` nearly
matches everywhere in ``aa...aa``. Then the beginnings of all rests of the path are sorted, once.
Those that begin with a part stand next to each other, so a binary search finds its places.

A part of more than 32 octets is looked up 32 octets at a time. Each piece gives the set of its
places, as the bits of a number; the part occurs where all these sets, each shifted back by its
offset, agree.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from .pattern import ends_with

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .pattern import Pattern

LONGEST = 32
"""Length in octets of the longest parts that are looked up whole."""

_HIGHEST = b"\xff" * (LONGEST + 1)
"""Appended to a part, comes after all that begins with the part."""

SHORT_PATH = 256
"""Up to this length in octets, a path is always searched: sorting would take longer."""

_SEARCHED = 2048
"""So many octets of parts are searched for in a longer path before it is sorted."""

_MOST_BITS = 1 << 25
"""So many bits of places are kept."""


class Places:
    """The places of all parts in one path."""

    __slots__ = ("_found", "_left", "_masks", "_sorted", "_starts", "path")

    def __init__(self, path: bytes) -> None:
        self.path = path
        self._left = _SEARCHED
        """How many octets of parts may still be searched for."""
        self._sorted: list[bytes] = []
        """The first octets of each rest of the path, in order."""
        self._starts: list[int] = []
        """Where each of them begins."""
        self._found: dict[bytes, list[int]] = {}
        """The places of the parts that were looked up, in order."""
        self._masks: dict[bytes, int] = {}

    def match(self, pattern: Pattern) -> bool:
        """Whether the path matches a pattern."""
        prefix, parts, tail = pattern
        path = self.path
        if tail == b"":
            return path == prefix
        if not path.startswith(prefix) or (tail is not None and not path.endswith(tail)):
            return False
        at = self.walk(parts, len(prefix)) if parts else len(prefix)
        return at >= 0 and (tail is None or ends_with(path, tail, at))

    def walk(self, parts: Sequence[bytes], at: int) -> int:
        """The end of the last part, if each part is taken at its first place after the one before,
        starting at ``at``; -1 if they do not all follow each other."""
        # Hostile files spend most time here, so the lookup of a part that is known is inlined.
        find, known = self.path.find, self._found.get
        searched = self._searched(parts)
        for part in parts:
            size = len(part)
            if size <= searched:
                at = find(part, at) + size
                if at < size:
                    return -1
                continue
            places = known(part)
            if places is None:
                at = self._behind(part, at)
                if at < 0:
                    return -1
            elif not places or places[-1] < at:
                return -1
            else:
                at = places[bisect_left(places, at)] + size
        return at

    def _searched(self, parts: Sequence[bytes]) -> int:
        """Up to which length these parts are searched for. A single octet always is: that is as
        fast as a lookup."""
        size = len(self.path)
        if size > SHORT_PATH:
            self._left -= sum(map(len, parts))
            if self._left < 0:
                return 1
        return size

    def _behind(self, part: bytes, at: int) -> int:
        """The end of the first ``part`` at or after ``at``; -1 if there is none."""
        if len(part) > LONGEST:
            return self._behind_long(part, at)
        places = self._found[part] = self._all(part)
        first = bisect_left(places, at)
        return places[first] + len(part) if first < len(places) else -1

    def _all(self, part: bytes) -> list[int]:
        """All places of a part of up to 32 octets, in order."""
        if not self._sorted:
            self._sort()
        low = bisect_left(self._sorted, part)
        return sorted(self._starts[low : bisect_left(self._sorted, part + _HIGHEST, low)])

    def _sort(self) -> None:
        path = self.path
        rests = [path[at : at + LONGEST] for at in range(len(path))]
        self._starts = sorted(range(len(path)), key=rests.__getitem__)
        self._sorted = [rests[at] for at in self._starts]

    def _behind_long(self, part: bytes, at: int) -> int:
        mask = self._mask(part[-LONGEST:]) >> (len(part) - LONGEST)
        for offset in range(0, len(part) - LONGEST, LONGEST):
            if not mask:
                break
            mask &= self._mask(part[offset : offset + LONGEST]) >> offset
        mask >>= at
        if not mask:
            return -1
        lowest = (mask & -mask).bit_length() - 1
        return at + lowest + len(part)

    def _mask(self, piece: bytes) -> int:
        mask = self._masks.get(piece)
        if mask is None:
            bits = bytearray(len(self.path) // 8 + 1)
            for at in self._all(piece):
                bits[at >> 3] |= 1 << (at & 7)
            if len(self._masks) * len(self.path) > _MOST_BITS:
                self._masks.clear()
            mask = self._masks[piece] = int.from_bytes(bits, "little")
        return mask
