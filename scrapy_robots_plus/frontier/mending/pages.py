"""The rows in the pages of an SQLite file, read without SQLite and without its trees.

Its write-ahead log is not: it is copied into the file after each commit.

One damaged page of a tree hides all pages below it from SQLite. Here, each page that can be read
gives its rows.

Source: https://www.sqlite.org/fileformat2.html, sections 1 and 2.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_PAGE = 4_096
"""Of every job's file: what the header says may be damaged."""

_INDEX_INNER, _INDEX_LEAF, _TABLE_LEAF = 2, 10, 13
_TABLE_LOCAL = _PAGE - 35
_INDEX_LOCAL = (_PAGE - 12) * 64 // 255 - 23
_LEAST_LOCAL = (_PAGE - 12) * 32 // 255 - 23


class Record(NamedTuple):
    """A row of a table, or an entry of an index."""

    id: int | None
    """The rowid; None in an index, and in tables without rowid."""
    values: tuple[Any, ...]


class Pages:
    """Those of a file."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        self._count = self._file.seek(0, 2) // _PAGE
        self.is_exact = True
        """False if pages that are no longer in use may have been read."""

    def close(self) -> None:
        self._file.close()

    def records(self) -> Iterator[Record]:
        """All in use, as far as they can be read."""
        free = self._free()
        for number in range(1, self._count + 1):
            if number not in free:
                yield from self._records_in(number)

    def _page(self, number: int) -> bytes:
        if not 0 < number <= self._count:  # damaged
            return b""
        self._file.seek((number - 1) * _PAGE)
        return self._file.read(_PAGE)

    def _free(self) -> set[int]:
        """Pages that are not in use: they may hold what was deleted long ago."""
        trunk, told = struct.unpack(">2I", self._page(1)[32:40].ljust(8, b"\0"))
        free = set[int]()
        while trunk and trunk not in free:
            page = self._page(trunk)
            if len(page) < _PAGE:
                break
            following, count = struct.unpack_from(">2I", page)
            free.add(trunk)
            free.update(struct.unpack_from(f">{min(count, _PAGE // 4 - 2)}I", page, 8))
            trunk = following
        self.is_exact = len(free) == told
        return free

    def _records_in(self, number: int) -> Iterator[Record]:
        page = self._page(number)
        begin = 100 if number == 1 else 0
        if len(page) < _PAGE or page[begin] not in (_INDEX_INNER, _INDEX_LEAF, _TABLE_LEAF):
            return
        kind = page[begin]
        (cells,) = struct.unpack_from(">H", page, begin + 3)
        first = begin + (12 if kind == _INDEX_INNER else 8)
        for place in range(first, min(first + 2 * cells, _PAGE - 1), 2):
            (at,) = struct.unpack_from(">H", page, place)
            try:
                yield self._record(page, at + (4 if kind == _INDEX_INNER else 0), kind)
            except (IndexError, ValueError, OverflowError, struct.error):
                continue  # damaged

    def _record(self, page: bytes, at: int, kind: int) -> Record:
        size, at = _varint(page, at)
        rowid = None
        if kind == _TABLE_LEAF:
            rowid, at = _varint(page, at)
        return Record(rowid, _values(self._payload(page, at, size, kind)))

    def _payload(self, page: bytes, at: int, size: int, kind: int) -> bytes:
        """With what did not fit into the page."""
        local = _TABLE_LOCAL if kind == _TABLE_LEAF else _INDEX_LOCAL
        if size <= local:
            return page[at : at + size]
        kept = _LEAST_LOCAL + (size - _LEAST_LOCAL) % (_PAGE - 4)
        if kept > local:
            kept = _LEAST_LOCAL
        parts = [page[at : at + kept]]
        (following,) = struct.unpack_from(">I", page, at + kept)
        for _ in range(min(-(-(size - kept) // (_PAGE - 4)), self._count)):
            page = self._page(following)
            (following,) = struct.unpack_from(">I", page)
            parts.append(page[4:])
        return b"".join(parts)[:size]


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number of SQLite's variable length, and where it ends."""
    number = 0
    for end in range(at, at + 8):
        number = number << 7 | data[end] & 0x7F
        if data[end] < 0x80:
            return number, end + 1
    number = number << 8 | data[at + 8]
    return number - (1 << 64 if number >> 63 else 0), at + 9


_INTEGERS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}
"""Type of a value to its octets."""


def _values(payload: bytes) -> tuple[Any, ...]:
    end, at = _varint(payload, 0)
    values, content = [], end
    while at < end:
        kind, at = _varint(payload, at)
        value, content = _value(payload, content, kind)
        values.append(value)
    return tuple(values)


def _value(payload: bytes, at: int, kind: int) -> tuple[Any, int]:
    if kind in (0, 8, 9):
        return (None if kind == 0 else kind - 8), at
    size = _INTEGERS[kind] if kind in _INTEGERS else max(0, (kind - 12) // 2)
    part = payload[at : at + size]
    if len(part) < size or kind in (7, 10, 11):
        raise ValueError("cut off, or a kind of value that a job's file does not have")
    if kind in _INTEGERS:
        return int.from_bytes(part, "big", signed=True), at + size
    return (part.decode() if kind % 2 else part), at + size
