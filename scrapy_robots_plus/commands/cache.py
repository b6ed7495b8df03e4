"""Inspect and maintain a store of robots.txt files.

It can be looked at while crawls use it.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from contextlib import nullcontext
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from scrapy_robots_plus.origins.crawl_store import uri_in_job
from scrapy_robots_plus.origins.freshness import fresh_for, held_to
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
    from scrapy_robots_plus.storage.record import RobotsRecord

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
_store.add_argument(
    "--jobdir", dest="store", type=uri_in_job, metavar="FOLDER", help="the store of the job there"
)


class _OfStore(Subcommand):
    """What all of them need."""

    @property
    def _uri(self) -> str:
        """The store to use. Raises WrongUsageError if there is none to choose."""
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
        for each in store.scan():
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


def moment(written: str | None) -> str:
    """A time of a record's line, in UTC: ``2026-11-20 18:59:01``."""
    return (written or "-")[:19].replace("T", " ")


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
                fields = {
                    **fields_of(record),
                    "age": now - record.fetched_at,
                    "fresh_for": freshness_of(record, now, limits),
                    "size": len(record.body),
                }
                self.show(fields, [_columns(record, fields)])


def _columns(record: RobotsRecord, fields: dict[str, Any]) -> Line:
    columns = _COLUMNS.format(
        answer_in(record),
        fields["access"],
        moment(fields["fetched_at"]) if record.readable else "never",
        span(fields["age"]) if record.readable else "-",
        span(fields["fresh_for"]),
        f"{fields['size']:,}",
        f"{fields['failures']:,}",
    )
    return (columns, _STYLES[fields["access"]]), fields["origin"]


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
            lines = _in_words(record, line_of(record), self.project.robots.limits)
            self.show(line_of(record), [()] * bool(number) + list(lines))


def _in_words(record: RobotsRecord, fields: dict[str, Any], limits: Limits) -> Iterator[Line]:
    now = time.time()
    yield ((record.origin, Style.BOLD),)
    yield fact("status", f"{answer_in(record)} ({record.access.value})", 10)
    yield fact("from", record.url, 10)
    if record.readable:
        ago = span(now - record.fetched_at)
        yield fact("fetched", f"{moment(fields['fetched_at'])} UTC, {ago} ago", 10)
    fresh_for = freshness_of(record, now, limits)
    due = "no longer: the next request asks again"
    yield fact("fresh for", span(fresh_for) if fresh_for else due, 10)
    if record.failures:
        last = moment(fields["failed_at"])
        yield fact("failures", f"{record.failures:,} in a row, the last at {last} UTC", 10)
    yield fact("size", f"{len(record.body):,} bytes", 10)
    if record.sha256:
        yield fact("sha256", record.sha256, 10)
    for name, header in record.headers.items():
        yield fact("header", f"{name}: {header}", 10)
    if record.body:
        yield ()
        text = record.body.decode("utf-8", "backslashreplace").rstrip("\r\n")
        # Only these end a line of a robots.txt (RFC 9309 2.2); splitlines() knows more.
        yield from ((line,) for line in re.split("\r\n|\r|\n", text))


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
                yield from store.faults()
                for each in store.scan():
                    self._records += 1
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


_BATCH = 1_000
"""Records of a file that are deleted at a time: a crawl that uses it goes on in between."""


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
                deleted += store.get(origin) is not None
                patiently(store.delete, origin)
            limit = None if store.remote else _BATCH  # a server goes through all names each time
            while not origins and (found := patiently(store.purge, before, after, limit)):
                deleted += found
                if limit is None:
                    break
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
        name = self.given.file
        with (
            self.opened_to_read() as store,
            accessing(name or "standard output", "written"),
            nullcontext() if name is None else whole_file(Path(name), "ascii") as stream,
        ):
            target = self.output if stream is None else Output(stream)
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
        counts: Counter[str] = Counter()
        robots = self.project.robots
        with opened(self.given.file) as stream, self.opened_to_change() as store:
            for number, line in numbered_lines(stream, most_characters(robots.fetch_max_bytes)):
                try:
                    record = _record_in(line, robots.fetch_max_bytes)
                    counts["stored" if patiently(store.put, record) else "older"] += 1
                except LineError as error:  # noqa: PERF203 - each by itself
                    counts["wrong"] += 1
                    if counts["wrong"] <= _NAMED:
                        self.output.error(f"line {number:,}: {error}")
            held = len(store)
        if counts["wrong"]:
            self.note(Exit.FOUND)
        if counts["wrong"] > _NAMED:
            self.output.error("more lines are wrong; they are counted")
        self.output.line(
            f"{counted(counts['stored'], 'record')} imported, {counts['older']:,} newer in the "
            f"store, {counted(counts['wrong'], 'line')} left out"
        )
        if held > robots.store_max and not store.remote:
            self.output.error(
                f"The store has {held:,} records; a crawl with ROBOTS_STORE_MAX = "
                f"{robots.store_max:,} drops those above, the least recently fetched first."
            )


def _record_in(line: bytes, longest: int) -> RobotsRecord:
    """Raises LineError if *line* is not a record to take."""
    record = record_in(line, longest)
    if Standing.of(record).touched_at > time.time() + CLOCK_SKEW:
        raise LineError("its time is in the future: no correct record could replace it")
    return record


MEMBERS = (List, Show, Export, Import, Purge, Verify)
