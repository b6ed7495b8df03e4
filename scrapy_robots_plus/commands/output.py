"""What the commands print: colours on a terminal alone, text from sites made safe to show; and what
ends one of them with status 2 and a message.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import contextmanager
from enum import Enum
from typing import TYPE_CHECKING, Any, TextIO

from scrapy_robots_plus.protocol.printable import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from scrapy_robots_plus.protocol.product_token import AgentNames


FORMAT = 1
"""The version of what ``--json`` prints. Goes up if a key goes or gets another meaning."""


class WrongUsageError(ValueError):
    """The arguments are wrong in a way that argparse cannot see; the text says what is expected."""


class UnreadableError(OSError):
    """A file that the command needs cannot be read or written; the text names it and says why."""


@contextmanager
def accessing(name: object, how: str = "read") -> Iterator[None]:
    """Raises UnreadableError for an OSError while the file *name* is read, or ``written``.

    Not for a pipe that nobody reads any more: that is the output of the command.
    """
    try:
        yield
    except (UnreadableError, BrokenPipeError):
        raise
    except OSError as error:
        raise UnreadableError(f"{name} cannot be {how}: {error.strerror}") from error


def picked(of: object, *names: str) -> dict[str, Any]:
    """Attributes of an object, by their names: what of it is printed with ``--json``."""
    return {name: getattr(of, name) for name in names}


class Style(Enum):
    """How a text looks on a terminal; the values are parameters of the SGR sequence (ECMA-48)."""

    PLAIN = ""
    BOLD = "1"
    FAINT = "2"
    GOOD = "32"
    BAD = "31"
    UNSURE = "33"
    NAME = "36"


Line = tuple[object, ...]
"""The parts of a line: tuples of a text and its style, or texts, which are made safe."""


def fact(name: str, value: object, width: int = 0) -> Line:
    """A line with what is known, and its name before it."""
    return (f"{name:{width}} ", Style.FAINT), value


def named(agent: AgentNames) -> str:
    """All names of a crawler."""
    return agent if isinstance(agent, str) else ", ".join(agent)


class Output:
    """Standard output, with colours if it is a terminal and ``NO_COLOR`` (https://no-color.org) is
    unset or empty; and standard error.
    """

    def __init__(self, stream: TextIO | None = None, errors: TextIO | None = None) -> None:
        self._stream = stream or sys.stdout
        self._errors = errors or sys.stderr
        self.is_coloured = (
            self._stream.isatty()
            and not os.environ.get("NO_COLOR")
            and os.environ.get("TERM") != "dumb"
        )

    def styled(self, text: object, style: Style) -> str:
        """*text*, safe to show, in *style*."""
        shown = printable(text)
        if not self.is_coloured or style is Style.PLAIN or not shown:
            return shown
        return f"\x1b[{style.value}m{shown}\x1b[0m"

    def line(self, *parts: object) -> None:
        """A line of the parts of a :data:`Line`."""
        shown = "".join(
            self.styled(*part) if isinstance(part, tuple) else printable(part) for part in parts
        )
        self.write(f"{shown}\n")

    def write(self, text: str) -> None:
        """Writes *text* as it is. What the stream's encoding lacks is escaped.

        Raises BrokenPipeError if nobody reads any more, and OSError if it cannot be written.
        """
        encoding = self._stream.encoding or "utf-8"
        encodable = text.encode(encoding, "backslashreplace").decode(encoding)
        self._stream.write(encodable)

    def json(self, fields: Mapping[str, Any]) -> None:
        """A JSON object as one line, in ASCII, with the version of the format.

        docs/json.md has all keys: one meaning for each, whatever the command.
        """
        self._stream.write(json.dumps({"v": FORMAT, **fields}) + "\n")

    def flush(self) -> None:
        self._stream.flush()

    def error(self, text: object) -> None:
        """A line on standard error."""
        self._errors.write(f"{printable(text)}\n")
