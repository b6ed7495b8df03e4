"""The base of the ``scrapy robots`` subcommands, and the options that several of them have."""

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
    """Exit statuses of the subcommands."""

    OK = WHOLE = 0
    """Everything is allowed, nothing was found, nothing differs, or an audit log is whole."""
    FOUND = 1
    """Something is denied, was found, or differs."""
    UNDECIDED = 2
    """Something could not be read or decided, or the command was used wrongly."""
    UNFINISHED = 3
    """A crawl in an audit log has no end."""
    CUT = 4
    """An audit log lacks lines."""
    DAMAGED = 5
    """In an audit log, something was changed, moved, repeated or inserted."""
    INTERRUPTED = 130
    """The user pressed Ctrl-C."""
    CLOSED_PIPE = 141
    """The reader of the output has closed it."""


def argument(*flags: str, **options: Any) -> ArgumentParser:
    """Declares an argument, with what :meth:`argparse.ArgumentParser.add_argument` takes."""
    declared = ArgumentParser(add_help=False)
    declared.add_argument(*flags, **options)
    return declared


class Subcommand(ABC):
    """A subcommand, created for one run.

    Its name is that of the class in lower case. ``scrapy robots NAME -h`` shows its docstring, and
    the list of all subcommands shows the first sentence.
    """

    arguments: ClassVar[Sequence[ArgumentParser]]
    """The parsers of its arguments: the ``parents`` of its own parser (:mod:`argparse`)."""

    def __init__(self, given: Namespace, project: Project) -> None:
        """Takes *given*, the arguments that the user has given."""
        self.given = given
        self.project = project
        self.as_json = bool(getattr(given, "json", False))
        """Whether ``--json`` was given."""
        self.status = Exit.OK
        """The exit status: the worst one noted so far."""

    def show(self, objects: Iterable[Mapping[str, Any]], lines: Iterable[object]) -> None:
        """Prints *objects* with ``--json``, else *lines*."""
        if self.as_json:
            for fields in objects:
                say_as_json(fields)
        else:
            for line in lines:
                say(line)

    def note(self, status: Exit) -> None:
        """Makes *status* the exit status, unless a greater one was noted before."""
        self.status = max(self.status, status)

    @abstractmethod
    def run(self) -> None:
        """Does the work, and notes what determines the exit status.

        May raise WrongUsageError, OSError, StoreError, JobFileError, RobotsSettingsError and
        sqlite3.Error, which end the command with status 2.
        """


Members = Sequence[type[Subcommand] | ModuleType]
"""Subcommands, and modules that group several in ``MEMBERS``: ``scrapy robots NAME SUBCOMMAND``.
``scrapy robots NAME -h`` shows the docstring of such a module."""


def read_by(read: Callable[[str], _T]) -> Callable[[str], _T]:
    """Returns the ``type`` of an argument that *read* parses; the user sees its ValueError."""

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
"""``--agent``, which :meth:`Project.agent_for` returns if it is given."""
DIALECT = argument(
    "--dialect",
    type=dialect,
    metavar="NAME",
    help="read files in this dialect (default: ROBOTS_DIALECT)",
)
"""``--dialect``, which overrides ``ROBOTS_DIALECT``."""
FILE = argument(
    "--file", metavar="ROBOTS.TXT", help="judge by the rules in this file; nothing is fetched"
)
"""``--file``, to be read by :meth:`Project.file`."""
JSON = argument("--json", action="store_true", help="print one JSON object per line")
