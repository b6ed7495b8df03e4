"""Counts in bounded memory: the most frequent of any number of keys, what happened when, and what
is summed up of each host, rule, reason, override, robots.txt and crawl of a log.
"""

from __future__ import annotations

import heapq
from collections import Counter
from dataclasses import dataclass, field
from itertools import chain, count
from math import inf
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

    from .entries import CrawlEntry, EndEntry, FileEntry, VerdictEntry


@dataclass(slots=True, eq=False)
class Row:
    """What is known of one key. Subclasses add to it."""

    count: int = 0
    """How often the key was seen since this row is there."""
    missed: int = 0
    """At most so often it may have been seen before. 0: the count is exact."""

    @property
    def most(self) -> int:
        """How often the key was seen at most."""
        return self.count + self.missed


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
        row = self._rows.get(key)
        if row is None:
            row = self._add(key)
        row.count += 1
        return row

    def _add(self, key: K) -> R:
        if len(self._rows) >= 2 * self._capacity:
            self._drop()
        row = self._rows[key] = self._new_row()
        row.missed = self._most_dropped
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
        self._buckets: dict[int, Counter[str]] = {}
        self._first = self._last = 0
        self.width = next(self._wider)
        """Of a bucket, in seconds."""

    def add(self, moment: float, what: str) -> None:
        """Counts *what*, which happened at *moment*, in seconds since the epoch."""
        bucket = self._buckets.get(int(moment // self.width))
        if bucket is None:
            bucket = self._new_bucket(moment)
        bucket[what] += 1

    def _new_bucket(self, moment: float) -> Counter[str]:
        self._extend(int(moment // self.width))
        while self._last - self._first >= self._most:
            self._widen()
        return self._buckets.setdefault(int(moment // self.width), Counter())

    def _extend(self, number: int) -> None:
        if not self._buckets:
            self._first = self._last = number
        self._first, self._last = min(self._first, number), max(self._last, number)

    def _widen(self) -> None:
        width = next(self._wider)
        merged: dict[int, Counter[str]] = {}
        for number, counts in self._buckets.items():
            merged.setdefault(number * self.width // width, Counter()).update(counts)
        self._first = self._first * self.width // width
        self._last = self._last * self.width // width
        self._buckets, self.width = merged, width

    def buckets(self) -> list[Bucket]:
        """From the first to the last in which something happened, empty ones too."""
        if not self._buckets:
            return []
        numbers = range(self._first, self._last + 1)
        return [Bucket(n * self.width, self._buckets.get(n, Counter())) for n in numbers]


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


_KEPT = 500
"""Characters that are kept of a text."""
_MOST = 2**63 - 1
_MOST_DELAYS = 3
_MOST_CRAWLS = 8

T = TypeVar("T")


def cut(text: str | None) -> str:
    """As much of *text* as is kept, however long it is."""
    return (text or "")[:_KEPT]


def bounded(count: int) -> int:
    """*count*, or the nearest number that a log can have counted."""
    return min(max(count, 0), _MOST)


def status_of(entry: FileEntry | VerdictEntry) -> str:
    """What a robots.txt answered: ``200``, ``timeout``; in an outage ``200, now 503``.

    ``own text`` for the rules of an override; empty if the site was not asked.
    """
    if entry.status is None:
        return "own text" if entry.access == "rules" else ""
    status, failure = cut(entry.status), cut(entry.failure)
    return f"{status}, now {failure}" if failure and failure != status else status


@dataclass(slots=True, eq=False)
class Outcomes(Row):
    """Verdicts that have something in common."""

    allowed: int = 0
    denied: int = 0
    example: str = ""
    """The URL of the first."""

    def add(self, verdict: VerdictEntry) -> None:
        """Counts it as well."""
        self.example = self.example or cut(verdict.url)
        if verdict.allowed:
            self.allowed += 1
        else:
            self.denied += 1


@dataclass(slots=True, eq=False)
class Override(Outcomes):
    """The verdicts of one override."""

    fields: dict[str, str] = field(default_factory=dict)
    """What it sets, ``reason`` included."""

    def describe(self, override: Mapping[str, Any]) -> None:
        """Keeps what it sets."""
        self.fields = self.fields or {
            cut(name): _shown(value) for name, value in list(override.items())[:20]
        }


@dataclass(slots=True, eq=False)
class Host(Outcomes):
    """The verdicts of one origin, its robots.txt, and the gaps between its requests."""

    status: str = ""
    """What its robots.txt answered last."""
    standing: str = ""
    """How it treated the crawl at last: ``walled``; empty if that never changed."""
    delay_asked: float | None = None
    """In seconds; None if its robots.txt asks for none, or is not in the log."""
    gaps: dict[float, Gaps] = field(default_factory=dict)
    """By the delay that it had, in seconds."""
    last_sent: dict[str, float] = field(default_factory=dict)
    """By crawl; seconds since the epoch."""

    def add(self, verdict: VerdictEntry) -> None:
        """Counts it as well."""
        Outcomes.add(self, verdict)  # super() knows no class with slots
        self.status = status_of(verdict)

    @property
    def measured(self) -> Gaps | None:
        """The gaps that tell most: those of the delay that was kept worst; None without any."""
        return max(self.gaps.values(), key=lambda each: (each.too_short, each.count), default=None)

    def sent(self, crawl: str, moment: float, delay: float | None) -> None:
        """Measures the gap to the request before, if there is a delay to compare it with."""
        before = self.last_sent.pop(crawl, None)
        self.last_sent[crawl] = moment
        _forget(self.last_sent, _MOST_CRAWLS)
        if before is None or moment < before or not delay or delay < 0:
            return  # the clock may have been set back
        if delay not in self.gaps:
            self.gaps[delay] = Gaps(delay)
            _forget(self.gaps, _MOST_DELAYS)
        self.gaps[delay].add(moment - before)


@dataclass(slots=True, eq=False)
class Failure(Row):
    """How the robots.txt of one origin failed in one way."""

    first: float = inf
    """When, in seconds since the epoch."""
    last: float = 0.0
    """When, in seconds since the epoch."""

    def add(self, file: FileEntry) -> None:
        """Counts it as well."""
        self.first, self.last = min(self.first, file.time), max(self.last, file.time)


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
    allowed: int = 0
    denied: int = 0
    """Verdicts in the log."""
    first: float = inf
    """Time of its first entry, in seconds since the epoch."""
    last: float = 0.0
    """Time of its latest entry, in seconds since the epoch."""
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
        self.settings = {name: _shown(value) for name, value in _settings_of(entry).items()}

    def at(self, moment: float) -> None:
        """It was running then."""
        self.first, self.last = min(self.first, moment), max(self.last, moment)

    def add(self, verdict: VerdictEntry) -> None:
        """Counts it as well."""
        self.allowed += verdict.allowed
        self.denied += not verdict.allowed

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


def _shown(value: object) -> str:
    try:
        return cut(str(value))
    except RecursionError:
        return "nested too deeply"


def _forget(of: dict[T, object] | dict[T, float] | dict[T, Gaps], most: int) -> None:
    """Drops the oldest, if there are more than *most*."""
    while len(of) > most:
        del of[next(iter(of))]
