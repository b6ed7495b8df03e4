"""The sections of the page, each about one question. Their rows come from ``summary.sql``."""

from __future__ import annotations

import json
from http.client import responses
from typing import TYPE_CHECKING, Any

from scrapy_robots_plus.audit.summary import TOLERANCE
from scrapy_robots_plus.protocol.access import Failure
from scrapy_robots_plus.protocol.printable import counted
from scrapy_robots_plus.protocol.verdict import Reason

from .html import FIRST, Html, code, element, fold, join, moment, small, span, table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_robots_plus.audit.summary import Summary


SITES = 500
"""How many sites have a row of their own."""
RULES = 50
"""How many rules are shown."""
_FEW = 100
"""How many changes, crawls, overrides and uses are shown."""
_HASH = 12
"""Characters of a hash that are shown."""


def sites(summary: Summary) -> Iterator[Html]:
    """Yields the table of sites: their robots.txt, what was denied, and the delay that was kept."""
    totals = summary.totals
    heads = ["Site", "robots.txt", "Denied", "Allowed", "Delay asked", "kept", "Smallest gap"]
    last = [f"All {totals.origins:,}", "", totals.denied, totals.allowed, "", "", ""]
    nothing = "The log holds no decision about a request."
    yield table(heads, map(_site, summary.rows("sites", SITES)), last, "site", nothing)
    if not totals.logs_all:
        yield element(
            "p",
            f"Of the allowed requests, {totals.allowed:,} are in the log, and counted here. The "
            "others were not logged (ROBOTS_AUDIT_LOG_ALLOWED), or not sent.",
        )
    yield element(
        "p",
        "A gap is the time from the start of one request to a site to that of the next, in a crawl "
        "whose log holds all allowed requests (ROBOTS_AUDIT_LOG_ALLOWED = True); it counts as too "
        f"short below the delay by more than {TOLERANCE * 1000:g} ms.",
    )


def _site(site: Any) -> list[object]:
    asked, kept, gap = site.delay_asked, site.delay_kept, site.smallest_gap
    shortest: str = "" if gap is None else f"{gap:,.2f} s"
    return [
        code(site.origin) if site.origin else "No site, or not http",
        site.status + (f", {site.standing}" if site.standing not in ("", "open") else ""),
        site.requests_denied,
        site.requests_allowed,
        "" if asked is None else f"{asked:g} s",
        "" if kept is None else f"{kept:g} s",
        element("b", shortest, class_="short") if site.gaps_too_short else shortest,
    ]


_REASONS = {reason.value: reason.words.format("the robots.txt") for reason in Reason}


def reasons(summary: Summary) -> Iterator[Html]:
    """Yields the tables of what decided, and of the rules that denied most."""
    totals = summary.totals
    rows = [
        [_capitalized(_REASONS.get(each.reason, each.reason)), each.denied, each.allowed]
        for each in summary.rows("reasons", FIRST)
    ]
    last = ["All", totals.denied, totals.allowed]
    yield table(["What decided", "Denied", "Allowed"], rows, last)
    rules = map(_rule, summary.rows("rules", RULES))
    nothing = "No rule of a robots.txt denied a request."
    shown = table(["Rule", "Denied"], rules, ["All rules", totals.denied_by_rule], empty=nothing)
    yield fold("The rules that denied most", shown)


def _rule(rule: Any) -> list[object]:
    line = f"line {rule.line} of " if rule.line is not None else ""
    where = small(line, code(rule.robots_url), _for_example(rule))
    return [join([code(rule.rule), where]), rule.denied]


_ACCESS = {
    "rules": "Its rules hold",
    "unavailable": "Everything is allowed",
    "unreachable": "It cannot be read",
}


def files(summary: Summary) -> Iterator[Html]:
    """Yields the tables of how reading robots.txt files ended, and of those that changed."""
    totals = summary.totals
    rows = [
        [
            _capitalized(_cause(each.answer)),
            _ACCESS.get(each.access, _capitalized(each.access)),
            each.origins,
            each.times,
        ]
        for each in summary.rows("answers", FIRST)
    ]
    nothing = "The log does not hold how any robots.txt was read."
    heads = ["Answer", "Meaning", "Sites", "Times"]
    yield table(heads, rows, ["All", "", "", totals.files], empty=nothing)
    latest = list(map(_change, summary.rows("changes", _FEW)))[::-1]
    nothing = "No robots.txt changed while it was being obeyed."
    last = ["Changes in all", totals.changes]
    yield table(["Changed", "When (UTC)"], latest, last, "change", nothing)


_CAUSES = {
    **{each.value: each.words for each in Failure},
    **{str(code): f"the server answered {code} ({words})" for code, words in responses.items()},
}


def _cause(failure: str) -> str:
    """Returns a status or failure in words: ``the server answered 503 (Service Unavailable)``."""
    unknown = f"the server answered {failure}" if failure.isdigit() else failure
    return _CAUSES.get(failure, unknown)


def _change(change: Any) -> list[object]:
    before, after = (
        code(each[:_HASH]) if each else Html("no rules") for each in (change.before, change.after)
    )
    what = [code(change.origin), small("SHA-256 ", before, " became ", after)]
    return [join(what), moment(change.time)]


def uses(summary: Summary) -> Iterator[Html]:
    """Yields the table of what was skipped because sites object to what the crawl is for."""
    yield table(["Objection", "Denied"], map(_objection, summary.rows("objections", _FEW)))


def _objection(objection: Any) -> list[object]:
    use = element("b", objection.use or "A use that the log does not name")
    return [join([use, small(objection.source, _for_example(objection))]), objection.denied]


def overrides(summary: Summary) -> Iterator[Html]:
    """Yields the table of what was set for some requests in place of their robots.txt, and why."""
    heads = ["Settings for these requests alone, and why", "Denied", "Allowed"]
    yield table(heads, map(_override, summary.rows("overrides", _FEW)), (), "override")


def _override(override: Any) -> list[object]:
    sets = json.loads(override.override)
    reason = element("b", sets.pop("reason", "No reason is given"))
    told = join((code(f"{name}: {value}") for name, value in sets.items()), ", ")
    said = join([reason, small(told, _for_example(override))])
    return [said, override.denied, override.allowed]


def crawls(summary: Summary) -> Iterator[Html]:
    """Yields the table of crawls: spider, start, end, settings and version of each."""
    totals = summary.totals
    known = sorted(summary.rows("crawls", _FEW), key=lambda crawl: crawl.first)
    allowed = totals.all_allowed if totals.counts_all else ""
    last = [f"All {totals.crawls:,}", totals.denied, allowed]
    heads, nothing = ["Crawl", "Denied", "Allowed"], "The log holds no crawl."
    yield table(heads, map(_crawl, known), last, "crawl", nothing)


def _crawl(crawl: Any) -> list[object]:
    ended = _NO_END if crawl.ended is None else f"ended: {crawl.ended}"
    details = [
        element("b", crawl.spider or "Its start is not in the log"),
        element("div", span(crawl.first, crawl.last), ", ", ended),
    ]
    if crawl.mode not in (None, "obey"):
        details.append(small("Observe mode: nothing was blocked or delayed"))
    if crawl.lost:
        details.append(small(f"{counted(crawl.lost, 'line')} could not be written"))
    head = f"crawl {crawl.crawl}, scrapy-robots-plus {crawl.version or 'of unknown version'}"
    settings = json.loads(crawl.settings or "{}").items()
    details.append(fold(head, *(small(code(f"{name} = {value}")) for name, value in settings)))
    allowed = crawl.all_allowed
    if not crawl.logs_all and crawl.counted is None:
        allowed = f"at least {crawl.allowed:,}" if crawl.allowed else "not logged"
    return [join(details), crawl.denied, allowed]


_NO_END = "no end in the log: it was killed or still runs, or lines were removed"


def _for_example(row: Any) -> Html:
    return join(["; for example ", code(row.example)]) if row.example else Html()


def _capitalized(words: str) -> str:
    return words[:1].upper() + words[1:]
