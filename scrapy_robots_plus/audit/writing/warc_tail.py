"""The end of a WARC file: behind half a record, no reader finds the next one."""

from __future__ import annotations

import os
import re
import zlib
from typing import TYPE_CHECKING

from .tail import NotALogError, cut_off

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import BinaryIO

_BEGIN = b"WARC/1."
_MEMBER = b"\x1f\x8b\x08"
"""How a member of a gzip file begins (RFC 1952 2.3.1)."""
_END = b"\r\n\r\n"
_LENGTH = re.compile(rb"\r\ncontent-length: *([0-9]{1,18})\r\n", re.IGNORECASE)
_BLOCK = 65_536
_BEGINNING = 512
"""Bytes that tell whether a member holds a record."""
_LONGEST_HEAD = 1 << 20
_LAST = 4 << 20
"""Bytes at the end in which the last record is looked for first."""


def repair(file: BinaryIO, aside: Path) -> str:
    """Ends *file* with the last whole record; returns what had to be done, in words, or nothing.

    What follows that record is moved to the end of the file *aside*. Reads the whole file only if
    its end looks torn. Raises OSError, :exc:`NotALogError` for what is no WARC file.
    """
    size = file.seek(0, os.SEEK_END)
    if not size:
        return ""
    file.seek(0)
    head = file.read(len(_BEGIN))
    is_compressed = head.startswith(_MEMBER[: len(head)])
    if not (is_compressed or head == _BEGIN[: len(head)]):
        raise NotALogError("it is not a WARC file")
    if _looks_whole(file, size, is_compressed=is_compressed):
        return ""
    ends = _ends_of_members(file) if is_compressed else _ends_of_records(file, size)
    end = max(ends, default=0)
    torn = cut_off(file, end, aside)
    return f"its last record was torn: {torn}" if torn else ""


def _looks_whole(file: BinaryIO, size: int, *, is_compressed: bool) -> bool:
    """Whether a record ends where the file does."""
    file.seek(max(0, size - _LAST))
    last = file.read(_LAST)
    begin = _MEMBER if is_compressed else _BEGIN
    view = memoryview(last)  # a body may hold many beginnings: nothing is copied for each
    found = len(last)
    while (found := last.rfind(begin, 0, found)) >= 0:
        if is_compressed:
            if _is_member(view[found:]):
                return True
        else:
            length = _length_of_record(last[found : found + _LONGEST_HEAD])
            if length is not None and found + length == len(last) and last.endswith(_END):
                return True
    return False


def _is_member(data: memoryview) -> bool:
    """Whether *data* is one whole member with a record, and nothing else."""
    try:
        beginning = zlib.decompressobj(31).decompress(data[:_BEGINNING], len(_BEGIN))
        if beginning != _BEGIN:
            return False
        decoder = zlib.decompressobj(31)
        decoder.decompress(data, _BLOCK)
        while decoder.unconsumed_tail and not decoder.eof:
            decoder.decompress(decoder.unconsumed_tail, _BLOCK)
    except zlib.error:
        return False
    return decoder.eof and not decoder.unused_data


def _length_of_record(head: bytes) -> int | None:
    """Of the whole record that begins with *head*; None if that is not one."""
    end = head.find(_END)
    found = _LENGTH.search(head, 0, end + 2) if end >= 0 else None
    return None if found is None else end + len(_END) + int(found[1]) + len(_END)


def _ends_of_records(file: BinaryIO, size: int) -> Iterator[int]:
    """Where each whole record ends."""
    start = 0
    while start < size:
        file.seek(start)
        head = file.read(_BLOCK)
        length = _length_of_record(head) if head.startswith(_BEGIN) else None
        if length is None or start + length > size:
            return
        start += length
        yield start


def _ends_of_members(file: BinaryIO) -> Iterator[int]:
    """Where each whole member ends."""
    file.seek(0)
    decoder, end, data = zlib.decompressobj(31), 0, b""
    while data or (data := file.read(_BLOCK)):
        try:
            decoder.decompress(data, _BLOCK)
        except zlib.error:
            return
        if decoder.eof:
            data = decoder.unused_data
            end = file.tell() - len(data)
            decoder = zlib.decompressobj(31)
            yield end
        else:
            data = decoder.unconsumed_tail
