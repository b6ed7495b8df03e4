"""Input and output of the commands, and the errors that end one with status 2 and a message."""

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
"""What is known of something, in order: pairs of a title and words."""

FORMAT = 1
"""The version of what ``--json`` prints, which grows if a key is removed or changes its meaning."""


class WrongUsageError(ValueError):
    """Raised for wrong arguments that argparse cannot detect; the text says what is expected."""


class UnreadableError(OSError):
    """Raised if what a command needs is missing or unusable; the text names it and says why."""


_standard_input = Once()


def opened(name: str) -> BinaryIO:
    """Opens the file *name*, or standard input for ``-``.

    Raises OSError, and WrongUsageError if standard input was opened before.
    """
    if name == "-" and not _standard_input.is_first():
        raise WrongUsageError("standard input (-) can be read only once")
    # Not ``sys.stdin`` itself: Python aborts if it exits while a thread reads from that.
    return open(sys.stdin.fileno() if name == "-" else name, "rb", closefd=name != "-")


def say(text: object) -> None:
    """Prints a line, escaping control characters and what the encoding lacks.

    A site may have sent such characters. Raises BrokenPipeError if nobody reads the output any
    more, and OSError if it cannot be written.
    """
    encoding = sys.stdout.encoding or "utf-8"
    line = f"{printable(text)}\n".encode(encoding, "backslashreplace")
    sys.stdout.write(line.decode(encoding))


def say_as_json(fields: Mapping[str, Any]) -> None:
    """Prints a JSON object as one line, in ASCII, with the version of the format.

    docs/json.md lists all keys. Each has one meaning, whatever the command.
    """
    sys.stdout.write(json.dumps({"v": FORMAT, **fields}) + "\n")


def titled(facts: Facts) -> Iterator[str]:
    """Returns a line for each of *facts*."""
    return (f"{title:12} {words}" for title, words in facts)


def complain(text: object) -> None:
    """Prints a line on standard error."""
    sys.stderr.write(f"{printable(text)}\n")


def picked(of: object, *names: str) -> dict[str, Any]:
    """Returns the attributes *names* of an object, by name, to be printed with ``--json``."""
    return {name: getattr(of, name) for name in names}


def named(agent: AgentNames) -> str:
    """Returns the name of *agent*, or all its names, separated by commas."""
    return agent if isinstance(agent, str) else ", ".join(agent)
