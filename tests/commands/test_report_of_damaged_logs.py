"""``scrapy robots report`` of a log that is empty, damaged or of another version."""

from __future__ import annotations

import json

import pytest

from ..audit import sample_log
from ..audit.logs import write_sealed
from ..audit.pages import Page
from .running import Robots


def test_an_empty_log(reporter: Robots) -> None:
    (reporter.folder / "audit.jsonl").write_bytes(b"")
    done = reporter("report", "audit.jsonl")
    assert (done.status, done.errors) == (4, "audit.jsonl: line 1: the log is empty\n")
    text = Page((reporter.folder / "report.html").read_text()).text
    assert "line 1: the log is empty" in text
    assert "The log holds no crawl." in text


@pytest.mark.parametrize("content", [b"\x00\xff" * 5_000, b"<p>A page\n" * 3, b'{"w":1}\n', b"\n"])
def test_what_is_not_an_audit_log(reporter: Robots, content: bytes) -> None:
    (reporter.folder / "audit.jsonl").write_bytes(content)
    done = reporter("report", "audit.jsonl")
    assert (done.status, done.output) == (2, "")
    assert "audit.jsonl is not a readable audit log: line 1: not a line" in done.errors
    assert not (reporter.folder / "report.html").exists()


def test_a_log_of_another_version(reporter: Robots) -> None:
    lines = []
    for line in (reporter.folder / "audit.jsonl").read_text().splitlines():
        fields = {**json.loads(line), "v": 2}
        lines.append(sample_log.sealed(fields))
    (reporter.folder / "audit.jsonl").write_bytes(b"".join(lines))
    done = reporter("report", "audit.jsonl")
    assert (done.status, done.output) == (2, "")
    assert "line 1: cannot be read: version 2 of the schema" in done.errors


def damaged(reporter: Robots, number: int, line: bytes | None) -> None:
    lines = (reporter.folder / "audit.jsonl").read_bytes().splitlines(keepends=True)
    lines[number - 1 : number] = [] if line is None else [line]
    (reporter.folder / "audit.jsonl").write_bytes(b"".join(lines))


def test_of_a_damaged_log_a_page_is_made_that_says_so(reporter: Robots) -> None:
    lines = (reporter.folder / "audit.jsonl").read_bytes().splitlines(keepends=True)
    damaged(reporter, 7, lines[6].replace(b"Disallow: /private/", b"Disallow: /privacy/"))
    done = reporter("report", "audit.jsonl")
    assert done.status == 5
    assert done.errors.startswith("audit.jsonl: line 7: changed")
    head = Page((reporter.folder / "report.html").read_text()).text.partition("What decided")[0]
    assert "This log is incomplete or damaged" in head
    assert "line 7: changed" in head
    assert "58 of 206 requests" in head


def test_a_line_that_is_missing_is_named(reporter: Robots) -> None:
    damaged(reporter, 30, None)
    done = reporter("report", "audit.jsonl")
    assert done.status == 4
    assert "line 30: 1 line of its crawl missing before it" in done.errors
    told = "1 line of its crawl missing before it"
    assert told in (reporter.folder / "report.html").read_text()


def test_of_very_many_damages_the_first_are_listed(reporter: Robots) -> None:
    lines = (reporter.folder / "audit.jsonl").read_bytes().splitlines(keepends=True)
    (reporter.folder / "audit.jsonl").write_bytes(lines[0] + b"rubbish\n" * 1_000)
    assert reporter("report", "audit.jsonl").status == 5
    text = Page((reporter.folder / "report.html").read_text()).text
    assert text.count("not a line of a log") == 20
    assert "and 981 more" in text  # the crawl has no end either


def test_a_crawl_that_still_runs_is_told_and_the_log_is_not_wrong(reporter: Robots) -> None:
    *entries, _ = sample_log.entries()
    write_sealed(reporter.folder / "audit.jsonl", entries)
    done = reporter("report", "audit.jsonl")
    assert done.status == 3
    assert "the end of crawl 1a2b3c4d, which begins at line 1, is missing" in done.errors
    text = Page((reporter.folder / "report.html").read_text()).text
    assert "incomplete or damaged" not in text
    assert "no end in the log: it was killed or still runs" in text
