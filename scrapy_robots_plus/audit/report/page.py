"""The report: one page of HTML that needs nothing else."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrapy_robots_plus.audit.damage import State
from scrapy_robots_plus.protocol.counting import counted

from . import words
from .html import Html, code, element, join, number
from .sections.crawls import crawls, overrides
from .sections.files import files
from .sections.pace import pace
from .sections.requests import hosts, over_time, reasons, rules
from .sections.uses import uses
from .style import STYLE
from .tables import facts, note, paragraph, section

if TYPE_CHECKING:
    from scrapy_robots_plus.audit.summary.summary import Summary

_USES = ("uses", "Uses")
_CONTENTS = (
    ("time", "Over time"),
    ("reasons", "Reasons"),
    ("hosts", "Sites"),
    ("rules", "Rules"),
    ("gaps", "Gaps"),
    ("files", "robots.txt files"),
    _USES,
    ("overrides", "Overrides"),
    ("crawls", "Crawls"),
    ("about", "About"),
)


@dataclass(frozen=True)
class Log:
    """The log that a report is about."""

    names: tuple[str, ...]
    """Of the file, or of the files that it was rotated into, without their folders."""
    lines: int
    """How many were read."""
    state: State
    """Whether it is whole."""
    damages: tuple[str, ...]
    """What is wrong with its chain of hashes, such as ``line 3: changed``: the first few."""
    damaged: int
    """How many damages there are."""
    last_hash: str | None
    """Of the last line; None if there is none."""
    made_at: float
    """When the report was made, in seconds since the epoch."""
    made_by: str
    """Name and version of the program."""


def page(summary: Summary, log: Log) -> str:
    """The whole page, in ASCII, so that it means the same in whatever encoding it is written."""
    body = element(
        "body",
        element("header", *_header(summary, log)),
        element(
            "main",
            _overview(summary),
            over_time(summary),
            reasons(summary),
            hosts(summary),
            rules(summary),
            pace(summary),
            files(summary),
            *([uses(summary)] if summary.uses else []),
            overrides(summary),
            crawls(summary),
            _about(log),
        ),
    )
    document = element("html", _head(summary, log), body, lang="en")
    return f"<!DOCTYPE html>\n{document}\n".encode("ascii", "xmlcharrefreplace").decode()


def _head(summary: Summary, log: Log) -> Html:
    """Nothing but the style may be loaded or run, even if something slips through unescaped."""
    digest = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:"
    return element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="generator", content=log.made_by),
        element("title", f"{_title(summary)}: {', '.join(log.names)}"),
        element("link", rel="icon", href="data:,"),
        element("style", Html(STYLE)),
    )


def _title(summary: Summary) -> str:
    totals = summary.totals
    in_audit_mode = totals.audit_crawls and totals.audit_crawls == totals.crawls
    return "robots.txt report, observe mode" if in_audit_mode else "robots.txt report"


def _header(summary: Summary, log: Log) -> list[Html]:
    totals = summary.totals
    parts = [element("h1", _title(summary))]
    if totals.entries:
        spiders = sorted(
            {row.spider for _, row in summary.crawls.ranked(lambda row: row.count) if row.spider}
        )
        shown = ", ".join([*spiders[:3], *(["..."] if spiders[3:] else [])])
        when = words.span(totals.first, totals.last)
        parts.append(element("p", join([*([f"{shown} · "] if shown else []), when]), class_="lead"))
    if log.damaged:
        parts.append(_damage(log))
    if totals.audit_crawls:
        parts.append(note(*_audit_mode(summary)))
    if totals.lost:
        lines = counted(totals.lost, "line")
        parts.append(note(f"{lines} could not be written to the log; they are missing here."))
    contents = (each for each in _CONTENTS if each != _USES or summary.uses)
    links = (element("a", name, href=f"#{anchor}") for anchor, name in contents)
    return [*parts, element("nav", *links, aria_label="Contents")]


def _damage(log: Log) -> Html:
    more = log.damaged - len(log.damages)
    places = [*log.damages, *([f"and {more:,} more"] if more else [])]
    return element(
        "div",
        element("b", _DAMAGES.get(log.state, "This log is not whole.")),
        " This report may not tell what happened:",
        element("ul", *(element("li", place) for place in places)),
        class_="note",
    )


_DAMAGES = {
    State.PART: "This log is a part of one: what was before it is not here.",
    State.CUT: "This log is not whole: lines are missing.",
    State.DAMAGED: "This log is not whole: it was changed.",
}


def _audit_mode(summary: Summary) -> list[object]:
    totals = summary.totals
    which = (
        "All crawls of this log ran"
        if totals.audit_crawls == totals.crawls
        else f"{totals.audit_crawls:,} of {counted(totals.crawls, 'crawl')} ran"
    )
    denials = counted(totals.not_enforced, "denial")
    text = f"{which} in observe mode: nothing was blocked or delayed there. {denials} not enforced."
    return [element("b", "Observe mode. "), text]


def _overview(summary: Summary) -> Html:
    totals = summary.totals
    hosts_seen = number(len(summary.hosts), is_exact=summary.hosts.is_complete)
    allowed: object = number(totals.all_allowed, is_exact=totals.counts_all)
    if not (totals.counts_all or totals.all_allowed):
        allowed = "not in the log"
    figures = facts(
        [
            ("Requests denied", number(totals.denied)),
            ("Requests allowed", allowed),
            ("Sites", hosts_seen),
            ("robots.txt failures", number(totals.failures)),
            ("robots.txt changes", number(totals.changes)),
        ]
    )
    parts = [element("div", figures, class_="tiles")]
    if not totals.logs_all:
        parts.append(
            paragraph(
                "Of the allowed requests, ",
                number(totals.allowed),
                " are in the log, and counted below. The others were not logged "
                "(ROBOTS_AUDIT_LOG_ALLOWED), or not sent; crawls count them when they end.",
            )
        )
    return element("section", element("h2", "In short"), *parts, id="short")


def _about(log: Log) -> Html:
    last = join([" Hash of the last line: ", code(log.last_hash)]) if log.last_hash else ""
    made = join([words.moment(log.made_at), f" UTC by {log.made_by}."])
    return section(
        "about",
        "About this report",
        paragraph(
            "A site says in its robots.txt what crawlers may fetch (RFC 9309). Before each request "
            "the crawler compared the URL with the rules of the site. ",
            element("b", "Denied"),
            " means that the request was not sent; ",
            element("b", "allowed"),
            " that no rule was against it. Where a robots.txt could not be read, requests are "
            "denied as well. A ",
            element("b", "site"),
            " is a scheme, host name and port: each has a robots.txt of its own.",
        ),
        paragraph(
            "Made from ",
            join(map(code, log.names), ", "),
            f", {counted(log.lines, 'line')}, on ",
            made,
        ),
        paragraph(_CHAIN[log.state], last),
        paragraph(
            element("b", "What this does not prove."),
            f" {_UNPROVEN}",
        ),
    )


_UNPROVEN = (
    "The hashes show that nobody changed a line and left the later ones as they were. They do not "
    "show that nothing was left out: whoever held the file can have written all of it anew, with "
    "other hashes, or can have run the crawl without it. Nor do they show what other programs "
    "sent. If the hash of a line was kept at that time where nobody could change it, and is in "
    "this log, everything up to that line is as it was."
)

_CHAIN = {
    State.WHOLE: "Each line holds the hash of the line before it, and all of them are right. Each "
    "crawl counted its lines, and none is missing.",
    State.UNFINISHED: "Each line holds the hash of the line before it, and all of them are right. "
    "But a crawl has no end here: it still ran, was killed, or the last lines were removed.",
    State.PART: "Each line holds the hash of the line before it, and those that are here are "
    "right. What was before them is in another file, or was removed.",
    State.CUT: "Each line holds the hash of the line before it. What is missing stands at the top.",
    State.DAMAGED: "Each line holds the hash of the line before it. What is wrong with them stands "
    "at the top.",
}
