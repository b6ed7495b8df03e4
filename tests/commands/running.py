"""Runs ``scrapy robots`` in a process of its own, as a user would.

The most are forks of a process that has imported Scrapy.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..crawling import ADDON
from ..forks import SCRAPY, Forks
from ..peak_memory import GROWING
from ..programs import CODE, Program

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from typing_extensions import Self

LONGEST = 90
"""Seconds for one command; it ends by itself long before."""
CLOSED = """
import os, sys
from scrapy.cmdline import execute

for closed in sys.argv.pop(1).split():
    number = ["<&-", ">&-", "2>&-"].index(closed)
    os.close(number)
    setattr(sys, ("stdin", "stdout", "stderr")[number], None)  # as an interpreter begins
execute()
"""


@dataclass
class Done:
    """What a command left behind."""

    status: int
    output: str
    errors: str

    @property
    def lines(self) -> list[str]:
        return self.output.splitlines()

    @property
    def json(self) -> list[dict[str, Any]]:
        """The objects that it printed, one a line."""
        return [json.loads(line) for line in self.lines]


class Robots:
    """``scrapy robots`` in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def in_project(cls, folder: Path, **settings: object) -> Self:
        """In a project whose settings.py has the add-on, and *settings*."""
        (folder / "scrapy.cfg").write_text("[settings]\ndefault = project_settings\n")
        lines = {"ADDONS": ADDON, "BOT_NAME": "tested", **settings}
        text = "".join(f"{name} = {value!r}\n" for name, value in lines.items())
        (folder / "project_settings.py").write_text(text)
        return cls(folder)

    def __call__(
        self,
        *arguments: object,
        stdin: str | bytes = "",
        environment: dict[str, str] | None = None,
        main: str = SCRAPY,
    ) -> Done:
        """Runs it to its end."""
        given = stdin.encode() if isinstance(stdin, str) else stdin
        if environment is None:
            words = ["robots", *map(str, arguments)]
            status, output, errors = Forks.running().run(main, words, given, LONGEST, self.folder)
        else:  # may be for the interpreter itself
            ended = subprocess.run(
                _command(arguments),
                cwd=self.folder,
                env=_environment(environment),
                input=given,
                capture_output=True,
                timeout=LONGEST,
                check=False,
            )
            status, output, errors = ended.returncode, ended.stdout, ended.stderr
        done = Done(status, output.decode(), errors.decode())
        assert "Traceback" not in done.errors, done.errors
        return done

    def growing(self, *arguments: object, stdin: str = "") -> tuple[Done, int]:
        """Runs it to its end, and measures by how many octets its memory has grown at most."""
        done = self(*arguments, stdin=stdin, main=GROWING)
        *lines, grown = done.lines
        done.output = "\n".join(lines)
        return done, int(grown)

    def started(self, *arguments: object, stdout: int | None = None) -> Program:
        """Starts it; the test has to end it."""
        words = ["robots", *map(str, arguments)]
        return Program(SCRAPY, *words, folder=self.folder, stdout=stdout)

    def redirected(self, redirection: str, *arguments: object) -> Done:
        """Runs it as a shell does with a *redirection*, such as ``>&-``."""
        done = subprocess.run(
            ["sh", "-c", f'exec "$@" {redirection}', "sh", *_command(arguments)],
            cwd=self.folder,
            env=_environment({"PYTHONUNBUFFERED": ""}),  # as users have it
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LONGEST,
            check=False,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return Done(done.returncode, done.stdout, done.stderr)

    def closed(self, closed: str, *arguments: object) -> Done:
        """Runs it as it begins where a shell has *closed* streams, such as ``>&-``."""
        words = [CLOSED, closed, "robots", *map(str, arguments)]
        status, output, errors = Forks.running().run(CODE, words, b"", LONGEST, self.folder)
        return Done(status, output.decode(), errors.decode())

    def interrupted(self, *arguments: object, when: Callable[[], bool]) -> Done:
        """Starts it, and sends SIGINT, as Ctrl-C does, as soon as *when* says so."""
        process = self.started(*arguments)
        until = time.monotonic() + LONGEST
        while not when() and process.poll() is None and time.monotonic() < until:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=LONGEST)
        assert b"Traceback" not in errors, errors
        return Done(process.wait(), output.decode(), errors.decode())

    def into_closed_pipe(self, *arguments: object, stdin: bytes = b"") -> Done:
        """Runs it with an output that nobody reads."""
        read, write = os.pipe()
        os.close(read)
        process = self.started(*arguments, stdout=write)
        os.close(write)
        _, errors = process.communicate(stdin, timeout=LONGEST)
        return Done(process.wait(), "", errors.decode())


def _command(arguments: tuple[object, ...]) -> list[str]:
    return [sys.executable, "-m", "scrapy", "robots", *map(str, arguments)]


def _environment(more: dict[str, str] | None = None) -> dict[str, str]:
    usual = {"PYTHONIOENCODING": "utf-8", "PYTHONWARNINGS": "error"}
    return {**os.environ, **usual, **(more or {})}
