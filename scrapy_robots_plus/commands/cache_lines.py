"""``scrapy robots cache export`` and ``import``: records as lines of JSON."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from scrapy_robots_plus.protocol.counting import counted
from scrapy_robots_plus.protocol.freshness import CLOCK_SKEW
from scrapy_robots_plus.storage import Standing
from scrapy_robots_plus.storage.exchange import LineError, line_of, most_characters, record_in
from scrapy_robots_plus.whole_file import whole_file

from .cache import PROGRESS_EVERY, STORE, opened_to_change, opened_to_read, patiently
from .output import Output, reading
from .subcommand import Exit, Subcommand, argument, standard_input

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

    from scrapy_robots_plus.storage import Store, StoreReader
    from scrapy_robots_plus.storage.record import RobotsRecord

    from .project import Project


class Export(Subcommand):
    """A file is complete when it appears."""

    help = "Write all records of a store as lines of JSON"
    details = (
        "Exit status: 0; 1 if a record cannot be trusted and was left out; 2 if the store cannot "
        "be read or FILE cannot be written."
    )
    arguments = (
        argument(
            "-o", dest="file", metavar="FILE", help="write to FILE (default: to standard output)"
        ),
        STORE,
    )

    def run(self, arguments: Namespace, project: Project, output: Output) -> int:
        with opened_to_read(arguments, project) as store:
            if arguments.file is None:
                return _export(store, output, output)
            with whole_file(Path(arguments.file), "ascii") as stream:
                return _export(store, Output(stream), output)


def _export(store: StoreReader, target: Output, output: Output) -> Exit:
    status = Exit.OK
    for count, each in enumerate(store.scan()):
        if each.record is None:
            output.error(f"{each.origin} is left out: {each.fault}")
            status = Exit.FOUND
        else:
            target.json(line_of(each.record))
        if count % PROGRESS_EVERY == 0:
            output.progress(f"{count:,} records")
    return status


_NAMED = 20
"""Wrong lines that are named; the others are only counted."""


class Import(Subcommand):
    """Each record as a whole or not at all, and of two the newer stays: doing it again, or half of
    it, does no harm. So a wrong line is left out, and the rest imported.
    """

    help = "Read records that were exported into a store"
    details = (
        "Of two records of an origin the newer one stays. A wrong line is named and left out. "
        "Exit status: 0; 1 if a line was left out; 2 if FILE cannot be read or the store fails."
    )
    arguments = (
        argument("file", metavar="FILE", help="what export wrote; - for standard input"),
        STORE,
    )

    def run(self, arguments: Namespace, project: Project, output: Output) -> int:
        longest = project.robots.fetch_max_bytes
        with _opened(arguments.file) as stream, opened_to_change(arguments, project) as store:
            counts = _import(_lines(stream, most_characters(longest)), store, longest, output)
            held = len(store)
        output.line(
            f"{counted(counts['stored'], 'record')} imported, {counts['older']:,} newer in the "
            f"store, {counted(counts['wrong'], 'line')} left out"
        )
        most = project.robots.store_max
        if held > most and not store.remote:
            output.error(
                f"The store has {held:,} records; a crawl with ROBOTS_STORE_MAX = {most:,} drops "
                "those above, the least recently fetched first."
            )
        return Exit.FOUND if counts["wrong"] else Exit.OK


def _import(
    lines: Iterator[tuple[int, bytes]], store: Store, longest: int, output: Output
) -> Counter[str]:
    counts: Counter[str] = Counter()
    latest = time.time() + CLOCK_SKEW
    for number, line in lines:
        try:
            record = _checked(record_in(line, longest), latest)
        except LineError as error:
            counts["wrong"] += 1
            if counts["wrong"] <= _NAMED:
                output.error(f"line {number:,}: {error}")
            elif counts["wrong"] == _NAMED + 1:
                output.error("more lines are wrong; they are counted")
            continue
        stored = patiently(partial(store.put, record))
        counts["stored" if stored else "older"] += 1
        if number % PROGRESS_EVERY == 0:
            output.progress(f"{number:,} lines")
    return counts


def _checked(record: RobotsRecord, latest: float) -> RobotsRecord:
    if Standing.of(record).touched_at > latest:
        raise LineError("its time is in the future: no correct record could replace it")
    return record


def _lines(stream: BinaryIO, longest: int) -> Iterator[tuple[int, bytes]]:
    """Numbered lines. Of one that is too long, as much is returned as shows that."""
    number = 0
    while line := stream.readline(longest):
        number += 1
        yield number, line
        while line and not line.endswith(b"\n"):  # the rest of it
            line = stream.readline(longest)


@contextmanager
def _opened(name: str) -> Iterator[BinaryIO]:
    if name == "-":
        yield standard_input()
        return
    with reading(name):
        stream = open(name, "rb")  # noqa: SIM115 - closed below
    with stream:
        yield stream
