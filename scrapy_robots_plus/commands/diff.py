"""``scrapy robots diff``: what became allowed or denied from one robots.txt to another."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_robots_plus.origins.parsers import charset_of
from scrapy_robots_plus.protocol import Dialect, Reason, RequestRate, RobotsTxt, Verdict, VisitTime
from scrapy_robots_plus.protocol.access import Access, access_of, is_definite
from scrapy_robots_plus.protocol.dialect import dialect_named
from scrapy_robots_plus.protocol.difference import Difference, PathChange, Terms, difference
from scrapy_robots_plus.protocol.origin import Origin
from scrapy_robots_plus.protocol.printable import printable
from scrapy_robots_plus.protocol.sent_forms import target_of
from scrapy_robots_plus.storage import open_reader, shown

from .output import Style, UnreadableError, WrongUsageError
from .project import Project, obtain
from .subcommand import AGENT, DIALECT, JSON, Exit, Subcommand, argument, read_file
from .urls import site_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_robots_plus.crawl.crawl import Crawl
    from scrapy_robots_plus.origins.policy import Policy
    from scrapy_robots_plus.protocol.product_token import AgentNames
    from scrapy_robots_plus.storage.base import RobotsRecord


STORED = "store:"
"""Begins the name of a stored copy."""

_NO_FILE = {
    Access.UNAVAILABLE: Reason.UNAVAILABLE,
    Access.UNREACHABLE: Reason.UNREACHABLE,
}


class Copy(NamedTuple):
    """A robots.txt at some time, or why there was none."""

    name: str
    """As the user named it."""
    record: RobotsRecord
    policy: Policy
    is_file: bool = False
    """Whether it is on this disk."""

    @property
    def in_words(self) -> str:
        """Its status and what it means, such as ``404, all allowed``; empty for a file on disk."""
        return "" if self.is_file else self.policy.in_words

    @property
    def access(self) -> Access:
        """What may be crawled according to it and to the status policy."""
        return self.policy.access

    def read(self, dialect: Dialect) -> RobotsTxt | Reason:
        """Its rules, or why there are none."""
        if self.access is not Access.RULES:
            return _NO_FILE[self.access]
        return RobotsTxt.parse(self.record.body, dialect, charset_of(self.record.headers))


Copies = tuple[Copy, Copy]
Line = tuple[object, ...]
"""For Output.line()."""


def site_in(name: str) -> Origin | None:
    """The site whose robots.txt *name* is the URL of; None if it is not a URL.

    Raises WrongUsageError for a URL of something else.
    """
    if not name.lower().startswith(("http://", "https://")):
        return None
    url, origin = site_of(name)
    if target_of(url) not in ("/", "/robots.txt"):
        raise WrongUsageError(f"{name}: expected a site, such as https://site.example")
    return origin


def file_copy(name: str, project: Project) -> Copy:
    """That of the file *name*, or standard input. Raises UnreadableError."""
    record = project.record_of(read_file(name), name, Origin("http", "site.example", 80))
    return Copy(name, record, project.policy_of(record), is_file=True)


def stored_copy(name: str, project: Project) -> Copy:
    """What the store of the project has of the site in *name*; the store stays as it is.

    Raises UnreadableError if it has nothing, StoreError if there is none or it cannot be read.
    """
    origin = site_in(name.removeprefix(STORED))
    if origin is None:
        raise WrongUsageError(f"{name}: expected a site, such as {STORED}https://site.example")
    uri = project.robots.store
    if uri is None or uri == "memory":
        raise WrongUsageError(f"{name}: ROBOTS_STORE names no store that outlives a crawl")
    with open_reader(uri, project.robots.fetch_max_bytes) as store:
        record = store.get(origin)
    if record is None:
        raise UnreadableError(f"{name}: the store {shown(uri)} has no copy of it")
    today = access_of(record.outcome, project.robots.status_policy)
    record = replace(record, access=today)
    return Copy(name, record, project.policy_of(record))


class Diff(Subcommand):
    """Show what became allowed or denied from one robots.txt to another.

    A and B: a file, - for standard input, a site such as https://site.example, or
    store:https://site.example, which is the copy in ROBOTS_STORE. Exit status: 0 if nothing
    changed, 1 if something did, 2 if a copy cannot be read, or if rules have so many wildcards that
    the comparison ended before it found a change.
    """

    arguments = (
        argument("before", metavar="A", help="the copy before"),
        argument("after", metavar="B", help="the copy after"),
        AGENT,
        DIALECT,
        argument(
            "--dialect-b", metavar="NAME", help="read B in another dialect than A (default: same)"
        ),
        argument("--all", action="store_true", help="show all changes, however many"),
        JSON,
    )

    def run(self) -> int:
        given, project = self.given, self.project
        names = given.before, given.after
        if names == ("-", "-"):
            raise WrongUsageError("only one of A and B can be standard input")
        dialect_of_a = dialect_of_b = project.robots.dialect
        if given.dialect_b is not None:
            try:
                dialect_of_b = dialect_named(given.dialect_b)
            except ValueError as error:
                raise WrongUsageError(f"--dialect-b: {error}") from error
        copies = self._copies(names)
        before, after = copies[0].read(dialect_of_a), copies[1].read(dialect_of_b)
        found = difference(before, after, project.agent)
        lines = in_words(found, copies, project.agent, most=None if given.all else 20)
        self.show(fields_of(found, copies, project.agent), lines)
        if not all(is_definite(copy.record.outcome) for copy in copies):
            return Exit.UNDECIDED
        if differs(found, copies):
            return Exit.FOUND
        return Exit.OK if found.complete else Exit.UNDECIDED

    def _copies(self, names: tuple[str, str]) -> Copies:
        """Both copies. Sites are asked last, and both in one crawl."""
        project = self.project
        sites = {name: site for name in names if (site := site_in(name)) is not None}
        copies = {
            name: stored_copy(name, project)
            if name.startswith(STORED)
            else file_copy(name, project)
            for name in names
            if name not in sites
        }

        async def work(crawl: Crawl) -> int:
            for name, site in sites.items():
                record = (await obtain(site, crawl)).record
                copies[name] = Copy(name, record, project.policy_of(record))
            return Exit.OK

        if sites:
            # What the site has now, whatever a store has of it; and the store stays as it is.
            project.settings.set("ROBOTS_STORE", "memory", "cmdline")
            project.ask(work)
        before, after = names
        return copies[before], copies[after]


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
        "before": _copy_fields(copies[0], found.before),
        "after": _copy_fields(copies[1], found.after),
        "paths": list(map(_path, found.paths)),
        "sitemaps_removed": found.sitemaps_removed,
        "sitemaps_added": found.sitemaps_added,
    }


def _copy_fields(copy: Copy, terms: Terms) -> dict[str, Any]:
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
