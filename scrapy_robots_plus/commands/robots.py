"""The ``scrapy robots`` command, which finds its subcommand and runs it."""

from __future__ import annotations

import argparse
import os
import sqlite3
import sys
import traceback
from collections.abc import Sequence
from types import ModuleType

from scrapy.commands import ScrapyCommand
from scrapy.settings import Settings

from scrapy_robots_plus.protocol.printable import printable
from scrapy_robots_plus.settings.robots_settings import RobotsSettingsError
from scrapy_robots_plus.storage import StoreError

from .errors import WrongUsageError
from .subcommand import Exit, Subcommand, complain

Members = Sequence[type[Subcommand] | ModuleType]
"""Subcommands, and modules that group several in ``MEMBERS``: ``scrapy robots NAME SUBCOMMAND``.
``scrapy robots NAME -h`` shows the docstring of such a module."""


def subcommands() -> Members:
    """Returns all subcommands in the order of the help, and the modules that group several.

    They are imported here because Scrapy loads this module whenever one of its commands starts.
    """
    from . import cache, check, diff, explain, job, logs, permissions, plan, show

    members = check.Check, explain.Explain, show.Show, diff.Diff, plan.Plan
    return *members, permissions.Permissions, cache, job, logs.Replay, logs.Report


class RobotsCommand(ScrapyCommand):
    """The ``scrapy robots`` command, which is in the entry point group ``scrapy.commands``.

    It creates a crawler process only if something has to be fetched (:meth:`Project.ask`).
    """

    settings: Settings
    requires_crawler_process = False

    def syntax(self) -> str:
        return "SUBCOMMAND [options] ..."

    def short_desc(self) -> str:
        return "Answer questions about robots.txt: what is allowed, denied, and why"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Adds the subcommands, each with its own options and those of all Scrapy commands."""
        # Overrides the project, whose LOG_FILE may be that of a crawl, but not the command line.
        self.settings.setdict({"LOG_LEVEL": "WARNING", "LOG_FILE": None}, "spider")
        self._add(subcommands(), parser, "scrapy robots")

    def _add(self, members: Members, parser: argparse.ArgumentParser, program: str) -> None:
        added = parser.add_subparsers(
            title="Subcommands", metavar="SUBCOMMAND", required=True, prog=program
        )
        for member in members:
            name = member.__name__.rpartition(".")[2].lower()
            description = " ".join((member.__doc__ or "").split())
            own = added.add_parser(
                name,
                help=description.partition(". ")[0].removesuffix("."),
                description=description,
                parents=getattr(member, "arguments", ()),
            )
            if isinstance(member, ModuleType):
                self._add(member.MEMBERS, own, own.prog)
                continue
            own.set_defaults(subcommand=member, parser=own)
            own.usage = own.format_usage().partition(": ")[2]  # without Scrapy's options
            super().add_options(own)

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        if args:
            opts.parser.error(printable(f"unrecognized arguments: {' '.join(args)}"))
        try:
            super().process_options(args, opts)
        except OSError as error:  # of --pidfile
            opts.parser.error(printable(error))

    def run(self, args: list[str], opts: argparse.Namespace) -> None:  # noqa: ARG002
        from scrapy_robots_plus import compat
        from scrapy_robots_plus.job.schema import JobFileError

        from .project import Project

        _fill_in_closed_streams()
        self.exitcode = Exit.UNDECIDED  # Python's own status after an error means "denied" here
        try:
            subcommand = opts.subcommand(opts, Project(self.settings, opts))
            subcommand.run()
            sys.stdout.flush()
            self.exitcode = subcommand.status
        except BrokenPipeError:
            self.exitcode = Exit.CLOSED_PIPE
        except KeyboardInterrupt:
            self.exitcode = Exit.INTERRUPTED
        except WrongUsageError as error:
            opts.parser.error(printable(error))
        except (RobotsSettingsError, StoreError, JobFileError, OSError, sqlite3.Error) as error:
            text = str(error)
            if isinstance(error, OSError) and error.strerror:
                text = ": ".join(str(each) for each in (error.filename, error.strerror) if each)
            complain(f"{opts.parser.prog}: {text}")
        except Exception as error:  # noqa: BLE001 - whatever it is
            wrong = compat.wrong_setting_in(error)
            text = f"{opts.parser.prog}: {wrong}" if wrong else traceback.format_exc()
            for line in text.splitlines():
                complain(line)
        finally:
            _drop_what_cannot_be_written()


def _fill_in_closed_streams() -> None:
    """Opens the null device for streams that are None: a script or a daemon has closed them."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDWR)  # stays open until Python ends
            setattr(sys, name, open(null, mode, closefd=False))  # noqa: SIM115


def _drop_what_cannot_be_written() -> None:
    """Discards unwritable output: Python would retry at exit, complain and end with status 120."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:  # noqa: PERF203 - each by itself
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
