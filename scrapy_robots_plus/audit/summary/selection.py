"""The part of a log that is asked about: of some hosts, some crawls, some time."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING

from scrapy_robots_plus.audit.crawls import MOST_OPEN_CRAWLS
from scrapy_robots_plus.audit.entries import CrawlEntry, EndEntry
from scrapy_robots_plus.protocol.origin import Origin
from scrapy_robots_plus.settings.host_patterns import HostPatterns

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scrapy_robots_plus.audit.entries import Entry


@dataclass
class Selection:
    """Which entries count. Without arguments, all do."""

    hosts: HostPatterns[bool] = field(default_factory=HostPatterns)
    """Hosts or origins, as in ``ROBOTS_OVERRIDES``; all if there are none."""
    crawls: frozenset[str] = frozenset()
    """Names of crawls, or of spiders; all if there are none."""
    since: float = -inf
    """Seconds since the epoch."""
    until: float = inf
    """Seconds since the epoch."""
    words: tuple[str, ...] = ()
    """What was asked for, as it was written."""

    @property
    def is_part(self) -> bool:
        """Whether it may leave something out."""
        return bool(self.words)

    def of(self, entries: Iterable[Entry]) -> Iterator[Entry]:
        """Those that count. A crawl begins with the first of them."""
        begins: dict[str, CrawlEntry] = {}
        shown: set[str] = set()
        for entry in entries:
            if isinstance(entry, CrawlEntry) and self.is_part:
                begins[entry.crawl] = entry
                if len(begins) > MOST_OPEN_CRAWLS:
                    oldest = next(iter(begins))
                    del begins[oldest]
                    shown.discard(oldest)
            elif self._counts(entry, begins.get(entry.crawl)):
                if entry.crawl not in shown and entry.crawl in begins:
                    shown.add(entry.crawl)
                    yield begins[entry.crawl]
                yield entry

    def _counts(self, entry: Entry, begin: CrawlEntry | None) -> bool:
        if not self.since <= entry.time <= self.until:
            return False
        names = {entry.crawl, *([] if begin is None else [begin.spider])}
        if self.crawls and not names & self.crawls:
            return False
        if not len(self.hosts):
            return True
        if isinstance(entry, EndEntry):
            return False  # its counts are those of all hosts
        try:
            origin = Origin.of(getattr(entry, "origin", None) or "")
        except ValueError:  # the log was tampered with
            return False
        return origin is not None and self.hosts.of(origin) is not None
