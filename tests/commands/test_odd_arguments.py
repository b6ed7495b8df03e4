"""Arguments that careless users and scripts give."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .running import Robots

if TYPE_CHECKING:
    from pathlib import Path

RAW = "\x1b[31m\x7f\u202e"
SHOWN = r"\x1b[31m\x7f\u202e"


@pytest.fixture
def robots(tmp_path: Path) -> Robots:
    (tmp_path / "r.txt").write_text("User-agent: *\nDisallow: /closed\n")
    return Robots(tmp_path)


@pytest.mark.parametrize(
    "arguments",
    [
        ("show", f"ftp://site.example/{RAW}"),
        ("diff", f"ftp://site.example/{RAW}", "r.txt"),
        ("diff", f"store:{RAW}", "r.txt"),
        ("report", f"{RAW}.jsonl"),
        ("cache", "purge", f"http://site.example:{RAW}", "--store", "sqlite:some.db"),
        ("check", "http://site.example/", f"--{RAW}"),
        (RAW,),
    ],
)
def test_wrong_usage_is_safe_to_show(robots: Robots, arguments: tuple[str, ...]) -> None:
    """A script may take them from a site."""
    done = robots(*arguments)
    assert (done.status, done.output) == (2, "")
    assert not set(RAW) & set(done.errors) - set("[31m")
    assert SHOWN in done.errors


@pytest.mark.parametrize("agent", ["", "  "])
@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "--file", "r.txt", "http://site.invalid/"),
        ("explain", "--file", "r.txt", "http://site.invalid/"),
        ("show", "r.txt"),
        ("diff", "r.txt", "r.txt"),
        ("plan", "http://site.invalid/"),
        ("replay", "audit.jsonl"),
    ],
)
def test_an_empty_agent_is_not_taken_for_the_projects(
    robots: Robots, arguments: tuple[str, ...], agent: str
) -> None:
    done = robots(*arguments, "--agent", agent)
    assert (done.status, done.output) == (2, "")
    assert f"argument --agent: {agent!r}: expected a text that is not empty" in done.errors


@pytest.mark.parametrize(
    "command",
    [("check",), ("plan",), ("permissions", "--use", "train-ai")],
    ids=lambda each: each[0],
)
def test_without_urls_nothing_is_printed(robots: Robots, command: tuple[str, ...]) -> None:
    done = robots(*command)
    assert (done.status, done.output) == (2, "")
    assert "URLs or --input FILE" in done.errors


def test_a_byte_order_mark_is_not_part_of_the_first_url(robots: Robots) -> None:
    urls = "\ufeffhttp://site.invalid/closed\r\nhttp://site.invalid/\r\n"
    done = robots("check", "--file", "r.txt", "--input", "-", stdin=urls)
    assert [line.split()[0] for line in done.lines] == ["denied", "allowed"]


def test_a_long_line_of_a_file_is_apart_from_what_it_means(robots: Robots) -> None:
    (robots.folder / "r.txt").write_text(f"User-agent: *\nDisallow: /{'x' * 60}\n")
    assert f"{'x' * 60}  group 1: denies" in robots("show", "r.txt").output
    (robots.folder / "r.txt").write_text("User-agent: *\nDisallow: /\x1b\x1b\n")
    lines = robots("show", "r.txt").lines
    assert len({line.index("group 1: ") for line in lines if line.startswith("> ")}) == 1


@pytest.mark.parametrize(
    "arguments",
    [("check", "--file", "-", "--input", "-"), ("diff", "-", "-"), ("show", "r.txt", "-", "-")],
)
def test_standard_input_is_not_read_twice(robots: Robots, arguments: tuple[str, ...]) -> None:
    """The second time it is empty, and an empty file allows everything."""
    done = robots(*arguments, stdin="User-agent: *\nDisallow: /\n")
    assert (done.status, done.output) == (2, "")
    assert "standard input (-) can be read only once" in done.errors
