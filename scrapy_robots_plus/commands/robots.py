"""The command ``scrapy robots``, which finds its subcommand and runs it."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, cast

from scrapy.commands import ScrapyCommand

from scrapy_robots_plus.crawl.settings import RobotsSettingsError

from .errors import UnreadableError, WrongUsageError
from .output import Output
from .project import Project
from .subcommand import Exit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.settings import Settings

    from .subcommand import Subcommand


def subcommands() -> Iterator[Subcommand]:
    """All of them, in the order of the help. Imported here: Scrapy loads this module at the start
    of each of its commands."""
    from .check import Check
    from .diff import Diff
    from .explain import Explain
    from .replay import Replay
    from .show import Show

    yield Check()
    yield Explain()
    yield Show()
    yield Diff()
    yield Replay()


class RobotsCommand(ScrapyCommand):
    """``scrapy robots``, which Scrapy finds by the entry point group ``scrapy.commands``.

    It creates a crawler process only where something has to be fetched (:meth:`Project.ask`).
    """

    requires_crawler_process = False
    default_settings: ClassVar[dict[str, Any]] = {"LOG_LEVEL": "WARNING"}

    def syntax(self) -> str:
        return "SUBCOMMAND [options] ..."

    def short_desc(self) -> str:
        return "Answer questions about robots.txt: what is allowed, denied, and why"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Adds the subcommands; each has the options of all Scrapy commands besides its own."""
        added = parser.add_subparsers(
            title="Subcommands",
            dest="subcommand",
            metavar="SUBCOMMAND",
            required=True,
            prog="scrapy robots",
        )
        for subcommand in subcommands():
            own = added.add_parser(
                subcommand.name,
                usage=f"scrapy robots {subcommand.name} {subcommand.syntax}",
                help=subcommand.help,
                description=f"{subcommand.help}. {subcommand.details}".strip(),
                formatter_class=argparse.HelpFormatter,
            )
            own.set_defaults(run=subcommand, parser=own)
            subcommand.add_arguments(own)
            super().add_options(own)

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        if args:
            opts.parser.error(f"unrecognized arguments: {' '.join(args)}")
        super().process_options(args, opts)
        if not (opts.loglevel or opts.nolog):
            cast("Settings", self.settings).set("LOG_LEVEL", "WARNING", "cmdline")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:  # noqa: ARG002
        output = Output()
        try:
            project = Project(cast("Settings", self.settings), opts)
            self.exitcode = opts.run.run(opts, project, output)
            output.flush()
        except BrokenPipeError:
            _close_pipe()
        except KeyboardInterrupt:
            self.exitcode = Exit.INTERRUPTED
        except WrongUsageError as error:
            output.end_progress()
            opts.parser.error(str(error))
        except (UnreadableError, RobotsSettingsError, OSError) as error:
            output.error(f"scrapy robots {opts.subcommand}: {error}")
            self.exitcode = Exit.UNDECIDED
        finally:
            output.end_progress()


def _close_pipe() -> NoReturn:
    """Ends silently. Python would complain at exit, when it flushes what nobody reads."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(Exit.CLOSED_PIPE)
