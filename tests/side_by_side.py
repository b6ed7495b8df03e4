"""Runs targets of the Makefile side by side, and says how they went.

usage: python -m tests.side_by_side [--at-once N] [--seconds N] [--old-file FILE] [--forks]
           MAKE TARGET...

What a target printed is shown, whole, only if it failed; of one without counts, its last line. The
last line has the counts of all.

Targets share the processors here, and some tests crawl against clocks. A few tests that failed are
therefore run once more when nothing else runs, and named; what fails then has failed.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

AT_ONCE = 12
"""Crawls mostly wait, so this may be more than there are processors. With many more, each evicts
from the caches what the others need: all of them cost a third more then.
"""
SECONDS = 1200
"""For each target."""
FEW = 5
"""A target with more failures than this has failed."""
KINDS = ("passed", "failed", "skipped")


@dataclass(frozen=True)
class Outcome:
    """How a target went: its counts of tests by kind, what it printed, the seconds it took."""

    target: str
    succeeded: bool
    counts: Counter[str]
    output: str
    seconds: float

    @property
    def may_be_the_load(self) -> bool:
        return not self.succeeded and 0 < len(self.failures) <= FEW

    @property
    def failures(self) -> list[str]:
        return re.findall(r"^(?:FAILED|ERROR) (.*?)(?: - .*)?$", self.output, re.MULTILINE)

    @property
    def result(self) -> str:
        lines = self.output.splitlines()
        return lines[-1] if lines and not self.counts else shown(self.counts)

    def __str__(self) -> str:
        verdict = "passed" if self.succeeded else "FAILED"
        return f"{self.target}: {verdict} in {self.seconds:.0f} s ({self.result})"


class Targets:
    """Runs targets, each in a process group of its own, so that none outlives this."""

    def __init__(self, make: list[str], seconds: float) -> None:
        self.make = make
        self.seconds = seconds
        self.running: set[subprocess.Popen[str]] = set()

    def run(self, target: str, *variables: str) -> Outcome:
        say(f"{target}: started")
        start = time.monotonic()
        process = self._start(target, *variables)
        try:
            output, _ = process.communicate(timeout=self.seconds)
        except subprocess.TimeoutExpired:
            kill(process)
            output = f"{process.communicate()[0]}\n{target} was not done after {self.seconds:g} s\n"
        self.running.discard(process)
        succeeded = process.returncode == 0
        counts = counted(output, succeeded)
        return Outcome(target, succeeded, counts, output, time.monotonic() - start)

    def run_again(self, failed: Outcome) -> Outcome:
        """How a target went, with its failed tests run anew."""
        say("\n".join([f"{failed.target}: once more, alone:", *failed.failures]))
        again = self.run(failed.target, "AGAIN=--last-failed --last-failed-no-failures=none")
        counts = failed.counts.copy()
        counts["failed"] = again.counts["failed"]
        counts["passed"] += again.counts["passed"]
        return replace(again, counts=counts)

    def _start(self, target: str, *variables: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [*self.make, "--no-print-directory", target, *variables],
            env={name: value for name, value in os.environ.items() if name not in OF_MAKE},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        self.running.add(process)
        return process

    def stop(self) -> None:
        for process in self.running.copy():
            kill(process)


OF_MAKE = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")
"""What a make hands down; its job server is not for the processes started here."""


SHARED_FORKS = "SHARED_FORKS"
"""The variable that names an interpreter, and the socket of its process that forks for all."""


@contextmanager
def shared_forks() -> Iterator[None]:
    """What ``tests.forks`` imports before it forks is imported once for all targets."""
    with TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path := os.path.join(folder, "forks"))
        listening.listen(64)
        process = subprocess.Popen(
            [sys.executable, "-W", "error", "-m", "tests.forks", str(listening.fileno()), "all"],
            env={**os.environ, "PYTHONIOENCODING": "utf-8"},
            stdin=subprocess.DEVNULL,
            pass_fds=[listening.fileno()],
        )
        os.environ[SHARED_FORKS] = f"{sys.executable}:{path}"
        try:
            yield
        finally:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(10)
            process.kill()
            process.wait()


def kill(process: subprocess.Popen[str]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def counted(output: str, succeeded: bool) -> Counter[str]:
    """The counts of pytest's last lines; a target that failed without any is one failure."""
    counts: Counter[str] = Counter()
    for line in re.findall(r"^=+ (.*) in [\d.]+s.* =+$", output, re.MULTILINE):
        for number, kind in re.findall(r"(\d+) (\w+)", line):
            counts["failed" if kind.startswith("error") else kind] += int(number)
    if not succeeded and not counts["failed"]:
        counts["failed"] = 1
    return counts


def shown(counts: Counter[str]) -> str:
    return ", ".join(
        f"{counts[kind]} {kind}" for kind in KINDS if counts[kind] or kind != "skipped"
    )


def say(words: str) -> None:
    print(f"{words}\n", end="", flush=True)  # in one go: several threads say something


def report(outcome: Outcome) -> None:
    if not outcome.succeeded:
        say(outcome.output)
    say(str(outcome))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.side_by_side")
    parser.add_argument("--at-once", type=int, default=AT_ONCE, help=f"targets; {AT_ONCE}")
    parser.add_argument("--seconds", type=float, default=SECONDS, help=f"for each; {SECONDS}")
    parser.add_argument("--old-file", action="append", default=[], help="not made anew")
    parser.add_argument("--forks", action="store_true", help="one process forks for all tests")
    parser.add_argument("make", metavar="MAKE")
    parser.add_argument("targets", nargs="+", metavar="TARGET")
    return parser.parse_args()


def main(options: argparse.Namespace) -> int:
    """Prints as it goes; 0 if all targets succeeded."""
    old_files = [f"--old-file={each}" for each in options.old_file]
    targets = Targets([options.make, *old_files], options.seconds)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    outcomes: list[Outcome] = []
    with ExitStack() as forks, ThreadPoolExecutor(options.at_once) as pool:
        if options.forks:
            forks.enter_context(shared_forks())
        try:
            for done in as_completed([pool.submit(targets.run, name) for name in options.targets]):
                outcomes.append(done.result())
                report(outcomes[-1])
            for index, outcome in enumerate(outcomes):
                if outcome.may_be_the_load:
                    outcomes[index] = targets.run_again(outcome)
                    report(outcomes[index])
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            targets.stop()
            say("interrupted")
            return 130
    say(shown(sum((outcome.counts for outcome in outcomes), Counter())))
    return 0 if all(outcome.succeeded for outcome in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main(arguments()))
