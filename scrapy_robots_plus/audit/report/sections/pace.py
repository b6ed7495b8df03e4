"""The section about gaps between requests, against the delay of each host."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from scrapy_robots_plus.audit.report import pictures, words
from scrapy_robots_plus.audit.report.html import Html, code, element
from scrapy_robots_plus.audit.report.tables import facts, paragraph, section
from scrapy_robots_plus.audit.summary.gaps import TOLERANCE
from scrapy_robots_plus.protocol.counting import counted

if TYPE_CHECKING:
    from scrapy_robots_plus.audit.summary.gaps import Gaps
    from scrapy_robots_plus.audit.summary.rows import Host
    from scrapy_robots_plus.audit.summary.summary import Summary

PICTURES = 60
"""How many hosts are shown."""


class _Slow(NamedTuple):
    origin: str
    host: Host
    gaps: Gaps


def pace(summary: Summary) -> Html:
    """A picture for each slow host: those with gaps that are too short first."""
    slow = [
        _Slow(origin, host, gaps)
        for origin, host in summary.hosts.ranked(lambda row: row.count)
        for gaps in host.gaps.values()
    ]
    slow.sort(key=lambda each: (each.gaps.too_short, each.gaps.count), reverse=True)
    content = _pictures(slow, summary) if slow else [paragraph(_why_none(summary))]
    return section("gaps", "Gaps between requests", *content)


def _pictures(slow: list[_Slow], summary: Summary) -> list[Html]:
    count = sum(each.gaps.count for each in slow)
    too_short = sum(each.gaps.too_short for each in slow)
    parts = [
        paragraph(
            "How long each request to a host came after the one before, from start to start, "
            "against the delay kept for that host (the vertical line). ",
            element("b", f"{_of(too_short, count)} shorter than the delay"),
            f" by more than {TOLERANCE * 1000:g} ms.",
        ),
        *_remarks(summary),
        element("div", *(_card(each) for each in slow[:PICTURES]), class_="cards"),
    ]
    if left := slow[PICTURES:]:
        gaps = sum(each.gaps.count for each in left)
        short = sum(each.gaps.too_short for each in left)
        parts.append(
            paragraph(
                f"Not shown: {counted(len(left), 'more host')}, {_of(short, gaps)} too short."
            )
        )
    return parts


def _remarks(summary: Summary) -> list[Html]:
    totals = summary.totals
    remarks = []
    if totals.audit_crawls:
        remarks.append(
            "Crawls in observe mode do not wait: their gaps show what they would change."
        )
    if totals.sampling_crawls:
        crawls = counted(totals.sampling_crawls, "crawl")
        remarks.append(f"Not measured: {crawls} whose log does not hold all allowed requests.")
    if totals.lost:
        remarks.append(
            "Lines are missing in the log, so that some gaps look longer than they were."
        )
    if not summary.hosts.is_complete:
        remarks.append("Not all hosts are followed: there are too many.")
    return [paragraph(" ".join(remarks))] if remarks else []


def _of(too_short: int, count: int) -> str:
    if count == 1:
        return "The one gap is" if too_short else "The one gap is not"
    return f"{too_short:,} of {count:,} gaps are" if too_short else f"None of {count:,} gaps is"


def _card(slow: _Slow) -> Html:
    gaps, delay = slow.gaps, words.exactly(slow.gaps.delay)
    median = words.seconds(gaps.median)
    label = (
        f"Histogram of {counted(gaps.count, 'gap')} between requests to {slow.origin[:100]}: "
        f"shortest {words.seconds(gaps.shortest)}, median {median}, delay {delay}"
    )
    axis = element(
        "div",
        element("span", "0"),
        element("span", delay, class_="asked"),
        element("span", f"over {words.exactly(2 * gaps.delay)}"),
        class_="scale",
    )
    figures = facts(
        [
            ("Gaps", f"{gaps.count:,}"),
            ("Too short", f"{gaps.too_short:,}"),
            ("Shortest", words.seconds(gaps.shortest)),
            ("Median", f"about {median}" if gaps.is_sampled else median),
        ]
    )
    head = element("h3", code(slow.origin))
    asked = element("p", _asked(slow), class_="small")
    picture = element("figure", pictures.histogram(gaps, label), axis)
    return element("article", head, asked, picture, figures)


def _asked(slow: _Slow) -> str:
    kept, asked = slow.gaps.delay, slow.host.delay_asked
    if asked is None or asked == kept:
        return f"Delay: {words.exactly(kept)}"
    return f"Delay: {words.exactly(kept)} (its robots.txt last asked for {words.exactly(asked)})"


def _why_none(summary: Summary) -> str:
    if not summary.totals.full_crawls:
        return (
            "The log does not hold all requests that were sent, so gaps cannot be measured. "
            "ROBOTS_AUDIT_LOG_ALLOWED = True logs them."
        )
    return "No two requests were sent to a host for which a delay was kept."
