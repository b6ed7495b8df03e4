"""What the commands read and print; and what ends one of them with status 2 and a message."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

from scrapy_robots_plus.crawl.log import Once
from scrapy_robots_plus.protocol.printable import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from scrapy_robots_plus.protocol.product_token import AgentNames


Facts = Sequence[tuple[str, str]]
"""What an account tells, in order: titles, each with what is known, in words."""

FORMAT = 1
"""The version of what ``--json`` prints. Goes up if a key goes or gets another meaning."""


class WrongUsageError(ValueError):
    """The arguments are wrong in a way that argparse cannot see; the text says what is expected."""


class UnreadableError(OSError):
    """What the command needs is not there, or cannot be used; the text names it and says why."""


_standard_input = Once()


def opened(name: str) -> BinaryIO:
    """The file *name*; standard input for ``-``, once. Raises OSError."""
    if name == "-" and not _standard_input.is_first():
        raise WrongUsageError("standard input (-) can be read only once")
    # A reader of its own: Python aborts if it ends while a thread reads from ``sys.stdin``.
    return open(sys.stdin.fileno() if name == "-" else name, "rb", closefd=name != "-")


def say(text: object) -> None:
    """Prints a line. Control characters, which a site may have sent, are escaped, and so is what
    the encoding lacks.

    Raises BrokenPipeError if nobody reads any more, and OSError if it cannot be written.
    """
    encoding = sys.stdout.encoding or "utf-8"
    line = f"{printable(text)}\n".encode(encoding, "backslashreplace")
    sys.stdout.write(line.decode(encoding))


def say_as_json(fields: Mapping[str, Any]) -> None:
    """Prints a JSON object as one line, in ASCII, with the version of the format.

    docs/json.md has all keys: one meaning for each, whatever the command.
    """
    sys.stdout.write(json.dumps({"v": FORMAT, **fields}) + "\n")


def titled(facts: Facts) -> Iterator[str]:
    """A line for each fact."""
    return (f"{title:12} {words}" for title, words in facts)


def complain(text: object) -> None:
    """Prints a line on standard error."""
    sys.stderr.write(f"{printable(text)}\n")


def picked(of: object, *names: str) -> dict[str, Any]:
    """Attributes of an object, by their names: what of it is printed with ``--json``."""
    return {name: getattr(of, name) for name in names}


def named(agent: AgentNames) -> str:
    """All names of a crawler."""
    return agent if isinstance(agent, str) else ", ".join(agent)
