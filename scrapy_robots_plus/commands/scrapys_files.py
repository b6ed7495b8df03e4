"""The files in which Scrapy's own queues and its duplicate filter keep a job.

Needed for Scrapy 2.14 to 2.19, whose files are private. The data of requests are passed on
without being parsed.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from mmap import ACCESS_READ, mmap
from typing import TYPE_CHECKING, NamedTuple

from scrapy_robots_plus.job import QUEUE_FOLDER, rank_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

SEEN = "requests.seen"
_SIZE = 4
"""Bytes in which a queue stores the length of a request."""
_PART = re.compile(r"(-?\d+)(s?)")


class Part(NamedTuple):
    """The requests of one folder, priority and kind, in the order in which they were pushed."""

    lane: str
    """The name of its folder; empty for a queue that does not separate hosts."""
    rank: int
    path: Path

    def requests(self, lost: Callable[[int], None]) -> Iterator[bytes]:
        """Yields the requests; calls *lost* with how many, at least, cannot be read."""
        if self.path.is_dir():
            yield from _fifo(self.path, lost)
        elif self.path.stat().st_size:
            with (
                self.path.open("rb") as file,
                mmap(file.fileno(), 0, access=ACCESS_READ) as data,
            ):
                yield from _lifo(data, lost)


def parts_in(folder: Path) -> Iterator[Part]:
    """Yields all parts in the folder of a job."""
    queues = folder / QUEUE_FOLDER
    for path in sorted([*queues.glob("*"), *queues.glob("*/*")]):
        if found := _PART.fullmatch(path.name):
            lane = "" if path.parent == queues else path.parent.name
            yield Part(lane, rank_of(int(found[1]), bool(found[2])), path)


def fingerprints_in(folder: Path) -> Iterator[bytes]:
    """Yields the fingerprints of the duplicate filter.

    They are stored as bytes after their length, or as lines of hexadecimal digits.
    """
    path = folder / SEEN
    data = path.read_bytes() if path.exists() else b""
    if data[:1] == b"\0":
        at = 0
        while at + 2 <= len(data):
            size = int.from_bytes(data[at : at + 2], "big")
            if at + 2 + size <= len(data):  # a kill may have cut the last one
                yield data[at + 2 : at + 2 + size]
            at += 2 + size
        return
    for line in data.split():
        with suppress(ValueError):
            yield bytes.fromhex(line.decode("ascii"))


def _lifo(data: mmap, lost: Callable[[int], None]) -> Iterator[bytes]:
    """Reads a LIFO queue from its end: a count, then requests, each followed by its length."""
    ends, end = list[tuple[int, int]](), len(data)
    while end >= 2 * _SIZE:
        begin = end - _SIZE - int.from_bytes(data[end - _SIZE : end], "big")
        if begin < _SIZE:
            break
        ends.append((begin, end - _SIZE))
        end = begin
    if end > _SIZE:
        lost(max(1, int.from_bytes(data[:_SIZE], "big") - len(ends)))
    for begin, end in reversed(ends):
        yield data[begin:end]


def _fifo(folder: Path, lost: Callable[[int], None]) -> Iterator[bytes]:
    """Reads a FIFO queue: files of many requests, each preceded by its length."""
    chunks = sorted(folder.glob("q*"))
    begin = told = 0  # if the queue was never closed, there is no info.json
    with suppress(OSError, ValueError, LookupError, TypeError):
        info = json.loads((folder / "info.json").read_text())
        number, _, offset = info["tail"]
        # It is of the last close: a killed run may have emptied and deleted that file since.
        if chunks[0].name == f"q{number:05d}":
            begin, told = int(offset), int(info["size"])
    found, is_damaged = 0, False
    for chunk in chunks:
        data = chunk.read_bytes()
        at, begin = begin, 0
        while at + _SIZE <= len(data):
            end = at + _SIZE + int.from_bytes(data[at : at + _SIZE], "big")
            if end > len(data):
                break
            yield data[at + _SIZE : end]
            found += 1
            at = end
        is_damaged |= at < len(data)
    if told > found or is_damaged:
        lost(max(1, told - found))
