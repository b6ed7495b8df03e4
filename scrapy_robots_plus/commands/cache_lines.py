"""``scrapy robots cache export`` and ``import``: records as lines of JSON."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from scrapy_robots_plus.protocol.freshness import CLOCK_SKEW
from scrapy_robots_plus.protocol.printable import counted
from scrapy_robots_plus.storage import Standing
from scrapy_robots_plus.storage.exchange import LineError, line_of, most_characters, record_in
from scrapy_robots_plus.whole_file import whole_file

from .cache import PROGRESS_EVERY, STORE, OfStore, patiently
from .output import Output, reading
from .subcommand import Exit, argument, standard_input

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_robots_plus.storage import Store, StoreReader


class Export(OfStore):
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

    def run(self) -> int:
        with self.opened_to_read() as store:
            if self.given.file is None:
                return self._export(store, self.output)
            with whole_file(Path(self.given.file), "ascii") as stream:
                return self._export(store, Output(stream))

    def _export(self, store: StoreReader, target: Output) -> Exit:
        status = Exit.OK
        for count, each in enumerate(store.scan()):
            if each.record is None:
                self.output.error(f"{each.origin} is left out: {each.fault}")
                status = Exit.FOUND
            else:
                target.json(line_of(each.record))
            if count % PROGRESS_EVERY == 0:
                self.output.progress(f"{count:,} records")
        return status


_NAMED = 20
"""Wrong lines that are named; the others are only counted."""


class Import(OfStore):
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

    def run(self) -> int:
        longest = self.project.robots.fetch_max_bytes
        with _opened(self.given.file) as stream, self.opened_to_change() as store:
            counts = self._import(_lines(stream, most_characters(longest)), store, longest)
            held = len(store)
        self.output.line(
            f"{counted(counts['stored'], 'record')} imported, {counts['older']:,} newer in the "
            f"store, {counted(counts['wrong'], 'line')} left out"
        )
        most = self.project.robots.store_max
        if held > most and not store.remote:
            self.output.error(
                f"The store has {held:,} records; a crawl with ROBOTS_STORE_MAX = {most:,} drops "
                "those above, the least recently fetched first."
            )
        return Exit.FOUND if counts["wrong"] else Exit.OK

    def _import(
        self, lines: Iterator[tuple[int, bytes]], store: Store, longest: int
    ) -> Counter[str]:
        counts: Counter[str] = Counter()
        latest = time.time() + CLOCK_SKEW
        for number, line in lines:
            try:
                record = record_in(line, longest)
                if Standing.of(record).touched_at > latest:
                    text = "its time is in the future: no correct record could replace it"
                    raise LineError(text)
            except LineError as error:
                counts["wrong"] += 1
                if counts["wrong"] <= _NAMED:
                    self.output.error(f"line {number:,}: {error}")
                elif counts["wrong"] == _NAMED + 1:
                    self.output.error("more lines are wrong; they are counted")
                continue
            stored = patiently(partial(store.put, record))
            counts["stored" if stored else "older"] += 1
            if number % PROGRESS_EVERY == 0:
                self.output.progress(f"{number:,} lines")
        return counts


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
