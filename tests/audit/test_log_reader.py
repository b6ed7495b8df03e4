"""What is read of a log: its entries, and what is wrong with it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from scrapy_robots_plus.audit.chain import START, LogReader, LogState, seal
from scrapy_robots_plus.audit.entries import EndEntry, Entry, VerdictEntry, to_fields
from scrapy_robots_plus.protocol.printable import moment_of
from tests.audit.logs import (
    begin,
    damages_in,
    end,
    entries_in,
    found_in,
    open_log,
    state_of,
    urls_in,
    verdict,
    write,
)

if TYPE_CHECKING:
    from pathlib import Path

A, B = "http://x.example/a", "http://x.example/b"


def test_entries_come_in_order_with_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "log"
    write(path, verdict(A), verdict(B))
    reader = LogReader([path])
    assert (reader.lines, reader.last) == (0, START)
    found = [(reader.place, entry) for entry in reader]
    assert [place for place, _ in found] == ["line 1", "line 2", "line 3", "line 4"]
    assert [entry.url for _, entry in found if isinstance(entry, VerdictEntry)] == [A, B]
    assert isinstance(found[-1][1], EndEntry)
    assert (reader.lines, reader.last.number) == (4, 3)
    assert reader.last.hash == json.loads(path.read_bytes().splitlines()[-1])["hash"]
    assert reader.damages == []


def test_an_empty_log_is_told(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.touch()
    assert damages_in(path) == ["line 1: the log is empty"]


def test_a_crawl_without_an_end_is_told_with_its_first_line(tmp_path: Path) -> None:
    path = tmp_path / "log"
    write(path, verdict(A))
    log = open_log(path, "b")
    log.add(verdict(B, crawl="b"))
    assert log.flush()
    log.close()
    state, (damage,) = found_in(path)
    assert state is LogState.UNFINISHED
    assert damage == (
        "line 5: the end of crawl b, which begins at line 4, is missing: it was killed or still "
        "runs, or lines were removed"
    )
    assert urls_in(path) == [A, B]


def test_a_line_that_is_not_one_is_told_once_and_the_rest_is_read(tmp_path: Path) -> None:
    path = tmp_path / "log"
    write(path, verdict(A))
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines, b"rubbish\n"]))
    assert damages_in(path) == ["line 4: not a line of a log: it does not end in a hash"]
    assert len(entries_in(path)) == 3
    assert state_of(path) is LogState.DAMAGED


def test_an_entry_of_a_later_kind_has_what_all_have_and_a_wrong_one_is_told(tmp_path: Path) -> None:
    path = tmp_path / "log"
    later = {"type": "of a newer version", "time": "2026-01-01T00:00:00Z", "crawl": "a", "new": 1}
    wrong = {"type": begin().type, "time": 5, "crawl": "a"}
    link, lines = START, []
    for fields in (to_fields(begin()), later, wrong, to_fields(end())):
        line, link = seal(fields, link)
        lines.append(line)
    path.write_bytes(b"".join(lines))
    reader = LogReader([path])
    at = moment_of("2026-01-01T00:00:00Z")
    assert list(reader) == [begin(), Entry(time=at, crawl="a"), end()]
    (damage,) = reader.damages
    assert damage.startswith("line 3: cannot be read: 'time'")
