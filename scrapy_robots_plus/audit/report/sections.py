"""The sections of the page, each about one question."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_robots_plus.audit.rows import TOLERANCE, Bucket, Crawl, Outcomes, Override
from scrapy_robots_plus.protocol.printable import counted

from .figures import Cause, Site, causes, crawls, sites
from .html import (
    FIRST,
    Column,
    Html,
    access,
    capitalized,
    code,
    decided_by,
    element,
    exactly,
    fold,
    folded,
    join,
    length,
    moment,
    number,
    paragraph,
    seconds,
    section,
    small,
    span,
    table,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_robots_plus.audit.summary import Change, Rule, Summary


SITES = 500
"""How many have a row of their own."""
RULES = 50
"""How many are shown."""
_NAMED = 5
"""Sites of a cause that are named at once."""
_HASH = 12
"""Characters of a hash that are shown."""
_HEIGHT = 40
_DENIED, _ALLOWED = Column("Denied", is_number=True), Column("Allowed", is_number=True)
_TIMES = Column("Times", is_number=True)


def table_of_sites(summary: Summary) -> Html:
    """A row for each site: its robots.txt, what was denied, and the delay that was kept."""
    rows = sites(summary)
    if not rows:
        return section("hosts", "Sites", paragraph("The log holds no decision about a request."))
    columns = [
        Column("Site"),
        Column("robots.txt"),
        _DENIED,
        _ALLOWED,
        Column("Delay asked", is_number=True),
        Column("kept", is_number=True),
        Column("Smallest gap", is_number=True),
    ]
    content = folded(columns, [_site(each) for each in rows[:SITES]], "site", _rest(summary, rows))
    remarks = paragraph(" ".join(_remarks(summary)))
    return section("hosts", "Sites", content, remarks)


def _site(site: Site) -> list[object]:
    gap: object = "" if site.smallest_gap is None else seconds(site.smallest_gap)
    if site.gaps_too_short:
        gap = element("b", gap, class_="short")
    return [
        code(site.origin) if site.origin else "No site, or not http",
        site.status + (f", {site.standing}" if site.standing not in ("", "open") else ""),
        number(site.requests_denied, is_exact=site.exact),
        number(site.requests_allowed, is_exact=site.exact),
        "" if site.delay_asked is None else exactly(site.delay_asked),
        "" if site.delay_kept is None else exactly(site.delay_kept),
        gap,
    ]


def _rest(summary: Summary, rows: list[Site]) -> list[object]:
    shown = rows[:SITES]
    if len(rows) == len(shown) and summary.hosts.is_complete:
        return []
    left = len(rows) - len(shown)
    name = counted(left, "more site") if summary.hosts.is_complete else "All other sites"
    denied = summary.totals.denied - sum(each.requests_denied for each in shown)
    allowed = summary.totals.allowed - sum(each.requests_allowed for each in shown)
    return [name, "", number(denied), number(allowed), "", "", ""]


def _remarks(summary: Summary) -> Iterator[str]:
    totals = summary.totals
    if not totals.logs_all:
        yield (
            f"Of the allowed requests, {totals.allowed:,} are in the log, and counted here. The "
            "others were not logged (ROBOTS_AUDIT_LOG_ALLOWED), or not sent."
        )
    yield (
        "A gap is the time from the start of one request to a site to that of the next; it counts "
        f"as too short below the delay by more than {TOLERANCE * 1000:g} ms."
    )
    if not totals.full_crawls:
        yield (
            "The log does not hold all requests that were sent, so gaps cannot be measured. "
            "ROBOTS_AUDIT_LOG_ALLOWED = True logs them."
        )
    elif totals.sampling_crawls:
        some = counted(totals.sampling_crawls, "crawl")
        yield f"Gaps are not measured of {some} whose log does not hold all allowed requests."
    if totals.audit_crawls:
        yield "Crawls in observe mode do not wait: their gaps show what would change."
    if totals.lost:
        yield "Lines are missing in the log, so that some gaps look longer than they were."
    if not summary.hosts.is_complete:
        yield (
            "There are more sites than are followed one by one. The totals are exact; a count with "
            "“at least” may lack what was seen before that one was followed."
        )


def reasons(summary: Summary) -> Html:
    """What decided, which rules denied most, and when."""
    totals = summary.totals
    ranked = summary.reasons.ranked(lambda row: (row.denied, row.allowed))
    rows = [[capitalized(decided_by(value)), *_counts(row)] for value, row in ranked]
    total = ["All", number(totals.denied), number(totals.allowed)]
    content = table([Column("What decided"), _DENIED, _ALLOWED], rows[:FIRST], total)
    return section("reasons", "Reasons", content, _rules(summary), *_over_time(summary))


def _rules(summary: Summary) -> Html:
    ranked = summary.rules.ranked(lambda row: row.count)
    if not ranked:
        return paragraph("No rule of a robots.txt denied a request.")
    shown = ranked[:RULES]
    rows = [[_rule(rule, row), _counts(row)[0]] for rule, row in shown]
    left = summary.totals.denied_by_rule - sum(row.denied for _, row in shown)
    last = ["All other rules", number(left)] if left else ()
    complete = "" if summary.rules.is_complete else ": there are more than are followed one by one"
    heading = f"The rules that denied most{complete}"
    return element("div", fold(heading, table([Column("Rule"), _DENIED], rows, last)), id="rules")


def _rule(rule: Rule, row: Outcomes) -> Html:
    line = f"line {rule.line} of " if rule.line is not None else ""
    where = small(line, code(rule.robots_url), "; for example ", code(row.example))
    return join([code(rule.text), where])


_STRIPS = (
    ("denied", "Requests denied"),
    ("allowed", "Requests allowed"),
    ("failure", "robots.txt could not be read"),
    ("change", "robots.txt changed"),
)


def _over_time(summary: Summary) -> list[Html]:
    timeline = summary.timeline
    buckets = timeline.buckets()
    strips = [
        _strip(buckets, kind, name)
        for kind, name in _STRIPS
        if any(bucket.counts[kind] for bucket in buckets)
    ]
    if not strips or len(buckets) == 1:
        return []
    end = buckets[-1].start + timeline.width
    axis = element("div", moment(buckets[0].start), moment(end), class_="axis")
    about = small(f"Each bar stands for {length(timeline.width)}; times are in UTC.")
    return [fold("Over time", about, *strips, axis)]


def _strip(buckets: list[Bucket], kind: str, name: str) -> Html:
    counts = [bucket.counts[kind] for bucket in buckets]
    most = max(counts)
    shapes = [
        element("rect", class_=kind, x=place, y=_HEIGHT - height, width=0.9, height=height)
        for place, count in enumerate(counts)
        if count
        for height in [max(3, round(count / most * _HEIGHT))]
    ]
    label = f"Bars over time: {name}, {sum(counts):,} in all"
    view = {"viewBox": f"0 0 {len(counts)} {_HEIGHT}", "preserveAspectRatio": "none"}
    picture = element("svg", *shapes, role="img", aria_label=label, **view)
    caption = element("figcaption", element("b", name), f" {sum(counts):,}, at most {most:,} a bar")
    return element("figure", caption, picture)


def files(summary: Summary) -> Html:
    """What the robots.txt files answered, why some could not be read, and which changed."""
    if not summary.totals.files:
        nothing = paragraph("The log does not hold how any robots.txt was read.")
        return section("files", "robots.txt files", nothing)
    columns = [Column("Answer"), Column("Meaning"), _TIMES]
    rows = [
        [status.status, capitalized(access(status.access)), number(row.count)]
        for status, row in summary.statuses.ranked(lambda row: row.count)
    ]
    answers = table(columns, rows[:FIRST], ["All", "", number(summary.totals.files)])
    content = [answers, *_failures(summary), *_changes(summary)]
    return section("files", "robots.txt files", *content)


def _failures(summary: Summary) -> list[Html]:
    found = causes(summary)
    if not found:
        return [paragraph("Each robots.txt could be read whenever it was asked for.")]
    columns = [Column("Why it could not be read"), Column("Sites", is_number=True), _TIMES]
    shown = found[:FIRST]
    left = summary.totals.failures - sum(cause.times for cause in shown)
    last = ["All others", "", number(left)] if left else ()
    return [table(columns, [_cause(each) for each in shown], last)]


def _cause(cause: Cause) -> list[object]:
    named = join(map(code, cause.origins[:_NAMED]), ", ")
    others = cause.origins[_NAMED:SITES]
    more = fold(counted(len(others), "more site"), small(join(map(code, others), ", ")))
    head = [capitalized(cause.detail), small(span(cause.first, cause.last)), small(named)]
    return [join([*head, *([more] if others else [])]), len(cause.origins), number(cause.times)]


def _changes(summary: Summary) -> list[Html]:
    if not summary.changes:
        return [paragraph("No robots.txt changed while it was being obeyed.")]
    left = summary.totals.changes - len(summary.changes)
    latest = f"The latest {len(summary.changes)} of {summary.totals.changes:,} changes."
    columns = [Column("Changed"), Column("When (UTC)")]
    rows = [_change(change) for change in summary.changes]
    return [*([paragraph(latest)] if left else []), folded(columns, rows, "change")]


def _change(change: Change) -> list[object]:
    suspicion = [small("Looks like a mistake: ", change.suspicion)] if change.suspicion else []
    hashes = small("SHA-256 ", _hash(change.before), " became ", _hash(change.after))
    return [join([code(change.origin), hashes, *suspicion]), moment(change.time)]


def _hash(sha256: str) -> Html:
    return code(sha256[:_HASH]) if sha256 else Html("no rules")


def uses(summary: Summary) -> Html:
    """What crawls were for, what was skipped for that, and what sites prefer."""
    found = summary.uses
    parts = []
    for purpose, row in found.purposes.ranked(lambda row: row.count):
        follows = "skipped" if purpose.policy == "skip" else "only counted"
        text = f": pages whose site objects to that were {follows}."
        parts.append(paragraph(f"{counted(row.count, 'crawl')} for ", code(purpose.uses), text))
    objections = [
        [
            join(
                [
                    element("b", each.use or "A use that the log does not name"),
                    small(each.source, "; for example ", code(row.example)),
                ]
            ),
            _counts(row)[0],
        ]
        for each, row in found.objections.ranked(lambda row: row.count)
    ]
    if objections:
        parts.append(table([Column("Objection"), _DENIED], objections))
    if found.preferred:
        parts.append(paragraph("Responses whose site had a preference, in the log or not:"))
        rows = [[code(name), number(count)] for name, count in sorted(found.preferred.items())]
        parts.append(table([Column("Preference"), Column("Responses", is_number=True)], rows))
    return section("uses", "What sites want done with their pages", *parts)


def overrides(summary: Summary) -> Html:
    """What was set for some requests in place of what robots.txt says, and why."""
    text = "For these requests the crawl had settings of its own beside what robots.txt says."
    ranked = summary.overrides.ranked(lambda row: row.count)
    columns = [Column("Reason and override"), _DENIED, _ALLOWED]
    content = folded(columns, [_override(row) for _, row in ranked], "override")
    return section("overrides", "Overrides", paragraph(text), content)


def _override(row: Override) -> list[Html]:
    fields = {name: value for name, value in row.fields.items() if name != "reason"}
    sets = join((code(f"{name}: {value}") for name, value in fields.items()), ", ")
    reason = element("b", row.fields.get("reason", "No reason is given"))
    example = ["; for example ", code(row.example)] if row.example else []
    what = join([reason, small(sets, *example)])
    return [what, *_counts(row)]


def _counts(row: Outcomes) -> list[Html]:
    is_exact = row.missed == 0
    return [number(row.denied, is_exact=is_exact), number(row.allowed, is_exact=is_exact)]


def table_of_crawls(summary: Summary) -> Html:
    """Spider, begin, end, settings and version of each."""
    known = crawls(summary)
    if not known:
        return section("crawls", "Crawls", paragraph("The log holds no crawl."))
    rows = [_crawl(name, row) for name, row in known]
    columns = [Column("Crawl"), _DENIED, _ALLOWED]
    return section("crawls", "Crawls", folded(columns, rows, "crawl", _other_crawls(summary)))


def _other_crawls(summary: Summary) -> list[object]:
    """The crawls that are not followed, if there are any."""
    if summary.crawls.is_complete:
        return []
    totals, shown = summary.totals, [row for _, row in crawls(summary)]
    denied = totals.denied - sum(row.denied for row in shown)
    allowed = totals.all_allowed - sum(_counted(row) for row in shown)
    return [f"Others of {counted(totals.crawls, 'crawl')}", number(denied), number(allowed)]


def _crawl(name: str, crawl: Crawl) -> list[Html]:
    spider = element("b", crawl.spider or "Its begin is not in the log")
    ended = (
        "no end in the log: it was killed or still runs, or lines were removed"
        if crawl.ended is None
        else f"ended: {crawl.ended}"
    )
    details = [element("div", span(crawl.first, crawl.last), ", ", ended)]
    if crawl.mode not in ("", "obey"):
        details.append(small("Observe mode: nothing was blocked or delayed"))
    if crawl.lost:
        details.append(small(f"{counted(crawl.lost, 'line')} could not be written"))
    head = f"crawl {name}, scrapy-robots-plus {crawl.version or 'of unknown version'}"
    settings = (small(code(f"{key} = {value}")) for key, value in crawl.settings.items())
    details.append(fold(head, *settings) if crawl.settings else small(head))
    is_exact = crawl.logs_all or crawl.counted is not None
    allowed = number(_counted(crawl), is_exact=is_exact)
    if crawl.counted is None and not (crawl.logs_all or crawl.allowed):
        allowed = Html("not logged")
    return [join([spider, *details]), number(crawl.denied), allowed]


def _counted(crawl: Crawl) -> int:
    """Its allowed requests, logged or not, as far as they are known."""
    return max(crawl.allowed, crawl.counted or 0)
