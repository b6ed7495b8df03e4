"""Runs commands and crawls in forks of one process, which has imported all that they need.

A new interpreter imports for most of a second before it starts one, and hundreds of tests do.
A fork has its own folder, environment, input, outputs and exit, and nothing of a crawl before.

usage: python -m tests.forks DESCRIPTOR_OF_A_SOCKET [all]
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import pkgutil
import signal
import socket
import subprocess
import sys
import threading
import traceback
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, redirect_stdout, suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from importlib import import_module, metadata
from io import StringIO
from pathlib import Path
from pkgutil import resolve_name
from threading import Lock
from typing import TYPE_CHECKING, NoReturn

from scrapy import cmdline
from scrapy.settings import default_settings
from scrapy.utils import versions
from scrapy.utils.misc import load_object

from .side_by_side import SHARED_FORKS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from typing_extensions import Self

PACKAGES = (
    "scrapy.commands",
    *(
        f"scrapy_robots_plus.{room}"
        for room in ("audit", "commands", "hosts", "job", "redis", "storage")
    ),
)
OF_CRAWLS = (
    *default_settings.DOWNLOADER_MIDDLEWARES_BASE,
    *default_settings.EXTENSIONS_BASE,
    *default_settings.SPIDER_MIDDLEWARES_BASE,
    *default_settings.DOWNLOAD_HANDLERS_BASE.values(),
    default_settings.DUPEFILTER_CLASS,
    default_settings.LOG_FORMATTER,
)
ROOT = Path(__file__).parent.parent

SCRAPY = "scrapy.cmdline:execute"
CRAWL = "tests.crawl_process:main"
CLOSING_CRAWL = "tests.crawl.closing_process:main"
WORKER = "tests.worker_process:main"
"""What a fork may run."""
IF_INSTALLED = (
    "scrapy.core.downloader.handlers._aiohttp",
    "scrapy.core.downloader.handlers._httpx",
    "scrapy_redis.scheduler",
    "hypothesis",
    "pytest",
    "pytest_twisted",
)
RUNS = "runs"
APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND


@dataclass(frozen=True)
class Task:
    """What a fork is to run. After so many *seconds*, ``SIGALRM`` ends it."""

    main: str
    arguments: list[str]
    seconds: int
    folder: str
    waits: bool = True
    """Whether nothing else is forked before it has ended."""
    environment: dict[str, str] = field(default_factory=lambda: dict(os.environ))


@dataclass(frozen=True)
class Fork:
    """A program that runs beside others."""

    pid: int
    _output: Future[bytes]

    @property
    def is_running(self) -> bool:
        return not self._output.done()

    def output(self, seconds: float) -> str:
        """What it printed, when it has ended; TimeoutError if it does not within *seconds*."""
        return self._output.result(seconds).decode()

    def send(self, number: int) -> None:
        """A signal; nothing if it has ended."""
        if self.is_running:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)


class Forks:
    """The process that forks, for one program at a time, or for several that it starts."""

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
        self.process: subprocess.Popen[bytes] | None = None
        python, _, path = os.environ.get(SHARED_FORKS, "").partition(":")
        if python == sys.executable:
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.connect(path)
            return
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
        self, main: str, arguments: list[str], given: bytes, seconds: int, folder: Path = ROOT
    ) -> tuple[int, bytes, bytes]:
        """Runs *main* to its end: its status, output and errors. Threads wait for their turn.

        After *seconds* its status is that of ``SIGALRM``.
        """
        with self.turn, ExitStack() as files, ThreadPoolExecutor(2) as readers:
            stdin, write = os.pipe()
            (read_output, stdout), (read_errors, stderr) = os.pipe(), os.pipe()
            self._send(Task(main, arguments, seconds, str(folder)), [stdin, stdout, stderr])
            output, errors = (
                readers.submit(files.enter_context(open(read, "rb")).read)
                for read in (read_output, read_errors)
            )
            with suppress(BrokenPipeError), open(write, "wb") as file:
                file.write(given)
            status = int(self.socket.recv(16))
            return status, output.result(), errors.result()

    def start(self, main: str, arguments: list[str], seconds: int, log: Path) -> Fork:
        """Starts *main*, whose errors are written to the end of *log*."""
        stdin, stderr = os.open(os.devnull, os.O_RDONLY), os.open(log, APPEND, 0o600)
        read_output, stdout = os.pipe()
        pid = self.begin(main, arguments, seconds, ROOT, [stdin, stdout, stderr])
        output: Future[bytes] = Future()
        threading.Thread(target=_read, args=(read_output, output), daemon=True).start()
        return Fork(pid, output)

    def begin(
        self,
        main: str,
        arguments: Sequence[str],
        seconds: int,
        folder: Path,
        descriptors: list[int],
        environment: dict[str, str] | None = None,
    ) -> int:
        """Starts *main*, and hands *descriptors* over; its id."""
        task = Task(main, [*arguments], seconds, str(folder), waits=False)
        if environment is not None:
            task = replace(task, environment=environment)
        with self.turn:
            self._send(task, descriptors)
            return int(self.socket.recv(16))

    def status(self, pid: int) -> int | None:
        """Once: that of a program that has begun, if it has ended."""
        with self.turn:
            self.socket.sendall(f".{pid}\n".encode())
            answer = self.socket.recv(16).decode()
        return None if answer == RUNS else int(answer)

    def _send(self, task: Task, descriptors: list[int]) -> None:
        """Hands over *descriptors*: those of the standard input, output and errors."""
        socket.send_fds(self.socket, [b"."], descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        self.socket.sendall(json.dumps(asdict(task)).encode() + b"\n")

    def close(self) -> None:
        self.socket.close()
        if self.process is not None:
            self.process.wait(60)


def _read(descriptor: int, result: Future[bytes]) -> None:
    with open(descriptor, "rb") as file:
        result.set_result(file.read())


def serve(connection: socket.socket) -> None:
    """Forks for each task that comes. The answer is its status, or its id.

    What comes without descriptors is such an id: whether that fork runs, or its status.
    """
    lines = connection.makefile("rb")
    while (received := socket.recv_fds(connection, 1, 3))[0]:
        descriptors, line = received[1], lines.readline()
        if not descriptors:
            ended, status = os.waitpid(int(line), os.WNOHANG)
            answer = str(os.waitstatus_to_exitcode(status)) if ended else RUNS
            connection.sendall(answer.encode())
            continue
        task = Task(**json.loads(line))
        if not (fork := os.fork()):
            become(task, descriptors)
            run_to_the_end(resolve_name(task.main))
        for descriptor in descriptors:
            os.close(descriptor)
        if task.waits:
            status = os.waitstatus_to_exitcode(os.waitpid(fork, 0)[1])
            connection.sendall(str(status).encode())
        else:
            connection.sendall(str(fork).encode())


def serve_all(listening: socket.socket) -> NoReturn:
    """Serves each test run that connects, until ``SIGTERM``. All have ended then."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        while True:
            connection, _ = listening.accept()
            if not os.fork():
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                os.setsid()  # a share of the processors for each test run
                listening.close()
                serve(connection)
                os.killpg(0, signal.SIGKILL)  # and all that it has started
            connection.close()
    except KeyboardInterrupt:
        with suppress(ChildProcessError):
            while True:
                os.wait()  # their time is counted as that of the tests
    sys.exit()


def import_all() -> None:
    """Imports what commands and their crawls need."""
    for name in PACKAGES:
        for module in pkgutil.walk_packages(import_module(name).__path__, f"{name}."):
            import_module(module.name)
    import_module("scrapy.core.downloader.handlers.http11")
    for program in (SCRAPY, CRAWL, CLOSING_CRAWL, WORKER):
        resolve_name(program)
    for name in IF_INSTALLED:
        with suppress(ImportError):
            import_module(name)
    for component in OF_CRAWLS:
        load_object(component)
    for user, name in ((cmdline, "entry_points"), (versions, "version"), (metadata, "version")):
        setattr(user, name, cache(getattr(user, name)))  # what is installed stays
    versions.get_versions()
    with suppress(metadata.PackageNotFoundError):
        metadata.version("redis")  # asked for each connection
    with redirect_stdout(StringIO()), suppress(SystemExit):
        cmdline.execute(["scrapy", "robots", "--help"])  # compiles patterns, fills caches


def become(task: Task, descriptors: list[int]) -> None:
    """What the interpreter of a new process starts with."""
    for standard, descriptor in enumerate(descriptors):
        os.dup2(descriptor, standard)
        os.close(descriptor)
    os.chdir(task.folder)
    sys.path[0] = task.folder
    sys.argv[:] = [task.main.partition(".")[0], *task.arguments]
    os.environ.clear()
    os.environ.update(task.environment)
    os.environ.setdefault("LANGUAGE", "C")  # argparse looks for no translation of each word
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    signal.alarm(task.seconds)


def run_to_the_end(main: Callable[[], object]) -> NoReturn:
    """Runs *main*, and ends the fork as an interpreter ends a process.

    But for taking all modules apart, which writes to each page of memory that forks share, and
    takes four times as long as a command.
    """
    status = 1
    try:
        main()
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001 - what nobody handles
        traceback.print_exc()
    finally:
        atexit._run_exitfuncs()
        gc.collect()  # tells what was not closed
        try:
            for stream in filter(None, (sys.stdout, sys.stderr)):  # None is one that was closed
                stream.flush()
        except OSError:
            status = 120
            traceback.print_exc()
        finally:
            os._exit(status)


if __name__ == "__main__":
    import_all()
    assert "twisted.internet.reactor" not in sys.modules  # a program chooses one
    gc.freeze()
    gc.set_threshold(10_000)  # fewer than usual, as in the tests themselves
    descriptor, *for_all = sys.argv[1:]
    with socket.socket(fileno=int(descriptor)) as served:
        (serve_all if for_all else serve)(served)
