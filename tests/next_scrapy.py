"""Crawls on a Scrapy that is not released: its newest state, or a pull request.

usage: python -m tests.next_scrapy CHECKOUT[@REF] [ARGUMENT OF PYTEST]...

*CHECKOUT* is a copy of Scrapy's repository; *REF*, a name that git knows there, is taken in place
of what is checked out (``~/scrapy@refs/pull/6931/head``). It is installed, with this package, into
``.venv-next``. Without more arguments, the tests of delays, queues, jobs and closing are run.

A deprecation warning counts as an error if this package is the reason for it; settings that the
tests have, and that the newer version replaces, do not.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent
VENV = ".venv-next"
TESTS = [
    "tests/hosts",
    *(
        f"tests/crawl/test_{name}.py"
        for name in (
            *("backing_off", "closing", "converted_jobs", "crawl_delay", "defer", "fast_stop"),
            *("gate", "jobs", "meta_keys", "own_errors", "queue", "retry_after", "scopes"),
            "under_way",
        )
    ),
]
WARNINGS = (
    "error",
    "ignore::scrapy.exceptions.ScrapyDeprecationWarning",
    r"error::scrapy.exceptions.ScrapyDeprecationWarning:scrapy_robots_plus\..*",
    "ignore:The DOWNLOAD_SLOTS setting:scrapy.exceptions.ScrapyDeprecationWarning",
)


def main(arguments: list[str]) -> int:
    if not arguments:
        print(__doc__, file=sys.stderr)
        return 2
    checkout, _, ref = arguments[0].partition("@")
    with TemporaryDirectory(prefix="next-scrapy-") as folder:
        install(unpack(Path(checkout), ref, Path(folder)) if ref else Path(checkout).resolve())
    options = ["-p", "no:cacheprovider", "-o", "filterwarnings=" + "\n".join(WARNINGS)]
    python = str(ROOT / VENV / "bin" / "python")
    print(subprocess.check_output([python, "-m", "scrapy", "version"], text=True), end="")
    modes = ["asyncio"] if len(arguments) > 1 else ["asyncio", "default"]
    failed = 0
    for mode in modes:
        tests = arguments[1:] or (TESTS if mode == "asyncio" else TESTS[:9])
        done = subprocess.run(
            [python, "-m", "pytest", f"--reactor={mode}", "-q", *options, *tests],
            cwd=ROOT,
            check=False,
        )
        failed = failed or done.returncode
    return failed


def unpack(repository: Path, ref: str, folder: Path) -> Path:
    """The files of *ref*, without a copy of the repository."""
    archive = folder / "scrapy.tar"
    subprocess.run(
        ["git", "-C", repository, "archive", f"--output={archive}", ref, "."], check=True
    )
    tree = folder / "scrapy"
    with tarfile.open(archive) as packed:
        packed.extractall(tree, filter="data")
    return tree


def install(tree: Path) -> None:
    """Scrapy last: it replaces the one that the package asks for."""
    environment = {**os.environ, "PYTHON": sys.executable}
    for what in (("--editable", ".[dev]"), ("--force-reinstall", "--no-deps", str(tree))):
        subprocess.run([ROOT / ".ci" / "venv", VENV, *what], cwd=ROOT, env=environment, check=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
