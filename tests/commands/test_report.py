"""``scrapy robots report``."""

from __future__ import annotations

import fcntl
import json
import os
import sys
import termios
from contextlib import suppress
from pathlib import Path

import pytest

from ..audit import sample_log
from ..audit.logs import end, open_log, verdict, write_sealed
from ..audit.pages import Page
from ..programs import CODE, scrapy_in
from .running import Robots
from .sessions import sessions

SESSIONS = sessions("docs/report.md")


def test_a_page_is_made_of_a_log(reporter: Robots) -> None:
    done = reporter("report", "audit.jsonl", "-o", "page.html")
    assert (done.status, done.errors) == (0, "")
    sentence = Page((reporter.folder / "page.html").read_text()).sentence
    assert sentence.startswith("58 of 206 ")
    assert done.output == f"page.html: {sentence}\n"
    assert {path.name for path in reporter.folder.iterdir()} == {"audit.jsonl", "page.html"}


def test_what_was_allowed_but_not_logged_is_not_zero(reporter: Robots) -> None:
    entries = [sample_log.begin(allowed_share=0.0), sample_log.end(allowed=770)]
    write_sealed(reporter.folder / "audit.jsonl", entries)
    done = reporter("report", "audit.jsonl")
    assert done.output.startswith("report.html: 0 of 770 requests denied; ")
    write_sealed(reporter.folder / "audit.jsonl", entries[:1])
    done = reporter("report", "audit.jsonl")
    assert done.output.startswith("report.html: 0 requests denied; ")


def test_the_parts_of_a_log_make_one_page(reporter: Robots) -> None:
    path, parts = reporter.folder / "audit.jsonl", [reporter.folder / f"audit.{n}" for n in "12"]
    path.unlink()
    log = open_log(path)
    for number, part in enumerate(parts):
        log.add(verdict(f"http://x.example/{number}"))
        assert log.flush()
        path.rename(part)
    log.add(end(denied=2))
    assert log.flush()
    log.close()
    together = ["audit.jsonl", *(part.name for part in parts)]
    done = reporter("report", *together)
    assert (done.status, done.errors) == (0, "")
    assert done.output.startswith("report.html: 2 of 2 requests denied, on 1 site; ")
    assert reporter("replay", *together, "--verify").lines[0] == "whole: 6 lines in 3 files"
    done = reporter("report", "audit.jsonl")
    assert done.status == 4
    assert done.errors.startswith("audit.jsonl: line 1: 4 lines of its crawl missing before it")
    head = Page((reporter.folder / "report.html").read_text()).text.partition("What decided")[0]
    assert "This log is incomplete or damaged" in head
    assert reporter("report", "audit.1", "audit.1").status == 2


@pytest.mark.parametrize(
    ("options", "denied", "sites"),
    [
        ((), 58, 7),
        (("--host", "shop.example"), 40, 1),
        (("--host", "https://shop.example"), 40, 1),
        (("--host", "http://shop.example"), 0, 0),
        (("--host", "*.example"), 58, 7),
        (("--host", "shop.example", "--host", "news.example"), 52, 2),
    ],
)
def test_a_part_of_a_log(
    reporter: Robots, options: tuple[str, ...], denied: int, sites: int
) -> None:
    done = reporter("report", "audit.jsonl", "--json", *options)
    assert (done.status, done.errors) == (0, "")
    whole, *others = map(json.loads, done.lines)
    found = [each for each in others if "status" in each]
    assert (whole["requests_denied"], whole["sites"]) == (denied, sites)
    assert sum(each["requests_denied"] for each in found) == denied
    assert whole["requests_allowed"] == sum(each["requests_allowed"] for each in found)
    page = Page(reporter("report", "audit.jsonl", *options, "-o", "-").output)
    assert ("Only a part of the log" in page.text) is bool(options)
    assert page.sentence == whole["summary"]


def test_what_crawls_counted_of_all_hosts_is_not_said_of_one(reporter: Robots) -> None:
    entries = [
        sample_log.begin(allowed_share=0.0),
        sample_log.denied(sample_log.SHOP, "/"),
        sample_log.end(allowed=770),
    ]
    write_sealed(reporter.folder / "audit.jsonl", entries)
    done = reporter("report", "audit.jsonl", "--json", "--host", "shop.example")
    whole = json.loads(done.lines[0])
    assert (whole["requests_denied"], whole["requests_allowed"]) == (1, None)


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_a_site_has_no_count_of_allowed_requests_unless_all_are_logged(
    reporter: Robots, share: float
) -> None:
    entries = [
        sample_log.begin(allowed_share=share),
        sample_log.allowed(sample_log.SHOP, "/"),
        sample_log.end(allowed=2),
    ]
    write_sealed(reporter.folder / "audit.jsonl", entries)
    whole, site = reporter("report", "audit.jsonl", "--json").json
    assert (whole["requests_allowed"], site["requests_allowed"]) == (2, None)


def test_json_has_what_the_page_has(reporter: Robots) -> None:
    done = reporter("report", "audit.jsonl", "--json")
    whole, *others = map(json.loads, done.lines)
    assert (whole["robots_failures"], whole["robots_changes"]) == (5, 1)
    (slow,) = (each for each in others if each.get("origin") == sample_log.SLOW)
    assert (slow["delay_asked"], slow["delay_kept"], slow["smallest_gap"]) == (2, 2, 1.8)
    assert (slow["gaps"], slow["gaps_too_short"]) == (99, 1)
    assert {path.name for path in reporter.folder.iterdir()} == {"audit.jsonl"}


def test_the_page_of_the_docs_shows_what_is_printed(reporter: Robots) -> None:
    for session in SESSIONS:
        shown, _ = session.run(reporter)
        assert shown == session.output


def test_in_a_project_too(reporter: Robots) -> None:
    assert Robots.in_project(reporter.folder)("report", "audit.jsonl").status == 0
    assert (reporter.folder / "report.html").exists()


@pytest.mark.parametrize(
    "environment",
    [None, pytest.param({"PYTHONIOENCODING": "latin-1"}, marks=pytest.mark.stress)],
    ids=["utf-8", "latin-1"],
)
def test_on_standard_output_there_is_nothing_else(
    reporter: Robots, environment: dict[str, str] | None
) -> None:
    done = reporter("report", "audit.jsonl", "-o", "-", environment=environment)
    assert done.status == 0
    assert done.output.isascii()
    assert Page(done.output).sentence.startswith("58 of 206 ")
    assert not (reporter.folder / "report.html").exists()


def test_an_earlier_report_is_replaced_with_its_link_and_its_permissions(reporter: Robots) -> None:
    page = reporter.folder / "report.html"
    reporter("report", "audit.jsonl")
    page.chmod(0o640)
    link = reporter.folder / "link.html"
    link.symlink_to(page)
    write_sealed(reporter.folder / "other.jsonl", [sample_log.begin(), sample_log.end()])
    assert reporter("report", "other.jsonl", "-o", "link.html").status == 0
    assert Page(page.read_text()).sentence.startswith("0 of 0 ")
    assert link.is_symlink()
    assert page.stat().st_mode & 0o777 == 0o640


def test_another_file_is_never_replaced(reporter: Robots) -> None:
    for text in ("<p>Mine", "<p>About scrapy-robots-plus"):
        (reporter.folder / "notes.html").write_text(text)
        done = reporter("report", "audit.jsonl", "-o", "notes.html")
        assert done.status == 2
        assert "notes.html exists and is not a report" in done.errors
        assert (reporter.folder / "notes.html").read_text() == text
    agent = "Foobot/1.0 (of scrapy-robots-plus)"
    write_sealed(reporter.folder / "audit.jsonl", [sample_log.begin(agent=agent), sample_log.end()])
    log = (reporter.folder / "audit.jsonl").read_bytes()
    done = reporter("report", "audit.jsonl", "-o", "./audit.jsonl")
    assert "audit.jsonl is the log" in done.errors
    assert (reporter.folder / "audit.jsonl").read_bytes() == log


def test_an_empty_log_is_not_filled_with_a_report(reporter: Robots) -> None:
    (reporter.folder / "audit.jsonl").write_bytes(b"")  # as right after a rotation
    (reporter.folder / "link").symlink_to("audit.jsonl")
    done = reporter("report", "audit.jsonl", "-o", "link")
    assert (done.status, "link is the log" in done.errors) == (2, True)
    assert (reporter.folder / "audit.jsonl").read_bytes() == b""


def test_a_link_that_leads_to_itself_is_no_log(reporter: Robots) -> None:
    (reporter.folder / "loop").symlink_to("loop")
    done = reporter("report", "loop")
    assert done.status == 2
    assert "loop" in done.errors
    assert "Traceback" not in done.errors


def test_a_new_report_has_the_permissions_of_any_new_file(reporter: Robots) -> None:
    reporter("report", "audit.jsonl")
    (reporter.folder / "other").touch()
    modes = [(reporter.folder / name).stat().st_mode for name in ("report.html", "other")]
    assert modes[0] == modes[1]


def test_an_empty_file_is_filled(reporter: Robots) -> None:
    (reporter.folder / "report.html").touch()  # as mktemp does
    assert reporter("report", "audit.jsonl").status == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "the following arguments are required: AUDIT_LOG"),
        (["audit.jsonl", "-o"], "expected one argument"),
        (["audit.jsonl", "--host", "a b"], "'a b': expected a host (example.com)"),
    ],
)
def test_wrong_usage(reporter: Robots, arguments: list[str], words: str) -> None:
    done = reporter("report", *arguments)
    assert done.status == 2
    assert words in done.errors
    assert done.errors.startswith("usage: scrapy robots report ")


@pytest.mark.parametrize(
    ("log", "words"),
    [("missing.jsonl", "No such file or directory"), (".", "Is a directory")],
)
def test_a_log_that_cannot_be_read(reporter: Robots, log: str, words: str) -> None:
    done = reporter("report", log)
    assert (done.status, done.output) == (2, "")
    assert f"{log}: {words}" in done.errors
    assert not (reporter.folder / "report.html").exists()


@pytest.mark.parametrize(
    ("page", "told"),
    [("none/page.html", " none/page.html: No such file or directory"), (".", " .: Is a directory")],
)
def test_a_page_that_cannot_be_written(reporter: Robots, page: str, told: str) -> None:
    done = reporter("report", "audit.jsonl", "-o", page)
    assert (done.status, done.output) == (2, "")
    assert told in done.errors


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_log_that_may_not_be_read(reporter: Robots) -> None:
    (reporter.folder / "audit.jsonl").chmod(0)
    assert "audit.jsonl: Permission denied" in reporter("report", "audit.jsonl").errors


@pytest.mark.parametrize("output", ["-", "/dev/stdout"])
def test_a_closed_pipe_ends_it_silently(reporter: Robots, output: str) -> None:
    done = reporter.into_closed_pipe("report", "audit.jsonl", "-o", output)
    assert (done.status, done.errors) == (141, "")


def test_a_log_from_a_pipe(reporter: Robots) -> None:
    done = reporter(
        "report", "/dev/stdin", "-o", "-", stdin=(reporter.folder / "audit.jsonl").read_bytes()
    )
    assert Page(done.output).sentence.startswith("58 of 206 ")


def test_ctrl_c_leaves_an_earlier_report_as_it_was(reporter: Robots) -> None:
    reporter("report", "audit.jsonl")
    before = (reporter.folder / "report.html").read_bytes()
    pipe = reporter.folder / "pipe"
    os.mkfifo(pipe)
    ends: list[int] = []

    def is_reading() -> bool:
        if ends:
            return _octets_in(ends[0]) == 0
        with suppress(OSError):  # nobody has opened the other end yet
            ends.append(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
            os.write(ends[0], (reporter.folder / "audit.jsonl").read_bytes()[:3_000])
        return False

    done = reporter.interrupted("report", "pipe", when=is_reading)
    os.close(ends[0])
    assert (done.status, done.output, done.errors) == (130, "", "")
    assert (reporter.folder / "report.html").read_bytes() == before


def _octets_in(pipe: int) -> int:
    """How many wait to be read."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk(reporter: Robots) -> None:
    done = reporter("report", "audit.jsonl", "-o", "/dev/full")
    assert (done.status, done.output) == (2, "")
    assert "No space left on device" in done.errors


LITTLE_ROOM = """
import resource
from scrapy.cmdline import execute

resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
execute()
"""


def test_a_page_that_cannot_be_written_whole_is_not_written(reporter: Robots) -> None:
    """As on a disk that is full soon: no file may grow over 10,000 octets."""
    reporter("report", "audit.jsonl")
    before = (reporter.folder / "report.html").read_bytes()
    words = LITTLE_ROOM, "robots", "report", "audit.jsonl"
    status, printed = scrapy_in(reporter.folder, *words, main=CODE)
    assert status == 2
    assert "report: report.html: File too large" in printed
    assert (reporter.folder / "report.html").read_bytes() == before
    assert {path.name for path in reporter.folder.iterdir()} == {"audit.jsonl", "report.html"}


def test_a_log_that_says_more_than_a_temporary_file_holds_is_told(reporter: Robots) -> None:
    rules = (f"Disallow: /{number}/{'x' * 400}" for number in range(5_000))
    entries = (sample_log.denied(sample_log.SHOP, "/", rule=rule) for rule in rules)
    write_sealed(reporter.folder / "long.jsonl", [sample_log.begin(), *entries, sample_log.end()])
    words = LITTLE_ROOM, "robots", "report", "long.jsonl"
    status, printed = scrapy_in(reporter.folder, *words, main=CODE)
    assert status == 2
    assert "scrapy robots report: " in printed
    assert not (reporter.folder / "report.html").exists()
    assert reporter("report", "long.jsonl").status == 0
