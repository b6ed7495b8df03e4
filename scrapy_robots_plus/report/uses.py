"""What the sites of a crawl object to, and what happened then, in sum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy_robots_plus import compat
from scrapy_robots_plus.crawl import stats
from scrapy_robots_plus.origins.tally import Tally
from scrapy_robots_plus.protocol.counting import counted

if TYPE_CHECKING:
    from scrapy_robots_plus.crawl.crawl import Crawl


def uses_line(crawl: Crawl) -> str | None:
    """The last line of the table; None if the crawl is for nothing that a site could object to."""
    settings, tally = crawl.settings, crawl.get(Tally)
    objections = _objections(crawl)
    skipped = tally.skipped_requests + tally.skipped_pages
    if not (settings.ai_uses or objections or skipped):
        return None
    parts = []
    if skipped or settings.skipped_uses:
        requests, pages = counted(tally.skipped_requests, "request"), tally.skipped_pages
        word = "skipped" if settings.enforces else "would be skipped"
        parts.append(f"{requests} and {counted(pages, 'page')} {word}")
    if objections or not settings.skipped_uses:
        parts.append(f"{counted(objections, 'page')} crawled all the same")
    uses = f" to {', '.join(settings.ai_uses)}" if settings.ai_uses else ""
    return f"sites object{uses}: {'; '.join(parts)}"


def uses_fields(crawl: Crawl) -> dict[str, Any]:
    """The same for the summary file, and what sites prefer."""
    settings, collector = crawl.settings, compat.stats_of(crawl.crawler)
    return {
        "ai_uses": list(settings.ai_uses),
        "ai_policy": settings.ai_policy,
        "preferences": stats.by_part(collector.get_stats(), stats.PREFERENCES),
        "contradictions": collector.get_value(stats.CONTRADICTIONS, 0),
        "objections": _objections(crawl),
        "skipped_requests": crawl.get(Tally).skipped_requests,
        "skipped_pages": crawl.get(Tally).skipped_pages,
    }


def _objections(crawl: Crawl) -> int:
    found: int = compat.stats_of(crawl.crawler).get_value(stats.OBJECTIONS, 0)
    return found
