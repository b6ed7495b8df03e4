"""What a subcommand of ``scrapy robots`` is, and the options that several of them have."""

from __future__ import annotations

from abc import ABC, abstractmethod
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence
from enum import IntEnum
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from scrapy_robots_plus.protocol.dialect import dialect_named
from scrapy_robots_plus.protocol.printable import printable
from scrapy_robots_plus.settings import checks

from .output import say, say_as_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from .project import Project

_T = TypeVar("_T")


class Exit(IntEnum):
    """Exit statuses."""

    OK = WHOLE = 0
    """Everything is allowed, nothing was found, nothing differs; an audit log is whole."""
    FOUND = 1
    """Something is denied, was found, or differs."""
    UNDECIDED = 2
    """Something could not be read or decided, or the command was used wrongly."""
    UNFINISHED = 3
    """Of an audit log: a crawl has no end."""
    CUT = 4
    """Of an audit log: lines are missing."""
    DAMAGED = 5
    """Of an audit log: something was changed, moved, repeated or inserted."""
    INTERRUPTED = 130
    """Ctrl-C."""
    CLOSED_PIPE = 141
    """Nobody reads the output any more."""


def argument(*flags: str, **options: Any) -> ArgumentParser:
    """Declares an argument, as :meth:`argparse.ArgumentParser.add_argument` takes it."""
    declared = ArgumentParser(add_help=False)
    declared.add_argument(*flags, **options)
    return declared


class Subcommand(ABC):
    """One subcommand, made for one use.

    Its name is that of the class, in lower case; ``scrapy robots NAME -h`` shows its docstring, and
    the list of all the first sentence of that.
    """

    arguments: ClassVar[Sequence[ArgumentParser]]
    """Parsers of its arguments, the ``parents`` of its own (:mod:`argparse`)."""

    def __init__(self, given: Namespace, project: Project) -> None:
        """*given*: the arguments that the user has given."""
        self.given = given
        self.project = project
        self.as_json = bool(getattr(given, "json", False))
        """``--json``."""
        self.status = Exit.OK
        """The exit status: the worst that was found so far."""

    def show(self, objects: Iterable[Mapping[str, Any]], lines: Iterable[object]) -> None:
        """Prints the *objects* with ``--json``, else the *lines*."""
        if self.as_json:
            for fields in objects:
                say_as_json(fields)
        else:
            for line in lines:
                say(line)

    def note(self, status: Exit) -> None:
        """Something was found that makes this the exit status, unless there is a greater one."""
        self.status = max(self.status, status)

    @abstractmethod
    def run(self) -> None:
        """Does it, and notes what makes the exit status.

        May raise WrongUsageError, OSError, StoreError, JobFileError, RobotsSettingsError and
        sqlite3.Error, which end the command with status 2.
        """


Members = Sequence[type[Subcommand] | ModuleType]
"""Subcommands, and modules with several of them in ``MEMBERS``: ``scrapy robots NAME SUBCOMMAND``.
The docstring of such a module is what its ``-h`` shows."""


def read_by(read: Callable[[str], _T]) -> Callable[[str], _T]:
    """The ``type`` of an argument that *read* reads: its ValueError is what the user is told."""

    def read_argument(text: str) -> _T:
        try:
            return read(text)
        except ValueError as error:
            given = "" if repr(text) in str(error) else f"{text!r}: "
            raise ArgumentTypeError(printable(f"{given}{error}")) from None

    return read_argument


name = read_by(checks.text.read)
dialect = read_by(dialect_named)

AGENT = argument(
    "--agent",
    type=name,
    metavar="NAME",
    help="ask as this crawler: a product token or a User-Agent header "
    "(default: ROBOTSTXT_USER_AGENT, else USER_AGENT)",
)
"""For :meth:`Project.agent_for`."""
DIALECT = argument(
    "--dialect",
    type=dialect,
    metavar="NAME",
    help="read files in this dialect (default: ROBOTS_DIALECT)",
)
"""Replaces the setting."""
FILE = argument(
    "--file", metavar="ROBOTS.TXT", help="judge by the rules in this file; nothing is fetched"
)
"""For :meth:`Project.file`."""
JSON = argument("--json", action="store_true", help="print one JSON object per line")
