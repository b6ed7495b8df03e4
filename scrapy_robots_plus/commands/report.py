"""``scrapy robots report``: an audit log as a page for people."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_robots_plus import __version__
from scrapy_robots_plus.audit.reading import LogReader, MissingEnd
from scrapy_robots_plus.audit.report.page import Log, page
from scrapy_robots_plus.audit.summary.summary import Summary

from .errors import UnreadableError, WrongUsageError, reading
from .subcommand import Exit, Subcommand

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from scrapy_robots_plus.audit.chain import Damage

    from .output import Output
    from .project import Project

_STANDARD_OUTPUT = "-"
_MAKER = "scrapy-robots-plus"
_BEGINNING = 2_000
"""Octets of a page in which its maker is named."""
_SHOWN = 20
"""Damages that are listed."""
_TURN = 10_000
"""Lines after which progress is shown."""


class Report(Subcommand):
    """Sums up the log in constant memory, then writes the page at once."""

    name = "report"
    syntax = "AUDIT_LOG [-o FILE]"
    help = "Make a page of HTML of an audit log: what was allowed and denied, and why"
    details = (
        "An earlier report is replaced, any other file is not. Exit status: 0; 1 if the log is "
        "damaged, which the page says too; 2 if it cannot be read."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("log", metavar="AUDIT_LOG", help="what ROBOTS_AUDIT_LOG names")
        parser.add_argument(
            "-o",
            "--output",
            metavar="FILE",
            default="report.html",
            help="where to write the page (default: report.html); - is standard output",
        )

    def run(self, arguments: Namespace, project: Project, output: Output) -> int:  # noqa: ARG002
        log, target = Path(arguments.log), arguments.output
        if target != _STANDARD_OUTPUT:
            _check_target(Path(target), log)
        reading = _Reading(log, output)
        text = page(reading.summary, reading.about)
        if target == _STANDARD_OUTPUT:
            output.write(text)
        else:
            _write(Path(target), text)
            totals = reading.summary.totals
            output.line(f"{target}: {totals.denied:,} denied, {totals.allowed:,} allowed")
        return Exit.FOUND if reading.damaged else Exit.OK


class _Reading:
    """The log, read to its end. Raises UnreadableError if there is no log to be read."""

    def __init__(self, log: Path, output: Output) -> None:
        self.summary = Summary()
        self.damaged = 0
        self._damages: list[str] = []
        reader = LogReader(log, self._note, verify=True)
        with reading(log):
            for line, entry in reader:
                self.summary.add(entry)
                if line % _TURN == 0:
                    output.progress(f"{line:,} lines")
        if reader.lines and self.damaged and not self.summary.totals.entries:
            raise UnreadableError(f"{log} is not an audit log that can be read: {self._damages[0]}")
        for damage in self._damages:
            output.error(f"{log}: {damage}")
        self.about = Log(
            name=log.name,
            lines=reader.lines,
            damages=tuple(self._damages),
            damaged=self.damaged,
            last_hash=reader.last.hash if reader.lines else None,
            made_at=time.time(),
            made_by=f"{_MAKER} {__version__}",
        )

    def _note(self, damage: Damage) -> None:
        if isinstance(damage, MissingEnd):
            return  # the page says of each crawl how it ended
        self.damaged += 1
        if len(self._damages) < _SHOWN:
            self._damages.append(str(damage))


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
