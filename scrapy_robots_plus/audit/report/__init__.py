"""The report of an audit log: one HTML page that needs no other file."""

from __future__ import annotations

import base64
import hashlib
import time
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

from scrapy_robots_plus._version import __version__
from scrapy_robots_plus.audit.chain import State
from scrapy_robots_plus.protocol.printable import counted

from . import sections
from .html import Html, code, element, join, moment, note, span, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from scrapy_robots_plus.audit.reading import LogReader
    from scrapy_robots_plus.audit.summary import Summary

MAKER = "scrapy-robots-plus"
"""The generator that a page names."""


_FOLDER = Path(__file__).parent
_SECTIONS = (
    ("hosts", "Sites", sections.sites),
    ("reasons", "Reasons", sections.reasons),
    ("files", "robots.txt files", sections.files),
    ("uses", "What sites want done with their pages", sections.uses),
    ("overrides", "Overrides", sections.overrides),
    ("crawls", "Crawls", sections.crawls),
)
"""The anchor, heading and content of each section. One without content is left out."""


def page(summary: Summary, log: LogReader, title: str = "", hosts: Sequence[str] = ()) -> str:
    """Returns the whole page, in ASCII, so that it can be written in any encoding.

    *log* must have been read to its end. *hosts*: those that the summary is limited to.
    """
    style = (_FOLDER / "style.css").read_text(encoding="ascii")
    made = [(anchor, heading, join(make(summary))) for anchor, heading, make in _SECTIONS]
    shown = [section for section in made if section[-1]]
    links = [*((anchor, name) for anchor, name, _ in shown), ("proof", "What this proves")]
    last = join([" Hash of the last line: ", code(log.last.hash)]) if log.is_readable else ""
    written = Template((_FOLDER / "page.html").read_text(encoding="ascii")).substitute(
        # Nothing but the style may be loaded or run, even if something slips through unescaped.
        digest=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
        maker=f"{MAKER} {__version__}",
        title=text(title or "robots.txt report"),
        plain_names=text(", ".join(log.names)),
        style=style,
        header=join(_header(summary, log, hosts)),
        contents=join(element("a", name, href=f"#{anchor}") for anchor, name in links),
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


def _header(summary: Summary, log: LogReader, hosts: Sequence[str]) -> Iterator[Html]:
    totals = summary.totals
    if totals.lines:
        spiders = [each.spider for each in summary.rows("spiders", 3)]
        when = span(totals.first, totals.last)
        yield element("p", join([*spiders, when], " · "), class_="lead")
    yield element("p", sentence(totals), class_="sentence")
    if hosts:
        yield note(f"Only a part of the log: {', '.join(hosts)}.")
    if log.state > State.UNFINISHED:  # the section on crawls says how each ended
        yield _damage(log)
    if totals.observing_crawls:
        which = f"{totals.observing_crawls:,} of {counted(totals.crawls, 'crawl')}"
        words = f"nothing was blocked or delayed there. Not enforced: {totals.not_enforced:,}."
        yield note(element("b", "Observe mode"), f" in {which}: {words}")
    if totals.lost:
        lines = counted(totals.lost, "line")
        yield note(f"{lines} could not be written to the log; they are missing here.")


def _damage(log: LogReader) -> Html:
    return element(
        "div",
        element("b", "This log is incomplete or damaged."),
        " The report may be wrong:",
        element("ul", *(element("li", place) for place in log.damages)),
        class_="note",
    )


_CHAIN = {
    State.WHOLE: ", and all of them are right. None is missing, and each crawl has ended.",
    State.UNFINISHED: ", and all of them are right. But a crawl has no end here: it still ran, was "
    "killed, or the last lines were removed.",
}
"""What the chain of hashes shows, by the state of the log."""
