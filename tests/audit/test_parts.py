"""A log that was rotated, emptied or cut: told apart from a whole one, and its parts tied."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
from dataclasses import replace
from functools import cache
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from hypothesis import strategies as st

from scrapy_robots_plus.audit.chain import LogState
from scrapy_robots_plus.audit.entries import CrawlEntry
from scrapy_robots_plus.audit.log import AuditLog
from tests.audit.logs import (
    Warned,
    begin,
    damages_in,
    end,
    entries_in,
    found_in,
    open_log,
    state_of,
    verdict,
    write,
)
from tests.examples import tried
from tests.samples import blocks

if TYPE_CHECKING:
    from collections.abc import Callable

URL = "http://x.example/"


def renamed(path: Path, aside: Path) -> None:
    """logrotate's way with `create` or `nocreate`."""
    path.rename(aside)


def created(path: Path, aside: Path) -> None:
    path.rename(aside)
    path.touch()


def copied(path: Path, aside: Path) -> None:
    """logrotate's `copytruncate`."""
    shutil.copy(path, aside)
    os.truncate(path, 0)


WAYS = pytest.mark.parametrize("rotate", [renamed, created, copied])


def add(log: AuditLog, *numbers: int, crawl: str = "a") -> None:
    for number in numbers:
        log.add(verdict(f"{URL}{number}", crawl=crawl))
    assert log.flush()


def finish(log: AuditLog, crawl: str = "a") -> None:
    log.add(end(crawl))
    assert log.flush()
    log.close()


def rotated(folder: Path, rotate: Callable[[Path, Path], None]) -> list[Path]:
    """A log of one crawl in three parts, the first one first."""
    path, parts = folder / "audit.jsonl", [folder / "audit.jsonl.2", folder / "audit.jsonl.1"]
    log = open_log(path)
    for number, part in enumerate(parts):
        add(log, *range(10 * number, 10 * number + 10))
        rotate(path, part)
    finish(log)
    return [*parts, path]


@WAYS
def test_parts_together_are_one_whole_log(
    tmp_path: Path, rotate: Callable[[Path, Path], None]
) -> None:
    parts = rotated(tmp_path, rotate)
    assert found_in(*parts) == (LogState.WHOLE, [])
    assert found_in(*reversed(parts)) == (LogState.WHOLE, [])


def test_parts_are_in_order_though_the_clock_was_set_back(tmp_path: Path) -> None:
    path, times = tmp_path / "audit.jsonl", iter([4_000.0, 3_000.0, 2_000.0, 1_000.0])
    log = AuditLog(path, lambda: replace(begin(), time=next(times)), Warned())
    parts = list[Path]()
    for number in range(3):
        add(log, number)
        parts.append(tmp_path / f"audit.jsonl.{3 - number}")
        path.rename(parts[-1])
    finish(log)
    assert found_in(path, *parts) == (LogState.WHOLE, [])


def test_a_part_whose_first_line_a_kill_has_torn_is_in_its_place(tmp_path: Path) -> None:
    path, part = tmp_path / "audit.jsonl", tmp_path / "audit.jsonl.1"
    log = open_log(path)
    add(log, 0)
    path.rename(part)
    path.write_bytes(part.read_bytes()[:50])
    add(log, 1)
    finish(log)
    state, damages = found_in(path, part)
    assert state is LogState.UNFINISHED
    assert [each.partition(":")[0] for each in damages] == [f"{path.name}, line 1"]


def test_logrotate_as_the_cookbook_sets_it_up(tmp_path: Path) -> None:
    program = shutil.which("logrotate") or pytest.skip("needs logrotate")
    (sample,) = (each for each in blocks("text", "docs/cookbook.md") if "compress" in each)
    config, path = tmp_path / "logrotate.conf", tmp_path / "audit.jsonl"
    config.write_text(sample.replace("/srv/crawler", str(tmp_path)))
    config.chmod(0o600)
    log = open_log(path)
    for number in range(3):
        add(log, number)
        subprocess.run([program, "--force", "--state", tmp_path / "state", config], check=True)
    finish(log)
    packed = sorted(tmp_path.glob("audit.jsonl.*.gz"))
    assert len(packed) == 2
    for part in packed:
        part.with_suffix("").write_bytes(gzip.decompress(part.read_bytes()))
    assert found_in(path, *(tmp_path / f"audit.jsonl.{n}" for n in (1, 2, 3))) == (
        LogState.WHOLE,
        [],
    )


def test_parts_from_pipes_are_read_once_in_the_order_given(tmp_path: Path) -> None:
    pipes = []
    for part in rotated(tmp_path, renamed):
        end_to_read, end_to_write = os.pipe()
        os.write(end_to_write, part.read_bytes())
        os.close(end_to_write)
        pipes.append(end_to_read)
    assert found_in(*(Path(f"/dev/fd/{pipe}") for pipe in pipes)) == (LogState.WHOLE, [])
    for pipe in pipes:
        os.close(pipe)


@WAYS
def test_a_part_alone_is_told_with_the_number_of_lines_before_it(
    tmp_path: Path, rotate: Callable[[Path, Path], None]
) -> None:
    first, second, last = rotated(tmp_path, rotate)
    assert state_of(first) is LogState.UNFINISHED
    assert state_of(second) is LogState.CUT
    assert damages_in(last) == ["line 1: 22 lines of its crawl missing before it"]
    assert state_of(last) is LogState.CUT
    assert isinstance(entries_in(last)[0], CrawlEntry)


@WAYS
def test_a_part_that_is_missing_in_the_middle_is_found(
    tmp_path: Path, rotate: Callable[[Path, Path], None]
) -> None:
    first, _, last = rotated(tmp_path, rotate)
    state, damages = found_in(first, last)
    assert state is LogState.CUT
    (damage,) = damages
    assert damage == "audit.jsonl, line 1: 11 lines of its crawl missing before it"


@pytest.mark.parametrize("kept", [1, 5, 10])
def test_a_log_that_is_cut_back_in_mid_crawl_is_not_whole(tmp_path: Path, kept: int) -> None:
    path, warned = tmp_path / "audit.jsonl", Warned()
    log = open_log(path, warned=warned)
    add(log, *range(100))
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:kept]))
    add(log, 100)
    finish(log)
    state, (damage,) = found_in(path)
    assert state is LogState.CUT
    missing = 101 - kept
    assert damage == f"line {kept + 1}: {missing} lines of its crawl missing before it"
    (warning,) = warned
    assert "it was removed, replaced or cut" in warning


def test_a_log_that_is_emptied_in_mid_crawl_is_not_whole(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    log = open_log(path)
    add(log, 1)
    os.truncate(path, 0)
    finish(log)
    assert state_of(path) is LogState.CUT


def test_a_log_that_is_cut_to_the_same_length_by_others_is_not_whole(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    log = open_log(path)
    add(log, 1, 2, 3)
    content = path.read_bytes()
    write(path.with_name("other"), verdict(URL, crawl="b"), crawl="b")
    other = path.with_name("other").read_bytes()
    path.write_bytes(other + b" " * (len(content) - len(other) - 1) + b"\n")
    finish(log)
    assert state_of(path) >= LogState.CUT


@WAYS
@pytest.mark.parametrize("first", ["a", "b"])
def test_parts_that_two_crawls_write_are_one_whole_log(
    tmp_path: Path, rotate: Callable[[Path, Path], None], first: str
) -> None:
    path, part = tmp_path / "audit.jsonl", tmp_path / "audit.jsonl.1"
    logs = {name: open_log(path, name) for name in "ab"}
    for name in "abb":
        add(logs[name], 1, 2, crawl=name)
    rotate(path, part)
    for name in (first, *"ab"):
        add(logs[name], 3, crawl=name)
    for name in "ab":
        finish(logs[name], name)
    assert found_in(part, path) == (LogState.WHOLE, [])
    assert state_of(path) is LogState.CUT


@WAYS
def test_of_parts_that_two_crawls_write_a_cut_is_found(
    tmp_path: Path, rotate: Callable[[Path, Path], None]
) -> None:
    path, part = tmp_path / "audit.jsonl", tmp_path / "audit.jsonl.1"
    logs = {name: open_log(path, name) for name in "ab"}
    for name in "ab":
        add(logs[name], 1, 2, 3, 4, crawl=name)
    rotate(path, part)
    for name in "ab":
        finish(logs[name], name)
    lines = part.read_bytes().splitlines(keepends=True)
    for kept in range(1, len(lines)):
        part.write_bytes(b"".join(lines[:kept]))
        assert state_of(part, path) >= LogState.CUT


@WAYS
def test_a_crawl_that_began_in_the_new_file_does_not_break_the_others(
    tmp_path: Path, rotate: Callable[[Path, Path], None]
) -> None:
    path, part = tmp_path / "audit.jsonl", tmp_path / "audit.jsonl.1"
    log = open_log(path)
    add(log, 1)
    rotate(path, part)
    other = open_log(path, "b")
    add(other, 2, crawl="b")
    finish(log)
    finish(other, "b")
    assert found_in(part, path) == (LogState.WHOLE, [])
    state, (damage,) = found_in(path)
    assert state is LogState.CUT
    assert damage == "line 3: 2 lines of its crawl missing before it"


def test_a_crawl_that_writes_seldom_knows_where_the_others_are(tmp_path: Path) -> None:
    """Its last line is in the first of three parts, and it is the first to write to the last."""
    parts = [tmp_path / f"audit.jsonl.{number}" for number in (2, 1)]
    path = tmp_path / "audit.jsonl"
    logs = {name: open_log(path, name) for name in "ab"}
    add(logs["a"], 1)
    for part in parts:
        add(logs["b"], 1, 2, 3, crawl="b")
        copied(path, part)
    for name in "ab":
        add(logs[name], 4, crawl=name)
        finish(logs[name], name)
    assert found_in(*parts, path) == (LogState.WHOLE, [])


def test_an_empty_part_is_told(tmp_path: Path) -> None:
    """Rotated just now, or emptied."""
    path, part = tmp_path / "audit.jsonl", tmp_path / "audit.jsonl.1"
    write(path)
    copied(path, part)
    assert found_in(part) == (LogState.WHOLE, [])
    state, told = found_in(part, path)
    assert state is LogState.UNFINISHED
    assert told == ["audit.jsonl, line 1: the file is empty"]
    assert state_of(path) is LogState.CUT
    empty = tmp_path / "audit.jsonl.2"
    empty.touch()
    assert state_of(path, empty) is LogState.CUT


def test_two_logs_of_their_own_are_two_logs(tmp_path: Path) -> None:
    one, other = tmp_path / "one.jsonl", tmp_path / "other.jsonl"
    write(one, verdict(URL))
    write(other, verdict(URL, crawl="b"), crawl="b")
    assert found_in(one, other) == (LogState.WHOLE, [])


Parts = list[list[bytes]]


@cache
def three_parts() -> Parts:
    """The lines of the parts of a log of two crawls."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        path, parts = folder / "audit.jsonl", [folder / "2", folder / "1"]
        logs = {name: open_log(path, name) for name in "ab"}
        for part in parts:
            for crawl in "aba":
                add(logs[crawl], 1, 2, crawl=crawl)
            renamed(path, part)
        for crawl in "ab":
            finish(logs[crawl], crawl)
        return [part.read_bytes().splitlines(keepends=True) for part in (*parts, path)]


def _cut(parts: Parts, data: st.DataObject) -> None:
    part = data.draw(st.sampled_from([part for part in parts if part]))
    del part[data.draw(st.integers(0, len(part) - 1)) :]


def _behead(parts: Parts, data: st.DataObject) -> None:
    part = data.draw(st.sampled_from([part for part in parts if part]))
    del part[: data.draw(st.integers(1, len(part)))]


def _drop(parts: Parts, data: st.DataObject) -> None:
    part = data.draw(st.sampled_from([part for part in parts if part]))
    del part[data.draw(st.integers(0, len(part) - 1))]


def _repeat(parts: Parts, data: st.DataObject) -> None:
    part = data.draw(st.sampled_from([part for part in parts if part]))
    line = data.draw(st.sampled_from(part))
    part.insert(data.draw(st.integers(0, len(part))), line)


def _exchange(parts: Parts, data: st.DataObject) -> None:
    part = data.draw(st.sampled_from([part for part in parts if len(part) > 1]))
    one, other = data.draw(st.sets(st.integers(0, len(part) - 1), min_size=2, max_size=2))
    part[one], part[other] = part[other], part[one]


def _move(parts: Parts, data: st.DataObject) -> None:
    """A line into another part."""
    part = data.draw(st.sampled_from([part for part in parts if part]))
    line = part.pop(data.draw(st.integers(0, len(part) - 1)))
    data.draw(st.sampled_from([each for each in parts if each is not part])).append(line)


def _lose(parts: Parts, data: st.DataObject) -> None:
    if len(parts) > 1:
        del parts[data.draw(st.integers(0, len(parts) - 1))]


def _again(parts: Parts, data: st.DataObject) -> None:
    parts.append(list(data.draw(st.sampled_from(parts))))


def _change(parts: Parts, data: st.DataObject) -> None:
    part = data.draw(st.sampled_from([part for part in parts if part]))
    number = data.draw(st.integers(0, len(part) - 1))
    at = data.draw(st.integers(0, len(part[number]) - 2))
    byte = data.draw(st.integers(0, 255).filter(lambda byte: byte != part[number][at]))
    part[number] = part[number][:at] + bytes([byte]) + part[number][at + 1 :]


def in_order(parts: Parts) -> list[bytes]:
    """All lines of one crawl, then those of the other, with the parts in the order in which they
    are read, if nothing else is wrong. How the lines of two crawls are mixed proves nothing.
    """
    places = {line: number for number, line in enumerate(chain(*three_parts()))}
    begun = sorted(filter(None, parts), key=lambda part: places.get(part[0], -1))
    return sorted(chain(*begun), key=lambda line: b'"crawl":"b"' in line)


@tried(5_000, st.data())
def test_whatever_is_done_to_parts_is_found(data: st.DataObject) -> None:
    changes = [_cut, _behead, _drop, _repeat, _exchange, _move, _lose, _again, _change]
    parts = [list(part) for part in three_parts()]
    for change in data.draw(st.lists(st.sampled_from(changes), min_size=1, max_size=2)):
        if any(len(part) > 1 for part in parts):
            change(parts, data)
    if in_order(parts) == in_order(three_parts()):
        return  # one has undone the other, or the first line of a part became the last of another
    with TemporaryDirectory() as folder:
        paths = [Path(folder) / str(number) for number in range(len(parts))]
        for path, lines in zip(paths, parts, strict=True):
            path.write_bytes(b"".join(lines))
        assert state_of(*paths) is not LogState.WHOLE
