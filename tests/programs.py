"""Programs that run in forks, beside the tests that write to them, read from them and end them.

What may be asked of them is what may be asked of a ``subprocess.Popen``, without its text mode.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing, suppress
from typing import TYPE_CHECKING, BinaryIO

from .forks import ROOT, SCRAPY, Forks

if TYPE_CHECKING:
    from pathlib import Path

    from typing_extensions import Self

LONGEST = 600
"""Seconds after which a program is ended that nobody ends."""


class Program:
    """A program that was started.

    *stdout* and *stderr*: where it writes; without them, into pipes that the test reads.
    """

    def __init__(
        self,
        main: str,
        *arguments: str,
        folder: Path = ROOT,
        environment: dict[str, str] | None = None,
        stdout: int | None = None,
        stderr: int | None = None,
    ) -> None:
        self._forks = Forks.running()
        self.args = (main, *arguments)
        given, write = os.pipe()
        self.stdin: BinaryIO = open(write, "wb")  # noqa: SIM115 - closed with the program
        self.stdout, output = _reader(stdout)
        self.stderr, errors = _reader(stderr)
        descriptors = [given, output, errors]
        self.pid = self._forks.begin(main, arguments, LONGEST, folder, descriptors, environment)
        self.returncode: int | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.wait()
        self.close()

    def poll(self) -> int | None:
        """Its status if it has ended."""
        if self.returncode is None:
            self.returncode = self._forks.status(self.pid)
        return self.returncode

    def wait(self, timeout: float = LONGEST) -> int:
        began = time.monotonic()
        while (status := self.poll()) is None:
            if (waited := time.monotonic() - began) > timeout:
                raise subprocess.TimeoutExpired(self.args, timeout)
            time.sleep(max(0.005, min(waited / 20, 0.05)))
        return status

    def communicate(self, given: bytes = b"", timeout: float = LONGEST) -> tuple[bytes, bytes]:
        """Writes to it, reads from it and waits for its end."""
        with ThreadPoolExecutor(2) as readers:
            output, errors = (readers.submit(each.read) for each in (self.stdout, self.stderr))
            with suppress(BrokenPipeError):
                if given:
                    self.stdin.write(given)
                self.stdin.close()
            try:
                _, open_yet = wait([output, errors], timeout)
                self.wait(0 if open_yet else timeout)
            except BaseException:
                self.kill()  # ends the reading
                raise
        self.close()
        return output.result(), errors.result()

    def succeed(self, timeout: float = LONGEST) -> None:
        """Waits for its end, which has to be a good one."""
        output, errors = self.communicate(timeout=timeout)
        assert self.wait() == 0, (output + errors).decode()

    def send_signal(self, number: int) -> None:
        """A signal; nothing if it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def close(self) -> None:
        """The ends of its pipes."""
        for file in (self.stdin, self.stdout, self.stderr):
            with suppress(BrokenPipeError):
                file.close()


def scrapy_in(folder: Path, *arguments: str, main: str = SCRAPY) -> tuple[int, str]:
    """Runs ``scrapy`` in *folder*: its status, and all that it prints, in that order."""
    read, write = os.pipe()
    program = Program(main, *arguments, folder=folder, stdout=write, stderr=write)
    os.close(write)
    with open(read, "rb") as output, closing(program):
        printed = output.read().decode()
        return program.wait(), printed


CODE = f"{__name__}:run_code"


def run_text(text: str, *arguments: object) -> tuple[int, str]:
    """Runs a program that is a text: its status, and all that it prints."""
    return scrapy_in(ROOT, text, *map(str, arguments), main=CODE)


def run_code() -> None:
    """Runs the text that is its first argument, as ``python -c`` does."""
    exec(sys.argv.pop(1), {"__name__": "__main__"})


def forget(*packages: str) -> None:
    """Lets a fork import *packages* anew, as a new interpreter would, while it has all others."""
    for name in [each for each in sys.modules if each.partition(".")[0] in packages]:
        del sys.modules[name]


def _reader(target: int | None) -> tuple[BinaryIO, int]:
    """Where the test reads, and a descriptor to hand over."""
    if target is not None:
        return open(os.devnull, "rb"), os.dup(target)
    read, write = os.pipe()
    return open(read, "rb"), write
