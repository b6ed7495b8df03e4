"""Runs tests on a mutant, in a copy of the repository and in a process of its own."""

from __future__ import annotations

import importlib
import json
import os
import resource
import shutil
import signal
import sys
import time
import traceback
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import coverage
import hypothesis
import pytest

from .parts import PACKAGE, ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from pathlib import Path

    from .parts import Part

OPTIONS = (
    *("-q", "-x", "--reactor=asyncio", "--tb=line", "-p", "no:cacheprovider"),
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),  # of hypothesis, which is imported here
)
LEAST_SECONDS = 60
TIMES_LONGER = 20
"""Tests that take so much longer than their processor time hang, which is noticed. A busy machine
may need some of it."""
RECORDING_SECONDS = 1_800
MEMORY = 4 << 30
NOTHING_RAN = pytest.ExitCode.NO_TESTS_COLLECTED


def function_of(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]


@dataclass(frozen=True)
class Recorded:
    """What the tests of a part run, by the names of their functions."""

    seconds: dict[str, float]
    """Processor time of each."""
    tests_by_line: dict[str, dict[int, list[str]]]
    """By path, then by line; those of no test are ``""``."""
    modules: list[str]
    """What they import of other packages."""


class Recorder:
    """Which lines each test function runs, and how many seconds of processor time it takes."""

    def __init__(self) -> None:
        self.coverage = coverage.Coverage(data_file=None, source=[PACKAGE], config_file=False)
        self.seconds: dict[str, float] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, bool, bool]:
        name, start = function_of(item), time.process_time()
        self.coverage.switch_context(name)
        result = yield
        self.coverage.switch_context("")
        self.seconds[name] = self.seconds.get(name, 0.0) + time.process_time() - start
        return result

    def tests_by_line(self, path: Path) -> dict[int, list[str]]:
        return self.coverage.get_data().contexts_by_lineno(str(path.resolve()))


class Chosen:
    """Runs some test functions in a given order, each within a time that is known to suffice.

    Processor time, so that a busy machine makes no difference.
    """

    def __init__(self, seconds: dict[str, float]) -> None:
        self.seconds = seconds

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        place = {name: number for number, name in enumerate(self.seconds)}
        chosen = [item for item in items if function_of(item) in place]
        items[:] = sorted(chosen, key=lambda item: place[function_of(item)])

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        signal.setitimer(signal.ITIMER_VIRTUAL, 5 + 5 * self.seconds[function_of(item)])


class Copy:
    """A copy of the repository, in which one file at a time may be another."""

    def __init__(self, folder: Path, of: Path = ROOT) -> None:
        self.folder = folder
        left_out = shutil.ignore_patterns(".*", "build", "dist", "*.egg-info")
        shutil.copytree(of, folder, ignore=left_out if of == ROOT else None)

    def record(self, part: Part) -> Recorded:
        """What its tests run of the unchanged files. Raises RuntimeError if a test fails."""
        result = self.folder / "recorded.json"

        def run() -> int:
            recorder = Recorder()
            recorder.coverage.start()
            status = pytest.main([*OPTIONS, *map(str, part.test_paths())], plugins=[recorder])
            recorder.coverage.stop()
            lines = {str(path): recorder.tests_by_line(path) for path in part.source_paths()}
            result.write_text(json.dumps([recorder.seconds, lines, installed_modules()]))
            return status

        if status := self.in_child(run, RECORDING_SECONDS, quiet=False):
            raise RuntimeError(f"the tests of {part.name} fail without a change ({status})")
        seconds, lines, modules = json.loads(result.read_text())
        by_line = {
            path: {int(number): names for number, names in tests.items()}
            for path, tests in lines.items()
        }
        return Recorded(seconds, by_line, modules)

    def notices(self, path: Path, text: str, seconds: dict[str, float]) -> bool:
        """Whether a test of those in *seconds* fails with *text* in the file at *path*."""
        file = self.folder / path
        before = file.read_text()
        file.write_text(text)
        for compiled in file.parent.glob(f"__pycache__/{file.stem}.*.pyc"):
            compiled.unlink()
        try:
            limit = LEAST_SECONDS + TIMES_LONGER * sum(seconds.values())
            status = self.in_child(lambda: run_chosen(seconds), limit)
            return status not in (pytest.ExitCode.OK, NOTHING_RAN)
        finally:
            file.write_text(before)

    def in_child(self, run: Callable[[], int], seconds: float, *, quiet: bool = True) -> int:
        """What *run* returns; negative where a signal or the time ended it."""
        child = os.fork()
        if not child:
            self.child(run, quiet=quiet)
        deadline = time.monotonic() + seconds
        try:
            while time.monotonic() < deadline:
                ended, status = os.waitpid(child, os.WNOHANG)
                if ended:
                    return os.waitstatus_to_exitcode(status)
                time.sleep(0.02)
            return -signal.SIGKILL
        finally:  # with all that it started
            kill_group(child)

    def child(self, run: Callable[[], int], *, quiet: bool) -> None:
        status = 70
        try:
            os.setsid()
            os.chdir(self.folder)
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            if quiet:
                nowhere = os.open(os.devnull, os.O_RDWR)
                for stream in (0, 1, 2):
                    os.dup2(nowhere, stream)
                os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
                sys.dont_write_bytecode = True
            os.environ["PYTHONPATH"] = str(self.folder)
            sys.path.insert(0, str(self.folder))
            for module in [
                name for name in sys.modules if name.split(".")[0] in ("tests", PACKAGE)
            ]:
                del sys.modules[module]
            hypothesis.settings.register_profile(
                "mutants",
                database=None,
                deadline=None,
                derandomize=True,
                phases=(hypothesis.Phase.explicit, hypothesis.Phase.generate),
            )
            hypothesis.settings.load_profile("mutants")
            status = int(run())
        except BaseException:  # noqa: BLE001 - this process ends here
            traceback.print_exc()
        finally:
            os._exit(status)


def installed_modules() -> list[str]:
    """The modules of other packages; without Twisted's reactors, which importing may install."""
    return [
        name
        for name, module in sys.modules.items()
        if "site-packages" in (getattr(module, "__file__", None) or "") and "reactor" not in name
    ]


def preload(modules: list[str]) -> None:
    """Imports them here, so that no child has to."""
    for name in modules:
        with suppress(Exception):
            importlib.import_module(name)


def kill_group(child: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    with suppress(ChildProcessError):
        os.waitpid(child, 0)


def run_chosen(seconds: dict[str, float]) -> int:
    files: Sequence[str] = sorted({name.partition("::")[0] for name in seconds})
    return pytest.main([*OPTIONS, *files], plugins=[Chosen(seconds)]) if files else NOTHING_RAN
