"""The report: one page of HTML that needs nothing else."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_robots_plus.audit.chain import State
from scrapy_robots_plus.protocol.printable import counted

from .figures import sentence
from .html import Html, code, element, join, moment, note, paragraph, section, span
from .sections import files, overrides, reasons, table_of_crawls, table_of_sites, uses

if TYPE_CHECKING:
    from scrapy_robots_plus.audit.summary import Summary


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
    title: str = ""
    """The heading; empty for the usual one."""
    selection: tuple[str, ...] = ()
    """What the report is limited to, in words; nothing if it is about the whole log."""


def page(summary: Summary, log: Log) -> str:
    """The whole page, in ASCII, so that it means the same in whatever encoding it is written."""
    sections = [
        ("hosts", "Sites", table_of_sites(summary)),
        ("reasons", "Reasons", reasons(summary)),
        ("files", "robots.txt files", files(summary)),
        *([("uses", "Uses", uses(summary))] if summary.uses else []),
        *([("overrides", "Overrides", overrides(summary))] if len(summary.overrides) else []),
        ("crawls", "Crawls", table_of_crawls(summary)),
        ("proof", "What this proves", _proof(summary, log)),
    ]
    links = (element("a", name, href=f"#{anchor}") for anchor, name, _ in sections)
    contents = element("nav", *links, aria_label="Contents")
    header = element("header", *_header(summary, log), contents)
    body = element("body", header, element("main", *(content for _, _, content in sections)))
    document = element("html", _head(summary, log), body, lang="en")
    return f"<!DOCTYPE html>\n{document}\n".encode("ascii", "xmlcharrefreplace").decode()


def _head(summary: Summary, log: Log) -> Html:
    """Nothing but the style may be loaded or run, even if something slips through unescaped."""
    style = Path(__file__).with_name("style.css").read_text(encoding="ascii")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:"
    return element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="generator", content=log.made_by),
        element("title", f"{title_of(summary, log)}: {', '.join(log.names)}"),
        element("link", rel="icon", href="data:,"),
        element("style", Html(style)),
    )


def title_of(summary: Summary, log: Log) -> str:
    """The heading."""
    if log.title:
        return log.title
    totals = summary.totals
    in_audit_mode = totals.audit_crawls and totals.audit_crawls == totals.crawls
    return "robots.txt report, observe mode" if in_audit_mode else "robots.txt report"


def _header(summary: Summary, log: Log) -> list[Html]:
    totals = summary.totals
    parts = [element("h1", title_of(summary, log))]
    if totals.entries:
        spiders = sorted(
            {row.spider for _, row in summary.crawls.ranked(lambda row: row.count) if row.spider}
        )
        shown = ", ".join([*spiders[:3], *(["..."] if spiders[3:] else [])])
        when = span(totals.first, totals.last)
        parts.append(element("p", join([*([f"{shown} · "] if shown else []), when]), class_="lead"))
    parts.append(element("p", sentence(summary), class_="sentence"))
    if log.selection:
        parts.append(note(f"Only a part of the log: {', '.join(log.selection)}."))
    if log.damaged:
        parts.append(_damage(log))
    if totals.audit_crawls:
        parts.append(note(*_audit_mode(summary)))
    if totals.lost:
        lines = counted(totals.lost, "line")
        parts.append(note(f"{lines} could not be written to the log; they are missing here."))
    return parts


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


def _proof(summary: Summary, log: Log) -> Html:
    last = join([" Hash of the last line: ", code(log.last_hash)]) if log.last_hash else ""
    made = join([moment(log.made_at), f" UTC by {log.made_by}."])
    names = join(map(code, log.names), ", ")
    silent = "" if summary.totals.logs_all else f" {_UNLOGGED}"
    return section(
        "proof",
        "What this proves, and what not",
        paragraph(f"{_CHAIN[log.state]}{silent}", last),
        paragraph(element("b", "What this does not prove."), f" {_UNPROVEN}"),
        paragraph(_ABOUT),
        paragraph("Made from ", names, f", {counted(log.lines, 'line')}, on ", made),
    )


_ABOUT = (
    "A site says in its robots.txt what crawlers may fetch (RFC 9309). Denied: the request was not "
    "sent. Allowed: no rule was against it. Where a robots.txt could not be read, requests are "
    "denied as well. A site is a scheme, host name and port: each has a robots.txt of its own."
)

_UNLOGGED = "Allowed requests were not all logged: about those it says only how many there were."

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
    State.CUT: "Each line holds the hash of the line before it. The top of this page says what is "
    "missing.",
    State.DAMAGED: "Each line holds the hash of the line before it. The top of this page says what "
    "is wrong with them.",
}
