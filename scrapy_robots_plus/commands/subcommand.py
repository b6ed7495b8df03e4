"""What each subcommand of ``scrapy robots`` is, and the options that several of them have."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from argparse import ArgumentTypeError
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from .errors import UnreadableError, reading

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from typing import BinaryIO

    from .output import Output
    from .project import Project


class Exit(IntEnum):
    """Exit statuses."""

    OK = 0
    """Everything is allowed, nothing was found, nothing differs."""
    FOUND = 1
    """Something is denied, was found, or differs."""
    UNDECIDED = 2
    """Something could not be read or decided, or the command was used wrongly."""
    UNFINISHED = 3
    """Of an audit log: a crawl has no end."""
    PART = 4
    """Of an audit log: it continues lines that were not given."""
    CUT = 5
    """Of an audit log: lines are missing."""
    DAMAGED = 6
    """Of an audit log: something was changed, moved, repeated or inserted."""
    INTERRUPTED = 130
    """Ctrl-C."""
    CLOSED_PIPE = 141
    """Nobody reads the output any more."""


class Subcommand(ABC):
    """One subcommand; ``scrapy robots NAME -h`` shows its *help* and *details*."""

    name: ClassVar[str]
    syntax: ClassVar[str]
    """Its arguments, such as ``URL... [options]``."""
    help: ClassVar[str]
    """One line, without a full stop."""
    details: ClassVar[str] = ""
    """A paragraph that follows it."""

    @abstractmethod
    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declares its own arguments; the options of all Scrapy commands are there already."""

    @abstractmethod
    def run(self, arguments: Namespace, project: Project, output: Output) -> int:
        """Does it; returns the exit status (:class:`Exit`).

        May raise one of ``errors.py``, which ends the command with status 2.
        """


class Group(NamedTuple):
    """Several subcommands under one name: ``scrapy robots NAME SUBCOMMAND``."""

    name: str
    help: str
    """One line, without a full stop."""
    details: str
    """A paragraph that follows it."""
    subcommands: tuple[Subcommand, ...]
    """All of them, in the order of the help."""


def agent_name(text: str) -> str:
    """The type of ``--agent``. Nothing is not a crawler, and not that of the project either."""
    if not text.strip():
        raise ArgumentTypeError("expected a name")
    return text


def add_agent(parser: ArgumentParser) -> None:
    """``--agent``, for :attr:`Project.agent`."""
    parser.add_argument(
        "--agent",
        type=agent_name,
        metavar="NAME",
        help="ask as this crawler: a product token or a User-Agent header "
        "(default: ROBOTSTXT_USER_AGENT, else USER_AGENT)",
    )


def add_dialect(parser: ArgumentParser) -> None:
    """``--dialect``, which replaces the setting."""
    parser.add_argument(
        "--dialect", metavar="NAME", help="read files in this dialect (default: ROBOTS_DIALECT)"
    )


def add_json(parser: ArgumentParser) -> None:
    """``--json``."""
    parser.add_argument("--json", action="store_true", help="print one JSON object per line")


def add_file(parser: ArgumentParser) -> None:
    """``--file``, for :func:`read_file`."""
    parser.add_argument(
        "--file", metavar="ROBOTS.TXT", help="judge by the rules in this file; nothing is fetched"
    )


def read_file(name: str) -> bytes:
    """The octets of the file *name*; of standard input for ``-``. Raises UnreadableError."""
    with reading(name):
        return standard_input().read() if name == "-" else Path(name).read_bytes()


def standard_input() -> BinaryIO:
    """Standard input, as octets. Raises UnreadableError if the user has closed it (``<&-``).

    A reader of its own: Python aborts if it ends while a thread reads from ``sys.stdin``.
    """
    if sys.stdin is None:
        raise UnreadableError("standard input is closed")
    return open(sys.stdin.fileno(), "rb", closefd=False)
