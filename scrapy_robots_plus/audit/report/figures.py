"""What a report says, as plain data: for the page, for JSON and for CSV."""

from __future__ import annotations

from collections import defaultdict
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_robots_plus.audit.rows import Row
from scrapy_robots_plus.protocol.printable import counted, rfc3339

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_robots_plus.audit.rows import Crawl, Gaps, Host
    from scrapy_robots_plus.audit.summary import Summary

_CAUSES = {
    "timeout": "no answer in time",
    "dns": "the host name has no address",
    "connection": "the connection failed: refused, reset, or no TLS",
    "cut": "the answer ended before its time",
    "undecodable": "the body is not what its Content-Encoding says",
    "challenge": "a page that finds out whether a person asks came in its place",
    "redirects": "more than five redirects in a row",
    "bad_redirect": "a redirect to nowhere, or away from http and https",
    "error": "the crawler could not ask, or could not read the answer",
}


class Cause(NamedTuple):
    """Why robots.txt files could not be read."""

    failure: str
    """``503``, ``timeout``."""
    origins: list[str]
    seen: Row
    """How often, and when."""

    @property
    def in_words(self) -> str:
        """``the server answered 503 (Service Unavailable)``."""
        if self.failure.isdigit():
            phrases = {str(each.value): f" ({each.phrase})" for each in HTTPStatus}
            return f"the server answered {self.failure}{phrases.get(self.failure, '')}"
        return _CAUSES.get(self.failure, self.failure)


def sites(summary: Summary) -> list[tuple[str, Host]]:
    """Those with most denials first, then those with most requests."""
    return summary.hosts.ranked(lambda row: (row.denied, row.allowed, row.count))


def site_fields(origin: str, host: Host) -> dict[str, Any]:
    """A site for JSON and CSV. Times are in seconds, None where the log does not tell."""
    gaps = host.measured
    return {
        "origin": origin,
        "status": host.status,
        "requests_denied": host.denied,
        "requests_allowed": host.allowed,
        "delay_asked": host.delay_asked,
        "delay_kept": gaps and gaps.delay,
        "smallest_gap": gaps and round(gaps.shortest, 6),
        "gaps": sum(each.count for each in host.gaps.values()),
        "gaps_too_short": sum(each.too_short for each in host.gaps.values()),
        "exact": host.missed == 0,
        "standing": host.standing,
    }


def causes(summary: Summary) -> list[Cause]:
    """Those of most sites first."""
    found: defaultdict[str, list[tuple[str, Row]]] = defaultdict(list)
    for (origin, failure), row in summary.failures.ranked(lambda row: row.count):
        found[failure].append((origin, row))
    grouped = []
    for failure, sites_with_it in found.items():
        origins, rows = zip(*sites_with_it, strict=True)
        first, last = min(row.first for row in rows), max(row.last for row in rows)
        seen = Row(count=sum(row.count for row in rows), first=first, last=last)
        grouped.append(Cause(failure, list(origins), seen))
    return sorted(grouped, key=lambda each: (len(each.origins), each.seen.count), reverse=True)


def crawls(summary: Summary) -> list[tuple[str, Crawl]]:
    """In the order in which they began."""
    return sorted(summary.crawls.ranked(lambda row: row.count), key=lambda item: item[1].first)


def sentence(summary: Summary) -> str:
    """The whole report in a sentence."""
    totals, hosts = summary.totals, [host for _, host in sites(summary)]
    would = "was" if totals.denied == 1 else "were"
    if totals.not_enforced == totals.denied > 0:
        would = "would have been"
    if totals.counts_all:
        asked = counted(totals.denied + totals.all_allowed, "request")
        parts = [f"{totals.denied:,} of {asked} {would} denied"]
    else:
        parts = [f"{counted(totals.denied, 'request')} {would} denied"]
    if totals.denied:
        least = "" if summary.hosts.is_complete else "at least "
        parts[0] += f", on {least}{counted(sum(host.denied > 0 for host in hosts), 'site')}"
    unread = len({origin for (origin, _), _ in summary.failures.ranked(lambda row: row.count)})
    if unread:
        least = "" if summary.failures.is_complete else "at least "
        parts.append(f"the robots.txt of {least}{counted(unread, 'site')} could not be read")
    gaps = [gaps for host in hosts for gaps in host.gaps.values()]
    return "; ".join([*parts, _delays(summary, gaps)]) + "."


def _delays(summary: Summary, measured: list[Gaps]) -> str:
    gaps, short = sum(each.count for each in measured), sum(each.too_short for each in measured)
    if short:
        are = "was" if short == 1 else "were"
        return f"{short:,} of {counted(gaps, 'gap')} between requests {are} shorter than the delay"
    if gaps:
        return "every delay was kept"
    if not summary.totals.full_crawls:
        return "the log does not tell whether delays were kept"
    return "no delay was to be kept"


def lines(summary: Summary, title: str) -> Iterator[dict[str, Any]]:
    """The report as objects for JSON: all of it, then sites, causes of failures, and crawls."""
    totals = summary.totals
    yield {
        "title": title,
        "summary": sentence(summary),
        "requests_denied": totals.denied,
        "requests_allowed": totals.all_allowed if totals.counts_all else None,
        "sites": len(summary.hosts) if summary.hosts.is_complete else None,
        "robots_failures": totals.failures,
        "robots_changes": totals.changes,
    }
    for origin, host in sites(summary):
        yield site_fields(origin, host)
    for cause in causes(summary):
        yield {
            "failure": cause.failure,
            "detail": cause.in_words,
            "times": cause.seen.count,
            "failed_origins": cause.origins,
        }
    for name, crawl in crawls(summary):
        yield {
            "crawl": name,
            "spider": crawl.spider or None,
            "version": crawl.version or None,
            "mode": crawl.mode or None,
            "settings": crawl.settings,
            "began": rfc3339(crawl.first),
            "ended": crawl.ended,
            "requests_denied": crawl.denied,
            "requests_allowed": crawl.allowed if crawl.counted is None else crawl.counted,
        }
