"""The sections of the page, each about one question."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_robots_plus.audit.rows import TOLERANCE, Bucket, Crawl, Host, Row
from scrapy_robots_plus.protocol.printable import counted
from scrapy_robots_plus.protocol.verdict import Reason

from . import figures
from .html import (
    FIRST,
    Html,
    code,
    element,
    fold,
    folded,
    join,
    length,
    moment,
    number,
    seconds,
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
_OF_SITES = ("Site", "robots.txt", "Denied", "Allowed", "Delay asked", "kept", "Smallest gap")


def sites(summary: Summary) -> Iterator[Html]:
    """A row for each site: its robots.txt, what was denied, and the delay that was kept."""
    hosts = figures.sites(summary)
    if not hosts:
        yield element("p", "The log holds no decision about a request.")
        return
    shown = hosts[:SITES]
    last = _other_sites(summary, [host for _, host in shown], len(hosts) - len(shown))
    yield folded(_OF_SITES, [_site(*each) for each in shown], "site", last)
    yield element("p", " ".join(_remarks(summary)))


def _site(origin: str, host: Host) -> list[object]:
    status = host.status + (f", {host.standing}" if host.standing not in ("", "open") else "")
    asked = "" if host.delay_asked is None else f"{host.delay_asked:g} s"
    gaps = host.measured
    kept, gap = ("", "") if gaps is None else (f"{gaps.delay:g} s", seconds(gaps.shortest))
    if any(each.too_short for each in host.gaps.values()):
        gap = element("b", gap, class_="short")
    return [
        code(origin) if origin else "No site, or not http",
        status,
        *_counts(host),
        asked,
        kept,
        gap,
    ]


def _other_sites(summary: Summary, shown: list[Host], left: int) -> list[object]:
    if not left and summary.hosts.is_complete:
        return []
    name = counted(left, "more site") if summary.hosts.is_complete else "All other sites"
    denied = summary.totals.denied - sum(host.denied for host in shown)
    allowed = summary.totals.allowed - sum(host.allowed for host in shown)
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


_REASONS = {reason.value: reason.words.format("the robots.txt") for reason in Reason}


def reasons(summary: Summary) -> Iterator[Html]:
    """What decided, which rules denied most, and when."""
    totals = summary.totals
    ranked = summary.reasons.ranked(lambda row: (row.denied, row.allowed))
    rows = [[_capitalized(_REASONS.get(value, value)), *_counts(row)] for value, row in ranked]
    total = ["All", number(totals.denied), number(totals.allowed)]
    yield table(["What decided", "Denied", "Allowed"], rows[:FIRST], total)
    yield _rules(summary)
    yield from _over_time(summary)


def _rules(summary: Summary) -> Html:
    ranked = summary.rules.ranked(lambda row: row.count)
    if not ranked:
        return element("p", "No rule of a robots.txt denied a request.")
    shown = ranked[:RULES]
    rows = [[_rule(rule, row), _counts(row)[0]] for rule, row in shown]
    left = summary.totals.denied_by_rule - sum(row.denied for _, row in shown)
    last = ["All other rules", number(left)] if left else ()
    complete = "" if summary.rules.is_complete else ": there are more than are followed one by one"
    heading = f"The rules that denied most{complete}"
    return element("div", fold(heading, table(["Rule", "Denied"], rows, last)), id="rules")


def _rule(rule: Rule, row: Row) -> Html:
    line = f"line {rule.line} of " if rule.line is not None else ""
    return _with(code(rule.text), line, code(rule.robots_url), _for_example(row))


_STRIPS = {
    "denied": "Requests denied",
    "allowed": "Requests allowed",
    "failure": "robots.txt could not be read",
    "change": "robots.txt changed",
}


def _over_time(summary: Summary) -> Iterator[Html]:
    timeline = summary.timeline
    buckets = timeline.buckets()
    if len(buckets) < 2:
        return
    strips = [
        _strip(buckets, kind) for kind in _STRIPS if any(each.counts[kind] for each in buckets)
    ]
    end = buckets[-1].start + timeline.width
    axis = element("div", moment(buckets[0].start), moment(end), class_="axis")
    about = small(f"Each bar stands for {length(timeline.width)}; times are in UTC.")
    yield fold("Over time", about, *strips, axis)


def _strip(buckets: list[Bucket], kind: str) -> Html:
    name, counts = _STRIPS[kind], [bucket.counts[kind] for bucket in buckets]
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


_ACCESS = {
    "rules": "Its rules hold",
    "unavailable": "Everything is allowed",
    "unreachable": "It cannot be read",
}


def files(summary: Summary) -> Iterator[Html]:
    """What the robots.txt files answered, why some could not be read, and which changed."""
    if not summary.totals.files:
        yield element("p", "The log does not hold how any robots.txt was read.")
        return
    rows = [
        [status, _ACCESS.get(access, _capitalized(access)), number(row.count)]
        for (status, access), row in summary.statuses.ranked(lambda row: row.count)
    ]
    total = ["All", "", number(summary.totals.files)]
    yield table(["Answer", "Meaning", "Times"], rows[:FIRST], total)
    yield _failures(summary)
    yield from _changes(summary)


def _failures(summary: Summary) -> Html:
    found = figures.causes(summary)
    if not found:
        return element("p", "Each robots.txt could be read whenever it was asked for.")
    shown = found[:FIRST]
    left = summary.totals.failures - sum(cause.seen.count for cause in shown)
    last = ["All others", "", number(left)] if left else ()
    return table(["Why it could not be read", "Sites", "Times"], list(map(_cause, shown)), last)


def _cause(cause: figures.Cause) -> list[object]:
    named = [code(origin) for origin in cause.origins[:SITES]]
    first, others = join(named[:_NAMED], ", "), named[_NAMED:]
    head = [
        _capitalized(cause.in_words),
        small(span(cause.seen.first, cause.seen.last)),
        small(first),
    ]
    if others:
        head.append(fold(counted(len(others), "more site"), small(join(others, ", "))))
    return [join(head), len(cause.origins), number(cause.seen.count)]


def _changes(summary: Summary) -> Iterator[Html]:
    changes = summary.changes
    if not changes:
        yield element("p", "No robots.txt changed while it was being obeyed.")
        return
    if summary.totals.changes > len(changes):
        yield element("p", f"The latest {len(changes)} of {summary.totals.changes:,} changes.")
    yield folded(["Changed", "When (UTC)"], [_change(change) for change in changes], "change")


def _change(change: Change) -> list[object]:
    suspicion = [small("Looks like a mistake: ", change.suspicion)] if change.suspicion else []
    hashes = ["SHA-256 ", _hash(change.before), " became ", _hash(change.after)]
    return [join([_with(code(change.origin), *hashes), *suspicion]), moment(change.time)]


def _hash(sha256: str) -> Html:
    return code(sha256[:_HASH]) if sha256 else Html("no rules")


def uses(summary: Summary) -> Iterator[Html]:
    """What crawls were for, what was skipped for that, and what sites prefer."""
    for (purpose, policy), row in summary.purposes.ranked(lambda row: row.count):
        follows = "skipped" if policy == "skip" else "only counted"
        text = f": pages whose site objects to that were {follows}."
        yield element("p", f"{counted(row.count, 'crawl')} for ", code(purpose), text)
    objections = []
    for (use, source), row in summary.objections.ranked(lambda row: row.count):
        name = element("b", use or "A use that the log does not name")
        objections.append([_with(name, source, _for_example(row)), _counts(row)[0]])
    if objections:
        yield table(["Objection", "Denied"], objections)
    if summary.preferred:
        yield element("p", "Responses whose site had a preference, in the log or not:")
        preferred = sorted(summary.preferred.items())
        rows = [[code(name), number(count)] for name, count in preferred]
        yield table(["Preference", "Responses"], rows)


def overrides(summary: Summary) -> Iterator[Html]:
    """What was set for some requests in place of what robots.txt says, and why."""
    ranked = summary.overrides.ranked(lambda row: row.count)
    if ranked:
        text = "For these requests the crawl had settings of its own beside what robots.txt says."
        yield element("p", text)
        rows = [_override(dict(fields), row) for fields, row in ranked]
        yield folded(["Reason and override", "Denied", "Allowed"], rows, "override")


def _override(fields: dict[str, str], row: Row) -> list[Html]:
    reason = element("b", fields.pop("reason", "No reason is given"))
    sets = join((code(f"{name}: {value}") for name, value in fields.items()), ", ")
    return [_with(reason, sets, _for_example(row)), *_counts(row)]


def crawls(summary: Summary) -> Iterator[Html]:
    """Spider, begin, end, settings and version of each."""
    known = figures.crawls(summary)
    if not known:
        yield element("p", "The log holds no crawl.")
        return
    rows, last = [_crawl(name, row) for name, row in known], []
    if not summary.crawls.is_complete:
        totals = summary.totals
        denied = totals.denied - sum(row.denied for _, row in known)
        allowed = totals.all_allowed - sum(_counted(row) for _, row in known)
        last = [f"Others of {counted(totals.crawls, 'crawl')}", number(denied), number(allowed)]
    yield folded(["Crawl", "Denied", "Allowed"], rows, "crawl", last)


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


def _counts(row: Row) -> list[Html]:
    is_exact = row.missed == 0
    return [number(row.denied, is_exact=is_exact), number(row.allowed, is_exact=is_exact)]


def _with(head: Html, *details: object) -> Html:
    """What a cell says first, and details below it."""
    return join([head, small(*details)])


def _for_example(row: Row) -> Html:
    return join(["; for example ", code(row.example)]) if row.example else Html()


def _capitalized(words: str) -> str:
    return words[:1].upper() + words[1:]
