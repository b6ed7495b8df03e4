"""Runs Scrapy's commands in forks of one process, which has imported all that they need.

A new interpreter imports for most of a second before a command starts, and hundreds of tests run
one. A fork has its own folder, environment, input, outputs and exit, and nothing of a crawl before.

usage: python -m tests.commands.forks DESCRIPTOR_OF_A_SOCKET
"""

from __future__ import annotations

import gc
import json
import os
import pkgutil
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from scrapy.cmdline import execute
from scrapy.settings import default_settings
from scrapy.utils.misc import load_object

if TYPE_CHECKING:
    from typing_extensions import Self

PACKAGES = ("scrapy.commands", "scrapy_robots_plus.commands")
OF_CRAWLS = ("DOWNLOADER_MIDDLEWARES_BASE", "EXTENSIONS_BASE", "SPIDER_MIDDLEWARES_BASE")
ROOT = Path(__file__).parent.parent.parent


class Forks:
    """The process that forks, one command at a time."""

    @classmethod
    @cache
    def running(cls) -> Self:
        """The one of this test run."""
        return cls()

    @classmethod
    def end(cls) -> None:
        """Ends the one of this test run, if it was started."""
        if cls.running.cache_info().currsize:
            cls.running().close()
            cls.running.cache_clear()

    def __init__(self) -> None:
        self.turn = Lock()
        self.socket, other = socket.socketpair()
        with other:
            self.process = subprocess.Popen(
                [sys.executable, "-W", "error", "-m", __name__, str(other.fileno())],
                cwd=ROOT,
                env={**os.environ, "PYTHONIOENCODING": "utf-8"},
                stdin=subprocess.DEVNULL,
                pass_fds=[other.fileno()],
            )

    def run(
        self, folder: Path, arguments: list[str], given: bytes, seconds: int
    ) -> tuple[int, bytes, bytes]:
        """Runs a command to its end: its status, output and errors. Threads wait for their turn.

        After *seconds* its status is that of ``SIGALRM``.
        """
        task = {
            "folder": str(folder),
            "arguments": arguments,
            "environment": dict(os.environ),
            "seconds": seconds,
        }
        with self.turn, ExitStack() as files, ThreadPoolExecutor(2) as readers:
            stdin, write = os.pipe()
            (read_output, stdout), (read_errors, stderr) = os.pipe(), os.pipe()
            socket.send_fds(self.socket, [b"."], [stdin, stdout, stderr])
            for descriptor in (stdin, stdout, stderr):
                os.close(descriptor)
            self.socket.sendall(json.dumps(task).encode() + b"\n")
            output, errors = (
                readers.submit(files.enter_context(open(read, "rb")).read)
                for read in (read_output, read_errors)
            )
            with suppress(BrokenPipeError), open(write, "wb") as file:
                file.write(given)
            status = int(self.socket.recv(16))
            return status, output.result(), errors.result()

    def close(self) -> None:
        self.socket.close()
        self.process.wait(60)


def serve(connection: socket.socket) -> None:
    """Forks for each task that comes; returns at their end, and in each fork at its command's."""
    tasks = connection.makefile("rb")
    while descriptors := socket.recv_fds(connection, 1, 3)[1]:
        task = json.loads(tasks.readline())
        if not (fork := os.fork()):
            become(task, descriptors)
            execute()
        for descriptor in descriptors:
            os.close(descriptor)
        status = os.waitstatus_to_exitcode(os.waitpid(fork, 0)[1])
        connection.sendall(str(status).encode())


def import_all() -> None:
    """Imports what commands and their crawls need."""
    for name in PACKAGES:
        for module in pkgutil.walk_packages(import_module(name).__path__, f"{name}."):
            import_module(module.name)
    import_module("scrapy.core.downloader.handlers.http11")
    for setting in OF_CRAWLS:
        for component in getattr(default_settings, setting):
            load_object(component)


def become(task: dict[str, Any], descriptors: list[int]) -> None:
    """What the interpreter of a new process starts with."""
    for standard, descriptor in enumerate(descriptors):
        os.dup2(descriptor, standard)
        os.close(descriptor)
    os.chdir(task["folder"])
    sys.path[0] = task["folder"]
    sys.argv[:] = ["scrapy", *task["arguments"]]
    os.environ.clear()
    os.environ.update(task["environment"])
    signal.alarm(task["seconds"])


if __name__ == "__main__":
    import_all()
    assert "twisted.internet.reactor" not in sys.modules  # a command chooses one
    gc.freeze()
    with socket.socket(fileno=int(sys.argv[1])) as served:
        serve(served)
