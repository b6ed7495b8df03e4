"""Counts in bounded memory: the most frequent of any number of keys, what happened when, and what
is summed up of each host, rule, reason, override, robots.txt and crawl of a log.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import chain, count
from math import inf
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from scrapy_robots_plus.crawl.recent import Recent

from .entries import CrawlEntry, EndEntry, Entry, FileEntry, VerdictEntry

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

_KEPT = 500
"""Characters that are kept of a text."""
_MOST = 2**63 - 1
_MOST_DELAYS = 3
_MOST_CRAWLS = 8


def cut(text: object) -> str:
    """As much of *text* as is kept, however long it is; None is no text."""
    try:
        return "" if text is None else str(text)[:_KEPT]
    except RecursionError:
        return "nested too deeply"


def bounded(count: int) -> int:
    """*count*, or the nearest number that a log can have counted."""
    return min(max(count, 0), _MOST)


@dataclass(slots=True, eq=False)
class Row:
    """What is known of one key, of a rule or a reason for example. Subclasses add to it."""

    count: int = 0
    """How often the key was seen since this row is there."""
    missed: int = 0
    """At most so often it may have been seen before. 0: the count is exact."""
    allowed: int = 0
    """Requests."""
    denied: int = 0
    """Requests."""
    example: str = ""
    """The URL of the first request."""
    first: float = inf
    """Time of its first entry, in seconds since the epoch."""
    last: float = 0.0
    """Time of its latest entry, in seconds since the epoch."""

    @property
    def most(self) -> int:
        """How often the key was seen at most."""
        return self.count + self.missed

    def add(self, entry: Entry) -> None:
        """Adds what *entry* says."""
        self.first, self.last = min(self.first, entry.time), max(self.last, entry.time)
        if isinstance(entry, VerdictEntry):
            self.example = self.example or cut(entry.url)
            self.allowed += entry.allowed
            self.denied += not entry.allowed


K = TypeVar("K", bound="Hashable")
R = TypeVar("R", bound=Row)


class Top(Generic[K, R]):
    """A row for each of the most frequent keys: all of them, as long as there are few.

    With more than twice *capacity* keys, those seen least are dropped, and a key that comes later
    is given what a dropped one may have had as ``missed``. Of n keys seen, one that is seen more
    than n / capacity times is always there (space-saving: Metwally and others, 2005, done in
    batches).
    """

    def __init__(self, capacity: int, new_row: Callable[[], R]) -> None:
        self.is_complete = True
        """Whether no key was ever dropped, so that all counts are exact."""
        self._capacity = capacity
        self._new_row = new_row
        self._rows: dict[K, R] = {}
        self._most_dropped = 0

    def seen(self, key: K) -> R:
        """Counts *key*; returns its row, to which more may be added."""
        if key not in self._rows:
            if len(self._rows) >= 2 * self._capacity:
                self._drop()
            self._rows[key] = self._new_row()
            self._rows[key].missed = self._most_dropped
        row = self._rows[key]
        row.count += 1
        return row

    def _drop(self) -> None:
        kept = dict(heapq.nlargest(self._capacity, self._rows.items(), key=_frequency))
        dropped = (row.most for key, row in self._rows.items() if key not in kept)
        self._most_dropped = max(self._most_dropped, *dropped)
        self._rows = kept
        self.is_complete = False

    def ranked(self, rank: Callable[[R], object]) -> list[tuple[K, R]]:
        """All rows, those with the greatest *rank* first; of equals the earliest."""
        return sorted(self._rows.items(), key=lambda item: rank(item[1]), reverse=True)  # type: ignore[arg-type, return-value]

    def __len__(self) -> int:
        """How many keys have a row."""
        return len(self._rows)


def _frequency(item: tuple[object, Row]) -> int:
    return item[1].most


_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400
_WIDTHS = (1, 5, 15, _MINUTE, 5 * _MINUTE, 15 * _MINUTE, _HOUR, 4 * _HOUR, _DAY, 7 * _DAY)
"""In seconds. Each is a multiple of the one before, so that buckets can be merged."""


class Bucket(NamedTuple):
    """What happened from ``start`` on, until the next bucket."""

    start: float
    """Seconds since the epoch."""
    counts: Counter[str]
    """How often what happened."""


class Timeline:
    """How often what happened, in at most *most* buckets of equal width."""

    def __init__(self, most: int = 120) -> None:
        self._most = most
        self._wider = chain(_WIDTHS, (7 * _DAY * 2**power for power in count(1)))
        self._counts: dict[int, Counter[str]] = {}
        """By the number of the bucket; those in which nothing happened are not there."""
        self.width = next(self._wider)
        """Of a bucket, in seconds."""

    def add(self, moment: float, what: str) -> None:
        """Counts *what*, which happened at *moment*, in seconds since the epoch."""
        number = int(moment // self.width)
        if number in self._counts:
            self._counts[number][what] += 1
            return
        self._counts[number] = Counter([what])
        while max(self._counts) - min(self._counts) >= self._most:
            self._widen()

    def _widen(self) -> None:
        width, self.width = self.width, next(self._wider)
        merged: defaultdict[int, Counter[str]] = defaultdict(Counter)
        for number, counts in self._counts.items():
            merged[number * width // self.width].update(counts)
        self._counts = dict(merged)

    def buckets(self) -> list[Bucket]:
        """From the first to the last in which something happened, empty ones too."""
        numbers = range(min(self._counts), max(self._counts) + 1) if self._counts else ()
        return [Bucket(n * self.width, self._counts.get(n, Counter())) for n in numbers]


TOLERANCE = 0.01
"""Seconds by which a gap may be shorter than the delay, and not count as too short: what computers
need to send a request once it is due."""


@dataclass(slots=True, eq=False)
class Gaps:
    """The gaps between requests to a host while it had one delay, from start to start."""

    delay: float
    """That each request had to keep, in seconds."""
    count: int = 0
    too_short: int = 0
    """How many of them are shorter than the delay by more than TOLERANCE."""
    shortest: float = inf
    """In seconds."""

    def add(self, seconds: float) -> None:
        """Counts a gap."""
        self.count += 1
        self.too_short += seconds < self.delay - TOLERANCE
        self.shortest = min(self.shortest, seconds)


def status_of(entry: FileEntry | VerdictEntry) -> str:
    """What a robots.txt answered: ``200``, ``timeout``; in an outage ``200, now 503``.

    ``own text`` for the rules of an override; empty if the site was not asked.
    """
    if entry.status is None:
        return "own text" if entry.access == "rules" else ""
    status, failure = cut(entry.status), cut(entry.failure)
    return f"{status}, now {failure}" if failure and failure != status else status


@dataclass(slots=True, eq=False)
class Host(Row):
    """One origin: its robots.txt, and the gaps between its requests."""

    status: str = ""
    """What its robots.txt answered last."""
    standing: str = ""
    """How it treated the crawl at last: ``walled``; empty if that never changed."""
    delay_asked: float | None = None
    """In seconds; None if its robots.txt asks for none, or is not in the log."""
    gaps: Recent[float, Gaps] = field(default_factory=lambda: Recent(_MOST_DELAYS))
    """By the delay that it had, in seconds."""
    last_sent: Recent[str, float] = field(default_factory=lambda: Recent(_MOST_CRAWLS))
    """By crawl; seconds since the epoch."""

    @property
    def measured(self) -> Gaps | None:
        """The gaps that tell most: those of the delay that was kept worst; None without any."""
        return max(self.gaps.values(), key=lambda each: (each.too_short, each.count), default=None)

    def sent(self, crawl: str, moment: float, delay: float | None) -> None:
        """Measures the gap to the request before, if there is a delay to compare it with."""
        before = self.last_sent.get(crawl)
        self.last_sent.put(crawl, moment)
        if before is None or moment < before or not delay or delay < 0:
            return  # the clock may have been set back
        if delay not in self.gaps:
            self.gaps.put(delay, Gaps(delay))
        self.gaps[delay].add(moment - before)


@dataclass(slots=True, eq=False)
class Crawl(Row):
    """One crawl."""

    spider: str = ""
    mode: str = ""
    version: str = ""
    """Empty if the log does not hold its begin."""
    settings: dict[str, str] = field(default_factory=dict)
    """What its verdicts depended on, by the names that a user knows."""
    allowed_share: float | None = None
    """Of the allowed requests, which share is logged; None if that is not known."""
    ended: str | None = None
    """How it ended; None if the log does not hold that."""
    counted: int | None = None
    """Allowed requests, logged or not; None if the log does not hold its end."""
    lost: int = 0
    """Lines that could not be written."""

    def begin(self, entry: CrawlEntry) -> None:
        """Keeps what it begins with."""
        self.spider, self.mode, self.version = map(cut, (entry.spider, entry.mode, entry.version))
        self.allowed_share = entry.allowed_share
        self.settings = {name: cut(value) for name, value in _settings_of(entry).items()}

    def finish(self, entry: EndEntry, *, is_part: bool) -> None:
        """Keeps how it ended; *is_part*: not what it counted."""
        self.ended, self.lost = cut(entry.reason), bounded(entry.lost)
        self.counted = None if is_part else bounded(entry.allowed + entry.dont_obey)

    @property
    def logs_all(self) -> bool:
        """Whether each of its allowed requests is in the log, so that gaps can be measured."""
        return self.allowed_share is not None and self.allowed_share >= 1


def _settings_of(entry: CrawlEntry) -> dict[str, object]:
    longest = f"{entry.crawl_delay_max:g} s, then {entry.crawl_delay_too_long}"
    given = {
        "ROBOTSTXT_OBEY": entry.obey,
        "ROBOTSTXT_USER_AGENT": entry.agent,
        "ROBOTSTXT_PARSER": entry.parser,
        "ROBOTS_DIALECT": entry.dialect.get("name"),
        "ROBOTS_STATUS_POLICY": entry.status_policy,
        "ROBOTS_CRAWL_DELAY_MAX": longest if entry.keeps_delays else "delays are not kept",
        "ROBOTS_STALE_MAX": f"{entry.stale_max:g} s",
        "ROBOTS_AI_USES": entry.ai_uses,
        "ROBOTS_CONTENT_USE": entry.content_use,
        "ROBOTS_AI_POLICY": entry.ai_policy if entry.ai_uses or entry.content_use else None,
        "ROBOTS_AI_TOKENS": entry.use_tokens,
        "ROBOTS_AUDIT_LOG_ALLOWED": entry.allowed_share,
    }
    return {name: value for name, value in given.items() if value not in (None, (), {})}
