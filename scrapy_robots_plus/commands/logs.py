"""What the commands that read an audit log share: reading it once, and in which state it is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_robots_plus.audit.chain import State
from scrapy_robots_plus.audit.reading import LogReader
from scrapy_robots_plus.protocol.printable import counted

from .output import UnreadableError
from .subcommand import Exit, Subcommand, argument

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_robots_plus.audit.entries import Entry


EXITS = {state: Exit[state.name] for state in State}
"""The exit status for each state of a log, in all commands that read one."""

LOGS = argument(
    "logs",
    nargs="+",
    metavar="AUDIT_LOG",
    help="the file of ROBOTS_AUDIT_LOG, or all files that it was rotated into, in any order",
)


class LogCommand(Subcommand):
    """Reads a log once, collects what is wrong with it, and says in which state it is."""

    def read(self) -> Iterator[Entry]:
        """What the log says. Raises OSError, UnreadableError also if a file is named twice."""
        logs, names = list(map(Path, self.given.logs)), ", ".join(self.given.logs)
        if len({log.resolve() for log in logs}) < len(logs):
            raise UnreadableError(f"{names}: a file is named twice")
        self.reader = reader = LogReader(logs)
        yield from reader
        if reader.lines and not reader.is_readable:
            first = f": {reader.damages[0]}" if reader.damages else ""
            raise UnreadableError(f"{names} is not an audit log that can be read{first}")

    def state_in_words(self) -> str:
        """With how much was read."""
        reader, files = self.reader, len(self.given.logs)
        in_files = f" in {counted(files, 'file')}" if files > 1 else ""
        return f"{reader.state.name.lower()}: {counted(reader.lines, 'line')}{in_files}"
