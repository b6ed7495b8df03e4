"""A mended file takes the place of the damaged one, which is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_robots_plus.job.mending import finish_replacing, part_of
from scrapy_robots_plus.job.schema import journal_of
from scrapy_robots_plus.storage.sqlite_file import keep_aside

if TYPE_CHECKING:
    from pathlib import Path


def files_in(folder: Path) -> dict[str, bytes]:
    return {
        str(each.relative_to(folder)): each.read_bytes()
        for each in folder.rglob("*")
        if each.is_file()
    }


def replace(path: Path) -> None:
    keep_aside(path)
    finish_replacing(path)


def test_the_old_file_is_kept_with_its_log(path: Path) -> None:
    path.write_bytes(b"old")
    journal_of(path).write_bytes(b"old log")
    part_of(path).write_bytes(b"new")
    replace(path)
    assert files_in(path.parent) == {
        path.name: b"new",
        f"{path.name}.damaged-1": b"old",
        f"{path.name}.damaged-1-journal": b"old log",
    }


def test_one_that_was_kept_before_stays(path: Path) -> None:
    path.write_bytes(b"0")
    for number in (b"1", b"2", b"3"):
        part_of(path).write_bytes(number)
        replace(path)
    assert files_in(path.parent) == {
        path.name: b"3",
        f"{path.name}.damaged-1": b"0",
        f"{path.name}.damaged-2": b"1",
        f"{path.name}.damaged-3": b"2",
    }


def test_a_new_file_that_was_not_complete_at_a_kill_is_not_used(path: Path) -> None:
    path.write_bytes(b"old")
    part_of(path).write_bytes(b"ne")
    finish_replacing(path)
    assert files_in(path.parent) == {path.name: b"old"}  # nor when the old one is deleted


def test_after_a_kill_in_between_the_new_file_is_put_in_place(path: Path) -> None:
    part_of(path).write_bytes(b"new")
    finish_replacing(path)  # the old one had been moved away
    assert files_in(path.parent) == {path.name: b"new"}
