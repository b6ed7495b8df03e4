"""``scrapy robots cache show``: one record of a store, and its text."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

from scrapy_robots_plus.commands.output import Style
from scrapy_robots_plus.commands.subcommand import Exit, Subcommand, add_json
from scrapy_robots_plus.crawl.policies.words import answer_in
from scrapy_robots_plus.policy.origin import Origin
from scrapy_robots_plus.storage.exchange import line_of

from .store import add_store, opened_to_read, origin_in
from .words import age_of, freshness_of, moment, span

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator

    from scrapy_robots_plus.commands.output import Output
    from scrapy_robots_plus.commands.project import Project
    from scrapy_robots_plus.policy.freshness import Limits
    from scrapy_robots_plus.policy.record import RobotsRecord
    from scrapy_robots_plus.storage import StoreReader


class Show(Subcommand):
    """All that is known of an origin."""

    name = "show"
    syntax = "ORIGIN [--store URI | --jobdir FOLDER] [--json]"
    help = "Show one record of a store, and the text of its robots.txt"
    details = "Exit status: 0; 2 if the store has no such record, or cannot be read."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "origin",
            metavar="ORIGIN",
            help="such as https://site.example, any of its URLs, or a host: all of its origins "
            "with a usual port",
        )
        add_store(parser)
        add_json(parser)

    def run(self, arguments: Namespace, project: Project, output: Output) -> int:
        with opened_to_read(arguments, project) as store:
            records = list(_found(arguments.origin, store))
        if not records:
            output.error(f"the store has no record of {arguments.origin}")
            return Exit.UNDECIDED
        for number, record in enumerate(records):
            if arguments.json:
                output.json(line_of(record))
                continue
            if number:
                output.line()
            _print(record, project.robots.limits, output)
        return Exit.OK


def _found(text: str, store: StoreReader) -> Iterator[RobotsRecord]:
    if "://" in text:
        origins = [origin_in(text)]
    else:
        origins = [Origin("https", text.lower(), 443), Origin("http", text.lower(), 80)]
    for origin in origins:
        record = store.get(origin)
        if record is not None:
            yield record


def _print(record: RobotsRecord, limits: Limits, output: Output) -> None:
    output.line((record.origin, Style.BOLD))
    for name, value in _facts(record, time.time(), limits):
        output.line((f"{name:10} ", Style.FAINT), value)
    if not record.body:
        return
    output.line()
    # Only these end a line of a robots.txt (RFC 9309 2.2); splitlines() knows more.
    for line in re.split(
        "\r\n|\r|\n", record.body.decode("utf-8", "backslashreplace").rstrip("\r\n")
    ):
        output.line(line)


def _facts(record: RobotsRecord, now: float, limits: Limits) -> Iterator[tuple[str, str]]:
    yield "status", f"{answer_in(record)} ({record.access.value})"
    yield "from", record.url
    if record.readable:
        yield "fetched", f"{moment(record.fetched_at)} UTC, {span(age_of(record, now))} ago"
    fresh_for = freshness_of(record, now, limits)
    yield "fresh for", span(fresh_for) if fresh_for else "no longer: the next request asks again"
    if record.failures:
        failed = f"{record.failures:,} in a row, the last at {moment(record.failed_at)} UTC"
        yield "failures", failed
    yield "size", f"{len(record.body):,} bytes"
    if record.sha256:
        yield "sha256", record.sha256
    for name, header in record.headers.items():
        yield "header", f"{name}: {header}"
