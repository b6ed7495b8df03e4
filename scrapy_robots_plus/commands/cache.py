"""Look into a store of robots.txt files, and delete from it.

Crawls may use it meanwhile.
"""

from __future__ import annotations

import time
from typing import Any

from scrapy_robots_plus.crawl.clock import timestamp
from scrapy_robots_plus.origins.freshness import fresh_for, within_limits
from scrapy_robots_plus.origins.policy import answer_in
from scrapy_robots_plus.protocol.http_caching import Limits
from scrapy_robots_plus.protocol.octets import text
from scrapy_robots_plus.protocol.origin import TDMREP, Origin
from scrapy_robots_plus.protocol.printable import counted, duration
from scrapy_robots_plus.storage.record import RobotsRecord

from .errors import WrongUsageError
from .inputs import JSON, argument, site_of
from .subcommand import Exit, Subcommand, complain, say

STORE = argument(
    "--store",
    metavar="URI",
    help="the store, such as sqlite:robots.db (default: ROBOTS_STORE, else that of JOBDIR)",
)

_COLUMNS = "{:<18} {:<11} {:<19} {:>11} {:>11} {:>9} {:>8}  {}"
"""The columns: the origin is last, as it has any length and no line waits for the longest."""

_HEAD = _COLUMNS.format(
    "STATUS", "ACCESS", "FETCHED (UTC)", "AGE", "FRESH FOR", "BYTES", "FAILURES", "ORIGIN"
)


class List(Subcommand):
    """List what a store keeps, a line for each origin.

    Exit status: 0; 1 if a record cannot be trusted; 2 if the store cannot be read.
    """

    # Prints each record as it comes, in the order of the origins; nothing is collected.

    arguments = STORE, JSON

    def run(self) -> None:
        with self.project.open_store() as store:
            self.show([], [_HEAD])
            for found in store.scan():
                if found.record is None:
                    complain(f"{found.origin}: {found.fault}")
                    self.note(Exit.FOUND)
                    continue
                fields = _fields_of(found.record, self.project.robots.limits)
                self.show([fields], [_line(found.record, fields)])


ORIGIN = argument("origin", metavar="ORIGIN", help="such as https://site.example, or any URL of it")


def _origin_named(name: str) -> Origin:
    """Returns the origin of the record that *name* names: as a list shows it, or any URL of it.

    Raises WrongUsageError if it is not an http or https URL.
    """
    _, origin = site_of(name)
    return origin.tdmrep if name.endswith(TDMREP) else origin


class Show(Subcommand):
    """Show one record of a store, and the text of its robots.txt.

    Exit status: 0; 2 if the store has no such record, or cannot be read.
    """

    arguments = ORIGIN, STORE, JSON

    def run(self) -> None:
        record = self.project.stored(_origin_named(self.given.origin))
        fields = _fields_of(record, self.project.robots.limits)
        headers = (f"{name}: {header}" for name, header in record.headers.items())
        lines = [_HEAD, _line(record, fields), "", *headers]
        if record.body:
            lines += ["", *map(text, record.body.splitlines())]
        self.show([{**fields, "body": text(record.body)}], lines)


def _fields_of(record: RobotsRecord, limits: Limits) -> dict[str, Any]:
    """Returns what is known of *record*, except its text."""
    now = time.time()
    return {
        "origin": str(record.origin),
        "access": record.access.value,
        "status": str(record.outcome),
        "robots_url": record.url,
        "fetched_at": timestamp(record.fetched_at) if record.readable else None,
        "age": now - record.fetched_at if record.readable else None,
        "fresh_for": max(0.0, fresh_for(within_limits(record, limits), now)),
        "failure": None if record.failure is None else str(record.failure),
        "failures": record.failures,
        "headers": dict(record.headers),
        "sha256": record.sha256,
        "size": len(record.body),
        "cut": record.is_cut,
    }


def _line(record: RobotsRecord, fields: dict[str, Any]) -> str:
    return _COLUMNS.format(
        answer_in(record),
        fields["access"],
        (fields["fetched_at"] or "never")[:19].replace("T", " "),
        _span(fields["age"]),
        _span(fields["fresh_for"]),
        f"{fields['size']:,}",
        f"{fields['failures']:,}",
        fields["origin"],
    )


def _span(seconds: float | None) -> str:
    return duration(seconds) if seconds and seconds > 0 else "-"


class Purge(Subcommand):
    """Delete records from a store.

    What no crawl can use any more, each crawl deletes when it starts. Exit status: 0; 2 if the
    store has no such record, or cannot be changed.
    """

    arguments = (
        argument("origins", nargs="*", metavar="ORIGIN", help="as for show"),
        argument("--all", action="store_true", help="everything"),
        STORE,
    )

    def run(self) -> None:
        origins = dict.fromkeys(map(_origin_named, self.given.origins))
        if bool(origins) == self.given.all:
            raise WrongUsageError("expected either origins or --all")
        with self.project.open_store() as store:
            deleted = store.delete_all() if self.given.all else 0
            for origin in origins:
                if store.delete(origin):
                    deleted += 1
                else:
                    complain(f"the store has no record of {origin}")
                    self.note(Exit.UNDECIDED)
        say(f"{counted(deleted, 'record')} deleted")


MEMBERS = (List, Show, Purge)
