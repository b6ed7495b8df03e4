"""The files in which Scrapy's own queues and its duplicate filter keep a job.

Needed by 2.14 to 2.19: the files are private. Requests are not looked at: their data go on as they
are.
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
"""Octets in which a queue says how long a request is."""
_PART = re.compile(r"(-?\d+)(s?)")


class Part(NamedTuple):
    """The requests of one folder, priority and kind, in the order they were pushed."""

    lane: str
    """The name of the folder; empty for a queue that does not separate hosts."""
    rank: int
    path: Path

    def requests(self, lost: Callable[[int], None]) -> Iterator[bytes]:
        """*lost* is told how many cannot be read."""
        if self.path.is_dir():
            yield from _fifo(self.path, lost)
        elif self.path.stat().st_size:
            with (
                self.path.open("rb") as file,
                mmap(file.fileno(), 0, access=ACCESS_READ) as data,
            ):
                yield from _lifo(data, lost)


def parts_in(folder: Path) -> Iterator[Part]:
    """All in the folder of a job."""
    queues = folder / QUEUE_FOLDER
    for path in sorted([*queues.glob("*"), *queues.glob("*/*")]):
        if found := _PART.fullmatch(path.name):
            lane = "" if path.parent == queues else path.parent.name
            yield Part(lane, rank_of(int(found[1]), bool(found[2])), path)


def fingerprints_in(folder: Path) -> Iterator[bytes]:
    """Of the duplicate filter: as octets after their length, or as lines of hexadecimal digits."""
    path = folder / SEEN
    data = path.read_bytes() if path.exists() else b""
    if data[:1] == b"\0":
        at = 0
        while at + 2 <= len(data):
            size = int.from_bytes(data[at : at + 2], "big")
            if at + 2 + size <= len(data):  # a kill may have cut off the last one
                yield data[at + 2 : at + 2 + size]
            at += 2 + size
        return
    for line in data.split():
        with suppress(ValueError):
            yield bytes.fromhex(line.decode("ascii"))


def _lifo(data: mmap, lost: Callable[[int], None]) -> Iterator[bytes]:
    """The number of requests, then each with its length behind it: read from the end."""
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
    """Each with its length before it, in files of many."""
    begin = told = 0  # if it was never closed
    with suppress(OSError, ValueError, LookupError, TypeError):
        info = json.loads((folder / "info.json").read_text())
        begin, told = int(info["tail"][2]), int(info["size"])
    found, is_damaged = 0, False
    for chunk in sorted(folder.glob("q*")):
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
