"""The write-ahead log of an SQLite file, read without SQLite.

SQLite stops at the first damaged frame and forgets all that follow without a word. After that,
pages that it had copied into the file already would be replaced by older ones.

Source: https://www.sqlite.org/fileformat2.html, section 4.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import BinaryIO

_HEADER, _FRAME = 32, 24
_MAGIC = 0x377F0682
"""Its last bit says that checksums are of big-endian numbers."""


class Log(NamedTuple):
    """What can be read of a log."""

    pages: dict[int, int]
    """Page number to where its newest whole copy begins; up to the last commit."""
    is_whole: bool
    """Whether everything up to the last commit can be read. What a kill cut off comes after it."""


def read_log(path: Path) -> Log:
    """That of the log at *path*; an empty one if there is none."""
    try:
        stream = path.open("rb")
    except FileNotFoundError:
        return Log({}, is_whole=True)
    with stream:
        return _read(stream)


class _Frame(NamedTuple):
    page: int
    commits: bool
    is_whole: bool
    begin: int


def _read(stream: BinaryIO) -> Log:
    header = stream.read(_HEADER)
    if not header.strip(b"\0"):
        return Log({}, is_whole=True)
    numbers = struct.unpack(">8I", header.ljust(_HEADER, b"\0"))
    order = ">" if numbers[0] & 1 else "<"
    if numbers[0] & ~1 != _MAGIC or _sum(header[:24], (0, 0), order) != numbers[6:]:
        return Log({}, is_whole=False)
    frames = list(_frames(stream, numbers[2], numbers[4:6], numbers[6:], order))
    while frames and not frames[-1].commits:  # what a kill cut off, and older frames
        frames.pop()
    pages = {frame.page: frame.begin for frame in frames if frame.is_whole}
    return Log(pages, is_whole=all(frame.is_whole for frame in frames))


def _frames(
    stream: BinaryIO, size: int, salts: tuple[int, ...], sums: tuple[int, ...], order: str
) -> Iterator[_Frame]:
    """Each can be checked alone: its checksum goes on from that of the frame before."""
    begin = _HEADER
    while len(block := stream.read(_FRAME + size)) == _FRAME + size:
        page, commit, *rest = struct.unpack_from(">6I", block)
        told, ours = tuple(rest[2:]), tuple(rest[:2]) == salts
        whole = ours and told == _sum(block[_FRAME:], _sum(block[:8], sums, order), order)
        yield _Frame(page, ours and commit != 0, whole, begin + _FRAME)
        sums = told
        begin += _FRAME + size


def _sum(data: bytes, sums: tuple[int, ...], order: str) -> tuple[int, int]:
    """SQLite's checksum, that goes on from *sums*."""
    first, second = sums
    numbers = struct.unpack(f"{order}{len(data) // 4}I", data)
    for even, odd in zip(numbers[::2], numbers[1::2], strict=True):
        first = (first + even + second) & 0xFFFFFFFF
        second = (second + odd + first) & 0xFFFFFFFF
    return first, second
