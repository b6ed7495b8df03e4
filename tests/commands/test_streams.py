"""Standard streams that are closed or cannot be written."""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING

import pytest

from ..sites import hang
from .running import LONGEST, Robots

if TYPE_CHECKING:
    from pathlib import Path

    from ..sites import Sites

OFFLINE = "check", "--file", "r.txt", "http://site.invalid/closed"


@pytest.fixture
def robots(tmp_path: Path) -> Robots:
    (tmp_path / "r.txt").write_text("User-agent: *\nDisallow: /closed\n")
    return Robots(tmp_path)


@pytest.mark.parametrize("closed", [">&-", ">&- 2>&-", ">&- 2>&- <&-"])
def test_without_standard_output_the_exit_status_answers(robots: Robots, closed: str) -> None:
    done = robots.redirected(closed, *OFFLINE)
    assert (done.status, done.output, done.errors) == (1, "", "")


def test_without_standard_output_a_site_is_asked_too(robots: Robots) -> None:
    """Nothing listens at port 1."""
    done = robots.redirected(">&-", "check", "http://127.0.0.1:1/")
    assert (done.status, done.errors) == (2, "")


def test_without_standard_error_the_answer_is_there(robots: Robots) -> None:
    done = robots.redirected("2>&-", *OFFLINE)
    assert done.status == 1
    assert done.output.startswith("denied    http://site.invalid/closed")


@pytest.mark.parametrize(
    "arguments",
    [
        ("show", "missing.txt"),
        ("chekc",),
    ],
)
def test_without_standard_error_failures_have_their_status(
    robots: Robots, arguments: tuple[str, ...]
) -> None:
    assert robots.redirected("2>&-", *arguments).status == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "--input", "-"),
        ("show", "-"),
        ("cache", "import", "-", "--store", "sqlite:some.db"),
    ],
)
def test_without_standard_input_it_says_so(robots: Robots, arguments: tuple[str, ...]) -> None:
    done = robots.redirected("<&-", *arguments)
    assert (done.status, done.output) == (2, "")
    assert "standard input is closed" in done.errors
    assert not (robots.folder / "some.db").exists()


@pytest.mark.parametrize("arguments", [OFFLINE, ("check", "http://127.0.0.1:1/")])
def test_a_full_disk_is_reported(robots: Robots, arguments: tuple[str, ...]) -> None:
    done = robots.redirected(">/dev/full", *arguments)
    assert done.status == 2
    assert done.errors.endswith("No space left on device\n")
    assert done.errors.count("\n") == 1


@pytest.mark.parametrize("command", ["check", "plan"])
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_while_standard_input_stays_open(
    sites: Sites, robots: Robots, command: str, sent: signal.Signals
) -> None:
    """As it does on a terminal, or behind a slow program."""
    host = sites.host()
    host.robots(hang)
    process = robots.started(command, "--input", "-", "-sROBOTS_FETCH_TIMEOUT=60")
    process.stdin.write(f"{host.url()}\n".encode())
    process.stdin.flush()
    until = time.monotonic() + LONGEST
    while not host.robots_hits and time.monotonic() < until:
        time.sleep(0.02)
    process.send_signal(sent)
    assert process.wait(LONGEST) == 130
    assert process.stderr.read() == b""
    process.communicate()
