"""``scrapy robots cache list``: a line for each origin of a store."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from scrapy_robots_plus.commands.output import Style
from scrapy_robots_plus.commands.subcommand import Exit, Subcommand, add_json
from scrapy_robots_plus.crawl.policies.words import answer_in
from scrapy_robots_plus.storage.exchange import fields_of

from .store import add_store, opened_to_read
from .words import age_of, freshness_of, moment, span

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from scrapy_robots_plus.commands.output import Output
    from scrapy_robots_plus.commands.project import Project
    from scrapy_robots_plus.policy.freshness import Limits
    from scrapy_robots_plus.policy.record import RobotsRecord

_COLUMNS = "{:<18} {:<11} {:<19} {:>11} {:>11} {:>9} {:>8}  "
"""The origin comes last: it may have any length, and no line waits for the longest."""

_HEADINGS = ("STATUS", "ACCESS", "FETCHED (UTC)", "AGE", "FRESH FOR", "BYTES", "FAILURES")
_STYLES = {"rules": Style.PLAIN, "unavailable": Style.FAINT, "unreachable": Style.UNSURE}


class List(Subcommand):
    """In the order of the origins, as it comes: nothing is collected."""

    name = "list"
    syntax = "[--store URI | --jobdir FOLDER] [--json]"
    help = "List what a store keeps, a line for each origin"
    details = "Exit status: 0; 1 if a record cannot be trusted; 2 if the store cannot be read."

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_store(parser)
        add_json(parser)

    def run(self, arguments: Namespace, project: Project, output: Output) -> int:
        now, limits, status = time.time(), project.robots.limits, Exit.OK
        with opened_to_read(arguments, project) as store:
            if not arguments.json:
                output.line((_COLUMNS.format(*_HEADINGS) + "ORIGIN", Style.BOLD))
            for each in store.scan():
                if each.record is None:
                    output.error(f"{each.origin}: {each.fault}")
                    status = Exit.FOUND
                elif arguments.json:
                    output.json(_fields(each.record, now, limits))
                else:
                    columns = _COLUMNS.format(*_values(each.record, now, limits))
                    output.line((columns, _STYLES[each.record.access.value]), each.origin)
        return status


def _values(record: RobotsRecord, now: float, limits: Limits) -> tuple[str, ...]:
    return (
        answer_in(record),
        record.access.value,
        moment(record.fetched_at) if record.readable else "never",
        span(age_of(record, now)) if record.readable else "-",
        span(freshness_of(record, now, limits)),
        f"{len(record.body):,}",
        f"{record.failures:,}",
    )


def _fields(record: RobotsRecord, now: float, limits: Limits) -> dict[str, object]:
    return {
        **fields_of(record),
        "age": age_of(record, now),
        "fresh_for": freshness_of(record, now, limits),
        "size": len(record.body),
    }
