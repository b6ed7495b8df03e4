"""``scrapy robots report``."""

from __future__ import annotations

import fcntl
import json
import os
import resource
import subprocess
import sys
import termios
from contextlib import suppress
from pathlib import Path

import pytest

from ..audit import sample_log
from ..audit.pages import Page
from .running import LONGEST, Robots
from .sessions import sessions


@pytest.fixture
def robots(tmp_path: Path) -> Robots:
    """Beside a log, ``audit.jsonl``."""
    sample_log.write(tmp_path / "audit.jsonl", sample_log.entries())
    return Robots(tmp_path)


def test_a_page_is_made_of_a_log(robots: Robots) -> None:
    done = robots("report", "audit.jsonl", "-o", "page.html")
    assert (done.status, done.errors) == (0, "")
    assert done.output == "page.html: 58 denied, 148 allowed\n"
    assert "Requests denied 58" in Page((robots.folder / "page.html").read_text()).text
    assert {path.name for path in robots.folder.iterdir()} == {"audit.jsonl", "page.html"}


SESSIONS = sessions("docs/report.md")


def test_the_page_of_the_docs_shows_what_is_printed(robots: Robots) -> None:
    (session,) = SESSIONS
    shown, _ = session.run(robots)
    assert shown == session.output


def test_in_a_project_too(robots: Robots) -> None:
    assert Robots.in_project(robots.folder)("report", "audit.jsonl").status == 0
    assert (robots.folder / "report.html").exists()


def test_on_standard_output_there_is_nothing_else(robots: Robots) -> None:
    done = robots("report", "audit.jsonl", "-o", "-", environment={"PYTHONIOENCODING": "latin-1"})
    assert done.status == 0
    assert "Requests denied 58" in Page(done.output).text
    assert not (robots.folder / "report.html").exists()


def test_an_earlier_report_is_replaced_with_its_link_and_its_permissions(robots: Robots) -> None:
    page = robots.folder / "report.html"
    robots("report", "audit.jsonl")
    page.chmod(0o640)
    link = robots.folder / "link.html"
    link.symlink_to(page)
    sample_log.write(robots.folder / "other.jsonl", [sample_log.begin(), sample_log.end()])
    assert robots("report", "other.jsonl", "-o", "link.html").status == 0
    assert "Requests denied 0" in Page(page.read_text()).text
    assert link.is_symlink()
    assert page.stat().st_mode & 0o777 == 0o640


def test_another_file_is_never_replaced(robots: Robots) -> None:
    (robots.folder / "notes.html").write_text("<p>Mine")
    done = robots("report", "audit.jsonl", "-o", "notes.html")
    assert done.status == 2
    assert "notes.html exists and is not a report" in done.errors
    assert (robots.folder / "notes.html").read_text() == "<p>Mine"
    log = (robots.folder / "audit.jsonl").read_bytes()
    assert "is the log itself" in robots("report", "audit.jsonl", "-o", "./audit.jsonl").errors
    assert (robots.folder / "audit.jsonl").read_bytes() == log


def test_a_new_report_has_the_permissions_of_any_new_file(robots: Robots) -> None:
    robots("report", "audit.jsonl")
    (robots.folder / "other").touch()
    modes = [(robots.folder / name).stat().st_mode for name in ("report.html", "other")]
    assert modes[0] == modes[1]


def test_an_empty_file_is_filled(robots: Robots) -> None:
    (robots.folder / "report.html").touch()  # as mktemp does
    assert robots("report", "audit.jsonl").status == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "the following arguments are required: AUDIT_LOG"),
        (["audit.jsonl", "other.jsonl"], "unrecognized arguments: other.jsonl"),
        (["audit.jsonl", "-o"], "expected one argument"),
        (["audit.jsonl", "-o", "none/page.html"], "there is no folder none"),
        (["audit.jsonl", "-o", "."], "is a folder"),
    ],
)
def test_wrong_usage(robots: Robots, arguments: list[str], words: str) -> None:
    done = robots("report", *arguments)
    assert done.status == 2
    assert words in done.errors
    assert done.errors.startswith("usage: scrapy robots report AUDIT_LOG")


@pytest.mark.parametrize(
    ("log", "words"),
    [("missing.jsonl", "No such file or directory"), (".", "Is a directory")],
)
def test_a_log_that_cannot_be_read(robots: Robots, log: str, words: str) -> None:
    done = robots("report", log)
    assert (done.status, done.output) == (2, "")
    assert f"{log} cannot be read: {words}" in done.errors
    assert not (robots.folder / "report.html").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_log_that_may_not_be_read(robots: Robots) -> None:
    (robots.folder / "audit.jsonl").chmod(0)
    assert "audit.jsonl cannot be read: Permission denied" in robots("report", "audit.jsonl").errors


def test_an_empty_log(robots: Robots) -> None:
    (robots.folder / "audit.jsonl").write_bytes(b"")
    done = robots("report", "audit.jsonl")
    assert (done.status, done.errors) == (1, "audit.jsonl: line 1: the log is empty\n")
    text = Page((robots.folder / "report.html").read_text()).text
    assert "line 1: the log is empty" in text
    assert "The log holds no crawl." in text


@pytest.mark.parametrize("content", [b"\x00\xff" * 5_000, b"<p>A page\n" * 3, b'{"v":1}\n', b"\n"])
def test_what_is_not_an_audit_log(robots: Robots, content: bytes) -> None:
    (robots.folder / "audit.jsonl").write_bytes(content)
    done = robots("report", "audit.jsonl")
    assert (done.status, done.output) == (2, "")
    assert "audit.jsonl is not an audit log that can be read: line 1: not a line" in done.errors
    assert not (robots.folder / "report.html").exists()


def test_a_log_of_another_version(robots: Robots) -> None:
    lines = []
    for line in (robots.folder / "audit.jsonl").read_text().splitlines():
        fields = {**json.loads(line), "v": 2}
        lines.append(sample_log.sealed(fields))
    (robots.folder / "audit.jsonl").write_bytes(b"".join(lines))
    done = robots("report", "audit.jsonl")
    assert (done.status, done.output) == (2, "")
    assert "line 1: cannot be read: version 2 of the schema" in done.errors


def damaged(robots: Robots, number: int, line: bytes | None) -> None:
    lines = (robots.folder / "audit.jsonl").read_bytes().splitlines(keepends=True)
    lines[number - 1 : number] = [] if line is None else [line]
    (robots.folder / "audit.jsonl").write_bytes(b"".join(lines))


def test_of_a_damaged_log_a_page_is_made_that_says_so(robots: Robots) -> None:
    lines = (robots.folder / "audit.jsonl").read_bytes().splitlines(keepends=True)
    damaged(robots, 7, lines[6].replace(b"Disallow: /private/", b"Disallow: /privacy/"))
    done = robots("report", "audit.jsonl")
    assert done.status == 1
    assert done.errors.startswith("audit.jsonl: line 7: changed")
    head, _, rest = Page((robots.folder / "report.html").read_text()).text.partition("In short")
    assert "This log is not whole" in head
    assert "line 7: changed" in head
    assert "Requests denied 58" in rest


def test_a_line_that_is_missing_is_named(robots: Robots) -> None:
    damaged(robots, 30, None)
    done = robots("report", "audit.jsonl")
    assert done.status == 1
    assert "line 30: 1 line is missing before it" in done.errors
    assert "1 line is missing before it" in (robots.folder / "report.html").read_text()


def test_of_very_many_damages_the_first_are_listed(robots: Robots) -> None:
    lines = (robots.folder / "audit.jsonl").read_bytes().splitlines(keepends=True)
    (robots.folder / "audit.jsonl").write_bytes(lines[0] + b"rubbish\n" * 1_000)
    assert robots("report", "audit.jsonl").status == 1
    text = Page((robots.folder / "report.html").read_text()).text
    assert text.count("not a line of a log") == 20
    assert "and 980 more" in text


def test_a_crawl_that_still_runs_is_no_damage(robots: Robots) -> None:
    *entries, _ = sample_log.entries()
    sample_log.write(robots.folder / "audit.jsonl", entries)
    done = robots("report", "audit.jsonl")
    assert (done.status, done.errors) == (0, "")
    text = Page((robots.folder / "report.html").read_text()).text
    assert "no end in the log: it was killed or still runs" in text


@pytest.mark.parametrize("output", ["-", "/dev/stdout"])
def test_a_closed_pipe_ends_it_silently(robots: Robots, output: str) -> None:
    done = robots.into_closed_pipe("report", "audit.jsonl", "-o", output)
    assert (done.status, done.errors) == (141, "")


def test_a_log_from_a_pipe(robots: Robots) -> None:
    done = robots(
        "report", "/dev/stdin", "-o", "-", stdin=(robots.folder / "audit.jsonl").read_bytes()
    )
    assert "Requests denied 58" in Page(done.output).text


def test_ctrl_c_leaves_an_earlier_report_as_it_was(robots: Robots) -> None:
    robots("report", "audit.jsonl")
    before = (robots.folder / "report.html").read_bytes()
    pipe = robots.folder / "pipe"
    os.mkfifo(pipe)
    ends: list[int] = []

    def is_reading() -> bool:
        if ends:
            return _octets_in(ends[0]) == 0
        with suppress(OSError):  # nobody has opened the other end yet
            ends.append(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
            os.write(ends[0], (robots.folder / "audit.jsonl").read_bytes()[:3_000])
        return False

    done = robots.interrupted("report", "pipe", when=is_reading)
    os.close(ends[0])
    assert (done.status, done.output, done.errors) == (130, "", "")
    assert (robots.folder / "report.html").read_bytes() == before


def _octets_in(pipe: int) -> int:
    """How many wait to be read."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk(robots: Robots) -> None:
    done = robots("report", "audit.jsonl", "-o", "/dev/full")
    assert (done.status, done.output) == (2, "")
    assert "/dev/full cannot be written: No space left on device" in done.errors


def test_a_page_that_cannot_be_written_whole_is_not_written(robots: Robots) -> None:
    """As on a disk that is full soon: no file may grow over 10,000 octets."""
    robots("report", "audit.jsonl")
    before = (robots.folder / "report.html").read_bytes()
    done = subprocess.run(
        [sys.executable, "-m", "scrapy", "robots", "report", "audit.jsonl"],
        cwd=robots.folder,
        capture_output=True,
        text=True,
        timeout=LONGEST,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000)),
    )
    assert done.returncode == 2
    assert "report.html cannot be written: File too large" in done.stderr
    assert (robots.folder / "report.html").read_bytes() == before
    assert {path.name for path in robots.folder.iterdir()} == {"audit.jsonl", "report.html"}
