"""Standard streams that are closed or cannot be written."""

from __future__ import annotations

import re
import signal
import time
from typing import TYPE_CHECKING

import pytest

from ..sites import hang
from .running import LONGEST, Done, Robots

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ..sites import Sites

OFFLINE = "check", "--file", "r.txt", "http://site.invalid/closed"


@pytest.fixture
def robots(tmp_path: Path) -> Robots:
    (tmp_path / "r.txt").write_text("User-agent: *\nDisallow: /closed\n")
    return Robots(tmp_path)


@pytest.mark.stress
def test_a_full_disk_is_reported(robots: Robots) -> None:
    assert_full(robots.redirected(">/dev/full", *OFFLINE))


@pytest.mark.parametrize("arguments", [OFFLINE, ("check", "http://127.0.0.1:1/")])
def test_so_it_is_by_each_command(robots: Robots, arguments: tuple[str, ...]) -> None:
    with open("/dev/full", "wb") as full:
        program = robots.started(*arguments, stdout=full.fileno())
        _, errors = program.communicate(timeout=LONGEST)
    assert_full(Done(program.wait(), "", errors.decode()))


def assert_full(done: Done) -> None:
    assert done.status == 2
    assert re.fullmatch(r"scrapy robots [ a-z]+: No space left on device\n", done.errors)


@pytest.mark.stress
@pytest.mark.parametrize("closed", [">&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_where_nobody_can_be_told_the_status_tells(robots: Robots, closed: str) -> None:
    done = robots.redirected(closed, *OFFLINE)
    assert (done.status, done.output, done.errors) == (1, "", "")


BY = pytest.mark.parametrize(
    "by", [Robots.closed, pytest.param(Robots.redirected, marks=pytest.mark.stress)]
)


@BY
def test_so_does_a_good_one(robots: Robots, by: Callable[..., Done]) -> None:
    done = by(robots, "<&- >&- 2>&-", "check", "http://site.invalid/", "--file", "r.txt")
    assert done.status == 0


@BY
def test_a_closed_standard_input_is_an_empty_one(robots: Robots, by: Callable[..., Done]) -> None:
    done = by(robots, "<&-", "check", "--input", "-")
    assert (done.status, done.output, done.errors) == (0, "", "")


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
