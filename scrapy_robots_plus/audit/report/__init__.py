"""The report: one page of HTML that needs nothing else."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

from scrapy_robots_plus.audit.chain import State
from scrapy_robots_plus.protocol.printable import counted

from . import sections
from .figures import sentence
from .html import Html, code, element, join, moment, note, span, text

if TYPE_CHECKING:
    from collections.abc import Iterator

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


_FOLDER = Path(__file__).parent
_SECTIONS = (
    ("hosts", "Sites", sections.sites),
    ("reasons", "Reasons", sections.reasons),
    ("files", "robots.txt files", sections.files),
    ("uses", "What sites want done with their pages", sections.uses),
    ("overrides", "Overrides", sections.overrides),
    ("crawls", "Crawls", sections.crawls),
)
"""Anchor, heading and content of each. One without content is left out."""


def page(summary: Summary, log: Log) -> str:
    """The whole page, in ASCII, so that it means the same in whatever encoding it is written."""
    style = (_FOLDER / "style.css").read_text(encoding="ascii")
    made = [(anchor, heading, list(make(summary))) for anchor, heading, make in _SECTIONS]
    shown = [section for section in made if section[-1]]
    links = [*((anchor, name) for anchor, name, _ in shown), ("proof", "What this proves")]
    unlogged = "" if summary.totals.logs_all else f" {_UNLOGGED}"
    written = Template((_FOLDER / "page.html").read_text(encoding="ascii")).substitute(
        # Nothing but the style may be loaded or run, even if something slips through unescaped.
        digest=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
        maker=text(log.made_by),
        title=text(title_of(summary, log)),
        plain_names=text(", ".join(log.names)),
        style=style,
        header=join(_header(summary, log)),
        contents=join(element("a", name, href=f"#{anchor}") for anchor, name in links),
        sections=join(
            element("section", element("h2", heading), *content, id=anchor)
            for anchor, heading, content in shown
        ),
        chain=f"{_CHAIN[log.state]}{unlogged}",
        last=join([" Hash of the last line: ", code(log.last_hash)]) if log.last_hash else "",
        names=join(map(code, log.names), ", "),
        lines=counted(log.lines, "line"),
        made=moment(log.made_at),
    )
    return written.encode("ascii", "xmlcharrefreplace").decode()


def title_of(summary: Summary, log: Log) -> str:
    """The heading."""
    totals = summary.totals
    observes = totals.observing_crawls and totals.observing_crawls == totals.crawls
    return log.title or ("robots.txt report, observe mode" if observes else "robots.txt report")


def _header(summary: Summary, log: Log) -> Iterator[Html]:
    totals = summary.totals
    if totals.lines:
        spiders = [each.spider for each in summary.rows("spiders", 4)]
        shown = ", ".join([*spiders[:3], *(["..."] if spiders[3:] else [])])
        when = span(totals.first, totals.last)
        yield element("p", shown, " · " if shown else "", when, class_="lead")
    yield element("p", sentence(totals), class_="sentence")
    if log.selection:
        yield note(f"Only a part of the log: {', '.join(log.selection)}.")
    if log.damaged:
        yield _damage(log)
    if totals.observing_crawls:
        yield note(element("b", "Observe mode. "), _observe_mode(totals))
    if totals.lost:
        lines = counted(totals.lost, "line")
        yield note(f"{lines} could not be written to the log; they are missing here.")


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


def _observe_mode(totals: Any) -> str:
    which = f"{totals.observing_crawls:,} of {counted(totals.crawls, 'crawl')} ran"
    if totals.observing_crawls == totals.crawls:
        which = "All crawls of this log ran"
    denials = counted(totals.not_enforced, "denial")
    return f"{which} in observe mode: nothing was blocked or delayed there. {denials} not enforced."


_UNLOGGED = "Allowed requests were not all logged: about those it says only how many there were."

_CHAIN = {
    State.WHOLE: ", and all of them are right. Each crawl counted its lines, and none is missing.",
    State.UNFINISHED: ", and all of them are right. But a crawl has no end here: it still ran, was "
    "killed, or the last lines were removed.",
    State.PART: ", and those that are here are right. What was before them is in another file, or "
    "was removed.",
    State.CUT: ". The top of this page says what is missing.",
    State.DAMAGED: ". The top of this page says what is wrong with them.",
}
"""What follows from the chain of hashes."""
