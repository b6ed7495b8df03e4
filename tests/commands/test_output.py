"""Colours and encodings of what the commands print."""

from __future__ import annotations

import io
import os
import pty
from typing import TYPE_CHECKING

import pytest

from scrapy_robots_plus.commands.output import Output, Style
from tests.forks import SCRAPY
from tests.programs import Program

if TYPE_CHECKING:
    from pathlib import Path

RULES = "User-agent: *\nDisallow: /closed\n"
URLS = "http://site.invalid/closed\n" * 300


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def check_on_terminal(folder: Path, **environment: str) -> tuple[str, str]:
    """What ``check`` prints on a terminal, and on standard error."""
    (folder / "r.txt").write_text(RULES)
    (folder / "urls.txt").write_text(URLS)
    ours, theirs = pty.openpty()
    plain = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    program = Program(
        SCRAPY,
        *("robots", "check", "--file=r.txt", "--input=urls.txt"),
        folder=folder,
        environment={**plain, "TERM": "xterm", **environment},
        stdout=theirs,
    )
    os.close(theirs)
    shown = b""
    try:
        while piece := os.read(ours, 65_536):
            shown += piece
    except OSError:  # Linux says so when the other end is closed
        pass
    _, errors = program.communicate(timeout=60)
    os.close(ours)
    return shown.decode(), errors.decode()


def test_colours_on_a_terminal(tmp_path: Path) -> None:
    shown, errors = check_on_terminal(tmp_path)
    assert shown.count("\x1b[31mdenied") == 300
    assert errors == ""


def test_no_colours_where_the_user_wants_none(tmp_path: Path) -> None:
    for environment in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        shown, _ = check_on_terminal(tmp_path, **environment)
        assert shown.count("denied") == 300
        assert "\x1b" not in shown


def test_control_characters_are_escaped_and_styles_are_ours() -> None:
    stream = Terminal()
    Output(stream, io.StringIO()).line(("\x1b[2Jdenied", Style.BAD), " \u202ehttp://x")
    assert stream.getvalue() == "\x1b[31m\\x1b[2Jdenied\x1b[0m \\u202ehttp://x\n"


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_what_the_encoding_lacks_is_escaped(encoding: str) -> None:
    buffer = io.BytesIO()
    stream = io.TextIOWrapper(buffer, encoding=encoding)
    Output(stream, io.StringIO()).line("http://x/\u0416\U0001f600")
    stream.flush()
    text = buffer.getvalue().decode(encoding)
    assert text == "http://x/\u0416\U0001f600\n".encode(encoding, "backslashreplace").decode(
        encoding
    )
