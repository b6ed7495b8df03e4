"""``scrapy robots cache list``, ``show`` and ``verify``: what a store keeps."""

from __future__ import annotations

import re
import time
from collections import Counter
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

from scrapy_robots_plus.commands.output import Output, Style
from scrapy_robots_plus.commands.subcommand import Exit, Subcommand, add_json
from scrapy_robots_plus.origins.decide import fresh_for, held_to
from scrapy_robots_plus.origins.words import answer_in
from scrapy_robots_plus.protocol.counting import counted
from scrapy_robots_plus.protocol.origin import Origin
from scrapy_robots_plus.report.progress import duration
from scrapy_robots_plus.storage import StoreDamagedError
from scrapy_robots_plus.storage.exchange import fields_of, line_of

from .store import PROGRESS_EVERY, add_store, opened_to_read, origin_in

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator

    from scrapy_robots_plus.commands.project import Project
    from scrapy_robots_plus.protocol.freshness import Limits
    from scrapy_robots_plus.storage import StoreReader
    from scrapy_robots_plus.storage.record import RobotsRecord

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def moment(time: float) -> str:
    """A time, in seconds since the epoch, in UTC: ``2026-11-20 18:59:01``."""
    try:
        return f"{_EPOCH + timedelta(seconds=time):%Y-%m-%d %H:%M:%S}"
    except OverflowError:  # written by a clock that is very wrong
        return f"{time:g}"


def age_of(record: RobotsRecord, now: float) -> float:
    """Seconds since it was fetched or confirmed; negative if its clock was ahead."""
    return now - record.fetched_at


def freshness_of(record: RobotsRecord, now: float, limits: Limits) -> float:
    """Seconds for which a crawl with these *limits* would use it without asking; 0 if it asks."""
    return max(0.0, fresh_for(held_to(record, limits), now))


def span(seconds: float) -> str:
    """A duration; ``-`` for none."""
    return duration(seconds) if seconds > 0 else "-"


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


class Verify(Subcommand):
    """Each record with its checksum and the hash of its text, and the file as SQLite sees it."""

    name = "verify"
    syntax = "[--store URI | --jobdir FOLDER]"
    help = "Check every record of a store, and the store itself"
    details = (
        "Nothing is repaired: a crawl does that when it finds damage. Exit status: 0; 1 if "
        "something is wrong; 2 if the store cannot be opened."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_store(parser)

    def run(self, arguments: Namespace, project: Project, output: Output) -> int:
        counts: Counter[str] = Counter()
        try:
            with opened_to_read(arguments, project) as store:
                for fault in _faults(store, counts, output):
                    counts["wrong"] += 1
                    output.line((fault, Style.BAD))
        except StoreDamagedError as error:
            counts["wrong"] += 1
            output.line((error, Style.BAD))
        output.line(
            f"{counted(counts['records'], 'record')} checked, {counted(counts['wrong'], 'fault')}"
        )
        return Exit.FOUND if counts["wrong"] else Exit.OK


def _faults(store: StoreReader, counts: Counter[str], output: Output) -> Iterator[str]:
    output.progress("checking the file")
    yield from store.faults()
    for each in store.scan():
        counts["records"] += 1
        if each.record is None:
            yield f"{each.origin}: {each.fault}"
        if counts["records"] % PROGRESS_EVERY == 0:
            output.progress(f"{counts['records']:,} records")
