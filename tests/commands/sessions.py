"""The samples of docs that show ``scrapy robots`` in a terminal, for the tests that run them.

A page with such samples has a test here that runs all of them: ``sessions("docs/PAGE.md")``.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, NamedTuple

import scrapy

from ..samples import blocks

if TYPE_CHECKING:
    from .running import Done, Robots


class Session(NamedTuple):
    """A command of a page, and what it prints there."""

    command: str
    output: str

    def run(self, robots: Robots, **replaced: str) -> tuple[str, Done]:
        """Runs it; what it prints, with the names of the page, and all else it leaves behind.

        *replaced*: the origin that stands for ``http://site.example`` and the like, by the name of
        the host.
        """
        command = self.command
        for host, origin in replaced.items():
            command = command.replace(f"http://{host}.example", origin)
        done = robots(*shlex.split(command)[2:])
        shown = done.output.replace(f"Scrapy/{scrapy.__version__}", "Scrapy/VERSION")
        for host, origin in replaced.items():
            shown = shown.replace(origin, f"http://{host}.example")
        return shown, done


def sessions(page: str) -> list[Session]:
    """The commands of the ``console`` samples of *page* that begin with ``scrapy robots``."""
    found = []
    for block in blocks("console", page):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            if command.startswith("scrapy robots "):
                found.append(Session(command, output))
    return found
