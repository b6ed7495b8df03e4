"""The report of an audit log: one HTML page that needs no other file.

Each of its sections is about one question. Their rows come from the views of the summary.
"""

from __future__ import annotations

import base64
import hashlib
import json
import time
from collections.abc import Iterator
from http.client import responses
from pathlib import Path
from string import Template
from typing import Any

from scrapy_robots_plus._version import __version__
from scrapy_robots_plus.audit.chain import LogReader, LogState
from scrapy_robots_plus.audit.summary import TOLERANCE, Summary
from scrapy_robots_plus.protocol.access import Access, Failure
from scrapy_robots_plus.protocol.printable import counted
from scrapy_robots_plus.protocol.verdict import Reason

from .html import FIRST, Html, code, element, fold, join, moment, note, small, span, table, text

MAKER = "scrapy-robots-plus"
"""The generator that a page names."""

SITES = 500
"""How many sites have a row of their own."""
RULES = 50
_FEW = 100
"""How many changes, crawls, overrides and uses are shown."""


_FOLDER = Path(__file__).parent


def page(summary: Summary, log: LogReader, title: str = "") -> str:
    """Returns the whole page, in ASCII, so that it can be written in any encoding.

    *log* must have been read to its end.
    """
    style = (_FOLDER / "style.css").read_text(encoding="ascii")
    made = [(anchor, heading, join(make(summary))) for anchor, heading, make in _SECTIONS]
    shown = [section for section in made if section[-1]]
    last = join([" Hash of the last line: ", code(log.last.hash)]) if log.is_readable else ""
    written = Template((_FOLDER / "page.html").read_text(encoding="ascii")).substitute(
        # Nothing but the style may be loaded or run, even if something slips through unescaped.
        digest=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
        maker=f"{MAKER} {__version__}",
        title=text(title or "robots.txt report"),
        plain_names=text(", ".join(log.names)),
        style=style,
        header=join(_header(summary, log)),
        contents=join(element("a", name, href=f"#{anchor}") for anchor, name, _ in shown),
        sections=join(
            element("section", element("h2", heading), content, id=anchor)
            for anchor, heading, content in shown
        ),
        chain=_CHAIN.get(log.state, ". The top of this page says what is wrong with them."),
        last=last,
        names=join(map(code, log.names), ", "),
        lines=counted(log.lines, "line"),
        made=moment(time.time()),
    )
    return written.encode("ascii", "xmlcharrefreplace").decode()


def sentence(totals: Any) -> str:
    """Returns the whole report in one sentence."""
    denied = counted(totals.denied, "request")
    if totals.counts_all:
        all_of_them = totals.denied - totals.skipped + totals.all_allowed
        denied = f"{totals.denied:,} of {counted(all_of_them, 'request')}"
    on = f", on {counted(totals.denying, 'site')}" if totals.denied else ""
    parts = [f"{denied} denied{on}"]
    if totals.unread:
        parts.append(f"the robots.txt of {counted(totals.unread, 'site')} could not be read")
    return "; ".join([*parts, _delays(totals)]) + "."


def _delays(totals: Any) -> str:
    short = totals.gaps_too_short
    if short:
        return f"{short:,} of {counted(totals.gaps, 'gap')} between requests shorter than the delay"
    if totals.gaps:
        return "every delay was kept"
    if not totals.full_crawls:
        return "the log does not tell whether delays were kept"
    return "no delay had to be kept"


def _header(summary: Summary, log: LogReader) -> Iterator[Html]:
    totals = summary.totals
    if totals.lines:
        spiders = [each.spider for each in summary.rows("spiders", 3)]
        when = span(totals.first, totals.last)
        yield element("p", join([*spiders, when], " · "), class_="lead")
    yield element("p", sentence(totals), class_="sentence")
    if summary.hosts:
        yield note(f"Only a part of the log: {', '.join(summary.hosts)}.")
    if log.state > LogState.UNFINISHED:  # the section on crawls says how each ended
        yield note(
            element("b", "This log is incomplete or damaged."),
            " The report may be wrong:",
            element("ul", *(element("li", place) for place in log.damages)),
        )
    if totals.observing_crawls:
        which = f"{totals.observing_crawls:,} of {counted(totals.crawls, 'crawl')}"
        words = f"nothing was blocked or delayed there. Not enforced: {totals.not_enforced:,}."
        yield note(element("b", "Observe mode"), f" in {which}: {words}")
    if totals.lost:
        lines = counted(totals.lost, "line")
        yield note(f"{lines} could not be written to the log; they are missing here.")


_CHAIN = {
    LogState.WHOLE: ", and all of them are right. None is missing, and each crawl has ended.",
    LogState.UNFINISHED: ", and all of them are right. But a crawl has no end here, or a file is "
    "empty: it still ran, was killed, or the last lines were removed; or the log was just rotated.",
}
"""What the chain of hashes shows, by the state of the log."""


def _sites(summary: Summary) -> Iterator[Html]:
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


_WORDS: dict[str, str] = {
    **{each.value: each.words.format("the robots.txt") for each in (*Reason, *Failure)},
    **{str(code): f"the server answered {code} ({words})" for code, words in responses.items()},
}


def _in_words(cause: str) -> str:
    """Returns a reason, a failure or a status: ``The server answered 503 (Service Unavailable)``.

    A cause that is not known, of another version, stays as it is.
    """
    words = _WORDS.get(cause, f"the server answered {cause}" if cause.isdigit() else cause)
    return words[:1].upper() + words[1:]


def _reasons(summary: Summary) -> Iterator[Html]:
    """Yields the tables of what decided, and of the rules that denied most."""
    totals = summary.totals
    found = summary.rows("reasons", FIRST)
    rows = [[_in_words(each.reason), each.denied, each.allowed] for each in found]
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


_ACCESS = {each.value: each.words.capitalize() for each in Access}


def _files(summary: Summary) -> Iterator[Html]:
    """Yields the tables of how reading robots.txt files ended, and of those that changed."""
    rows = map(_answer, summary.rows("answers", FIRST))
    nothing = "The log does not hold how any robots.txt was read."
    heads = ["Answer", "Meaning", "Sites", "Times"]
    yield table(heads, rows, ["All", "", "", summary.totals.files], empty=nothing)
    latest = list(map(_change, summary.rows("changes", _FEW)))[::-1]
    nothing = "No robots.txt changed while it was being obeyed."
    last = ["Changes in all", summary.totals.changes]
    yield table(["Changed", "When (UTC)"], latest, last, "change", nothing)


def _answer(answer: Any) -> list[object]:
    means = _ACCESS.get(answer.access, _in_words(answer.access))
    return [_in_words(answer.answer), means, answer.origins, answer.times]


def _change(change: Any) -> list[object]:
    before, after = (
        code(each[:12]) if each else Html("no rules") for each in (change.before, change.after)
    )
    what = [code(change.origin), small("SHA-256 ", before, " became ", after)]
    return [join(what), moment(change.time)]


def _uses(summary: Summary) -> Iterator[Html]:
    """Yields the table of what was skipped because sites object to what the crawl is for."""
    yield table(["Objection", "Denied"], map(_objection, summary.rows("objections", _FEW)))


def _objection(objection: Any) -> list[object]:
    use = element("b", objection.use or "A use that the log does not name")
    return [join([use, small(objection.source, _for_example(objection))]), objection.denied]


def _overrides(summary: Summary) -> Iterator[Html]:
    """Yields the table of what was set for some requests in place of their robots.txt, and why."""
    heads = ["Settings for these requests alone, and why", "Denied", "Allowed"]
    yield table(heads, map(_override, summary.rows("overrides", _FEW)), (), "override")


def _override(override: Any) -> list[object]:
    sets = json.loads(override.override)
    reason = element("b", sets.pop("reason", "No reason is given"))
    told = join((code(f"{name}: {value}") for name, value in sets.items()), ", ")
    said = join([reason, small(told, _for_example(override))])
    return [said, override.denied, override.allowed]


def _crawls(summary: Summary) -> Iterator[Html]:
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
    shown = (element("code", f"{name} = {value}", dir="ltr") for name, value in settings)
    details.append(fold(head, *map(small, shown)))
    allowed = crawl.all_allowed
    if not crawl.logs_all and crawl.counted is None:
        allowed = f"at least {crawl.allowed:,}" if crawl.allowed else "not logged"
    return [join(details), crawl.denied, allowed]


_NO_END = "no end in the log: it was killed or still runs, or lines were removed"


def _for_example(row: Any) -> Html:
    return join(["; for example ", code(row.example)]) if row.example else Html()


_SECTIONS = (
    ("hosts", "Sites", _sites),
    ("reasons", "Reasons", _reasons),
    ("files", "robots.txt files", _files),
    ("uses", "What sites want done with their pages", _uses),
    ("overrides", "Overrides", _overrides),
    ("crawls", "Crawls", _crawls),
)
"""The anchor, heading and content of each section. One without content is left out."""
