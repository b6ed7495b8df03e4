"""What changed between two copies of a robots.txt, in words and as JSON."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from scrapy_robots_plus.commands.output import Style
from scrapy_robots_plus.protocol import Reason, RequestRate, VisitTime
from scrapy_robots_plus.protocol.access import Access
from scrapy_robots_plus.protocol.printable import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_robots_plus.protocol import Verdict
    from scrapy_robots_plus.protocol.difference import Difference, PathChange, Terms
    from scrapy_robots_plus.protocol.product_token import AgentNames

    from .copies import Copy

    Copies = tuple[Copy, Copy]
    Line = tuple[object, ...]
    """For Output.line()."""

_WORDS = {
    Reason.NO_RULE: "no rule",
    Reason.NO_GROUP: "no group",
    Reason.ROBOTS_TXT: "always allowed",
    Reason.UNAVAILABLE: "no robots.txt",
    Reason.UNREACHABLE: "robots.txt unreadable",
}
_SHOWN = 200
"""Characters of a rule or a path that are shown; JSON has them whole."""

_TERMS = ("crawl_delay", "request_rate", "visit_time")


def differs(found: Difference, copies: Copies) -> bool:
    """Whether anything changed: also that there is a file where none was."""
    return bool(found) or copies[0].access is not copies[1].access


def in_words(
    found: Difference, copies: Copies, agent: AgentNames, most: int | None
) -> Iterator[Line]:
    """The lines to print, at most *most* changes of paths in each direction."""
    for title, copy in zip(("before", "after"), copies, strict=True):
        yield _titled(title, f"{copy.name}{copy.in_words and f' ({copy.in_words})'}")
    yield _titled("agent", agent if isinstance(agent, str) else ", ".join(agent))
    for title, style, changes in (
        ("became denied", Style.BAD, found.became_denied),
        ("became allowed", Style.GOOD, found.became_allowed),
    ):
        if changes:
            yield ()
            yield (title, style), (f" ({len(changes):,})", Style.FAINT)
            yield from _paths(changes, style, most)
    # An unreadable file says nothing: what it says besides rules has not changed to nothing.
    are_known = all(copy.access is not Access.UNREACHABLE for copy in copies)
    others = list(_others(found, most)) if are_known else []
    if others:
        yield ()
        yield from others
    if not differs(found, copies):
        yield ()
        yield (("no difference" if found.complete else "no difference was found", Style.BOLD),)
    if not found.complete:
        yield ()
        yield ((_incomplete(found), Style.UNSURE),)


def _titled(title: str, text: str) -> Line:
    return (f"{title:8}", Style.FAINT), text


def _paths(changes: tuple[PathChange, ...], style: Style, most: int | None) -> Iterator[Line]:
    for change in islice(changes, most):
        yield "  ", (" ".join(printable(path, _SHOWN) for path in change.examples), style)
        yield "      ", f"{_because(change.before)} -> {_because(change.after)}"
    yield from _left_out(len(changes), most)


def _left_out(count: int, most: int | None) -> Iterator[Line]:
    if most is not None and count > most:
        yield ((f"  and {count - most:,} more, which --all shows", Style.FAINT),)


def _because(verdict: Verdict) -> str:
    if verdict.rule is None:
        return _WORDS[verdict.reason]
    return f"{printable(verdict.rule, _SHOWN)} (line {verdict.line})"


def _others(found: Difference, most: int | None) -> Iterator[Line]:
    before, after = found.before, found.after
    if before.names != after.names:
        yield _changed("group", ", ".join(before.names), ", ".join(after.names))
    for name in _TERMS:
        old, new = getattr(before, name), getattr(after, name)
        if old != new:
            yield _changed(name.replace("_", "-"), _term(old), _term(new))
    for mark, urls in (("-", found.sitemaps_removed), ("+", found.sitemaps_added)):
        for url in islice(urls, most):
            yield _other("sitemap"), f"{mark} {url}"
        yield from _left_out(len(urls), most)


def _other(title: str) -> tuple[str, Style]:
    return f"{title:13}", Style.FAINT


def _changed(title: str, before: str, after: str) -> Line:
    return _other(title), f"{before or 'none'} -> {after or 'none'}"


def _term(value: float | RequestRate | VisitTime | None) -> str:
    """Empty if the file asks for nothing."""
    if value is None:
        return ""
    if isinstance(value, RequestRate):
        hours = f", {value.window}" if value.window else ""
        return f"{value.requests:,} in {value.seconds:,} s{hours}"
    return str(value) if isinstance(value, VisitTime) else f"{value:g} s"


def _incomplete(found: Difference) -> str:
    return (
        f"not complete: so many wildcards that the comparison ended after {found.states:,} states; "
        "more may have changed"
    )


def fields_of(found: Difference, copies: Copies, agent: AgentNames) -> dict[str, Any]:
    """All that changed, for ``--json``."""
    return {
        "agent": agent,
        "differs": differs(found, copies),
        "complete": found.complete,
        "states": found.states,
        "before": _copy(copies[0], found.before),
        "after": _copy(copies[1], found.after),
        "paths": list(map(_path, found.paths)),
        "sitemaps_removed": found.sitemaps_removed,
        "sitemaps_added": found.sitemaps_added,
    }


def _copy(copy: Copy, terms: Terms) -> dict[str, Any]:
    return {
        "name": copy.name,
        "in_words": copy.in_words or None,
        "access": copy.access,
        "user_agents": terms.names,
        "crawl_delay": terms.crawl_delay,
        "request_rate": _term(terms.request_rate) or None,
        "visit_time": _term(terms.visit_time) or None,
    }


def _path(change: PathChange) -> dict[str, Any]:
    return {
        "became": "allowed" if change.allowed else "denied",
        "examples": change.examples,
        "before": _verdict(change.before),
        "after": _verdict(change.after),
    }


def _verdict(verdict: Verdict) -> dict[str, Any]:
    return {
        "reason": verdict.reason,
        "rule": verdict.rule,
        "line": verdict.line,
        "group": verdict.group,
    }
