"""``scrapy robots report``: an audit log as a page for people."""

from __future__ import annotations

import csv
import sqlite3
import time
from io import StringIO
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_robots_plus._version import __version__
from scrapy_robots_plus.audit.chain import State
from scrapy_robots_plus.audit.report import Log, page, title_of
from scrapy_robots_plus.audit.report.figures import allowed_in_words, lines, site_fields
from scrapy_robots_plus.audit.summary import Selection, Summary
from scrapy_robots_plus.protocol.printable import printable
from scrapy_robots_plus.settings.checks import moment
from scrapy_robots_plus.settings.host_patterns import HostPatterns, plain_pattern
from scrapy_robots_plus.whole_file import whole_file

from .logs import EXITS, LOGS, LogCommand
from .output import UnreadableError, WrongUsageError, accessing
from .subcommand import alternatives, argument

if TYPE_CHECKING:
    from argparse import Namespace

_STANDARD_OUTPUT = "-"
_MAKER = "scrapy-robots-plus"
_BEGINNING = 2_000
"""Octets of a page in which its maker is named."""


_FORMATS, _formats = alternatives()
_formats.add_argument(
    "--json",
    dest="as_objects",
    action="store_true",
    help="print the same as JSON, one object per line, and write no page",
)
_formats.add_argument(
    "--csv", action="store_true", help="print the table of sites as CSV, and write no page"
)


class Report(LogCommand):
    """Write an HTML report of an audit log: what was allowed and denied, and why.

    An earlier report is replaced, any other file is not. Exit status: 0 if the log is whole; 2 if
    it cannot be read; 3 if a crawl has no end, 4 if it continues another file, 5 if lines are
    missing, 6 if it is damaged, all of which the page says too.
    """

    # Sums up the log in constant memory, then writes the page at once.

    arguments = (
        LOGS,
        argument(
            "-o",
            "--output",
            metavar="FILE",
            default="report.html",
            help="where to write the page (default: report.html); - is standard output",
        ),
        argument("--title", default="", help="the heading of the page"),
        argument(
            "--host",
            action="append",
            default=[],
            help="only this host (example.com), its subdomains (*.example.com) or an origin; may "
            "be given several times",
        ),
        argument(
            "--crawl",
            action="append",
            default=[],
            help="only this crawl, by its name in the log or by its spider; may be given several "
            "times",
        ),
        argument(
            "--since", metavar="TIME", help="only from then on: 2026-11-20, or 2026-11-20T18:58:00Z"
        ),
        argument("--until", metavar="TIME", help="only up to then; a date includes its day"),
        _FORMATS,
    )

    unshown = State.UNFINISHED  # the page says of each crawl how it ended

    def run(self) -> None:
        try:
            self._report()
        except sqlite3.Error as error:
            raise UnreadableError(f"no room for a temporary file: {error}") from error

    def _report(self) -> None:
        given, target = self.given, Path(self.given.output)
        selection, is_page = _selection(given), not (given.as_objects or given.csv)
        if is_page and given.output != _STANDARD_OUTPUT:
            for log in given.logs:
                _check_target(target, Path(log))
        summary = Summary(is_part=selection.is_part)
        for entry in selection.of(read.entry for read in self.read()):
            summary.add(entry)
        about = self._about(selection)
        for damage in self.damages:
            self.output.error(damage if damage.log else f"{given.logs[0]}: {damage}")
        if given.as_objects:
            for line in lines(summary, title_of(summary, about)):
                self.output.json(line)
        elif given.csv:
            self.output.write(_csv(summary))
        elif given.output == _STANDARD_OUTPUT:
            self.output.write(page(summary, about))
        else:
            with accessing(target, "written"), whole_file(target, "ascii") as file:
                file.write(page(summary, about))
            totals = summary.totals
            self.output.line(f"{target}: {totals.denied:,} denied, {allowed_in_words(totals)}")
        self.note(EXITS[self.state])

    def _about(self, selection: Selection) -> Log:
        reader = self.reader
        return Log(
            names=tuple(Path(log).name for log in self.given.logs),
            lines=reader.lines,
            state=self.state,
            damages=tuple(map(str, self.damages)),
            damaged=self.damaged,
            last_hash=reader.last.hash if reader.is_readable else None,
            made_at=time.time(),
            made_by=f"{_MAKER} {__version__}",
            title=self.given.title,
            selection=selection.words,
        )


def _csv(summary: Summary) -> str:
    written = StringIO()
    writer = csv.DictWriter(written, summary.columns("sites"), lineterminator="\n")
    writer.writeheader()
    for site in site_fields(summary):
        writer.writerow({name: _cell(value) for name, value in site.items()})
    return written.getvalue()


def _cell(value: object) -> object:
    """A text from a site must not be a formula of a spreadsheet, nor reach a terminal as it is."""
    if not isinstance(value, str):
        return value
    text = printable(value)
    return f"'{text}" if text[:1] in _FORMULAS else text


_FORMULAS = ("=", "+", "-", "@")


def _selection(arguments: Namespace) -> Selection:
    """Raises WrongUsageError for what is no host or time."""
    given = {
        "host": arguments.host,
        "crawl": arguments.crawl,
        "since": [arguments.since] if arguments.since else [],
        "until": [arguments.until] if arguments.until else [],
    }
    try:
        hosts = HostPatterns((plain_pattern(host), True) for host in arguments.host)
        since = -inf if arguments.since is None else _moment(arguments.since)
        until = inf if arguments.until is None else _moment(arguments.until, at_end=True)
    except ValueError as error:
        raise WrongUsageError(str(error)) from None
    words = tuple(f"{name} {value}" for name, values in given.items() for value in values)
    return Selection(hosts, frozenset(arguments.crawl), since, until, words)


def _moment(text: str, *, at_end: bool = False) -> float:
    try:
        return moment(text, at_end=at_end)
    except ValueError:
        expected = "expected a date (2026-11-20) or a time in UTC (2026-11-20T18:58:00Z)"
        raise ValueError(f"{text!r}: {expected}") from None


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
