"""The sections about overrides and about the crawls of the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_robots_plus.audit.report import words
from scrapy_robots_plus.audit.report.html import Html, code, element, join, number
from scrapy_robots_plus.audit.report.tables import Column, paragraph, section, small, table
from scrapy_robots_plus.protocol.counting import counted

if TYPE_CHECKING:
    from scrapy_robots_plus.audit.summary.rows import Crawl, Override
    from scrapy_robots_plus.audit.summary.summary import Summary

_DENIED, _ALLOWED = Column("Denied", is_number=True), Column("Allowed", is_number=True)


def overrides(summary: Summary) -> Html:
    """What was set for some requests in place of what robots.txt says, and why."""
    ranked = summary.overrides.ranked(lambda row: row.count)
    if not ranked:
        text = "Of the requests in the log, each was judged by what its robots.txt says."
        return section("overrides", "Overrides", paragraph(text))
    text = "For these requests the crawl had settings of its own beside what robots.txt says."
    rows = [_override(row) for _, row in ranked]
    allowed = _ALLOWED if summary.totals.logs_all else Column("Allowed, in the log", is_number=True)
    content = table([Column("Reason and override"), _DENIED, allowed], rows)
    return section("overrides", "Overrides", paragraph(text), content)


def _override(row: Override) -> list[Html]:
    fields = {name: value for name, value in row.fields.items() if name != "reason"}
    sets = join((code(f"{name}: {value}") for name, value in fields.items()), ", ")
    reason = element("b", row.fields.get("reason", "No reason is given"))
    what = join([reason, small(sets), small("for example ", code(row.example))])
    is_exact = row.missed == 0
    return [what, number(row.denied, is_exact=is_exact), number(row.allowed, is_exact=is_exact)]


def crawls(summary: Summary) -> Html:
    """Spider, begin, end, and how it ended."""
    known = sorted(summary.crawls.ranked(lambda row: row.count), key=lambda item: item[1].first)
    rows = [_crawl(name, row) for name, row in known]
    content = table([Column("Crawl"), _DENIED, _ALLOWED], rows, _others(summary))
    return section("crawls", "Crawls", content if rows else paragraph("The log holds no crawl."))


def _others(summary: Summary) -> list[object]:
    """The crawls that are not followed, if there are any."""
    if summary.crawls.is_complete:
        return []
    totals, shown = summary.totals, [row for _, row in summary.crawls.ranked(lambda row: row.count)]
    denied = totals.denied - sum(row.denied for row in shown)
    allowed = totals.all_allowed - sum(_counted(row) for row in shown)
    return [f"Others of {counted(totals.crawls, 'crawl')}", number(denied), number(allowed)]


def _crawl(name: str, crawl: Crawl) -> list[Html]:
    spider = element("b", crawl.spider or "Its begin is not in the log")
    settings = [
        f"crawl {name}",
        *([f"agent {crawl.agent}"] if crawl.agent else []),
        *([f"dialect {crawl.dialect}"] if crawl.dialect else []),
    ]
    details = [small(", ".join(settings))]
    if crawl.mode != "obey":
        details.append(small("Observe mode: nothing was blocked or delayed"))
    if crawl.lost:
        details.append(small(f"{counted(crawl.lost, 'line')} could not be written"))
    ended = (
        "no end in the log: it was killed or still runs, or lines were removed"
        if crawl.ended is None
        else f"ended: {crawl.ended}"
    )
    when = element("div", words.span(crawl.first, crawl.last), ", ", ended)
    allowed = number(_counted(crawl), is_exact=crawl.logs_all or crawl.counted is not None)
    if crawl.counted is None and not (crawl.logs_all or crawl.allowed):
        allowed = Html("not logged")
    return [join([spider, when, *details]), number(crawl.denied), allowed]


def _counted(crawl: Crawl) -> int:
    """Its allowed requests, logged or not, as far as they are known."""
    return max(crawl.allowed, crawl.counted or 0)
