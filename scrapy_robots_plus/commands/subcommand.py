"""The base of the ``scrapy robots`` subcommands: what they print, and how they end."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, Any, ClassVar

from scrapy_robots_plus.protocol.printable import printable

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from scrapy_robots_plus.protocol.product_token import AgentNames
    from scrapy_robots_plus.storage.record import RobotsRecord

    from .project import Project

Facts = Sequence[tuple[str, str]]
"""What is known of something, in order: pairs of a title and words."""

FORMAT = 1
"""The version of what ``--json`` prints, which grows if a key is removed or changes its meaning."""


def say(text: object) -> None:
    """Prints a line, escaping control characters and what the encoding lacks.

    A site may have sent such characters. Raises BrokenPipeError if nobody reads the output any
    more, and OSError if it cannot be written.
    """
    encoding = sys.stdout.encoding or "utf-8"
    line = f"{printable(text)}\n".encode(encoding, "backslashreplace")
    sys.stdout.write(line.decode(encoding))


def titled(facts: Facts) -> Iterator[str]:
    """Returns a line for each of *facts*."""
    return (f"{title:12} {words}" for title, words in facts)


def complain(text: object) -> None:
    """Prints a line on standard error."""
    sys.stderr.write(f"{printable(text)}\n")


def shown(text: object) -> str:
    """Returns *text* of a site, such as a rule, as it is printed: cut after 200 characters."""
    return printable(text, 200)


def named(agent: AgentNames) -> str:
    """Returns the name of *agent*, or all its names, separated by commas."""
    return agent if isinstance(agent, str) else ", ".join(agent)


class Exit(IntEnum):
    """Exit statuses of the subcommands, beside those of :class:`~.audit.chain.LogState`."""

    OK = 0
    """Everything is allowed, nothing was found, or nothing differs."""
    FOUND = 1
    """Something is denied, was found, or differs."""
    UNDECIDED = 2
    """Something could not be read or decided, or the command was used wrongly."""
    INTERRUPTED = 130
    """The user pressed Ctrl-C."""
    CLOSED_PIPE = 141
    """The reader of the output has closed it."""


class Subcommand:
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
        self.status: int = Exit.OK
        """The exit status: the worst one noted so far."""

    def show(self, objects: Iterable[Mapping[str, Any]], lines: Iterable[object]) -> None:
        """Prints *objects* with ``--json``, one a line, in ASCII; else *lines*.

        Each object begins with the version of the format. docs/json.md lists all keys. Each has one
        meaning, whatever the command.
        """
        if self.as_json:
            for fields in objects:
                sys.stdout.write(json.dumps({"v": FORMAT, **fields}) + "\n")
        else:
            for line in lines:
                say(line)

    def note(self, status: int) -> None:
        """Makes *status* the exit status, unless a greater one was noted before."""
        self.status = max(self.status, status)

    def tell_if_cut(self, record: RobotsRecord) -> None:
        """Says so if only the beginning of a robots.txt is read."""
        if record.is_cut:
            most = f"{self.project.robots.fetch_max_bytes:,} bytes (ROBOTS_FETCH_MAX_BYTES)"
            complain(f"{record.url} is longer than {most}; the rest is ignored")

    def run(self) -> None:
        """Does the work, and notes what determines the exit status.

        May raise WrongUsageError, OSError, StoreError, JobFileError, RobotsSettingsError and
        sqlite3.Error, which end the command with status 2.
        """
        raise NotImplementedError
