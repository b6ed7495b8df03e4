"""Inspect and maintain a store of robots.txt files.

It can be looked at while crawls use it.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from datetime import datetime, timedelta, timezone
from functools import partial
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from scrapy_robots_plus.origins.crawl_store import uri_in_job
from scrapy_robots_plus.origins.decide import fresh_for, held_to
from scrapy_robots_plus.origins.policy import answer_in
from scrapy_robots_plus.protocol.http_caching import CLOCK_SKEW, Limits, span_of_use
from scrapy_robots_plus.protocol.origin import Origin
from scrapy_robots_plus.protocol.printable import counted, duration
from scrapy_robots_plus.settings import checks
from scrapy_robots_plus.storage import (
    Standing,
    StoreDamagedError,
    StoreError,
    check_store_uri,
    open_reader,
    open_store,
)
from scrapy_robots_plus.storage.exchange import (
    LineError,
    fields_of,
    line_of,
    most_characters,
    record_in,
)
from scrapy_robots_plus.whole_file import whole_file

from .output import Output, Style, WrongUsageError
from .subcommand import JSON, Exit, Subcommand, argument, numbered_lines, opened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scrapy_robots_plus.storage import Store, StoreReader
    from scrapy_robots_plus.storage.base import RobotsRecord

_T = TypeVar("_T")

PATIENCE = 30.0
"""Seconds to go on asking for a store that other processes keep locked."""

PROGRESS_EVERY = 1_000
"""Records from one look at the progress to the next."""

_PAUSE = 0.05
"""Seconds between two attempts."""

_NO_MAXIMUM = 1_000_000_000
"""Records. An action never drops a record to make room; the next crawl does."""


STORE = (
    argument(
        "--store",
        metavar="URI",
        help="the store, such as sqlite:robots.db (default: ROBOTS_STORE, else that of JOBDIR)",
    ),
    argument("--jobdir", metavar="FOLDER", help="the store of the job in FOLDER"),
)


class _OfStore(Subcommand):
    """What all of them need."""

    @property
    def _uri(self) -> str:
        """The store to use. Raises WrongUsageError if there is none to choose."""
        if self.given.jobdir is not None:
            return uri_in_job(self.given.jobdir)
        if self.given.store is not None:
            try:
                return check_store_uri(self.given.store)
            except ValueError as error:
                raise WrongUsageError(f"--store: {error}") from error
        if self.project.robots.store is None:
            raise WrongUsageError(
                "expected --store URI or --jobdir FOLDER, as the project has neither a "
                "ROBOTS_STORE nor a JOBDIR with a store"
            )
        return self.project.robots.store

    def opened_to_read(self) -> StoreReader:
        """The store, which must be there. Raises StoreError or WrongUsageError."""
        return open_reader(self._uri, self.project.robots.fetch_max_bytes)

    def opened_to_change(self) -> Store:
        """The store, made if it is not there. Raises StoreError or WrongUsageError."""
        uri = self._uri
        if uri == "memory":
            raise StoreError("the store 'memory' ends with its crawl")
        return open_store(uri, _NO_MAXIMUM, self.project.robots.fetch_max_bytes)


def origin_in(text: str) -> Origin:
    """The origin that a user names, by any of its URLs. Raises WrongUsageError."""
    try:
        origin = Origin.named(text)
    except ValueError as error:
        raise WrongUsageError(f"{text}: {error}") from error
    if origin is None:
        raise WrongUsageError(f"{text!r}: expected an origin such as https://site.example")
    return origin


def patiently(work: Callable[[], _T]) -> _T:
    """What *work* returns, tried again while crawls keep the store locked. Raises StoreError."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return work()
        except StoreError as error:  # noqa: PERF203 - what the loop is for
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(_PAUSE)


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


class List(_OfStore):
    """List what a store keeps, a line for each origin.

    Exit status: 0; 1 if a record cannot be trusted; 2 if the store cannot be read.
    """

    # In the order of the origins, as it comes: nothing is collected.

    arguments = (STORE, JSON)

    def run(self) -> int:
        now, limits = time.time(), self.project.robots.limits
        with self.opened_to_read() as store:
            if not self.as_json:
                self.output.line((_COLUMNS.format(*_HEADINGS) + "ORIGIN", Style.BOLD))
            for each in store.scan():
                if each.record is None:
                    self.output.error(f"{each.origin}: {each.fault}")
                    self.note(Exit.FOUND)
                elif self.as_json:
                    self.output.json(_fields(each.record, now, limits))
                else:
                    columns = _COLUMNS.format(*_values(each.record, now, limits))
                    self.output.line((columns, _STYLES[each.record.access.value]), each.origin)
        return self.status


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


class Show(_OfStore):
    """Show one record of a store, and the text of its robots.txt.

    Exit status: 0; 2 if the store has no such record, or cannot be read.
    """

    arguments = (
        argument(
            "origin",
            metavar="ORIGIN",
            help="such as https://site.example, any of its URLs, or a host: all of its origins "
            "with a usual port",
        ),
        STORE,
        JSON,
    )

    def run(self) -> int:
        with self.opened_to_read() as store:
            records = list(_found(self.given.origin, store))
        if not records:
            self.output.error(f"the store has no record of {self.given.origin}")
            return Exit.UNDECIDED
        for number, record in enumerate(records):
            if self.as_json:
                self.output.json(line_of(record))
                continue
            if number:
                self.output.line()
            self._print(record)
        return Exit.OK

    def _print(self, record: RobotsRecord) -> None:
        self.output.line((record.origin, Style.BOLD))
        for name, value in _facts(record, time.time(), self.project.robots.limits):
            self.output.line((f"{name:10} ", Style.FAINT), value)
        if record.body:
            self.output.line()
            text = record.body.decode("utf-8", "backslashreplace").rstrip("\r\n")
            # Only these end a line of a robots.txt (RFC 9309 2.2); splitlines() knows more.
            for line in re.split("\r\n|\r|\n", text):
                self.output.line(line)


def _found(text: str, store: StoreReader) -> Iterator[RobotsRecord]:
    if "://" in text:
        origins = [origin_in(text)]
    else:
        origins = [Origin("https", text.lower(), 443), Origin("http", text.lower(), 80)]
    return filter(None, map(store.get, origins))


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


class Verify(_OfStore):
    """Check every record of a store, and the store itself.

    Nothing is repaired: a crawl does that when it finds damage. Exit status: 0; 1 if something is
    wrong; 2 if the store cannot be opened.
    """

    # Each record with its checksum and the hash of its text, and the file as SQLite sees it.

    arguments = (STORE,)

    def run(self) -> int:
        records = faults = 0
        try:
            with self.opened_to_read() as store:
                self.output.progress("checking the file")
                for fault in store.faults():
                    faults += 1
                    self.output.line((fault, Style.BAD))
                for each in store.scan():
                    records += 1
                    if each.record is None:
                        faults += 1
                        self.output.line((f"{each.origin}: {each.fault}", Style.BAD))
                    if records % PROGRESS_EVERY == 0:
                        self.output.progress(f"{records:,} records")
        except StoreDamagedError as error:
            faults += 1
            self.output.line((error, Style.BAD))
        self.output.line(f"{counted(records, 'record')} checked, {counted(faults, 'fault')}")
        return Exit.FOUND if faults else Exit.OK


_AGE = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)(s|min|h|d|w)")
_SECONDS = {"s": 1, "min": 60, "h": 3_600, "d": 86_400, "w": 7 * 86_400}


def moment_in(text: str, now: float) -> float:
    """Seconds since the epoch of ``2026-11-20``, ``2026-11-20T18:00`` (UTC unless it says
    otherwise), or ``30d``, which is 30 days before *now*.

    Raises WrongUsageError.
    """
    age = _AGE.fullmatch(text)
    if age:
        return now - float(age[1]) * _SECONDS[age[2]]
    try:
        return checks.moment(text)
    except ValueError:
        raise WrongUsageError(
            f"{text!r}: expected a date (2026-11-20), a time (2026-11-20T18:00), or an age (30d, "
            "12h, 90min, 10s)"
        ) from None


_BATCH = 1_000
"""Records that are deleted between two looks at the progress."""


class Purge(_OfStore):
    """Delete records from a store: by default those that no crawl can use any more.

    Without options, deletes what is older than ROBOTS_STALE_MAX and the longest ROBOTS_TTL
    together, and what is dated in the future, as each crawl does when it starts. Exit status: 0; 2
    if the store cannot be changed.
    """

    # Some hundred records at a time: a crawl that uses the store goes on.

    arguments = (
        (
            argument(
                "--before",
                metavar="TIME",
                help="what was neither fetched nor tried since: 2026-11-20, 2026-11-20T18:00 "
                "(UTC), or an age such as 30d, 12h, 90min, 10s",
            ),
            argument(
                "--origin", action="append", metavar="ORIGIN", help="this one (any number of times)"
            ),
            argument("--all", action="store_true", help="everything; needs --yes"),
        ),
        argument("--yes", action="store_true", help="to confirm --all"),
        STORE,
    )

    def run(self) -> int:
        if self.given.all != self.given.yes:
            raise WrongUsageError("--all and --yes are used together")
        origins = [origin_in(each) for each in self.given.origin or ()]
        before, after = self._span()
        with self.opened_to_read() as reader:
            len(reader)  # a store that is missing or damaged is left alone
        deleted = 0
        with self.opened_to_change() as store:
            held = len(store)
            for origin in origins:
                deleted += patiently(partial(_delete, store, origin))
            while not origins and (found := patiently(partial(store.purge, before, after, _BATCH))):
                deleted += found
                self.output.progress(f"{deleted:,} records deleted")
            self.output.line(f"{deleted:,} of {counted(held, 'record')} deleted")
        return Exit.OK

    def _span(self) -> tuple[float, float]:
        """Records from outside of it are deleted."""
        now = time.time()
        if self.given.all:
            return inf, inf
        if self.given.before is None:
            return span_of_use(now, self.project.robots.limits)
        before = moment_in(self.given.before, now)
        if before > now:
            raise WrongUsageError("--before: the time is in the future; see --all")
        return before, inf


def _delete(store: Store, origin: Origin) -> bool:
    """Whether there was a record to delete."""
    known = store.get(origin) is not None
    store.delete(origin)
    return known


class Export(_OfStore):
    """Write all records of a store as lines of JSON.

    Exit status: 0; 1 if a record cannot be trusted and was left out; 2 if the store cannot be read
    or FILE cannot be written.
    """

    # A file is complete when it appears.

    arguments = (
        argument(
            "-o", dest="file", metavar="FILE", help="write to FILE (default: to standard output)"
        ),
        STORE,
    )

    def run(self) -> int:
        with self.opened_to_read() as store:
            if self.given.file is None:
                self._export(store, self.output)
            else:
                with whole_file(Path(self.given.file), "ascii") as stream:
                    self._export(store, Output(stream))
        return self.status

    def _export(self, store: StoreReader, target: Output) -> None:
        for count, each in enumerate(store.scan()):
            if each.record is None:
                self.output.error(f"{each.origin} is left out: {each.fault}")
                self.note(Exit.FOUND)
            else:
                target.json(line_of(each.record))
            if count % PROGRESS_EVERY == 0:
                self.output.progress(f"{count:,} records")


_NAMED = 20
"""Wrong lines that are named; the others are only counted."""


class Import(_OfStore):
    """Read records that were exported into a store.

    Of two records of an origin the newer one stays. A wrong line is named and left out. Exit
    status: 0; 1 if a line was left out; 2 if FILE cannot be read or the store fails.
    """

    # Each record as a whole or not at all, and of two the newer stays: doing it again, or half of
    # it, does no harm. So a wrong line is left out, and the rest imported.

    arguments = (
        argument("file", metavar="FILE", help="what export wrote; - for standard input"),
        STORE,
    )

    def run(self) -> int:
        longest = self.project.robots.fetch_max_bytes
        with opened(self.given.file) as stream, self.opened_to_change() as store:
            lines = numbered_lines(stream, most_characters(longest))
            counts = self._import(lines, store, longest)
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


MEMBERS = (List, Show, Export, Import, Purge, Verify)
