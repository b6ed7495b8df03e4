"""Scrapy's own tests, as they are and with the add-on as the default.

usage: python -m tests.upstream [PART ...]

Fetches the sdist of the Scrapy that is installed here, runs those of its tests that crawl, in
each reactor mode they know, and ends with 1 where one that passes without the add-on fails with
it. *PART* is the name of a test file without ``test_``; wildcards are allowed.

All of the add-on is at work: every request of a test waits for a robots.txt, which its server is
asked for. Many of these servers answer with an error, or not at all: what cannot be read allows
all, and nobody is asked less often for a 503. A test that cannot pass like this, since it counts
what is sent, stands with its reason in :mod:`tests.upstream_differences`, and has to pass with the
add-on and ``ROBOTSTXT_OBEY`` as the test sets it. Nothing leaves this machine.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections import Counter
from contextlib import suppress
from pathlib import Path

from .upstream_differences import reason
from .upstream_trees import PYTHON, RUN_SECONDS, SCRAPY, Trees, make_trees, make_venv

# Not among them, and long: crawler_subprocess, command_check, command_parse, command_runspider.
PARTS = """
    addons closespider cmdline_crawl_with_pipeline command_crawl command_fetch command_shell core_*
    crawl crawler crawler_runners dependencies downloadermiddleware* downloaderslots* dupefilters
    engine* extension* logstats middleware pipeline_crawl pipelines pqueues request_* robotstxt_*
    scheduler* signals spider spider_* spidermiddleware* spiderstate squeues* stats
"""
OFFLINE = ("-m", "not requires_internet")
MODES = {
    "asyncio": ("-p", "no:asyncio", "--reactor=asyncio"),
    "default": ("-p", "no:asyncio", "--reactor=default"),
    "none": (
        *("-p", "no:twisted", "--reactor=none"),
        *("-o", "asyncio_default_fixture_loop_scope=function"),
    ),
}
TRIES = 3
TEST_SECONDS = 60

Outcomes = dict[str, str]
"""``passed``, ``failed`` or ``skipped``, by the name of the test."""


def main(arguments: list[str]) -> int:
    parts = arguments or PARTS.split()
    failing = 0
    with tempfile.TemporaryDirectory(prefix="scrapy-own-tests-") as folder:
        trees = make_trees(Path(folder))
        make_venv(trees.without)
        for mode in modes(trees.without):
            failing += len(compare(mode, trees, parts))
        if not (trees.obeying / "addon-was-used").exists():
            raise SystemExit("The add-on was never used, so that nothing was compared.")
    print(f"{failing} of the own tests of Scrapy {SCRAPY} fail because of the add-on")
    return 1 if failing else 0


def modes(tree: Path) -> list[str]:
    """Those that the tests know: Scrapy 2.14 always has a reactor."""
    without_reactor = '"none"' in (tree / "conftest.py").read_text()
    return [mode for mode in MODES if mode != "none" or without_reactor]


def compare(mode: str, trees: Trees, parts: list[str]) -> list[str]:
    """The tests that pass without the add-on, and fail with it for no reason that is listed."""
    paths = files(trees.without, parts)
    differ = failing_with(mode, trees.without, trees.obeying, paths)
    listed = {name for name in differ if reason(name)}
    for name in sorted(listed):
        print(f"  differs, as it has to: {name}\n    {reason(name)}", flush=True)
    failing = still_failing(mode, trees.without, trees.obeying, paths, differ - listed, TRIES - 1)
    failing |= still_failing(mode, trees.without, trees.quiet, paths, listed, TRIES)
    for name in sorted(failing):
        print(f"  fails with the add-on only: {name}", flush=True)
    return sorted(failing)


def still_failing(
    mode: str, without: Path, with_addon: Path, paths: list[str], suspects: set[str], tries: int
) -> set[str]:
    """Those of *suspects* that pass without the add-on and fail with it in each of *tries*."""
    for _ in range(tries):
        if suspects:
            suspects = suspects & failing_with(mode, without, with_addon, holding(paths, suspects))
    return suspects


def holding(paths: list[str], names: set[str]) -> list[str]:
    """Those of *paths* that hold the tests *names*."""
    return [path for path in paths if any(name.startswith(module(path)) for name in names)]


def failing_with(mode: str, without: Path, with_addon: Path, paths: list[str]) -> set[str]:
    before, after = run(mode, without, paths), run(mode, with_addon, paths)
    return {name for name in before if before[name] == "passed" != after.get(name)}


def files(tree: Path, parts: list[str]) -> list[str]:
    patterns = [f"tests/test_{part}{end}" for part in parts for end in (".py", "/__init__.py")]
    found = {path for pattern in patterns for path in tree.glob(pattern)}
    return sorted(path.relative_to(tree).as_posix() for path in found)


def module(path: str) -> str:
    """What the names of the tests in *path* begin with."""
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".") + "."


def run(mode: str, tree: Path, paths: list[str]) -> Outcomes:
    report = tree / "report.xml"
    report.unlink(missing_ok=True)
    options = ["-q", "-n2", f"--timeout={TEST_SECONDS}", f"--junitxml={report}", *OFFLINE]
    start = time.monotonic()
    output = run_for_a_while([PYTHON, "-m", "pytest", *MODES[mode], *options, *paths], tree)
    if not report.exists():
        raise SystemExit(f"{output[-5000:]}\nThis run of pytest did not end as it should.")
    outcomes = read(report)
    counts = Counter(outcomes.values())
    shown = ", ".join(f"{counts[kind]} {kind}" for kind in ("passed", "failed", "skipped"))
    print(f"{mode:8} {tree.parent.name:8} {shown} in {time.monotonic() - start:.0f} s", flush=True)
    return outcomes


def run_for_a_while(command: list[str], tree: Path) -> str:
    """What *command* prints; afterwards, and after RUN_SECONDS, it and its children are gone."""
    process = subprocess.Popen(
        command,
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        return process.communicate(timeout=RUN_SECONDS)[0]
    except subprocess.TimeoutExpired:
        return f"It was not done after {RUN_SECONDS} s."
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def read(report: Path) -> Outcomes:
    """A test that is reported more than once, as when it was run again, passed only if it always
    did.
    """
    outcomes: Outcomes = {}
    for case in ET.parse(report).iter("testcase"):
        name = f"{case.get('classname')}.{case.get('name')}"
        outcome = outcome_of(case)
        if outcomes.setdefault(name, outcome) == "passed":
            outcomes[name] = outcome
    return outcomes


def outcome_of(case: ET.Element) -> str:
    kinds = {child.tag for child in case}
    if kinds & {"failure", "error"}:
        return "failed"
    return "skipped" if "skipped" in kinds else "passed"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
