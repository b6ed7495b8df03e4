"""What is summed up of the uses that crawls are for, and of what sites prefer."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from scrapy_robots_plus.protocol.verdict import Reason

from .rows import Outcomes, bounded, cut
from .top import Row, Top

if TYPE_CHECKING:
    from scrapy_robots_plus.audit.entries import CrawlEntry, EndEntry, VerdictEntry

_FEW = 50


class Purpose(NamedTuple):
    """What crawls are for."""

    uses: str
    """``train-ai, search``"""
    policy: str
    """``observe`` or ``skip``."""


class Objection(NamedTuple):
    """Why requests and pages were skipped."""

    use: str
    source: str
    """Where the site says so."""


def is_of_a_page(verdict: VerdictEntry) -> bool:
    """Whether a header of the page decided, and not its robots.txt."""
    return verdict.reason == Reason.AI_PREFERENCE.value and verdict.line is None


class Uses:
    """Of a log."""

    def __init__(self) -> None:
        self.purposes: Top[Purpose, Row] = Top(_FEW, Row)
        """Of crawls that declare one."""
        self.objections: Top[Objection, Outcomes] = Top(_FEW, Outcomes)
        self.preferred: dict[str, int] = {}
        """How many responses had a site with a preference: ``train-ai/disallow``."""

    def __bool__(self) -> bool:
        return bool(len(self.purposes) or len(self.objections) or self.preferred)

    def begin(self, entry: CrawlEntry) -> None:
        """A crawl begins."""
        if entry.ai_uses:
            self.purposes.seen(Purpose(cut(", ".join(entry.ai_uses)), cut(entry.ai_policy)))

    def denied(self, verdict: VerdictEntry) -> None:
        """A request was denied, or a page skipped."""
        if verdict.reason == Reason.AI_PREFERENCE.value:
            self.objections.seen(Objection(cut(verdict.use), cut(verdict.source))).add(verdict)

    def end(self, entry: EndEntry) -> None:
        """A crawl ends."""
        for name, count in (entry.preferences or {}).items():
            if type(count) is int and (name in self.preferred or len(self.preferred) < _FEW):
                self.preferred[cut(name)] = self.preferred.get(cut(name), 0) + bounded(count)
