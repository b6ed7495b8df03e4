"""The summary of an audit log: lines that say the same are one row, and SQL groups the rows.

The rows are in a temporary SQLite file, which stays in memory while it is small. So all numbers are
exact, memory does not grow with the log, and the file grows only with the number of different rows.
"""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from weakref import finalize

from scrapy_robots_plus.crawl.recent import Recent
from scrapy_robots_plus.protocol.origin import Origin
from scrapy_robots_plus.protocol.preferences import Source
from scrapy_robots_plus.protocol.printable import printable
from scrapy_robots_plus.settings.host_patterns import HostPatterns, plain_pattern

from .chain import MOST_OPEN_CRAWLS
from .entries import CrawlEntry, EndEntry, Entry, FileEntry, StandingEntry, VerdictEntry, to_fields

Fields = tuple[tuple[str, str], ...]


TOLERANCE = 0.01
"""Seconds by which a gap may be shorter than the delay without counting as too short: the time it
takes to send a request once it is due."""

_TABLES_AND_VIEWS = Path(__file__).with_name("summary.sql")
_ROWS = 2_000
"""How many rows of a table are counted in memory before they are written."""
_MOST_SENT = 20_000
"""For how many pairs of crawl and site the last request is remembered, to measure the next gap."""
_KEPT = 500
"""Characters of a text that are kept."""
_OF_PAGE = {each.value for each in Source if each.is_of_page}
"""Sources of objections that are known only once the response is there."""
_MOST = 2**53
"""A number above any that a log can have counted."""


class Summary:
    """The summary of the entries that were added: rows of the views in ``summary.sql``.

    All numbers are exact. Memory does not grow with the log: the tables are in a temporary file,
    which grows with what differs. Raises :exc:`sqlite3.Error` if there is no room for that.
    """

    def __init__(self, hosts: Iterable[str] = ()) -> None:
        """Takes *hosts*, patterns as in ``ROBOTS_OVERRIDES``. If any, other sites are left out.

        So is the number of allowed requests in the last line of a crawl: it is about all sites.
        """
        self.hosts = HostPatterns((plain_pattern(host), True) for host in hosts)
        self._file = sqlite3.connect("", isolation_level=None)  # in memory while it is small
        finalize(self, self._file.close)
        self._file.execute("PRAGMA journal_mode = OFF")
        self._file.executescript(f"BEGIN; {_TABLES_AND_VIEWS.read_text(encoding='ascii')}")
        self._tables: defaultdict[str, dict[Any, list[Any]]] = defaultdict(dict)
        """Rows not written yet, by table and key: count, first, last and example."""
        self._logs_all: Recent[str, bool] = Recent(MOST_OPEN_CRAWLS)
        """Whether a crawl that has begun logs all allowed requests, by its name."""
        self._sent: Recent[tuple[str, str], float] = Recent(_MOST_SENT)
        """When the last request was sent, in seconds since the epoch, by crawl and origin."""

    def rows(self, view: str, most: int = -1) -> Iterator[Any]:
        """Returns the first *most* rows of a view, as objects with the names of its columns.

        -1 stands for all rows.
        """
        for table in self._tables:
            self._write(table)
        query = f"SELECT * FROM {view} LIMIT ?"  # noqa: S608 - our own names
        found = self._file.execute(query, (most,))
        names = [name for name, *_ in found.description]
        return (SimpleNamespace(**dict(zip(names, row, strict=True))) for row in found)

    @cached_property
    def totals(self) -> Any:
        """The row of the view ``totals``. Cached: read it only after the last entry was added."""
        return next(self.rows("totals"))

    def add(self, entry: Entry) -> None:
        """Adds the entry of one line."""
        if self.hosts and not self._is_asked_for(entry):
            return
        match entry:
            case VerdictEntry():
                self._add_verdict(entry)
            case FileEntry():
                self._add_file(entry)
            case StandingEntry():
                self._count("others", (entry.crawl, entry.origin, entry.standing), entry.time)
            case _:
                self._count("others", (entry.crawl, None, None), entry.time)
                if isinstance(entry, CrawlEntry):
                    self._add_begin(entry)
                elif isinstance(entry, EndEntry):
                    self._add_end(entry)

    def _is_asked_for(self, entry: Entry) -> bool:
        if not hasattr(entry, "origin"):
            return True
        try:
            origin = Origin.of(entry.origin or "")
        except ValueError:  # the log was tampered with
            return False
        return origin is not None and self.hosts.of(origin) is not None

    def _count(self, table: str, key: tuple[Any, ...], value: float, example: str = "") -> None:
        """Counts a line with *key*, the columns of *table*; *value* is its time, or its gap."""
        rows = self._tables[table]
        row = rows.get(key)
        if row is None:
            if len(rows) >= _ROWS:
                self._write(table)
            row = rows.setdefault(tuple(map(_kept, key)), [0, value, value, _kept(example)])
        row[0] += 1
        row[1] = min(row[1], value)
        row[2] = max(row[2], value)

    def _write(self, table: str) -> None:
        rows = [(*key, *row) for key, row in self._tables[table].items()]
        if rows:
            places = ", ".join("?" * len(rows[0]))
            self._file.executemany(f"INSERT INTO {table} VALUES ({places})", rows)  # noqa: S608
            self._tables[table].clear()

    def _add_verdict(self, entry: VerdictEntry) -> None:
        crawl, origin, override = entry.crawl, entry.origin or "", entry.override
        sets = None if override is None else _fields_of(override)
        key = (crawl, origin, status_of(entry), entry.allowed, entry.mode == "obey", entry.reason)
        is_skipped = not entry.allowed and entry.source in _OF_PAGE  # the request has its own line
        why: tuple[Any, ...] = (None,) * 5
        if not entry.allowed:
            why = (entry.rule, entry.line, entry.robots_url, entry.use, entry.source)
        self._count("verdicts", (*key, sets, *why, is_skipped), entry.time, entry.url)
        if entry.sent is not None and self._logs_all.get(crawl):
            self._measure((_kept(crawl), _kept(origin)), entry.sent, entry.delay)

    def _measure(self, place: tuple[str, str], sent: float, delay: float | None) -> None:
        """Counts the gap since the last request, if there is a delay to compare it with."""
        before = self._sent.get(place)
        self._sent.put(place, sent)
        if before is not None and sent >= before and delay and delay > 0:  # clocks may go back
            gap = sent - before
            self._count("gaps", (place[1], delay, gap < delay - TOLERANCE), gap)

    def _add_file(self, entry: FileEntry) -> None:
        crawl, origin, status = entry.crawl, entry.origin, status_of(entry)
        is_unread = entry.failure is not None or entry.access == "unreachable"
        failure = (entry.failure or entry.status or "") if is_unread else None
        key = (crawl, origin, status, entry.access, failure, entry.delay_asked)
        self._count("files", key, entry.time)
        if entry.changed:
            became = (entry.previous or "", entry.sha256 or "")
            self._count("changed", (entry.time, origin, *became), entry.time)

    def _add_begin(self, entry: CrawlEntry) -> None:
        if entry.crawl in self._logs_all:
            return  # the crawl goes on in another file
        logs_all = entry.allowed_share >= 1
        self._logs_all.put(entry.crawl, logs_all)
        key = (entry.crawl, entry.spider, entry.version, entry.mode, _settings_of(entry), logs_all)
        self._count("begins", key, entry.time)

    def _add_end(self, entry: EndEntry) -> None:
        allowed = None if self.hosts else max(entry.allowed + entry.dont_obey, 0)
        key = (entry.crawl, entry.reason, allowed, entry.denied, max(entry.lost, 0))
        self._count("ends", key, entry.time)


def status_of(entry: FileEntry | VerdictEntry) -> str:
    """Returns the status of a robots.txt: ``200``, ``timeout``; in an outage ``200, now 503``.

    It is ``own text`` for the rules of an override, and empty if the site was not asked.
    """
    status, failure = entry.status, entry.failure
    if status is None:
        return "own text" if entry.access == "rules" else ""
    return status if failure in (None, status) else f"{status:.{_KEPT}}, now {failure:.{_KEPT}}"


def _kept(value: Any) -> Any:
    """Returns *value* as it is kept: printable, limited in size, and fields as JSON."""
    kind = type(value)
    if kind is str:
        return printable(value[:_KEPT])
    if kind is tuple:
        return json.dumps(dict(value))
    return min(max(value, -_MOST), _MOST) if kind is int else value


def _fields_of(override: Mapping[str, Any]) -> Fields:
    """Returns what *override* sets, sorted, so that it is equal for equal overrides."""
    return tuple(sorted((_kept(name), _kept(str(value))) for name, value in override.items()))


_NO_SETTINGS = {"type", "time", "crawl", "spider", "version", "mode", "overrides", "bodies"}
"""Fields of the line of a crawl that are not shown as settings."""


def _settings_of(entry: CrawlEntry) -> Fields:
    given = {**to_fields(entry), "dialect": entry.dialect.get("name")}
    is_set = {name: value for name, value in given.items() if value not in (None, (), {})}
    # They are the user's own, and not cut.
    names = sorted(is_set.keys() - _NO_SETTINGS)
    return tuple((name, printable(is_set[name])) for name in names)
