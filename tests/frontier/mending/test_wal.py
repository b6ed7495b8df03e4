"""A write-ahead log is read as SQLite reads it, and beyond a damaged frame."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

import pytest

from scrapy_robots_plus.frontier.mending.wal import read_log

if TYPE_CHECKING:
    from pathlib import Path

SALTS = (7, 11)
SIZE = 512


class Frame(NamedTuple):
    page: int
    commits: bool = False
    salts: tuple[int, int] = SALTS


def summed(data: bytes, sums: tuple[int, int], order: str) -> tuple[int, int]:
    """Section 4.2 of https://www.sqlite.org/fileformat2.html"""
    first, second = sums
    numbers = struct.unpack(f"{order}{len(data) // 4}I", data)
    for place in range(0, len(numbers), 2):
        first = (first + numbers[place] + second) % 2**32
        second = (second + numbers[place + 1] + first) % 2**32
    return first, second


def log_of(*frames: Frame, order: str = "<") -> bytes:
    """A log whose pages hold their numbers; checksums are of numbers in *order*."""
    magic = 0x377F0683 if order == ">" else 0x377F0682
    header = struct.pack(">6I", magic, 3_007_000, SIZE, 1, *SALTS)
    sums = summed(header, (0, 0), order)
    log = header + struct.pack(">2I", *sums)
    for frame in frames:
        begin = struct.pack(">2I", frame.page, 9 if frame.commits else 0)
        content = struct.pack(">I", frame.page) * (SIZE // 4)
        sums = summed(content, summed(begin, sums, order), order)
        log += begin + struct.pack(">4I", *frame.salts, *sums) + content
    return log


def begin_of(number: int) -> int:
    """Where the page of the frame *number* begins."""
    return 32 + (24 + SIZE) * number + 24


def changed(log: bytes, at: int) -> bytes:
    return log[:at] + bytes([log[at] ^ 0x40]) + log[at + 1 :]


@pytest.mark.parametrize("order", ["<", ">"], ids=["little-endian", "big-endian"])
def test_it_is_read_whichever_machine_has_written_it(path: Path, order: str) -> None:
    path.write_bytes(log_of(Frame(1), Frame(2, commits=True), order=order))
    assert read_log(path) == ({1: begin_of(0), 2: begin_of(1)}, True)


def test_the_newest_copy_of_a_page_counts(path: Path) -> None:
    path.write_bytes(log_of(Frame(1), Frame(2), Frame(1, commits=True)))
    assert read_log(path) == ({1: begin_of(2), 2: begin_of(1)}, True)


def test_what_comes_after_the_last_commit_does_not_count(path: Path) -> None:
    whole = log_of(Frame(1, commits=True), Frame(2), Frame(3))
    path.write_bytes(whole)
    assert read_log(path) == ({1: begin_of(0)}, True)
    path.write_bytes(changed(whole, begin_of(2)))
    assert read_log(path) == ({1: begin_of(0)}, True)
    path.write_bytes(whole[:-1])
    assert read_log(path) == ({1: begin_of(0)}, True)


def test_without_a_commit_there_is_nothing(path: Path) -> None:
    path.write_bytes(log_of(Frame(1), Frame(2)))
    assert read_log(path) == ({}, True)
    path.write_bytes(log_of())
    assert read_log(path) == ({}, True)


def test_frames_of_an_older_log_behind_it_do_not_count(path: Path) -> None:
    path.write_bytes(log_of(Frame(1, commits=True), Frame(2, commits=True, salts=(6, 11))))
    assert read_log(path) == ({1: begin_of(0)}, True)


@pytest.mark.parametrize("at", [-24, -16, -8, -4, 0, SIZE - 1])
def test_a_damaged_frame_is_left_out_and_those_behind_it_are_read(path: Path, at: int) -> None:
    """*at*: in its page number, salts, checksums, and content."""
    log = log_of(Frame(1), Frame(2), Frame(3), Frame(4, commits=True))
    path.write_bytes(changed(log, begin_of(1) + at))
    pages, is_whole = read_log(path)
    assert not is_whole
    assert 2 not in pages
    assert pages[1] == begin_of(0)
    assert pages[4] == begin_of(3)


def test_a_frame_behind_a_damaged_checksum_cannot_be_checked(path: Path) -> None:
    log = log_of(Frame(1), Frame(2), Frame(3), Frame(4, commits=True))
    path.write_bytes(changed(log, begin_of(1) - 4))
    assert read_log(path) == ({1: begin_of(0), 4: begin_of(3)}, False)


@pytest.mark.parametrize("at", range(0, 32, 4))
def test_a_damaged_header_makes_all_of_it_useless(path: Path, at: int) -> None:
    path.write_bytes(changed(log_of(Frame(1, commits=True)), at))
    assert read_log(path) == ({}, False)
