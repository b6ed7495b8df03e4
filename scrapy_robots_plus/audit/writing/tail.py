"""The end of a log: its last whole line, and the repair of what follows it."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from scrapy_robots_plus.audit.chain import LONGEST_LINE, START, Link, parse

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import BinaryIO

_BLOCK = 65_536
_HEAD = b'{"v":'
"""How every line begins."""


class NotALogError(OSError):
    """The file is something else, which must not be touched."""


class Tail(NamedTuple):
    """Where a log goes on."""

    link: Link
    """The last whole line."""
    end: int
    """Its end, in octets from the start of the file."""
    has_newline: bool = True


def find_tail(file: BinaryIO) -> Tail:
    """The last whole line of *file*, with constant memory however long what follows it is.

    Raises :exc:`NotALogError` if the file is not a log, and OSError if it cannot be read.
    """
    file.seek(0)
    head = file.read(len(_HEAD))
    if head != _HEAD[: len(head)]:
        raise NotALogError("it is not an audit log")
    for start, stop in _lines_backwards(file, file.seek(0, os.SEEK_END)):
        if stop - start <= LONGEST_LINE:
            file.seek(start)
            raw = file.read(stop - start)
            with suppress(ValueError):
                return Tail(parse(raw).link, stop, raw.endswith(b"\n"))
    return Tail(START, 0)


def repair(file: BinaryIO, tail: Tail, aside: Path) -> str:
    """Ends *file* with the last whole line; returns what had to be done, in words, or nothing.

    What follows that line is moved to the end of the file *aside*. Raises OSError.
    """
    torn = cut_off(file, tail.end, aside)
    if torn:
        done = f"its last line was torn: {torn}"
    else:
        done = "" if tail.has_newline else "its last line had no end"
    if not tail.has_newline:
        file.seek(0, os.SEEK_END)
        file.write(b"\n")
    return done


def cut_off(file: BinaryIO, end: int, aside: Path) -> str:
    """Moves what follows *end* to the end of the file *aside*; returns what was done, in words.

    Raises OSError.
    """
    torn = file.seek(0, os.SEEK_END) - end
    if not torn:
        return ""
    kept = _set_aside(file, end, aside)
    file.truncate(end)
    where = f"they are now in {aside.name}" if kept else "they could not be kept"
    return f"{torn:,} bytes were cut off, {where}"


def _set_aside(file: BinaryIO, start: int, aside: Path) -> bool:
    """Whether what follows *start* could be copied."""
    file.seek(start)
    try:
        with aside.open("ab") as copy:
            while block := file.read(_BLOCK):
                copy.write(block)
            copy.write(b"\n")
    except OSError:
        return False
    return True


def _lines_backwards(file: BinaryIO, size: int) -> Iterator[tuple[int, int]]:
    """Start and end of each line, with its newline, from the last one on."""
    stop = size
    for newline in _newlines_backwards(file, size):
        if newline + 1 < stop:
            yield newline + 1, stop
        stop = newline + 1
    if stop:
        yield 0, stop


def _newlines_backwards(file: BinaryIO, size: int) -> Iterator[int]:
    while size:
        start = max(0, size - _BLOCK)
        file.seek(start)
        block = file.read(size - start)
        found = len(block)
        while (found := block.rfind(b"\n", 0, found)) >= 0:
            yield start + found
        size = start
