"""The section about what sites want done with their pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_robots_plus.audit.report.html import Html, code, element, join, number
from scrapy_robots_plus.audit.report.tables import Column, paragraph, section, small, table
from scrapy_robots_plus.protocol.counting import counted

if TYPE_CHECKING:
    from scrapy_robots_plus.audit.summary.summary import Summary
    from scrapy_robots_plus.audit.summary.uses import Objection, Purpose, Uses


def uses(summary: Summary) -> Html:
    """What crawls were for, what was skipped for that, and what sites prefer."""
    found = summary.uses
    parts = [
        *(_purpose(each, row.count) for each, row in found.purposes.ranked(lambda row: row.count)),
        *_objections(found),
        *_preferred(found),
    ]
    return section("uses", "What sites want done with their pages", *parts)


def _purpose(purpose: Purpose, crawls: int) -> Html:
    follows = "skipped" if purpose.policy == "skip" else "only counted"
    text = f": pages whose site objects to that were {follows}."
    return paragraph(f"{counted(crawls, 'crawl')} for ", code(purpose.uses), text)


def _objections(found: Uses) -> list[Html]:
    ranked = found.objections.ranked(lambda row: row.count)
    rows = [
        [_objection(each, row.example), number(row.denied, is_exact=row.missed == 0)]
        for each, row in ranked
    ]
    return [table([Column("Objection"), Column("Denied", is_number=True)], rows)] if rows else []


def _objection(objection: Objection, example: str) -> Html:
    use = element("b", objection.use or "A use that the log does not name")
    return join([use, small(objection.source), small("for example ", code(example))])


def _preferred(found: Uses) -> list[Html]:
    if not found.preferred:
        return []
    rows = [[code(name), number(count)] for name, count in sorted(found.preferred.items())]
    about = paragraph("Responses whose site had a preference, in the log or not:")
    return [about, table([Column("Preference"), Column("Responses", is_number=True)], rows)]
