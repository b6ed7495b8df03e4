"""What a report says, as plain data: for the page, for JSON and for CSV."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_robots_plus.protocol.printable import counted, rfc3339

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_robots_plus.audit.rows import Crawl, Failure
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


class Site(NamedTuple):
    """A row of the table of sites. Times are in seconds, None where the log does not tell."""

    origin: str
    status: str
    """What its robots.txt answered last."""
    requests_denied: int
    requests_allowed: int
    delay_asked: float | None
    delay_kept: float | None
    smallest_gap: float | None
    gaps: int
    gaps_too_short: int
    exact: bool
    """Whether the counts are exact; else they are the least that it can be."""
    standing: str
    """How it treated the crawl at last: ``walled``; empty if that never changed."""


class Cause(NamedTuple):
    """Why robots.txt files could not be read."""

    failure: str
    """``503``, ``timeout``."""
    detail: str
    """In plain words."""
    times: int
    origins: tuple[str, ...]
    first: float
    last: float


def sites(summary: Summary) -> list[Site]:
    """Those with most denials first, then those with most requests."""
    ranked = summary.hosts.ranked(lambda row: (row.denied, row.allowed, row.count))
    return [
        Site(
            origin,
            host.status,
            host.denied,
            host.allowed,
            host.delay_asked,
            None if gaps is None else gaps.delay,
            None if gaps is None else round(gaps.shortest, 6),
            sum(each.count for each in host.gaps.values()),
            sum(each.too_short for each in host.gaps.values()),
            host.missed == 0,
            host.standing,
        )
        for origin, host in ranked
        for gaps in [host.measured]
    ]


def causes(summary: Summary) -> list[Cause]:
    """Those of most sites first."""
    found: dict[str, list[tuple[str, Failure]]] = {}
    for (origin, failure), row in summary.failures.ranked(lambda row: row.count):
        found.setdefault(failure, []).append((origin, row))
    grouped = [
        Cause(
            failure,
            cause_in_words(failure),
            sum(row.count for _, row in rows),
            tuple(origin for origin, _ in rows),
            min(row.first for _, row in rows),
            max(row.last for _, row in rows),
        )
        for failure, rows in found.items()
    ]
    return sorted(grouped, key=lambda each: (len(each.origins), each.times), reverse=True)


def cause_in_words(failure: str) -> str:
    """``the server answered 503 (Service Unavailable)``."""
    if failure.isdigit():
        known = {str(each.value): each.phrase for each in HTTPStatus}
        return f"the server answered {failure}" + (
            f" ({known[failure]})" if failure in known else ""
        )
    return _CAUSES.get(failure, failure)


def sentence(summary: Summary) -> str:
    """The whole report in a sentence."""
    totals, rows = summary.totals, sites(summary)
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
        parts[0] += f", on {least}{counted(sum(each.requests_denied > 0 for each in rows), 'site')}"
    unread = len({origin for (origin, _), _ in summary.failures.ranked(lambda row: row.count)})
    if unread:
        least = "" if summary.failures.is_complete else "at least "
        parts.append(f"the robots.txt of {least}{counted(unread, 'site')} could not be read")
    return "; ".join([*parts, _delays(summary, rows)]) + "."


def _delays(summary: Summary, rows: list[Site]) -> str:
    gaps, short = sum(each.gaps for each in rows), sum(each.gaps_too_short for each in rows)
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
    for site in sites(summary):
        yield site._asdict()
    for cause in causes(summary):
        yield {
            "failure": cause.failure,
            "detail": cause.detail,
            "times": cause.times,
            "failed_origins": list(cause.origins),
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


def crawls(summary: Summary) -> list[tuple[str, Crawl]]:
    """In the order in which they began."""
    return sorted(summary.crawls.ranked(lambda row: row.count), key=lambda item: item[1].first)
