"""What an audit log says in sum, in memory that does not grow with the log."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_robots_plus.crawl.recent import Recent
from scrapy_robots_plus.protocol.origin import Origin
from scrapy_robots_plus.protocol.preferences import Source
from scrapy_robots_plus.protocol.verdict import Reason
from scrapy_robots_plus.settings.host_patterns import HostPatterns

from .entries import CrawlEntry, EndEntry, Entry, FileEntry, StandingEntry, VerdictEntry
from .reading import MOST_OPEN_CRAWLS
from .rows import Crawl, Host, Row, Timeline, Top, bounded, cut, status_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


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
        begins: Recent[str, CrawlEntry] = Recent(MOST_OPEN_CRAWLS)
        shown: Recent[str, bool] = Recent(MOST_OPEN_CRAWLS)
        for entry in entries:
            begin = begins.get(entry.crawl)
            if isinstance(entry, CrawlEntry) and self.is_part:
                begins.put(entry.crawl, entry)
            elif self._counts(entry, begin):
                if begin is not None and entry.crawl not in shown:
                    shown.put(entry.crawl, True)
                    yield begin
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


_OF_PAGES = frozenset(each.value for each in Source if each.is_of_page)
_HOSTS = _RULES = 1_000
_FAILURES = 500
_FEW = 100
"""Of what hardly varies: overrides, reasons, statuses."""
_FEW_USES = 50
_FIELDS = 20
"""Of an override that are kept."""

Fields = tuple[tuple[str, str], ...]


class Rule(NamedTuple):
    """A rule of a robots.txt."""

    robots_url: str
    line: int | None
    """Counted from 1; None if the parser does not say it."""
    text: str
    """As served, such as ``Disallow: /private/``."""


class Change(NamedTuple):
    """A robots.txt that changed during a crawl."""

    time: float
    """Seconds since the epoch."""
    origin: str
    before: str
    """SHA-256 of its text; empty if there were no rules."""
    after: str
    """SHA-256 of its text; empty if there are no rules."""
    suspicion: str
    """Why it looks like a mistake of the site; empty if it does not."""


@dataclass(slots=True, eq=False)
class Totals(Row):
    """Of the whole log, and exact."""

    denied_by_rule: int = 0
    """Denials whose rule is in the log."""
    not_enforced: int = 0
    """Denials in observe mode: nothing was blocked."""
    crawls: int = 0
    """Crawls that began."""
    audit_crawls: int = 0
    """Those of them in observe mode."""
    full_crawls: int = 0
    """Those of which all allowed requests are logged."""
    sampling_crawls: int = 0
    """Those of which some are not."""
    ended: int = 0
    """Crawls that ended."""
    allowed_not_logged: int = 0
    """Allowed requests that the crawls that ended counted, and that are not in the log."""
    lost: int = 0
    """Lines that could not be written."""
    files: int = 0
    """Entries about robots.txt files."""
    failures: int = 0
    """Those of failures."""
    changes: int = 0
    """Those of changes."""

    @property
    def logs_all(self) -> bool:
        """Whether all allowed requests are in the log, as far as it says."""
        return not (self.sampling_crawls or self.allowed_not_logged)

    @property
    def all_allowed(self) -> int:
        """Allowed requests, in the log or not, as far as they were counted."""
        return self.allowed + self.allowed_not_logged

    @property
    def counts_all(self) -> bool:
        """Whether those are all: a crawl that does not log them counts them when it ends."""
        return self.sampling_crawls == 0 or self.ended >= self.crawls

    @property
    def allowed_in_words(self) -> str:
        """``148 allowed``, ``770 allowed (3 of them in the log)``."""
        if self.logs_all:
            return f"{self.allowed:,} allowed"
        if not (self.counts_all or self.all_allowed):
            return "what was allowed is not in the log"
        least = "" if self.counts_all else "at least "
        return f"{least}{self.all_allowed:,} allowed ({self.allowed:,} of them in the log)"


class Summary:
    """What the entries of a log say in sum.

    Totals are exact. So is what is said of each host, rule and so on, as long as there are no more
    of them than are followed; beyond that those seen most are.
    """

    def __init__(self, *, is_part: bool = False) -> None:
        """*is_part*: what crawls counted at their ends is left out, as it is about more."""
        self.is_part = is_part
        self.totals = Totals()
        self.timeline = Timeline()
        self.reasons: Top[str, Row] = Top(_FEW, Row)
        self.hosts: Top[str, Host] = Top(_HOSTS, Host)
        self.rules: Top[Rule, Row] = Top(_RULES, Row)
        """Those that denied something."""
        self.overrides: Top[Fields, Row] = Top(_FEW, Row)
        """By what they set, their reason included."""
        self.crawls: Top[str, Crawl] = Top(_FEW, Crawl)
        self.statuses: Top[tuple[str, str], Row] = Top(_FEW, Row)
        """By what a robots.txt answered, and what that means."""
        self.failures: Top[tuple[str, str], Row] = Top(_FAILURES, Row)
        """By origin and status."""
        self.changes: deque[Change] = deque(maxlen=_FEW)
        """The latest."""
        self.purposes: Top[tuple[str, str], Row] = Top(_FEW_USES, Row)
        """What crawls are for: by uses (``train-ai, search``) and ``ROBOTS_AI_POLICY``."""
        self.objections: Top[tuple[str, str], Row] = Top(_FEW_USES, Row)
        """Why requests and pages were skipped: by use, and where the site says so."""
        self.preferred: dict[str, int] = {}
        """How many responses had a site with a preference: ``train-ai/disallow``."""

    def add(self, entry: Entry) -> None:
        """Adds what one line says."""
        self.totals.count += 1
        self.totals.add(entry)
        crawl = self.crawls.seen(cut(entry.crawl))
        crawl.add(entry)
        match entry:
            case VerdictEntry():
                self._add_verdict(entry, crawl)
            case FileEntry():
                self._add_file(entry)
            case StandingEntry():
                self.hosts.seen(cut(entry.origin)).standing = cut(entry.standing)
            case CrawlEntry() if entry.continues is None or crawl.allowed_share is None:
                self._begin(entry, crawl)  # else it goes on in another file
            case EndEntry():
                self._end(entry, crawl)

    def _begin(self, entry: CrawlEntry, crawl: Crawl) -> None:
        crawl.begin(entry)
        self.totals.crawls += 1
        self.totals.audit_crawls += entry.mode != "obey"
        self.totals.full_crawls += crawl.logs_all
        self.totals.sampling_crawls += not crawl.logs_all
        for override in (entry.overrides or {}).values():
            if isinstance(override, dict):  # else another program has written it
                self.overrides.seen(_fields_of(override))
        uses = [
            *(entry.ai_uses or ()),
            *([f"use={entry.content_use}"] if entry.content_use else []),
        ]
        if uses:
            self.purposes.seen((cut(", ".join(uses)), cut(entry.ai_policy)))

    def _end(self, entry: EndEntry, crawl: Crawl) -> None:
        self.totals.ended += not self.is_part
        self.totals.lost += bounded(entry.lost)
        if crawl.allowed_share is not None and not self.is_part:  # all its entries were seen
            counted = entry.allowed + entry.dont_obey - crawl.allowed
            self.totals.allowed_not_logged += bounded(counted)
        crawl.finish(entry, is_part=self.is_part)
        for name, count in (entry.preferences or {}).items():
            if type(count) is int and (name in self.preferred or len(self.preferred) < _FEW_USES):
                self.preferred[cut(name)] = self.preferred.get(cut(name), 0) + bounded(count)

    def _add_verdict(self, verdict: VerdictEntry, crawl: Crawl) -> None:
        self.timeline.add(verdict.time, "allowed" if verdict.allowed else "denied")
        self.reasons.seen(cut(verdict.reason)).add(verdict)
        host = self.hosts.seen(cut(verdict.origin))
        host.add(verdict)
        host.status = status_of(verdict)
        if verdict.sent is not None and crawl.logs_all:
            host.sent(cut(verdict.crawl), verdict.sent, verdict.delay)
        if verdict.override is not None:
            self.overrides.seen(_fields_of(verdict.override)).add(verdict)
        if not verdict.allowed:
            self._add_denial(verdict)

    def _add_denial(self, verdict: VerdictEntry) -> None:
        self.totals.not_enforced += verdict.mode != "obey"
        is_objection = verdict.reason == Reason.AI_PREFERENCE.value
        if is_objection:
            self.objections.seen((cut(verdict.use), cut(verdict.source))).add(verdict)
        is_of_a_page = is_objection and verdict.source in _OF_PAGES
        if verdict.rule is not None and not is_of_a_page:
            self.totals.denied_by_rule += 1
            line = None if verdict.line is None else bounded(verdict.line)
            rule = Rule(cut(verdict.robots_url), line, cut(verdict.rule))
            self.rules.seen(rule).add(verdict)

    def _add_file(self, file: FileEntry) -> None:
        self.totals.files += 1
        host = self.hosts.seen(cut(file.origin))
        host.status = status_of(file)
        host.delay_asked = file.delay_asked
        self.statuses.seen((status_of(file), cut(file.access)))
        if file.failure is not None or file.access == "unreachable":
            self.totals.failures += 1
            self.timeline.add(file.time, "failure")
            self.failures.seen((cut(file.origin), cut(file.failure or file.status))).add(file)
        if file.changed:
            self.totals.changes += 1
            self.timeline.add(file.time, "change")
            hashes = cut(file.previous), cut(file.sha256)
            self.changes.append(Change(file.time, cut(file.origin), *hashes, cut(file.suspicion)))


def _fields_of(override: Mapping[str, Any]) -> Fields:
    """What it sets. The same for equal overrides."""
    return tuple(sorted((cut(name), cut(value)) for name, value in override.items()))[:_FIELDS]
