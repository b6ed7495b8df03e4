"""``scrapy robots report``: an audit log as a page for people."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_robots_plus import __version__
from scrapy_robots_plus.audit.damage import State
from scrapy_robots_plus.audit.report.page import Log, page
from scrapy_robots_plus.audit.summary.summary import Summary

from .errors import UnreadableError, WrongUsageError
from .replay.log_check import EXITS, LogCheck, add_logs
from .subcommand import Subcommand

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from .output import Output
    from .project import Project

_STANDARD_OUTPUT = "-"
_MAKER = "scrapy-robots-plus"
_BEGINNING = 2_000
"""Octets of a page in which its maker is named."""


class Report(Subcommand):
    """Sums up the log in constant memory, then writes the page at once."""

    name = "report"
    syntax = "AUDIT_LOG... [-o FILE]"
    help = "Make a page of HTML of an audit log: what was allowed and denied, and why"
    details = (
        "An earlier report is replaced, any other file is not. Exit status: 0 if the log is whole; "
        "2 if it cannot be read; 3 if a crawl has no end, 4 if it continues another file, 5 if "
        "lines are missing, 6 if it is damaged, all of which the page says too."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_logs(parser)
        parser.add_argument(
            "-o",
            "--output",
            metavar="FILE",
            default="report.html",
            help="where to write the page (default: report.html); - is standard output",
        )

    def run(self, arguments: Namespace, project: Project, output: Output) -> int:  # noqa: ARG002
        target = arguments.output
        if target != _STANDARD_OUTPUT:
            for log in arguments.logs:
                _check_target(Path(target), Path(log))
        # The page says of each crawl how it ended.
        summary, check = Summary(), LogCheck(arguments, output, unshown=State.UNFINISHED)
        for read in check.read():
            summary.add(read.entry)
        text = page(summary, _about(arguments, check))
        for damage in check.damages:
            output.error(damage if damage.log else f"{arguments.logs[0]}: {damage}")
        if target == _STANDARD_OUTPUT:
            output.write(text)
        else:
            _write(Path(target), text)
            totals = summary.totals
            output.line(f"{target}: {totals.denied:,} denied, {totals.allowed_in_words}")
        return EXITS[check.state]


def _about(arguments: Namespace, check: LogCheck) -> Log:
    return Log(
        names=tuple(Path(log).name for log in arguments.logs),
        lines=check.lines,
        state=check.state,
        damages=tuple(map(str, check.damages)),
        damaged=check.count,
        last_hash=check.last_hash,
        made_at=time.time(),
        made_by=f"{_MAKER} {__version__}",
    )


def _check_target(target: Path, log: Path) -> None:
    """Raises WrongUsageError if writing *target* would destroy something, or cannot succeed."""
    if not target.parent.is_dir():
        raise WrongUsageError(f"there is no folder {target.parent}")
    if target.is_dir():
        raise WrongUsageError(f"{target} is a folder")
    if not target.is_file():
        return
    if log.exists() and target.samefile(log):
        raise WrongUsageError(f"{target} is the log itself")
    with target.open("rb") as file:
        beginning = file.read(_BEGINNING)
    if beginning and _MAKER.encode() not in beginning:
        raise WrongUsageError(f"{target} exists and is not a report; choose another name")


def _write(target: Path, text: str) -> None:
    """Writes the whole page, or leaves what was there. Raises UnreadableError if it cannot."""
    try:
        if target.exists() and not target.is_file():  # a device or a pipe
            target.write_text(text, encoding="ascii")
        else:
            _replace(Path(os.path.realpath(target)), text)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise UnreadableError(f"{target} cannot be written: {error.strerror}") from error


def _replace(target: Path, text: str) -> None:
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    part = Path(name)
    try:
        with open(descriptor, "w", encoding="ascii") as file:
            file.write(text)
        part.chmod(_mode_of(target))
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def _mode_of(target: Path) -> int:
    """Its permissions; those of a new file if there is none."""
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
