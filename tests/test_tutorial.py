"""The tutorial, step by step, in an empty folder: what it shows is what happens."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from .programs import scrapy_in
from .samples import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = (ROOT / "docs" / "tutorial.md").read_text()
COOKBOOK = (ROOT / "docs" / "cookbook.md").read_text()
BLOCK = re.compile(
    r"^(?P<before>[^\n]+)\n\n```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
BEFORE_THE_LEVEL = re.compile(r"^[\d-]+ [\d:]+ \[[\w.]+\] ", re.MULTILINE)
"""What Scrapy's log says in each line before that."""
SET_UP = ("python -m venv .venv", ". .venv/bin/activate", "pip install scrapy-robots-plus")
SERVER = "python -m http.server"
DENIED = 1
"""The status of a command that shows a denial."""


@contextmanager
def served(command: str, folder: Path) -> Iterator[str]:
    """The port of the server of the tutorial, a free one."""
    program = shlex.split(command.replace(" 8000 ", " 0 "))[1:]
    with subprocess.Popen(
        [sys.executable, "-u", *program],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        try:
            assert server.stdout is not None
            (port,) = re.findall(r"port (\d+)", server.stdout.readline())
            yield port
        finally:
            server.kill()


def printed_by(command: str, folder: Path) -> str:
    program, *arguments = shlex.split(command)
    assert program == "scrapy"
    status, output = scrapy_in(folder, *arguments)
    assert status == 0 or (status == DENIED and "denied" in output), output
    return BEFORE_THE_LEVEL.sub("", output)


def squeezed(text: str) -> list[str]:
    """The lines, however wide the columns of their tables are."""
    return [re.sub(r"  +", "  ", line) for line in text.strip().splitlines()]


def test_each_step_does_what_is_shown(tmp_path: Path) -> None:
    (command,) = re.findall(rf"^\$ ({SERVER}.*)$", PAGE, re.MULTILINE)
    (tmp_path / "site" / "private").mkdir(parents=True)
    with served(command, tmp_path) as port:
        follow(PAGE.replace(":8000", f":{port}"), tmp_path)


def follow(page: str, folder: Path) -> None:
    commands = 0
    for block in BLOCK.finditer(page):
        if block["kind"] == "console":
            for part in re.split(r"^\$ ", block["text"], flags=re.MULTILINE)[1:]:
                command, _, shown = part.partition("\n")
                if command in SET_UP or command.startswith(SERVER):
                    continue
                if command.startswith("cd "):
                    folder /= command[3:]
                    continue
                commands += 1
                printed = squeezed(printed_by(command, folder))
                assert set(squeezed(shown)) - {"..."} <= set(printed), command
        else:
            write(folder, block["before"], block["text"])
    assert commands == 10
    every_night(folder)
    assert (folder / "report.html").stat().st_size > 0


def every_night(folder: Path) -> None:
    """Runs the crontab of the cookbook: each night crawls anew, whatever was seen before."""
    (summary,) = re.findall(r"^ROBOTS_SUMMARY_FILE = .*$", COOKBOOK, re.MULTILINE)
    with (folder / "polite" / "settings.py").open("a") as settings:
        settings.write(f"{summary}\n")
    (nightly,) = re.findall(r"^0 2 \* \* \*  cd \S+ && (.*)$", COOKBOOK, re.MULTILINE)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    for _ in range(3):
        subprocess.run(nightly, shell=True, cwd=folder, env=os.environ | {"PATH": path}, check=True)
    # The first night resumes the job of the tutorial, which has ended.
    crawled = re.findall(r"'item_scraped_count': (\d)", (folder / "crawl.log").read_text())
    assert crawled == ["1", "3", "3"]


def write(folder: Path, before: str, text: str) -> None:
    """Does what the sentence *before* a sample says of it."""
    name, *copies = re.findall(r"`(\S+/\S+)`", before)
    path = folder / name
    if path.name == "settings.py":
        text = path.read_text().replace("ADDONS = {}\n", "") + text
    path.write_text(text)
    for copy in copies:
        shutil.copy(path, folder / copy)
