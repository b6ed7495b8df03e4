"""The URLs that a command is asked about: arguments, or any number of lines of a file."""

from __future__ import annotations

from queue import Empty, Queue
from threading import Thread
from typing import TYPE_CHECKING, BinaryIO

from scrapy_robots_plus import compat

from .errors import WrongUsageError, reading
from .subcommand import standard_input

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import AsyncIterator, Iterator

_AHEAD = 1_000
"""Lines that are read ahead."""

_POLL = 0.01
"""Seconds between two looks for another line, while a slow producer writes standard input."""

_LONGEST = 65_536
"""Bytes of a line that are read; no server takes a longer URL."""

_SHOWN = 100
"""Characters that stand for a line that is too long."""


def add_urls(parser: ArgumentParser) -> None:
    """``URL...`` and ``--input``."""
    parser.add_argument("urls", nargs="*", metavar="URL", help="an absolute http or https URL")
    parser.add_argument(
        "--input", metavar="FILE", help="read URLs from FILE, one per line; - for standard input"
    )


class Urls:
    """The URLs of one command. Blank lines and lines that begin with ``#`` are left out.

    Raises WrongUsageError if there are both arguments and a file, or neither.
    """

    def __init__(self, arguments: Namespace) -> None:
        self._given: list[str] = arguments.urls
        self._input: str | None = arguments.input
        if bool(self._given) == (self._input is not None):
            raise WrongUsageError("expected URLs or --input FILE")

    def __iter__(self) -> Iterator[str]:
        """All of them, for commands that wait for nothing else. Raises UnreadableError."""
        if self._input is None:
            yield from self._given
            return
        with reading(self._input):
            yield from self._lines(self._input)

    def _lines(self, name: str) -> Iterator[str]:
        stream = standard_input() if name == "-" else open(name, "rb")  # noqa: SIM115 - see below
        number = 0
        with stream:
            while line := stream.readline(_LONGEST):
                number += 1
                text = line.decode("utf-8", "backslashreplace").removeprefix("\ufeff").strip()
                if len(line) == _LONGEST and not line.endswith(b"\n"):
                    _skip_line(stream)
                    text = f"line {number} has more than {_LONGEST:,} bytes: {text[:_SHOWN]}..."
                if not text or text.startswith("#"):
                    continue
                # What is not a URL is for the command to tell, like any other line that is none.
                yield text if _is_utf8(line) else f"line {number} is not in UTF-8: {text}"

    async def arriving(self) -> AsyncIterator[str]:
        """All of them, while the loop goes on beside a slow producer. Raises UnreadableError."""
        if self._input is None:
            for url in self._given:
                yield url
            return
        lines: Queue[str | Exception | None] = Queue(_AHEAD)
        Thread(target=self._read_into, args=(lines,), daemon=True).start()
        while True:
            try:
                line = lines.get_nowait()
            except Empty:
                await compat.sleep(_POLL)
                continue
            if line is None:
                return
            if isinstance(line, Exception):
                raise line
            yield line

    def _read_into(self, lines: Queue[str | Exception | None]) -> None:
        try:
            for line in self:
                lines.put(line)
            lines.put(None)
        except Exception as error:  # noqa: BLE001 - raised where the lines are used
            lines.put(error)


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _skip_line(stream: BinaryIO) -> None:
    while (rest := stream.readline(_LONGEST)) and not rest.endswith(b"\n"):
        pass
