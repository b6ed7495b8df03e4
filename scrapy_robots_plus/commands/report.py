"""``scrapy robots report``: an audit log as a page for people."""

from __future__ import annotations

import csv
import json
import sqlite3
from functools import partial
from io import StringIO
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_robots_plus.audit.chain import State
from scrapy_robots_plus.audit.report import MAKER, allowed_in_words, page, sentence, title_of
from scrapy_robots_plus.audit.report.sections import cause_in_words
from scrapy_robots_plus.audit.summary import Selection, Summary, names_in
from scrapy_robots_plus.protocol.printable import printable, rfc3339
from scrapy_robots_plus.settings.checks import moment
from scrapy_robots_plus.settings.host_patterns import plain_pattern
from scrapy_robots_plus.whole_file import whole_file

from .logs import EXITS, LOGS, LogCommand
from .output import UnreadableError, WrongUsageError, accessing, picked
from .subcommand import alternatives, argument, read_by

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_STANDARD_OUTPUT = "-"
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
    it cannot be read; 3 if a crawl has no end, 4 if lines are missing, 5 if it is damaged, all of
    which the page says too.
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
            type=read_by(plain_pattern),
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
            "--since",
            metavar="TIME",
            type=read_by(moment),
            default=-inf,
            help="only from then on: 2026-11-20, or 2026-11-20T18:58:00Z",
        ),
        argument(
            "--until",
            metavar="TIME",
            type=read_by(partial(moment, at_end=True)),
            default=inf,
            help="only up to then; a date includes its day",
        ),
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
        part = Selection(tuple(given.host), tuple(given.crawl), given.since, given.until)
        is_page = not (given.as_objects or given.csv)
        if is_page and given.output != _STANDARD_OUTPUT:
            _check_target(target, given.logs)
        summary = Summary(is_part=bool(part.words))
        for entry in part.of(self.read()):
            summary.add(entry)
        for damage in self.reader.damages:
            self.output.error(damage if damage.log else f"{given.logs[0]}: {damage}")
        if given.as_objects:
            for fields in _objects(summary, given.title):
                self.output.json(fields)
        elif given.csv:
            self.output.write(_csv(summary))
        elif given.output == _STANDARD_OUTPUT:
            self.output.write(page(summary, self.reader, given.title, part.words))
        else:
            with accessing(target, "written"), whole_file(target, "ascii") as file:
                file.write(page(summary, self.reader, given.title, part.words))
            totals = summary.totals
            self.output.line(f"{target}: {totals.denied:,} denied, {allowed_in_words(totals)}")
        self.note(EXITS[self.reader.state])


def _check_target(target: Path, logs: Sequence[str]) -> None:
    """Raises WrongUsageError if writing *target* would destroy something."""
    if not target.is_file():
        return
    with accessing(target), target.open("rb") as file:
        beginning = file.read(_BEGINNING)
    is_report = beginning.startswith(b"<!DOCTYPE") and MAKER.encode() in beginning
    is_log = target.resolve() in (Path(log).resolve() for log in logs)
    if not is_report and (beginning or is_log):
        raise WrongUsageError(f"{target} exists and is not a report; choose another name")


def _objects(summary: Summary, title: str) -> Iterator[dict[str, Any]]:
    """The report for JSON: all of it, then sites, causes of failures, and crawls. Times are in
    seconds, None where the log does not tell.
    """
    totals = summary.totals
    yield {
        "title": title or title_of(totals),
        "summary": sentence(totals),
        "requests_denied": totals.denied,
        "requests_allowed": totals.all_allowed if totals.counts_all else None,
        "sites": totals.origins,
        "robots_failures": totals.failures,
        "robots_changes": totals.changes,
    }
    sites = summary.table("sites")
    names = names_in(sites)
    for site in sites:
        yield dict(zip(names, site, strict=True))
    for cause in summary.rows("causes"):
        failed = summary.table("failed", failure=cause.failure)
        yield {
            **picked(cause, "failure", "times"),
            "detail": cause_in_words(cause.failure),
            "failed_origins": [origin for _, origin in failed],
        }
    for crawl in summary.rows("crawls"):
        yield {
            **picked(crawl, "crawl", "spider", "version", "mode", "ended"),
            "settings": json.loads(crawl.settings or "{}"),
            "began": rfc3339(crawl.first),
            "requests_denied": crawl.denied,
            "requests_allowed": crawl.allowed if crawl.counted is None else crawl.counted,
        }


def _csv(summary: Summary) -> str:
    written, sites = StringIO(), summary.table("sites")
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(names_in(sites))
    writer.writerows(map(_cell, site) for site in sites)
    return written.getvalue()


def _cell(value: object) -> object:
    """A text from a site must not be a formula of a spreadsheet, nor reach a terminal as it is."""
    if not isinstance(value, str):
        return value
    text = printable(value)
    return f"'{text}" if text[:1] in _FORMULAS else text


_FORMULAS = ("=", "+", "-", "@")
