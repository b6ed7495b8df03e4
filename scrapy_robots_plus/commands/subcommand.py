"""What a subcommand of ``scrapy robots`` is, and the options that several of them have."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, NamedTuple

from .output import Output, UnreadableError, reading

if TYPE_CHECKING:
    from collections.abc import Mapping

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


class Argument(NamedTuple):
    """An argument of a subcommand, as :meth:`argparse.ArgumentParser.add_argument` takes it."""

    flags: tuple[str, ...]
    options: Mapping[str, Any]


def argument(*flags: str, **options: Any) -> Argument:
    """Declares an argument of a subcommand."""
    return Argument(flags, options)


class Subcommand(ABC):
    """One subcommand, made for one use; ``scrapy robots NAME -h`` shows its *help* and *details*.

    Its name is that of the class, in lower case.
    """

    help: ClassVar[str]
    """One line, without a full stop."""
    details: ClassVar[str] = ""
    """A paragraph that follows it."""
    arguments: ClassVar[tuple[Argument | tuple[Argument, ...], ...]]
    """Its own ones; of those in one tuple, at most one may be given."""

    def __init__(self, given: Namespace, project: Project, output: Output) -> None:
        """*given*: the arguments that the user has given."""
        self.given = given
        self.project = project
        self.output = output

    @property
    def as_json(self) -> bool:
        """``--json``."""
        return bool(getattr(self.given, "json", False))

    @classmethod
    def add_arguments(cls, parser: ArgumentParser) -> None:
        """Adds its own arguments; the options of all Scrapy commands are there already."""
        for each in cls.arguments:
            if isinstance(each, Argument):
                parser.add_argument(*each.flags, **each.options)
                continue
            group = parser.add_mutually_exclusive_group()
            for one in each:
                group.add_argument(*one.flags, **one.options)

    @abstractmethod
    def run(self) -> int:
        """Does it; returns the exit status (:class:`Exit`).

        May raise WrongUsageError, UnreadableError, StoreError or RobotsSettingsError, which end the
        command with status 2.
        """


class Group(NamedTuple):
    """Several subcommands under one name: ``scrapy robots NAME SUBCOMMAND``."""

    name: str
    help: str
    """One line, without a full stop."""
    details: str
    """A paragraph that follows it."""
    members: Members
    """All of them, in the order of the help."""


Members = tuple[type[Subcommand] | Group, ...]


def agent_name(text: str) -> str:
    """The type of ``--agent``. Nothing is not a crawler, and not that of the project either."""
    if not text.strip():
        raise ArgumentTypeError("expected a name")
    return text


AGENT = argument(
    "--agent",
    type=agent_name,
    metavar="NAME",
    help="ask as this crawler: a product token or a User-Agent header "
    "(default: ROBOTSTXT_USER_AGENT, else USER_AGENT)",
)
"""For :attr:`Project.agent`."""
DIALECT = argument(
    "--dialect", metavar="NAME", help="read files in this dialect (default: ROBOTS_DIALECT)"
)
"""Replaces the setting."""
FILE = argument(
    "--file", metavar="ROBOTS.TXT", help="judge by the rules in this file; nothing is fetched"
)
"""For :func:`read_file`."""
JSON = argument("--json", action="store_true", help="print one JSON object per line")


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
