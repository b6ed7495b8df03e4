"""Appending to an audit log: in batches, by several at once, whatever happens to the file."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest

from scrapy_robots_plus.audit.chain import State
from scrapy_robots_plus.audit.entries import CrawlEntry
from scrapy_robots_plus.audit.files import locked
from scrapy_robots_plus.audit.log import ROOM, find_tail, repair
from tests.audit.logs import (
    Warned,
    begin,
    damages_in,
    end,
    entries_in,
    open_log,
    state_of,
    urls_in,
    verdict,
    write,
)
from tests.programs import CODE, Program

ROOT = Path(__file__).parent.parent.parent


def test_a_crawl_is_written_with_its_beginning_and_end(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "audit.jsonl"
    log = write(path, verdict())
    assert entries_in(path) == [begin(), verdict(), end(lines=2)]
    assert damages_in(path) == []
    assert (log.written, log.lost, log.errors) == (3, 0, 0)


def test_nothing_is_written_before_a_flush_and_the_beginning_at_the_first(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    log = open_log(path)
    log.add(verdict())
    assert not path.exists()
    assert log.waiting == 1
    assert log.flush()
    assert log.waiting == 0
    assert log.flush()
    assert entries_in(path) == [begin(), verdict()]
    (damage,) = damages_in(path)
    assert damage.startswith("line 2: the end of crawl a, which begins in line 1, is missing")
    log.close()


def test_crawls_that_take_turns_write_one_chain(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    logs = [open_log(path, crawl) for crawl in ("a", "b")]
    for number in range(5):
        for name, log in zip("ab", logs, strict=True):
            log.add(verdict(f"http://{name}.example/{number}", crawl=name))
            assert log.flush()
    for name, log in zip("ab", logs, strict=True):
        log.add(end(name))
        assert log.flush()
        log.close()
    assert damages_in(path) == []
    assert len(urls_in(path)) == 10


def test_while_another_writes_it_waits(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    write(path)
    with path.open("rb+", buffering=0) as other:
        with locked(other) as is_ours:
            assert is_ours
            log = open_log(path, "b")
            log.add(verdict(crawl="b"))
            assert not log.flush()
            assert log.waiting == 1
        assert log.flush()
    assert log.errors == 0
    log.add(end("b"))
    assert log.flush()
    log.close()
    assert damages_in(path) == []


PROCESS = """
import sys
from pathlib import Path
from tests.audit.logs import end, open_log, verdict
path, name, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
log = open_log(path, name)
for number in range(count):
    log.add(verdict(f"http://{name}.example/{number}", crawl=name))
    if number % 3 == 0:
        log.flush()
log.add(end(name))
while not log.flush():
    pass
log.close()
assert log.errors == log.lost == 0
"""


def test_four_processes_write_one_chain(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    programs = [Program(CODE, PROCESS, str(path), f"p{each}", "300") for each in range(4)]
    for program in programs:
        program.succeed(60)
    assert damages_in(path) == []
    urls = urls_in(path)
    for each in range(4):
        own = [url for url in urls if url.startswith(f"http://p{each}.")]
        assert own == [f"http://p{each}.example/{number}" for number in range(300)]


# A torn end


def some_content(tmp_path: Path) -> bytes:
    path = tmp_path / "whole.jsonl"
    write(path, verdict("http://x.example/é"))
    return path.read_bytes()


def whole_until(content: bytes, cut: int) -> int:
    """The end of the last whole line in the first *cut* octets; a newline may be missing."""
    ends = [position + 1 for position, byte in enumerate(content) if byte == 10]
    return max((end for end in ends if end <= cut + 1), default=0)


def test_a_log_cut_at_any_byte_ends_with_its_last_whole_line(tmp_path: Path) -> None:
    content, aside = some_content(tmp_path), tmp_path / "torn"
    for cut in range(len(content) + 1):
        kept = whole_until(content, cut)
        file = io.BytesIO(content[:cut])
        done = repair(file, find_tail(file), aside)
        assert file.getvalue() == content[:kept]
        if kept < cut:
            assert aside.read_bytes() == content[kept:cut] + b"\n"
            aside.unlink()
            assert done == (
                f"its last line was torn: {cut - kept:,} bytes were cut off, they are now in torn"
            )
        else:
            assert not aside.exists()
            assert done == ("" if kept == cut else "its last line had no end")


@pytest.mark.parametrize("part", [0.0, 0.1, 0.3, 0.6, 0.9, 0.999, 1.0])
def test_a_log_that_was_cut_goes_on_when_it_is_opened_again(tmp_path: Path, part: float) -> None:
    content = some_content(tmp_path)
    cut = int(len(content) * part)
    path, warned = tmp_path / "audit.jsonl", Warned()
    path.write_bytes(content[:cut])
    log = open_log(path, "b", warned)
    log.add(end("b"))
    assert log.flush()
    log.close()
    before = _read(content[: whole_until(content, cut)], tmp_path)
    assert entries_in(path) == [*before, begin("b"), end("b", lines=1)]
    assert all("the end of crawl a" in damage for damage in damages_in(path))
    assert log.repairs == len(warned) == (whole_until(content, cut) != cut)


def _read(content: bytes, folder: Path) -> list[Any]:
    path = folder / "part"
    path.write_bytes(content)
    return entries_in(path)


@pytest.mark.parametrize(
    "torn",
    [
        b"x" * 200_000,
        b'{"v":1,"n":3' + b"x" * 17_000_000,
        b"\0" * 4096,
        b"one\ntwo\nthree",
        b"one\n\n\n",
        b'{"v":1}\n' * 50_000,
    ],
    ids=["long", "longer than a line may be", "zeros", "lines", "ended lines", "many lines"],
)
def test_whatever_follows_the_last_whole_line_is_set_aside(tmp_path: Path, torn: bytes) -> None:
    path = tmp_path / "audit.jsonl"
    write(path)
    whole = path.read_bytes()
    path.write_bytes(whole + torn)
    write(path, crawl="b")
    assert path.read_bytes().startswith(whole)
    assert damages_in(path) == []
    assert (tmp_path / "audit.jsonl.torn").read_bytes() == torn + b"\n"


def test_an_empty_file_is_a_log(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    path.touch()
    assert write(path).repairs == 0
    assert damages_in(path) == []


@pytest.mark.parametrize("content", [b"name,price\na,1\n", b"\0\0\0\0", b"\n", b"[]\n", b'{"a":1}'])
def test_another_file_is_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "prices.csv"
    path.write_bytes(content)
    warned = Warned()
    log = open_log(path, warned=warned)
    log.add(verdict())
    assert not log.flush()
    assert not log.flush()
    log.close()
    assert path.read_bytes() == content
    assert log.lost == 1
    assert log.errors == 2
    (warning,) = warned
    assert "it cannot be written (it is not an audit log)" in warning


# What happens to the file meanwhile


def test_a_file_that_is_removed_begins_anew(tmp_path: Path) -> None:
    path, warned = tmp_path / "folder" / "audit.jsonl", Warned()
    log = open_log(path, warned=warned)
    for number in range(3):
        log.add(verdict(f"http://x.example/{number}"))
        assert log.flush()
        path.unlink()
        path.parent.rmdir()
    log.add(end())
    assert log.flush()
    log.close()
    again, last = entries_in(path)
    assert isinstance(again, CrawlEntry)
    assert again.continues == {"n": 5, "hash": ANY, "lines": 6}
    assert last == end(lines=7)
    assert state_of(path) is State.PART
    assert log.errors == 3
    (warning,) = warned
    assert "it was removed or replaced" in warning


def test_a_line_that_another_tore_while_this_crawl_runs_is_repaired(tmp_path: Path) -> None:
    path, warned = tmp_path / "audit.jsonl", Warned()
    log = open_log(path, warned=warned)
    assert log.flush()
    with path.open("ab") as other:
        other.write(b'{"v":1,"n":1,"ty')
    log.add(end())
    assert log.flush()
    log.close()
    assert damages_in(path) == []
    assert len(warned) == log.repairs == 1


@pytest.mark.parametrize("kind", ["folder", "below a file", "pipe", "device", "name too long"])
def test_what_cannot_be_a_log_is_warned_of_once(tmp_path: Path, kind: str) -> None:
    path, warned = tmp_path / "audit.jsonl", Warned()
    match kind:
        case "folder":
            path.mkdir()
        case "below a file":
            path.touch()
            path /= "audit.jsonl"
        case "pipe":
            os.mkfifo(path)
        case "device":
            path = Path("/dev/full")
        case "name too long":
            path = tmp_path / ("x" * 300)
    log = open_log(path, warned=warned)
    log.add(verdict())
    assert not log.flush()
    assert not log.flush()
    log.close()
    assert (log.errors, log.lost, log.written) == (2, 1, 0)
    assert len(warned) == 1


def test_what_waits_is_bounded(tmp_path: Path) -> None:
    tmp_path.joinpath("audit.jsonl").mkdir()
    log = open_log(tmp_path / "audit.jsonl")
    for _ in range(ROOM + 10):
        log.add(verdict())
    assert log.waiting == ROOM
    assert log.lost == 10
    tmp_path.joinpath("audit.jsonl").rmdir()
    assert log.flush()
    assert log.written == ROOM + 1
    log.close()


FULL_DISK = """
import resource, sys
from pathlib import Path
from tests.audit.logs import Warned, end, open_log, verdict
path, room = Path(sys.argv[1]), int(sys.argv[2])
warned = Warned()
log = open_log(path, warned=warned)
assert log.flush()
resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + room, resource.RLIM_INFINITY))
log.add(verdict("http://x.example/fits"))
assert log.flush()
for number in range(20):
    log.add(verdict(f"http://x.example/{number}"))
    log.flush()
assert log.errors, "the disk was not full"
assert log.waiting
assert path.read_bytes().endswith(b"}\\n")
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
log.add(end())
assert log.flush()
log.close()
assert log.lost == 0
assert len(warned) == 1, warned
assert "File too large" in warned[0], warned
"""


@pytest.mark.parametrize("room", [700, 1000, 1234, 2000])
def test_a_full_disk_leaves_no_half_line_and_what_waits_is_written_later(
    tmp_path: Path, room: int
) -> None:
    path = tmp_path / "audit.jsonl"
    command = [sys.executable, "-c", FULL_DISK, str(path), str(room)]
    subprocess.run(command, cwd=ROOT, check=True, timeout=60)
    assert damages_in(path) == []
    urls = [f"http://x.example/{number}" for number in range(20)]
    assert urls_in(path) == ["http://x.example/fits", *urls]


def test_an_entry_that_is_no_json_is_left_out(tmp_path: Path) -> None:
    path, warned = tmp_path / "audit.jsonl", Warned()
    log = open_log(path, warned=warned)
    log.add(verdict("http://x.example/1", age=float("nan")))
    log.add(verdict("http://x.example/2", sent=1e300))
    log.add(verdict("http://x.example/3", override={"a": object()}))
    log.add(verdict("http://x.example/" + "x" * 17_000_000))
    log.add(verdict("http://x.example/4"))
    assert log.flush()
    log.close()
    assert urls_in(path) == ["http://x.example/4"]
    assert log.lost == 4
    assert len(warned) == 1
