"""What a report says, as words and as objects for JSON."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from scrapy_robots_plus.protocol.printable import counted, rfc3339

if TYPE_CHECKING:
    from collections.abc import Iterator

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
    **{
        str(status.value): f"the server answered {status.value} ({status.phrase})"
        for status in HTTPStatus
    },
}


def cause_in_words(failure: str) -> str:
    """``the server answered 503 (Service Unavailable)``."""
    unknown = f"the server answered {failure}" if failure.isdigit() else failure
    return _CAUSES.get(failure, unknown)


def allowed_in_words(totals: Any) -> str:
    """``148 allowed``, ``770 allowed (3 of them in the log)``."""
    if totals.logs_all:
        return f"{totals.allowed:,} allowed"
    if not (totals.counts_all or totals.all_allowed):
        return "what was allowed is not in the log"
    least = "" if totals.counts_all else "at least "
    return f"{least}{totals.all_allowed:,} allowed ({totals.allowed:,} of them in the log)"


def sentence(totals: Any) -> str:
    """The whole report in a sentence."""
    would = "was" if totals.denied == 1 else "were"
    if totals.not_enforced == totals.denied > 0:
        would = "would have been"
    denied = counted(totals.denied, "request")
    if totals.counts_all:
        denied = f"{totals.denied:,} of {counted(totals.denied + totals.all_allowed, 'request')}"
    on = f", on {counted(totals.denying, 'site')}" if totals.denied else ""
    parts = [f"{denied} {would} denied{on}"]
    if totals.unread:
        parts.append(f"the robots.txt of {counted(totals.unread, 'site')} could not be read")
    return "; ".join([*parts, _delays(totals)]) + "."


def _delays(totals: Any) -> str:
    short = totals.gaps_too_short
    if short:
        are, gaps = "was" if short == 1 else "were", counted(totals.gaps, "gap")
        return f"{short:,} of {gaps} between requests {are} shorter than the delay"
    if totals.gaps:
        return "every delay was kept"
    if not totals.full_crawls:
        return "the log does not tell whether delays were kept"
    return "no delay was to be kept"


def lines(summary: Summary, title: str) -> Iterator[dict[str, Any]]:
    """The report as objects for JSON: all of it, then sites, causes of failures, and crawls."""
    totals = summary.totals
    yield {
        "title": title,
        "summary": sentence(totals),
        "requests_denied": totals.denied,
        "requests_allowed": totals.all_allowed if totals.counts_all else None,
        "sites": totals.origins,
        "robots_failures": totals.failures,
        "robots_changes": totals.changes,
    }
    yield from site_fields(summary)
    for cause in summary.rows("causes"):
        yield {
            "failure": cause.failure,
            "detail": cause_in_words(cause.failure),
            "times": cause.times,
            "failed_origins": [
                each.origin for each in summary.rows("failed", failure=cause.failure)
            ],
        }
    for crawl in summary.rows("crawls"):
        yield {
            "crawl": crawl.crawl,
            "spider": crawl.spider,
            "version": crawl.version,
            "mode": crawl.mode,
            "settings": json.loads(crawl.settings or "{}"),
            "began": rfc3339(crawl.first),
            "ended": crawl.ended,
            "requests_denied": crawl.denied,
            "requests_allowed": crawl.allowed if crawl.counted is None else crawl.counted,
        }


def site_fields(summary: Summary) -> Iterator[dict[str, Any]]:
    """Each site, for JSON and CSV. Times are in seconds, None where the log does not tell."""
    return ({**site._asdict(), "exact": True} for site in summary.rows("sites"))
