"""Inspect and maintain a store of robots.txt files.

It can be looked at while crawls use it.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from datetime import datetime, timezone
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

from .output import Line, Output, Style, WrongUsageError, accessing, fact
from .subcommand import (
    JSON,
    Exit,
    Subcommand,
    alternatives,
    argument,
    numbered_lines,
    opened,
    read_by,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scrapy_robots_plus.storage import Store, StoreReader
    from scrapy_robots_plus.storage.base import RobotsRecord

_T = TypeVar("_T")

PATIENCE = 30.0
"""Seconds to go on asking for a store that other processes keep locked."""

_PAUSE = 0.05
"""Seconds between two attempts."""

_NO_MAXIMUM = 1_000_000_000
"""Records. An action never drops a record to make room; the next crawl does."""


STORE, _store = alternatives()
_store.add_argument(
    "--store",
    type=read_by(check_store_uri),
    metavar="URI",
    help="the store, such as sqlite:robots.db (default: ROBOTS_STORE, else that of JOBDIR)",
)
_store.add_argument("--jobdir", metavar="FOLDER", help="the store of the job in FOLDER")


class _OfStore(Subcommand):
    """What all of them need."""

    @property
    def _uri(self) -> str:
        """The store to use. Raises WrongUsageError if there is none to choose."""
        if self.given.jobdir is not None:
            return uri_in_job(self.given.jobdir)
        uri: str | None = self.given.store or self.project.robots.store
        if uri is None:
            raise WrongUsageError(
                "expected --store URI or --jobdir FOLDER, as the project has neither a "
                "ROBOTS_STORE nor a JOBDIR with a store"
            )
        return uri

    def opened_to_read(self) -> StoreReader:
        """The store, which must be there. Raises StoreError or WrongUsageError."""
        return open_reader(self._uri, self.project.robots.fetch_max_bytes)

    def opened_to_change(self) -> Store:
        """The store, made if it is not there. Raises StoreError or WrongUsageError."""
        uri = self._uri
        if uri == "memory":
            raise StoreError("the store 'memory' ends with its crawl")
        return open_store(uri, _NO_MAXIMUM, self.project.robots.fetch_max_bytes)

    def trusted(self, store: StoreReader, what_else: str = "") -> Iterator[RobotsRecord]:
        """All records; those that cannot be trusted are told on standard error."""
        for number, each in enumerate(store.scan()):
            self.output.count(number, "records")
            if each.record is not None:
                yield each.record
            else:
                self.output.error(f"{each.origin}{what_else}: {each.fault}")
                self.note(Exit.FOUND)


@read_by
def origin_in(text: str) -> Origin:
    """The origin that a user names, by any of its URLs."""
    try:
        origin = Origin.named(text)
    except ValueError as error:
        raise ValueError(f"{text!r}: {error}") from None
    if origin is None:
        raise ValueError(f"{text!r}: expected an origin such as https://site.example")
    return origin


def origins_in(text: str) -> list[Origin]:
    """The same; of a host those with a usual port."""
    if "://" in text:
        return [origin_in(text)]
    return [Origin("https", text.lower(), 443), Origin("http", text.lower(), 80)]


def patiently(work: Callable[..., _T], *given: object) -> _T:
    """What *work* returns, tried again while crawls keep the store locked. Raises StoreError."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return work(*given)
        except StoreError as error:  # noqa: PERF203 - what the loop is for
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(_PAUSE)


def moment(time: float) -> str:
    """A time, in seconds since the epoch, in UTC: ``2026-11-20 18:59:01``."""
    try:
        return f"{datetime.fromtimestamp(time, timezone.utc):%Y-%m-%d %H:%M:%S}"
    except (OverflowError, ValueError, OSError):  # written by a clock that is very wrong
        return f"{time:g}"


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

    arguments = STORE, JSON

    def run(self) -> None:
        now, limits = time.time(), self.project.robots.limits
        with self.opened_to_read() as store:
            if not self.as_json:
                self.output.line((_COLUMNS.format(*_HEADINGS) + "ORIGIN", Style.BOLD))
            for record in self.trusted(store):
                self._add(record, now, limits)

    def _add(self, record: RobotsRecord, now: float, limits: Limits) -> None:
        age, size = now - record.fetched_at, len(record.body)
        fresh_for = freshness_of(record, now, limits)
        access, was_read = record.access.value, record.readable
        columns = _COLUMNS.format(
            answer_in(record),
            access,
            moment(record.fetched_at) if was_read else "never",
            span(age) if was_read else "-",
            span(fresh_for),
            f"{size:,}",
            f"{record.failures:,}",
        )
        fields = {**fields_of(record), "age": age, "fresh_for": fresh_for, "size": size}
        self.show(fields, [((columns, _STYLES[access]), str(record.origin))])


class Show(_OfStore):
    """Show one record of a store, and the text of its robots.txt.

    Exit status: 0; 2 if the store has no such record, or cannot be read.
    """

    arguments = (
        argument(
            "origins",
            type=origins_in,
            metavar="ORIGIN",
            help="such as https://site.example, any of its URLs, or a host: all of its origins "
            "with a usual port",
        ),
        STORE,
        JSON,
    )

    def run(self) -> None:
        with self.opened_to_read() as store:
            records = list(filter(None, map(store.get, self.given.origins)))
        if not records:
            origins = " or ".join(map(str, self.given.origins))
            self.output.error(f"the store has no record of {origins}")
            self.note(Exit.UNDECIDED)
        for number, record in enumerate(records):
            lines = _in_words(record, time.time(), self.project.robots.limits)
            self.show(line_of(record), [()] * bool(number) + list(lines))


def _in_words(record: RobotsRecord, now: float, limits: Limits) -> Iterator[Line]:
    yield ((record.origin, Style.BOLD),)
    for name, value in _facts(record, now, limits):
        yield fact(name, value, 10)
    if record.body:
        yield ()
        text = record.body.decode("utf-8", "backslashreplace").rstrip("\r\n")
        # Only these end a line of a robots.txt (RFC 9309 2.2); splitlines() knows more.
        yield from ((line,) for line in re.split("\r\n|\r|\n", text))


def _facts(record: RobotsRecord, now: float, limits: Limits) -> Iterator[tuple[str, str]]:
    yield "status", f"{answer_in(record)} ({record.access.value})"
    yield "from", record.url
    if record.readable:
        yield "fetched", f"{moment(record.fetched_at)} UTC, {span(now - record.fetched_at)} ago"
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

    def run(self) -> None:
        self._records = faults = 0
        for fault in self._faults():
            faults += 1
            self.output.line((fault, Style.BAD))
            self.note(Exit.FOUND)
        records = counted(self._records, "record")
        self.output.line(f"{records} checked, {counted(faults, 'fault')}")

    def _faults(self) -> Iterator[object]:
        try:
            with self.opened_to_read() as store:
                self.output.progress("checking the file")
                yield from store.faults()
                for each in store.scan():
                    self._records += 1
                    self.output.count(self._records, "records")
                    if each.record is None:
                        yield f"{each.origin}: {each.fault}"
        except StoreDamagedError as error:
            yield error


_AGE = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)(s|min|h|d|w)")
_SECONDS = {"s": 1, "min": 60, "h": 3_600, "d": 86_400, "w": 7 * 86_400}


@read_by
def moment_in(text: str) -> float:
    """Seconds since the epoch of ``2026-11-20``, ``2026-11-20T18:00`` (UTC unless it says
    otherwise), or ``30d``, which is 30 days ago.
    """
    age = _AGE.fullmatch(text)
    if age:
        return time.time() - float(age[1]) * _SECONDS[age[2]]
    try:
        return checks.moment(text)
    except ValueError:
        raise ValueError(
            f"{text!r}: expected a date (2026-11-20), a time (2026-11-20T18:00), or an age (30d, "
            "12h, 90min, 10s)"
        ) from None


_BATCH = 50_000
"""Records that are deleted between two looks at the progress."""


_WHICH, _which = alternatives()
_which.add_argument(
    "--before",
    type=moment_in,
    metavar="TIME",
    help="what was neither fetched nor tried since: 2026-11-20, 2026-11-20T18:00 (UTC), or an age "
    "such as 30d, 12h, 90min, 10s",
)
_which.add_argument(
    "--origin",
    action="append",
    type=origin_in,
    metavar="ORIGIN",
    help="this one (any number of times)",
)
_which.add_argument("--all", action="store_true", help="everything; needs --yes")


class Purge(_OfStore):
    """Delete records from a store: by default those that no crawl can use any more.

    Without options, deletes what is older than ROBOTS_STALE_MAX and the longest ROBOTS_TTL
    together, and what is dated in the future, as each crawl does when it starts. Exit status: 0; 2
    if the store cannot be changed.
    """

    # Some hundred records at a time: a crawl that uses the store goes on.

    arguments = _WHICH, argument("--yes", action="store_true", help="to confirm --all"), STORE

    def run(self) -> None:
        if self.given.all != self.given.yes:
            raise WrongUsageError("--all and --yes are used together")
        origins: list[Origin] = self.given.origin or []
        before, after = self._span()
        with self.opened_to_read() as reader:
            len(reader)  # a store that is missing or damaged is left alone
        deleted = 0
        with self.opened_to_change() as store:
            held = len(store)
            for origin in origins:
                deleted += patiently(_delete, store, origin)
            while not origins and (found := patiently(store.purge, before, after, _BATCH)):
                deleted += found
                self.output.progress(f"{deleted:,} records deleted")
            self.output.line(f"{deleted:,} of {counted(held, 'record')} deleted")

    def _span(self) -> tuple[float, float]:
        """Records from outside of it are deleted."""
        now = time.time()
        if self.given.all:
            return inf, inf
        if self.given.before is None:
            return span_of_use(now, self.project.robots.limits)
        if self.given.before > now:
            raise WrongUsageError("--before: the time is in the future; see --all")
        return self.given.before, inf


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

    def run(self) -> None:
        with self.opened_to_read() as store:
            if self.given.file is None:
                self._export(store, self.output)
                return
            with (
                accessing(self.given.file, "written"),
                whole_file(Path(self.given.file), "ascii") as stream,
            ):
                self._export(store, Output(stream))

    def _export(self, store: StoreReader, target: Output) -> None:
        for record in self.trusted(store, " is left out"):
            target.json(line_of(record))


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

    def run(self) -> None:
        self._counts: Counter[str] = Counter()
        longest, counts = self.project.robots.fetch_max_bytes, self._counts
        with opened(self.given.file) as stream, self.opened_to_change() as store:
            for number, line in numbered_lines(stream, most_characters(longest)):
                try:
                    self._import(line, store, longest)
                except LineError as error:
                    self._leave_out(f"line {number:,}: {error}")
                self.output.count(number, "lines")
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

    def _import(self, line: bytes, store: Store, longest: int) -> None:
        """Raises LineError if *line* is not a record to take."""
        record = record_in(line, longest)
        if Standing.of(record).touched_at > time.time() + CLOCK_SKEW:
            raise LineError("its time is in the future: no correct record could replace it")
        stored = patiently(store.put, record)
        self._counts["stored" if stored else "older"] += 1

    def _leave_out(self, why: str) -> None:
        self._counts["wrong"] += 1
        self.note(Exit.FOUND)
        if self._counts["wrong"] <= _NAMED:
            self.output.error(why)
        elif self._counts["wrong"] == _NAMED + 1:
            self.output.error("more lines are wrong; they are counted")


MEMBERS = (List, Show, Export, Import, Purge, Verify)
