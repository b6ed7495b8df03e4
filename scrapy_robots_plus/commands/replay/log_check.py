"""Checks whether an audit log is whole."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_robots_plus.audit.reading import LogReader
from scrapy_robots_plus.commands.output import Style
from scrapy_robots_plus.commands.subcommand import Exit
from scrapy_robots_plus.protocol.counting import counted

if TYPE_CHECKING:
    from argparse import Namespace

    from scrapy_robots_plus.audit.chain import Damage
    from scrapy_robots_plus.commands.output import Output

SHOWN = 20
"""How many damages or differences are shown."""

TURN = 1_000
"""Lines after which the progress is shown."""


class Damages:
    """Prints what is wrong with a log, up to a number, and counts the rest."""

    def __init__(self, output: Output, *, as_json: bool) -> None:
        self._output = output
        self._as_json = as_json
        self.count = 0

    def add(self, damage: Damage) -> None:
        self.count += 1
        if self._as_json:
            self._output.json({"line": damage.line, "damage": damage.what})
        elif self.count <= SHOWN:
            self._output.line((f"line {damage.line}", Style.BAD), f": {damage.what}")

    def end(self) -> None:
        if self.count > SHOWN and not self._as_json:
            self._output.line(f"and {self.count - SHOWN:,} more")


class Verification:
    """Checks the chain, and says what the last line is, for whoever keeps that elsewhere."""

    def __init__(self, arguments: Namespace, output: Output) -> None:
        self._output = output
        self._as_json = arguments.json
        self._damages = Damages(output, as_json=arguments.json)
        self._reader = LogReader(Path(arguments.log), self._damages.add, verify=True)

    def run(self) -> int:
        """Returns the exit status. Raises OSError if the log cannot be read."""
        for read in self._reader:
            if read.line % TURN == 0:
                self._output.progress(f"{read.line:,} lines")
        self._damages.end()
        self._output.end_progress()
        damages, last = self._damages.count, self._reader.last
        if self._as_json:
            self._output.json(
                {
                    "lines": self._reader.lines,
                    "damages": damages,
                    "last": last.number,
                    "hash": last.hash,
                }
            )
        else:
            word = ("damaged", Style.BAD) if damages else ("whole", Style.GOOD)
            self._output.line(word, f": {counted(self._reader.lines, 'line')}")
            self._output.line(f"the last is number {last.number}, its hash is {last.hash}")
        return Exit.FOUND if damages else Exit.OK
