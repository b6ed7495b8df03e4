"""The section about robots.txt files: what they answered, failures, changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_robots_plus.audit.report import words
from scrapy_robots_plus.audit.report.html import Html, code, element, join, number
from scrapy_robots_plus.audit.report.tables import Column, paragraph, section, small, table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_robots_plus.audit.summary.rows import Failure
    from scrapy_robots_plus.audit.summary.summary import Change, Summary

ANSWERS = 50
"""How many are shown."""
FAILURES = 100
"""How many are shown."""
_HASH = 12
"""Characters of a hash that are shown."""


def files(summary: Summary) -> Html:
    """What the robots.txt files were, and what became of them."""
    content = _content(summary) if summary.totals.files else [paragraph(_NOTHING)]
    return section("files", "robots.txt files", *content)


_NOTHING = "The log does not hold how any robots.txt was read."


def _content(summary: Summary) -> Iterator[Html]:
    columns = [Column("Answer"), Column("Meaning"), Column("Times", is_number=True)]
    rows = [
        [status.status, words.sentence(words.access(status.access)), number(row.count)]
        for status, row in summary.statuses.ranked(lambda row: row.count)[:ANSWERS]
    ]
    yield table(columns, rows, ["All", "", number(summary.totals.files)])
    yield element("h3", "Failures")
    yield from _failures(summary)
    yield element("h3", "Changes")
    yield from _changes(summary)


def _failures(summary: Summary) -> Iterator[Html]:
    ranked = summary.failures.ranked(lambda row: row.count)
    if not ranked:
        yield paragraph("Each robots.txt could be read whenever it was asked for.")
        return
    rows = [_failure(*key, row) for key, row in ranked[:FAILURES]]
    left = summary.totals.failures - sum(row.count for _, row in ranked[:FAILURES])
    last = ["All others", number(left)] if left else ()
    yield table([Column("Site and failure"), Column("Times", is_number=True)], rows, last)


def _failure(origin: str, failure: str, row: Failure) -> list[object]:
    detail = f": {row.detail}" if row.detail and row.detail != failure else ""
    when = small(words.span(row.first, row.last))
    times = number(row.count, is_exact=row.missed == 0)
    return [join([code(origin), small(failure, detail), when]), times]


def _changes(summary: Summary) -> Iterator[Html]:
    if not summary.changes:
        yield paragraph("No robots.txt changed while it was being obeyed.")
        return
    left = summary.totals.changes - len(summary.changes)
    if left:
        yield paragraph(f"The latest {len(summary.changes)} of {summary.totals.changes:,} changes.")
    yield table(
        [Column("Site"), Column("When (UTC)")],
        [_change(change) for change in summary.changes],
    )


def _change(change: Change) -> list[object]:
    suspicion = [small("Looks like a mistake: ", change.suspicion)] if change.suspicion else []
    hashes = small("SHA-256 ", _hash(change.before), " became ", _hash(change.after))
    return [join([code(change.origin), hashes, *suspicion]), words.moment(change.time)]


def _hash(sha256: str) -> Html:
    return code(sha256[:_HASH]) if sha256 else Html("no rules")
