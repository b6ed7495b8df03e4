"""The sections about requests: over time, by reason, by host, by rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_robots_plus.audit.report import pictures, words
from scrapy_robots_plus.audit.report.html import Html, code, element, join, number
from scrapy_robots_plus.audit.report.tables import Column, paragraph, section, small, table
from scrapy_robots_plus.protocol.counting import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_robots_plus.audit.summary.rows import Host, Outcomes
    from scrapy_robots_plus.audit.summary.summary import Rule, Summary
    from scrapy_robots_plus.audit.summary.timeline import Bucket, Timeline
    from scrapy_robots_plus.audit.summary.top import Row

FEW = 20
"""With fewer bars than this a picture is narrow."""
HOSTS = 100
"""How many are shown."""
REASONS = 50
"""How many are shown."""
RULES = 25
"""How many are shown."""

_STRIPS = (
    ("denied", "Requests denied"),
    ("allowed", "Requests allowed"),
    ("failure", "robots.txt could not be read"),
    ("change", "robots.txt changed"),
)
_DENIED, _ALLOWED = Column("Denied", is_number=True), Column("Allowed", is_number=True)


def over_time(summary: Summary) -> Html:
    """A row of bars for each kind of event."""
    timeline = summary.timeline
    buckets = timeline.buckets()
    if not buckets:
        return section("time", "Over time", paragraph("The log holds nothing to show here."))
    strips = [
        _strip(timeline, buckets, kind, name)
        for kind, name in _STRIPS
        if any(bucket.counts[kind] for bucket in buckets)
    ]
    end = buckets[-1].start + timeline.width
    axis = element("div", words.moment(buckets[0].start), words.moment(end), class_="axis")
    text = paragraph(f"Each bar stands for {words.length(timeline.width)}; times are in UTC.")
    drawn = element("div", *strips, axis, class_="few" if len(buckets) < FEW else None)
    return section("time", "Over time", text, drawn)


def _strip(timeline: Timeline, buckets: Sequence[Bucket], kind: str, name: str) -> Html:
    counts = [bucket.counts[kind] for bucket in buckets]
    most = max(counts)
    peak = words.moment(buckets[counts.index(most)].start)
    within = words.length(timeline.width)
    caption = join(
        [element("b", name), f" {sum(counts):,}; at most {most:,} in {within}, at ", peak]
    )
    picture = pictures.bars(counts, kind, f"Bars over time: {name}, {sum(counts):,} in all")
    return element("figure", element("figcaption", caption), picture, class_="strip")


def reasons(summary: Summary) -> Html:
    """What decided."""
    totals = summary.totals
    ranked = summary.reasons.ranked(lambda row: (row.denied, row.allowed))[:REASONS]
    with_allowed = totals.allowed > 0
    rows = [
        [words.sentence(words.decided_by(value)), *_counts(row, with_allowed=with_allowed)]
        for value, row in ranked
    ]
    total = ["All", number(totals.denied), *([number(totals.allowed)] if with_allowed else [])]
    columns = [Column("What decided"), *_outcome_columns(with_allowed=with_allowed)]
    content = table(columns, rows, total) if rows else _nothing()
    return section("reasons", "Why requests were allowed or denied", content)


def hosts(summary: Summary) -> Html:
    """What was allowed and denied of each host, and why."""
    totals = summary.totals
    with_allowed = totals.allowed > 0
    ranked = [
        (origin, host)
        for origin, host in summary.hosts.ranked(lambda row: (row.denied, row.allowed))
        if host.denied or host.allowed
    ]
    shown = ranked[:HOSTS]
    most = max((host.denied + host.allowed for _, host in shown), default=0)
    rows = [
        [_host(origin, host, most), *_counts(host, with_allowed=with_allowed)]
        for origin, host in shown
    ]
    rest: list[object] = []
    if len(ranked) > len(shown) or not summary.hosts.is_complete:
        rest = _rest(summary, shown, len(ranked), with_allowed=with_allowed)
    columns = [Column("Site"), *_outcome_columns(with_allowed=with_allowed)]
    content = table(columns, rows, rest) if rows else _nothing()
    return section("hosts", "Sites", content, _about_counts(summary.hosts.is_complete, "sites"))


def _host(origin: str, host: Host, most: int) -> Html:
    robots = [f"robots.txt: {host.status}"] if host.status else []
    denials = host.reasons.ranked(_count)
    why = [f"{row.count:,} denied: {words.decided_by(reason)}" for reason, row in denials]
    bar = pictures.share([("denied", host.denied), ("allowed", host.allowed)], most)
    name = code(origin) if origin else "No site, or not http"
    return join([name, bar, small(" · ".join([*robots, *why]))])


def _rest(
    summary: Summary, shown: Sequence[tuple[str, Host]], known: int, *, with_allowed: bool
) -> list[object]:
    totals = summary.totals
    left = known - len(shown)
    name = counted(left, "more site") if summary.hosts.is_complete else "All other sites"
    allowed = totals.allowed - sum(host.allowed for _, host in shown)
    denied = totals.denied - sum(host.denied for _, host in shown)
    return [name, number(denied), *([number(allowed)] if with_allowed else [])]


def rules(summary: Summary) -> Html:
    """Which rules denied most."""
    ranked = summary.rules.ranked(_count)
    shown = ranked[:RULES]
    most = max((row.count for _, row in shown), default=0)
    rows = [[_rule(rule, row, most), _number(row.denied, row)] for rule, row in shown]
    left = summary.totals.denied_by_rule - sum(row.denied for _, row in shown)
    last = ["All other rules", number(left)] if left else ()
    content = (
        table([Column("Rule"), _DENIED], rows, last)
        if rows
        else paragraph("No rule of a robots.txt denied a request.")
    )
    complete = summary.rules.is_complete
    return section("rules", "The rules that denied most", content, _about_counts(complete, "rules"))


def _rule(rule: Rule, row: Outcomes, most: int) -> Html:
    line = f"line {rule.line} of " if rule.line is not None else ""
    return join(
        [
            code(rule.text),
            pictures.share([("denied", row.denied)], most),
            small(line, code(rule.robots_url)),
            small("for example ", code(row.example)),
        ]
    )


def _outcome_columns(*, with_allowed: bool) -> list[Column]:
    return [_DENIED, *([_ALLOWED] if with_allowed else [])]


def _counts(row: Outcomes, *, with_allowed: bool) -> list[Html]:
    allowed = [_number(row.allowed, row)] if with_allowed else []
    return [_number(row.denied, row), *allowed]


def _number(value: int, row: Outcomes) -> Html:
    return number(value, is_exact=row.missed == 0)


def _count(row: Row) -> int:
    return row.count


def _about_counts(is_complete: bool, things: str) -> Html:
    if is_complete:
        return Html()
    return paragraph(
        f"There are more {things} than are followed one by one. The totals are exact; a count with "
        "“at least” may lack what was seen before that one was followed."
    )


def _nothing() -> Html:
    return paragraph("The log holds no decision about a request.")
