"""``scrapy robots report``: an audit log as an HTML page."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_robots_plus.audit.report import MAKER, page, sentence
from scrapy_robots_plus.audit.summary import Summary
from scrapy_robots_plus.settings.host_patterns import plain_pattern
from scrapy_robots_plus.whole_file import whole_file

from .logs import EXITS, LOGS, LogCommand
from .subcommand import JSON, WrongUsageError, argument, complain, read_by

if TYPE_CHECKING:
    from collections.abc import Iterator

_STANDARD_OUTPUT = "-"

_BEGINNING = 2_000
"""Bytes at the beginning of a page, within which its maker is named."""


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
        JSON,
    )

    def run(self) -> None:
        given, target = self.given, Path(self.given.output)
        is_file = not self.as_json and given.output != _STANDARD_OUTPUT
        if is_file:
            _check_target(target)
        summary = Summary(given.host)
        for entry in self.read():
            summary.add(entry)
        for damage in self.reader.damages:
            complain(damage if given.logs[1:] else f"{given.logs[0]}: {damage}")
        if is_file:
            with whole_file(target, "ascii") as file:
                file.write(page(summary, self.reader, given.title, given.host))
        if is_file or self.as_json:
            self.show(_objects(summary), [f"{target}: {sentence(summary.totals)}"])
        else:
            sys.stdout.write(page(summary, self.reader, given.title, given.host))
        self.note(EXITS[self.reader.state])


def _check_target(target: Path) -> None:
    """Raises WrongUsageError if *target* is a file other than a report, such as the log."""
    if not target.is_file():
        return
    with target.open("rb") as file:
        beginning = file.read(_BEGINNING)
    if beginning and f'name="generator" content="{MAKER} '.encode() not in beginning:
        raise WrongUsageError(f"{target} exists and is not a report; choose another name")


def _objects(summary: Summary) -> Iterator[dict[str, Any]]:
    """Yields the objects for ``--json``: the totals, then each site."""
    totals = summary.totals
    yield {
        "summary": sentence(totals),
        "requests_denied": totals.denied,
        "requests_allowed": totals.all_allowed if totals.counts_all else None,
        "sites": totals.origins,
        "robots_failures": totals.failures,
        "robots_changes": totals.changes,
    }
    yield from map(vars, summary.rows("sites"))
