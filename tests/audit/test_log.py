"""Appending to an audit log: in batches, by several at once, whatever happens to the file."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from scrapy_robots_plus.audit.chain import START, LogState
from scrapy_robots_plus.audit.entries import CrawlEntry
from scrapy_robots_plus.audit.log import AuditLog
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
from tests.programs import CODE, Program, run_text


def test_a_crawl_is_written_with_its_beginning_and_end(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "audit.jsonl"
    log = write(path, verdict())
    assert entries_in(path) == [begin(), verdict(), end()]
    assert damages_in(path) == []
    assert (log.last.number, log.lost, log.errors) == (2, 0, 0)


def test_nothing_is_written_before_a_flush_and_the_beginning_at_the_first(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    log = open_log(path)
    log.add(verdict())
    assert not path.exists()
    assert log.waiting == [begin(), verdict()]
    assert log.flush()
    assert log.waiting == []
    assert log.flush()
    assert entries_in(path) == [begin(), verdict()]
    (damage,) = damages_in(path)
    assert damage.startswith("line 2: the end of crawl a, which begins at line 1, is missing")
    log.close()


def test_crawls_that_take_turns_write_to_one_file(tmp_path: Path) -> None:
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


def test_four_processes_write_to_one_file(tmp_path: Path) -> None:
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


@pytest.mark.parametrize("part", [0.0, 0.1, 0.3, 0.6, 0.9, 0.999, 1.0])
def test_a_log_that_was_cut_goes_on_when_it_is_opened_again(tmp_path: Path, part: float) -> None:
    path, warned = tmp_path / "audit.jsonl", Warned()
    write(path, verdict("http://x.example/é"))
    content = path.read_bytes()
    whole = content[: int(len(content) * part)]
    path.write_bytes(whole)
    before = entries_in(path)
    log = open_log(path, "b", warned)
    log.add(end("b"))
    assert log.flush()
    log.close()
    assert entries_in(path) == [*before, begin("b"), end("b")]
    assert path.read_bytes().startswith(whole)
    assert len(warned) == (whole[-1:] not in (b"", b"\n"))
    assert state_of(path) is (LogState.UNFINISHED if 0 < part < 1 else LogState.WHOLE)


def test_a_log_that_was_cut_in_its_first_octets_takes_all_further_lines(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    for octets in range(1, 8):
        path.write_bytes(b'{"v":1,'[:octets])
        for name in ("a", "b"):
            log = open_log(path, name)
            log.add(end(name))
            assert log.flush()
            log.close()
        assert entries_in(path) == [begin("a"), end("a"), begin("b"), end("b")]


def test_an_empty_file_is_a_log(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    path.touch()
    write(path)
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
    assert log.lost == 2
    assert log.errors == 2
    assert "it cannot be written (it is not an audit log)" in warned[0]


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
    assert last == end()
    assert damages_in(path) == ["line 1: 6 lines of its crawl missing before it"]
    assert state_of(path) is LogState.CUT
    assert log.errors == 3
    (warning,) = warned
    assert "it was removed, replaced or cut" in warning


def test_in_a_longer_log_of_another_crawl_at_the_same_place_it_begins_anew(tmp_path: Path) -> None:
    """A file system may give it the number of the one that was removed."""
    path, others, warned = tmp_path / "audit.jsonl", tmp_path / "others.jsonl", Warned()
    log = open_log(path, warned=warned)
    log.add(verdict())
    assert log.flush()
    write(others, *(verdict(crawl="b") for _ in range(9)), crawl="b")
    path.write_bytes(others.read_bytes())
    log.add(end())
    assert log.flush()
    log.close()
    *_, again, last = entries_in(path)
    assert isinstance(again, CrawlEntry)
    assert last == end()
    assert damages_in(path) == ["line 12: 2 lines of its crawl missing before it"]
    (warning,) = warned
    assert "it was removed, replaced or cut" in warning


def test_a_line_that_another_tore_while_this_crawl_runs_is_told(tmp_path: Path) -> None:
    path, warned = tmp_path / "audit.jsonl", Warned()
    log = open_log(path, warned=warned)
    assert log.flush()
    with path.open("ab") as other:
        other.write(b'{"v":1,"n":1,"ty')
    log.add(end())
    assert log.flush()
    log.close()
    assert state_of(path) is LogState.UNFINISHED
    (damage,) = damages_in(path)
    assert damage.startswith("line 2: has no end: its crawl was killed or is writing it")


@pytest.mark.parametrize("every", [7, pytest.param(1, marks=pytest.mark.stress)])
def test_a_log_cut_at_any_byte_is_unfinished(tmp_path: Path, every: int) -> None:
    path = tmp_path / "audit.jsonl"
    write(path, verdict())
    whole = path.read_bytes()
    after_lines = [found.end() for found in re.finditer(b"\n", whole)]
    # Not an empty file, nor one without its last newline.
    for length in {*range(1, len(whole) - 1, every), *after_lines[:-1], len(whole) - 2}:
        path.write_bytes(whole[:length])
        assert state_of(path) is LogState.UNFINISHED, length
        path.write_bytes(whole[:length] + b"\n" + whole)  # the next crawl begins a new line
        assert not any("not a line" in damage for damage in damages_in(path)), length


def test_an_empty_line_is_passed_over(tmp_path: Path) -> None:
    """One crawl has ended what another was just writing."""
    path = tmp_path / "audit.jsonl"
    write(path)
    with path.open("ab") as other:
        other.write(b"\n")
    write(path, crawl="b")
    assert damages_in(path) == []


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
    assert len(warned) == 1
    log.close()
    assert (log.errors, log.lost, log.last) == (2, 2, START)
    assert warned[1:] == [f"{path}: lost, as it could not be written: 2 lines"]


def test_what_waits_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AuditLog, "room", 100)
    tmp_path.joinpath("audit.jsonl").mkdir()
    log = open_log(tmp_path / "audit.jsonl")
    for _ in range(AuditLog.room + 10):
        log.add(verdict())
    assert len(log.waiting) == AuditLog.room
    assert log.lost == 11, "with the beginning"
    tmp_path.joinpath("audit.jsonl").rmdir()
    assert log.flush()
    assert log.last.number == AuditLog.room - 1
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
    assert run_text(FULL_DISK, path, room) == (0, "")
    assert damages_in(path) == []
    urls = [f"http://x.example/{number}" for number in range(20)]
    assert urls_in(path) == ["http://x.example/fits", *urls]


FULL_DISK_FOR_ONE = """
import resource, sys
from pathlib import Path
from tests.audit.logs import end, open_log, verdict
path, none = Path(sys.argv[1]), resource.RLIM_INFINITY
log = open_log(path)
assert log.flush()
for number in range(1_000):
    log.add(verdict(f"http://x.example/{number % 5}")) if len(log.waiting) < 5 else None
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 1_500, none))
    log.flush()
assert log.errors, "there was always room"
resource.setrlimit(resource.RLIMIT_FSIZE, (none, none))
log.add(end())
assert log.flush()
log.close()
"""


def test_a_crawl_without_room_takes_no_line_of_another_back(tmp_path: Path) -> None:
    """What it has written of its own lines stands between those of the other for a moment."""
    path = tmp_path / "audit.jsonl"
    without_room = Program(CODE, FULL_DISK_FOR_ONE, str(path))
    log = open_log(path, "b")
    while without_room.poll() is None:
        log.add(verdict(crawl="b"))
        assert log.flush()
    without_room.succeed(60)
    log.add(end("b"))
    assert log.flush()
    log.close()
    assert damages_in(path) == []


WITH_ANOTHER_LOCK = """
import fcntl, sys
from pathlib import Path
from tests.audit.logs import write
path = Path(sys.argv[1])
with path.open("wb") as file:
    fcntl.flock(file, fcntl.LOCK_EX)
    write(path)
"""


def test_a_log_that_the_flock_program_locks_is_written(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    Program(CODE, WITH_ANOTHER_LOCK, str(path)).succeed(60)
    assert damages_in(path) == []


STOPPED_WITH_THE_LOCK = """
import fcntl, sys
file = open(sys.argv[1], "ab")
fcntl.lockf(file, fcntl.LOCK_EX)
print("locked", flush=True)
sys.stdin.read()
"""


def test_a_process_that_was_stopped_while_it_wrote_holds_up_no_other(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    stopped = Program(CODE, STOPPED_WITH_THE_LOCK, str(path))
    assert stopped.stdout.readline() == b"locked\n"
    write(path)
    assert stopped.poll() is None
    stopped.communicate()
    assert damages_in(path) == []


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
    assert len(warned) == 2
    assert warned[1].endswith("4 lines")
