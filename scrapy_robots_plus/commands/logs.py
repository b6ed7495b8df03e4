"""The base of the commands that read an audit log, with their argument and exit statuses."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_robots_plus.audit.chain import State
from scrapy_robots_plus.audit.reading import LogReader
from scrapy_robots_plus.protocol.printable import counted

from .subcommand import Exit, Subcommand, UnreadableError, argument

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
    """A subcommand that reads a log once, and knows its state and what is wrong with it."""

    def read(self) -> Iterator[Entry]:
        """Yields the entries of the log.

        Raises OSError, and UnreadableError if a file is named twice or is not an audit log.
        """
        logs, names = list(map(Path, self.given.logs)), ", ".join(self.given.logs)
        if len({log.resolve() for log in logs}) < len(logs):
            raise UnreadableError(f"{names}: a file is named twice")
        self.reader = reader = LogReader(logs)
        yield from reader
        if reader.lines and not reader.is_readable:
            first = f": {reader.damages[0]}" if reader.damages else ""
            raise UnreadableError(f"{names} is not a readable audit log{first}")

    def state_in_words(self) -> str:
        """Returns the state of the log, and how much of it was read, in words."""
        reader, files = self.reader, len(self.given.logs)
        in_files = f" in {counted(files, 'file')}" if files > 1 else ""
        return f"{reader.state.name.lower()}: {counted(reader.lines, 'line')}{in_files}"
